"""The verbs. Each is short; the library can be read off this page.

fit        rows -> Model, charging every read
generate   rows -> synthetic rows, in the caller's own kind of table
plan       schema and row count -> cost and expected error; reads no row
evaluate   real and synthetic rows -> how good they are; not private, for the holder of the data only
attack     the same rows and hold-out rows -> what they give away about people
load       model file -> Model
verify     check a model without the data
assert_dp  the same, and that epsilon is at most what you say
methods    what can be asked for
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import GuaranteeError, ModelFormatError, UsageError
from sfumato.scalars import plain, plain_options

if TYPE_CHECKING:
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.models.model import Model
    from sfumato.models.plan import Plan
    from sfumato.models.training import Job
    from sfumato.models.verify import Verification
    from sfumato.schema import Schema
    from sfumato.tables.dialect import CsvDialect

DEFAULT_METHOD = "adaptive"


class PrivacyWarning(UserWarning):
    """The guarantee holds, and is weaker than its user may think."""


class DataWarning(UserWarning):
    """A table is not what its user may think: a column is not as declared, or two tables share no value."""


def fit(
    table: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str = DEFAULT_METHOD,
    schema: Schema | str | Path | Mapping[str, Any] | None = None,
    unit: tuple[str, int] | None = None,
    neighbours: str | None = None,
    options: Mapping[str, Any] | None = None,
    accountant: str = "gdp",
    rows: int | None = None,
    dialect: CsvDialect | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    allow_empty: bool = False,
    progress: Callable[[str], None] | None = None,
    insecure_noise_seed: int | None = None,
) -> Model:
    """Fit a differentially private model of `table`.

    `table`: a path (CSV, TSV, Parquet), a pandas or polars frame, an Arrow table, or a dict of arrays.
    `epsilon`, `delta`: the guarantee; delta defaults to 1e-9, or to 1/(100 N) when the schema states
    `rows_at_most` N, and is 0 for a method with a pure guarantee where nothing needs it. epsilon is left out
    for methods without a guarantee only. `schema`: public facts (path, dict or Schema); what it leaves open
    is bought from the same budget. `unit`: (column, k) makes a person with at most k rows the unit of
    privacy instead of a row. `neighbours`: "add-remove" (default) or "replace". `options`: of the method.
    `rows`: how many rows will be asked for, if known, so that identifier columns can be checked before
    anything is charged. `dialect`: how to read text files. `ledger` and `dataset`: a persistent ledger file
    and the name of the data set in it; the whole of (epsilon, delta) is charged there before the run, less a
    drafted schema that was charged there already. `allow_empty`: accept a table without rows. `progress` is
    told what is asked. `insecure_noise_seed` makes the noise repeatable for tests; such a model guarantees
    nothing and says so.

    Warns (PrivacyWarning before the run, DataWarning after it) of what needs attention; lesser remarks are in
    the model's `notes`. Raises SfumatoError before the first charge for anything wrong with options, schema
    or input.
    """
    from sfumato.models.training import prepare

    job = prepare(
        table, epsilon=epsilon, delta=delta, method=method, schema=schema, unit=unit, neighbours=neighbours,
        options=dict(options or {}), accountant=accountant, rows=rows, dialect=dialect,
        allow_empty=allow_empty,
    )  # fmt: skip
    for text in job.warnings():
        _warn(text, PrivacyWarning)
    model = fit_job(
        job, ledger=ledger, dataset=dataset, progress=progress, insecure_noise_seed=insecure_noise_seed
    )
    for text in model.warnings:
        _warn(text, DataWarning)
    return model


def _warn(text: str, category: type[Warning]) -> None:
    """Warn at the line that called this library, by whichever of its doors."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sfumato."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, category, stacklevel=depth)


def fit_job(
    job: Job,
    *,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    progress: Callable[[str], None] | None = None,
    insecure_noise_seed: int | None = None,
) -> Model:
    """Charge and run a job that was prepared (see `fit`)."""
    from sfumato.models.model import check_seed
    from sfumato.models.training import charge, train
    from sfumato.privacy.insecure import seeded_noise

    if (ledger is None) != (dataset is None):
        raise UsageError("a persistent ledger needs both its file and the name of the data set")
    check_seed(insecure_noise_seed)
    if progress is not None:
        progress("checking the rows")
    job.table.check_rows()
    with nullcontext() if insecure_noise_seed is None else seeded_noise(insecure_noise_seed):
        if ledger is not None and dataset is not None:
            charge(job, ledger, dataset)
        return train(job, progress=progress)


def generate(
    table: Any,
    *,
    epsilon: float | None = None,
    rows: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Any:
    """Synthetic rows in the caller's own kind of table: `fit(table, …).sample(rows)`.

    `rows` defaults to the noisy row count. `seed` fixes the drawing of rows, never the noise. Other
    options are those of `fit`, and so are the warnings. The model is not kept: for its guarantee, its notes
    on what was found, or more rows at no cost, use `fit` and `sample`.
    """
    from sfumato.models.model import check_seed

    check_seed(seed)
    return fit(table, epsilon=epsilon, rows=rows, **options).sample(rows, seed=seed)


def plan(
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    rows: int | None = None,
    epsilon: float | Sequence[float] = 1.0,
    delta: float | None = None,
    method: str = DEFAULT_METHOD,
    unit: tuple[str, int] | None = None,
    neighbours: str | None = None,
    options: Mapping[str, Any] | None = None,
    accountant: str = "gdp",
) -> Plan:
    """What a fit and as many synthetic rows would cost and give, from public facts alone.

    `rows`: about how many the table has; default: the schema's `rows_at_most`. `epsilon`: one, or several.
    Other arguments are those of `fit`. The result has an outcome for every epsilon (cells, memory, seconds,
    expected error, warnings) and the smallest epsilon for an error of 5 %. Error is the mean total variation
    distance over all marginals of two columns. Raises UsageError and SchemaError as `fit` would.
    """
    from sfumato.models.plan import plan as make

    epsilon = plain(epsilon)
    epsilons = [epsilon] if isinstance(epsilon, int | float) else epsilon
    return make(
        schema, rows=plain(rows), epsilons=[plain(each) for each in epsilons], delta=plain(delta),
        method=method, unit=unit, neighbours=neighbours, options=plain_options(options),
        accountant=accountant,
    )  # fmt: skip


def evaluate(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    target: str | None = None,
    schema: Schema | str | Path | Mapping[str, Any] | None = None,
    families: Sequence[str] | None = None,
    groups: Sequence[str] = (),
    regression: Sequence[str] | None = None,
    epsilon: float = 1.0,
    model_rows: int = 10_000,
    model: Model | str | Path | None = None,
    seed: int = 0,
    dialect: CsvDialect | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """How good synthetic rows are, measured against real ones. It reads them without noise: for their
    holder.

    `real`, `synthetic`, `holdout`: tables as in `fit`; hold-out rows are real ones that no model was fitted
    to, and are what models are tested on (without them, a part of the real rows is). `target`: the column
    that models predict. `schema`: public facts, which settle what a column is, its bounds, special codes and
    rules; else kinds are inferred from the real rows. `families`: which to take ("marginals", "structure",
    "prediction", "distinguishing", "analysis", "attacks"); default all, attacks where there are hold-out
    rows. `groups`: columns whose values are subgroups. `regression`: the outcome, then its predictors, of the
    regression of the analysis. `epsilon`: of the private learners that models are held against.
    `model_rows`: the most rows that train a model. `model`: the model that drew the rows, for the ceiling
    that its guarantee sets to attacks, and for the column that tells persons apart. `seed`: of every draw.

    Every measure has one of three states: a value, not applicable because …, failed because …. Warns
    (DataWarning) of tables that share columns and no value. Raises InputError and SchemaError for what cannot
    be read, UsageError for options.
    """
    from sfumato.attacks.tables import person_of, release_of, with_attacks
    from sfumato.evaluation.run import evaluate_tables
    from sfumato.evaluation.settings import Settings
    from sfumato.schema import read_schema

    settings = Settings(
        target=target, groups=tuple(groups), regression=regression, epsilon=plain(epsilon),
        model_rows=plain(model_rows), seed=plain(seed),
    )  # fmt: skip
    held = load(model) if isinstance(model, str | Path) else model
    found = evaluate_tables(
        real, synthetic, holdout=holdout, schema=None if schema is None else read_schema(schema),
        dialect=dialect, settings=settings, progress=progress, person=person_of(held),
        families=None if families is None else [name for name in families if name != "attacks"],
    )  # fmt: skip
    _tell_strangers(found)
    wanted = families is None or "attacks" in families
    if not wanted:
        return found
    stated = release_of(held, epsilon=None, delta=0.0)
    return with_attacks(found, guarantee=stated, seed=plain(seed), progress=progress)


def attack(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any,
    model: Model | str | Path | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    secrets: Sequence[str] = (),
    schema: Schema | str | Path | Mapping[str, Any] | None = None,
    targets: int = 2_000,
    shadows: int = 0,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    dialect: CsvDialect | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """What synthetic rows give away about people, by attacks on them. It reads real rows without noise: for
    their holder.

    `real`, `synthetic`, `holdout`: tables as in `fit`; hold-out rows are real ones of other people that no
    model was fitted to, and are the control of every attack. `model`: the model that drew the rows, which
    states the guarantee and the method; or `epsilon` and `delta` as stated. The guarantee sets the ceiling of
    every attack. `secrets`: columns that are guessed; default: up to 16. `schema`: public facts, which settle
    what a column is. `targets`: people attacked on each side. `shadows`: fits of the slow attack, at least 8,
    which knows `method` and its `options` (default: those of the model); 0: none. `seed`: of every draw.

    An attack that finds nothing proves nothing. Raises UsageError, InputError and SchemaError.
    """
    from sfumato.attacks.people import AttackSettings
    from sfumato.attacks.tables import attack_tables, person_of, release_of, shadows_of
    from sfumato.schema import read_schema

    held = load(model) if isinstance(model, str | Path) else model
    found = attack_tables(
        real, synthetic, holdout=holdout, dialect=dialect, progress=progress,
        schema=None if schema is None else read_schema(schema), person=person_of(held),
        settings=AttackSettings(
            guarantee=release_of(held, epsilon=plain(epsilon), delta=plain(delta)), targets=plain(targets),
            secrets=tuple(secrets), seed=plain(seed),
        ),
        shadows=shadows_of(
            plain(shadows), model=held, epsilon=plain(epsilon), delta=plain(delta), method=method,
            options=plain_options(options), schema=schema,
        ),
    )  # fmt: skip
    _tell_strangers(found)
    return found


def _tell_strangers(found: Evaluation) -> None:
    """DataWarning where the tables share no value, so that they were hardly meant to be compared."""
    from sfumato.evaluation.strangers import stranger

    if text := stranger(found.pair):
        _warn(text, DataWarning)


def load(path: str | Path) -> Model:
    """Read a model file; ModelFormatError if it is damaged, of another version, or was altered."""
    from sfumato.models.file import load as read

    return read(path)


def verify(model: Model | str | Path) -> Verification:
    """Recompute epsilon and rebuild the model from its released answers; GuaranteeError says what does not
    hold.
    """
    from sfumato.models.verify import verify as check

    return check(load(model) if isinstance(model, str | Path) else model)


def assert_dp(
    model: Model | str | Path,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    tolerance: float = 0.0,
) -> Verification:
    """Verify `model`, and that its epsilon is at most `epsilon`·(1 + `tolerance`) and its delta at most
    `delta`; raises GuaranteeError.

    A whole model file that contradicts itself was altered: that is a GuaranteeError here, and not the
    ModelFormatError of `load`.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"tolerance must be a number of at least 0, not {tolerance}")
    found = verify(load_to_check(model) if isinstance(model, str | Path) else model)
    if epsilon is not None and not found.epsilon <= epsilon * (1 + tolerance):
        raise GuaranteeError(
            f"the model is ({found.epsilon:.6g}, {found.delta:.3g})-DP, not epsilon = {epsilon:.6g}"
        )
    if delta is not None and not found.delta <= delta:
        raise GuaranteeError(
            f"the model is ({found.epsilon:.6g}, {found.delta:.3g})-DP, not delta = {delta:.3g}"
        )
    return found


def load_to_check(path: str | Path) -> Model:
    """`load` for a check: a whole model file that contradicts itself was altered, which is a GuaranteeError;
    one that is cut short or is none at all remains a ModelFormatError.
    """
    from sfumato.models.file import is_whole

    try:
        return load(path)
    except ModelFormatError as error:
        if not is_whole(path):
            raise
        raise GuaranteeError(f"nothing is proven: {error.message}") from None


def methods() -> dict[str, str]:
    """Every method by name, with its guarantee and one line on what it is."""
    from sfumato.synthesizers.recipe import synthesizers

    return {name: f"[{synthesizers[name].guarantee}] {synthesizers[name].summary}" for name in synthesizers}

"""`sfumato evaluate`: how good, how risky, at what price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from sfumato.cli.console import Progress, note, say, say_json, table, warn
from sfumato.cli.options import METHOD, RESULT, Force, Json, Quiet, ReadOptions, Seed, once
from sfumato.cli.places import check_places

if TYPE_CHECKING:
    from sfumato.attacks.ceiling import Guarantee
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.models.model import Model

STATED = Group("What the release states", sort_key=1)


def evaluate(
    real: Path | None = None,
    synthetic: Path | None = None,
    /,
    *,
    from_real: Annotated[Path | None, Parameter(name=["--real", "-r"], metavar="FILE")] = None,
    from_synthetic: Annotated[Path | None, Parameter(name=["--synthetic", "-s"], metavar="FILE")] = None,
    holdout: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    target: Annotated[str | None, Parameter(metavar="COLUMN")] = None,
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE", group=RESULT)] = None,
    model: Annotated[Path | None, Parameter(metavar="FILE", group=STATED)] = None,
    epsilon: Annotated[float | None, Parameter(group=STATED)] = None,
    delta: Annotated[float, Parameter(group=STATED)] = 0.0,
    schema: Annotated[Path | None, Parameter(metavar="FILE", group=METHOD)] = None,
    group: Annotated[tuple[str, ...], Parameter(negative="", metavar="COLUMN")] = (),
    regression: Annotated[str | None, Parameter(metavar="Y,X,X…")] = None,
    family: Annotated[tuple[str, ...], Parameter(negative="", metavar="NAME")] = (),
    attacks: bool = True,
    model_rows: Annotated[int, Parameter(metavar="N")] = 10_000,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
    json: Json = False,
    reading: ReadOptions | None = None,
) -> None:
    """Tell how much SYNTHETIC rows are like the REAL ones, and what they give away.

    Everything is computed from real rows without noise, so neither the report nor the numbers are private:
    they are for the holder of the data. The report is one HTML page that needs no network. It is not
    written into the folder of a release (one with a model file, or with the synthetic rows but not the real
    ones) without --force.

    Example: sfumato evaluate train.csv synthetic.csv --holdout test.csv --target income -o internal.html

    Parameters
    ----------
    real
        The private table that the synthetic rows were made from.
    synthetic
        The synthetic rows.
    from_real
        The private table, in place of REAL.
    from_synthetic
        The synthetic rows, in place of SYNTHETIC.
    holdout
        Real rows that had no part in the synthetic ones. Models are tested on them, and attacks need them.
    target
        The column that models predict. Default: only each column from all others.
    output
        Where to write the internal report (.html).
    model
        The model file that drew the rows: states the guarantee, tells what a person is, and predicts other
        budgets.
    epsilon
        The stated epsilon, where there is no model file.
    delta
        The stated delta.
    schema
        What is public about the table: settles what each column is, its bounds and rules.
    group
        A column whose values are subgroups, for the error of each. May be repeated.
    regression
        The outcome and the predictors, separated by commas, of an analyst's regression.
    family
        Measures to take: marginals, structure, prediction, distinguishing, analysis, attacks. Default: all.
        May be repeated.
    attacks
        Whether to attack as well, where there are hold-out rows. sfumato attack does so at more length.
    model_rows
        At most so many rows of a table train a model or are told apart.
    seed
        Fixes every draw: who is attacked, which rows train a model. Default: 0.
    """
    from sfumato.api import evaluate as run
    from sfumato.api import load
    from sfumato.attacks.tables import release_of, with_attacks
    from sfumato.evaluation.evaluation import FAMILIES
    from sfumato.evaluation.strangers import check_shared, stranger

    real = once(real, from_real, "the real table", places=("REAL", "--real"), command="evaluate")
    synthetic = once(
        synthetic,
        from_synthetic,
        "the synthetic table",
        places=("SYNTHETIC", "--synthetic"),
        command="evaluate",
    )
    check_report(
        output, real=real, synthetic=synthetic, holdout=holdout, model=model, schema=schema, force=force
    )
    reading, quiet = reading or ReadOptions(), quiet or json
    held = None if model is None else load(model)
    stated = release_of(held, epsilon=epsilon, delta=delta)
    progress = Progress(quiet=quiet)
    try:
        found = run(
            real, synthetic, holdout=holdout, target=target, schema=schema, groups=group,
            families=[name for name in family or FAMILIES if name != "attacks"],
            regression=None if regression is None else [name.strip() for name in regression.split(",")],
            model_rows=model_rows, model=held, seed=seed or 0, dialect=reading.dialect(), progress=progress,
        )  # fmt: skip
        check_shared(found.pair)
        if attacks and (not family or "attacks" in family):
            found = with_attacks(found, guarantee=stated, seed=seed or 0, progress=progress)
    finally:
        progress.close()
    if text := stranger(found.pair):
        warn(text)
    if output is not None:
        write_report(found, output, model=held, guarantee=stated, force=force, quiet=quiet)
    if json:
        say_json(found.to_dict())
        return
    say(_table(found))
    for status, titles in without_value(found).items():
        note(f"{status}: {', '.join(titles)}", quiet=quiet)
    if output is None:
        note("what each measure means is on the page that -o internal.html writes", quiet=quiet)
    note("not private: computed from real rows without noise", quiet=quiet)


def check_report(
    output: Path | None,
    *,
    real: Path,
    synthetic: Path,
    holdout: Path | None,
    model: Path | None,
    schema: Path | None,
    force: bool,
) -> None:
    """OutputError for a report that must not or cannot be written; nothing is read or created."""
    from sfumato.errors import OutputError
    from sfumato.report.places import check_not_released
    from sfumato.tables.output import check_output

    read = {"the real table": real, "the synthetic table": synthetic, "the hold-out table": holdout,
            "the model": model, "the schema": schema}  # fmt: skip
    check_places(read=read, write={"the report": output})
    if output is None:
        return
    if output.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"the report {output.name!r} is a page", mend="end its name in .html")
    check_output(output, force=force)
    if not force:
        check_not_released(output, synthetic=synthetic, private=(real, holdout))


def write_report(
    found: Evaluation,
    output: Path,
    *,
    model: Model | None,
    guarantee: Guarantee | None,
    force: bool,
    quiet: bool,
) -> None:
    """The internal report of an evaluation, at a place that was checked before anything was computed."""
    from sfumato.report import write_internal

    write_internal(found, output, model=model, guarantee=guarantee, force=force)
    note(f"internal report written to {output}: it contains private data", quiet=quiet)


def _table(found: Evaluation) -> str:
    """Every measure in a line."""
    rows: list[tuple[str, ...]] = []
    for each in found.outcomes:
        ends = "" if each.interval is None else f"{each.interval.low:.3g} to {each.interval.high:.3g}"
        value = each.state if each.value is None else f"{each.value:.4g}"
        ideal = "" if each.measure.ideal is None else f"{each.measure.ideal:g}"
        rows.append((each.name, each.measure.title, value, ends, ideal))
    return table(rows, header=("measure", "", "value", "95 % interval", "if identical"))


def without_value(found: Evaluation) -> dict[str, list[str]]:
    """Titles of measures without a value, by the reason."""
    reasons: dict[str, list[str]] = {}
    for each in found.outcomes:
        if each.value is None:
            reasons.setdefault(each.status, []).append(each.measure.title)
    return reasons

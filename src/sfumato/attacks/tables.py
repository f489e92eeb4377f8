"""Attacks from tables of any kind to an evaluation: what `sfumato.attack` does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.attacks.attack import run
from sfumato.attacks.ceiling import Guarantee
from sfumato.attacks.people import AttackSettings
from sfumato.errors import UsageError
from sfumato.evaluation.evaluation import Evaluation
from sfumato.evaluation.gather import pair_tables

if TYPE_CHECKING:
    import polars as pl

    from sfumato.attacks.shadow import Shadows
    from sfumato.evaluation.pair import Pair
    from sfumato.models.model import Model
    from sfumato.schema import Schema
    from sfumato.tables.dialect import CsvDialect

QUICK_TARGETS, QUICK_WORK = 1_000, 2_000_000_000


def attack_tables(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any,
    schema: Schema | None = None,
    dialect: CsvDialect | None = None,
    settings: AttackSettings | None = None,
    shadows: Shadows | None = None,
    person: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Read the tables and attack; see `sfumato.attack`. `person`: the column that tells persons apart."""
    settings = settings or AttackSettings()
    if progress is not None:
        progress("reading the tables")
    start = time.monotonic()
    pair = pair_tables(real, synthetic, holdout=holdout, schema=schema, dialect=dialect, person=person)
    outcomes = run(pair, settings, shadows=shadows, progress=progress)
    facts = {**_facts(pair, settings), "seconds": {"attacks": round(time.monotonic() - start, 3)}}
    return Evaluation(outcomes=tuple(outcomes), pair=pair, facts=facts)


def with_attacks(
    found: Evaluation,
    *,
    guarantee: Guarantee | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """An evaluation with hold-out rows, with the attacks that need no generator on a few people beside its
    measures.
    """
    assert found.pair is not None
    settings = AttackSettings(
        guarantee=guarantee, targets=QUICK_TARGETS, work=QUICK_WORK, guessed=8, seed=seed
    )
    start = time.monotonic()
    whole = found.extended(run(found.pair, settings, progress=progress))
    seconds = {**found.facts.get("seconds", {}), "attacks": round(time.monotonic() - start, 3)}
    stated = None if guarantee is None else guarantee.state()
    return attrs.evolve(whole, facts={**found.facts, "guarantee": stated, "seconds": seconds})


def person_of(model: Model | None) -> str | None:
    """The column that told persons apart when a model was fitted; None where its unit is a row."""
    return None if model is None else model.ledger.unit.get("column")


def release_of(model: Model | None, *, epsilon: float | None, delta: float) -> Guarantee | None:
    """The guarantee of a model, or the stated one; UsageError when both are given."""
    if model is not None and epsilon is not None:
        raise UsageError("the guarantee is that of the model, or epsilon and delta: not both")
    if model is not None:
        return Guarantee.of(model)
    if epsilon is None:
        if delta:
            raise UsageError("delta without epsilon states nothing")
        return None
    return Guarantee(epsilon, delta)


def shadows_of(
    fits: int,
    *,
    model: Model | None,
    epsilon: float | None,
    delta: float,
    method: str | None,
    options: Mapping[str, Any],
    schema: Any = None,
) -> Shadows | None:
    """The method of the slow attack: that of the model, or `method` with the stated guarantee."""
    if not fits:
        return None
    from sfumato.api import DEFAULT_METHOD, fit
    from sfumato.attacks.shadow import Shadows

    if model is not None:
        request = model.request
        terms: dict[str, Any] = {
            "epsilon": request["epsilon"], "delta": request["delta"], "method": method or model.method,
            "options": dict(options) or model.options,
            "schema": request["schema"] if schema is None else schema,
        }  # fmt: skip
    elif epsilon is None:
        raise UsageError(
            "shadow models need a method and its epsilon", mend="give the model, or epsilon and method"
        )
    else:
        terms = {
            "epsilon": epsilon, "delta": delta or None, "method": method or DEFAULT_METHOD,
            "options": dict(options), "schema": schema,
        }  # fmt: skip

    whole = terms.pop("schema")

    def draw(table: pl.DataFrame, rows: int) -> pl.DataFrame:
        terms["schema"] = schema_of_people(whole, table.columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(table, **terms).sample(rows)

    return Shadows(fit=draw, fits=fits)


def schema_of_people(schema: Any, names: Sequence[str]) -> Any:
    """A schema for a table with one row a person and the named columns: no unit, no other column, and no rule
    about one.
    """
    from sfumato.schema import read_schema

    if schema is None:
        return None
    facts = read_schema(schema).to_dict()
    facts.pop("unit", None)
    facts["columns"] = {name: each for name, each in facts["columns"].items() if name in names}
    facts.pop("rules", None)
    return facts


def _facts(pair: Pair, settings: AttackSettings) -> dict[str, Any]:
    stated = settings.guarantee
    return {
        "rows": {
            "real": pair.real_rows, "synthetic": pair.synthetic_rows, "holdout": pair.holdout_rows,
        },
        "columns": {
            "compared": [{"name": column.name, "kind": column.kind} for column in pair.columns],
            "absent": list(pair.absent),
            "extra": list(pair.extra),
            "ignored": dict(pair.ignored),
        },
        "guarantee": None if stated is None else stated.state(),
        "notes": list(pair.notes),
        "seed": settings.seed,
    }  # fmt: skip

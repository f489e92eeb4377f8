"""An evaluation from start to end: read, take every metric, collect."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.errors import UsageError
from sfumato.evaluation.evaluation import FAMILIES, Evaluation
from sfumato.evaluation.gather import pair_tables
from sfumato.evaluation.metric import metrics
from sfumato.evaluation.metrics.structure import association_rows
from sfumato.evaluation.pair import Pair, sampling_error
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.threads import one_thread

if TYPE_CHECKING:
    from sfumato.schema import Schema
    from sfumato.tables.dialect import CsvDialect


def evaluate_tables(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    schema: Schema | None = None,
    dialect: CsvDialect | None = None,
    settings: Settings | None = None,
    families: Sequence[str] | None = None,
    person: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Read the tables and evaluate them; see `sfumato.evaluate`. `person`: the column that tells persons
    apart; default: that of the schema.
    """
    settings = settings or Settings()
    chosen = _families(families)
    if progress is not None:
        progress("reading the tables")
    pair = pair_tables(real, synthetic, holdout=holdout, schema=schema, dialect=dialect, person=person)
    return evaluate_pair(pair, settings, families=chosen, progress=progress)


def evaluate_pair(
    pair: Pair,
    settings: Settings,
    *,
    families: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Take every metric of the chosen families (default: all) of tables that were read.

    Raises UsageError when an option names a column that the real table does not have.
    """
    chosen = _families(families)
    _check_names(pair, settings)
    outcomes, seconds = [], {}
    with one_thread():
        for name in metrics:
            metric = metrics[name]
            if not set(metric.families) & set(chosen):
                continue
            if progress is not None:
                progress(name)
            start = time.monotonic()
            outcomes.extend(each for each in metric.outcomes(pair, settings) if each.family in chosen)
            seconds[name] = round(time.monotonic() - start, 3)
    return Evaluation(outcomes=tuple(outcomes), pair=pair, facts=_facts(pair, settings, seconds))


def _families(families: Sequence[str] | None) -> tuple[str, ...]:
    if families is None or families is FAMILIES:
        return FAMILIES
    known = {family for name in metrics for family in metrics[name].families} | {"attacks"}
    for family in families:
        if family not in known:
            raise UsageError(f"there is no family {family!r}", mend=f"known: {', '.join(sorted(known))}")
    return tuple(families)


def _check_names(pair: Pair, settings: Settings) -> None:
    known = {column.name for column in pair} | set(pair.absent) | set(pair.ignored)
    for option, names in settings.names.items():
        for name in names:
            if name not in known:
                raise UsageError(
                    f"{option}: the real table has no column {name!r}",
                    mend=f"known: {', '.join(sorted(known))}",
                )


def _facts(pair: Pair, settings: Settings, seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "rows": {
            "real": pair.real_rows,
            "synthetic": pair.synthetic_rows,
            "holdout": pair.holdout_rows,
        },
        "columns": {
            "compared": [{"name": column.name, "kind": column.kind} for column in pair],
            "absent": list(pair.absent),
            "extra": list(pair.extra),
            "ignored": dict(pair.ignored),
        },
        "notes": list(pair.notes),
        "target": settings.target,
        "seed": settings.seed,
        "sampling": {
            "rows for models": _drawn(pair, settings.rows_for(len(pair.columns))),
            "rows for associations": _drawn(pair, association_rows(len(pair.columns))),
            "sets of columns": {"pairs at most": settings.pairs, "larger sets at most": settings.sets},
        },
        "seconds": seconds,
    }


def _drawn(pair: Pair, rows: int) -> dict[str, Any]:
    """How many rows of each side are used, and the largest standard error of a share among them."""
    sides = {"real": pair.real_rows, "synthetic": pair.synthetic_rows}
    errors = [sampling_error(min(rows, whole), whole) for whole in sides.values() if whole]
    return {side: min(rows, whole) for side, whole in sides.items()} | {
        "largest standard error of a share": max(errors, default=0.0)
    }

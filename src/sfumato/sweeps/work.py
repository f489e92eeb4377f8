"""One point of a sweep, done: fit, draw, compare. Runs in a process of its own."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen

from sfumato.errors import SfumatoError
from sfumato.sweeps.compare import compare
from sfumato.sweeps.points import Point, Row

if TYPE_CHECKING:
    import polars as pl


@frozen(kw_only=True)
class Setup:
    """What all points of a sweep have in common."""

    delta: float | None
    options: Mapping[str, Mapping[str, Any]]
    """Options by method."""
    schema: Any
    unit: tuple[str, int] | None
    rows: int | None
    """Synthetic rows; None: the noisy row count."""
    holdout: float
    """Share of the rows that is left out of every fit, for measuring risk."""
    metrics: tuple[str, ...]
    ledger: str | None
    dataset: str | None

    def state(self) -> dict[str, Any]:
        """What results depend on, JSON-able; a ledger is not part of it."""
        facts = attrs.asdict(self)
        return {key: value for key, value in facts.items() if key not in ("ledger", "dataset")}


def run_point(point: Point, setup: Setup, table: pl.DataFrame) -> Row:
    """The row of one point. What goes wrong with the job is a row that says so."""
    row: Row = {**attrs.asdict(point), "status": "done", "error": ""}
    started = time.perf_counter()
    try:
        fitted, held = _split(table, setup.holdout, point.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            synthetic = _synthetic(point, setup, fitted, row, started)
            row["metrics"] = compare(fitted, synthetic, held, metrics=setup.metrics)
    except SfumatoError as error:
        row |= {"status": "failed", "error": error.message, "metrics": {}}
    return row


def _synthetic(point: Point, setup: Setup, fitted: Any, row: Row, started: float) -> Any:
    import polars as pl

    from sfumato.api import fit

    model = fit(
        fitted,
        epsilon=point.epsilon,
        delta=setup.delta,
        method=point.method,
        schema=setup.schema,
        unit=setup.unit,
        options=setup.options.get(point.method),
        ledger=setup.ledger,
        dataset=setup.dataset,
    )
    statement = model.statement
    row |= {
        "stated_epsilon": None if statement.void else statement.epsilon,
        "delta": statement.delta,
        "guarantee": not statement.void,
        "fit_seconds": round(time.perf_counter() - started, 3),
    }
    return pl.concat(model.frames(setup.rows, seed=point.seed))


def _split(table: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Rows to fit and rows held out, by a shuffle that depends on the seed alone."""
    if share == 0 or table.height < 2:
        return table, None
    cut = min(max(1, round(share * table.height)), table.height - 1)
    order = np.random.default_rng([seed, 20]).permutation(table.height)
    return table[np.sort(order[cut:])], table[np.sort(order[:cut])]


_TABLE: Any = None
_SETUP: Any = None


def begin(table: Any, setup: Setup) -> None:
    """Once in every process: keep what all its points need."""
    global _TABLE, _SETUP
    _TABLE, _SETUP = table, setup


def work(point: Point) -> Row:
    """One point, in a process that has begun."""
    return run_point(point, _SETUP, _TABLE)

"""The plots of the internal page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.report.figures import Histogram, Matrix, histogram, matrix, scatter
from sfumato.report.page import Figures, Section

if TYPE_CHECKING:
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.evaluation.outcome import Details, Outcome
    from sfumato.evaluation.pair import Pair, PairedColumn

Floats = npt.NDArray[np.float64]

HISTOGRAMS = 60
MATRIX = 60
"""So many columns at most have a place in a matrix: those with the pairs that are farthest off."""
BARS = 24
BINS = 30
LEGEND = ("real rows", "synthetic rows")


def pictures(evaluation: Evaluation) -> Iterator[Section]:
    """One section for each kind of plot that there are numbers for."""
    if evaluation.pair is not None and evaluation.pair.columns:
        yield _histograms(evaluation.pair, _order(evaluation))
    yield _relations(evaluation)
    yield _axes(evaluation)
    yield _scatters(evaluation)


def outcome_of(evaluation: Evaluation, name: str) -> Outcome | None:
    """The outcome called `name`; None when it was not taken."""
    return evaluation[name] if name in evaluation else None  # noqa: SIM401  an evaluation is no dict


def _order(evaluation: Evaluation) -> list[str]:
    outcome = outcome_of(evaluation, "marginals.tv1")
    return (
        []
        if outcome is None or outcome.details is None
        else [str(name) for name in outcome.details.column("column")]
    )


def _histograms(pair: Pair, order: list[str]) -> Section:
    names = [name for name in order if name in pair] or [column.name for column in pair.columns]
    drawn = tuple(_histogram(pair[name]) for name in names[:HISTOGRAMS])
    left = len(names) - len(drawn)
    return Section(
        key="columns",
        title="Distribution of each column",
        blocks=(
            Figures(
                caption="Shares of values, worst column first",
                drawings=drawn,
                legend=LEGEND,
                note=f"{left} more columns, which are less far off, are not drawn." if left > 0 else "",
            ),
        ),
    )


def _histogram(column: PairedColumn) -> Histogram:
    if column.is_number:
        values = column.values("real")
        values = values[np.isfinite(values)]
        if np.unique(values).size > 1:
            return _numbers(column, values)
    real, synthetic, labels = column.shares("real"), column.shares("synthetic"), [*column.labels, "missing"]
    if not column.missing("real").any() and not column.missing("synthetic").any():
        real, synthetic, labels = real[:-1], synthetic[:-1], labels[:-1]
    if len(labels) > BARS:
        first = np.sort(np.argsort(-real, kind="stable")[: BARS - 1])
        rest = np.setdiff1d(np.arange(real.size), first)
        labels = [*(labels[i] for i in first), f"{rest.size} others"]
        real, synthetic = (np.append(each[first], each[rest].sum()) for each in (real, synthetic))
    elif not column.is_number and len(labels) > 1:
        mixed = np.argsort(-real, kind="stable")
        real, synthetic, labels = real[mixed], synthetic[mixed], [labels[i] for i in mixed]
    return histogram(column.name, labels, real, synthetic)


def _numbers(column: PairedColumn, values: Floats) -> Histogram:
    """Ranges of equal width between the outer half per cents of the real values; what lies outside is at
    the ends.
    """
    low, high = (float(end) for end in np.quantile(values, [0.005, 0.995]))
    if low == high:
        low, high = float(values.min()), float(values.max())
    edges, ends = _ranges(low, high, whole=column.integral)
    labels = [column.spell(a) if a == b else f"{column.spell(a)} to {column.spell(b)}" for a, b in ends]
    labels[0], labels[-1] = column.spell(ends[0][0]), column.spell(ends[-1][1])
    shares = []
    for side in ("real", "synthetic"):
        given = column.values(side)
        known = np.clip(given[np.isfinite(given)], edges[0], edges[-1])
        shares.append(np.histogram(known, edges)[0] / max(given.size, 1))
    absent = [
        float(np.isnan(column.values(side)).mean()) if column.values(side).size else 0.0
        for side in ("real", "synthetic")
    ]
    note = (
        f"without a number: {absent[0]:.1%} of real rows, {absent[1]:.1%} of synthetic rows"
        if any(absent)
        else ""
    )
    return histogram(column.name, labels, shares[0], shares[1], note=note)


def _ranges(low: float, high: float, *, whole: bool) -> tuple[Floats, list[tuple[float, float]]]:
    """Edges of at most `BINS` ranges of equal width, and the first and last value of each. Ranges of whole
    numbers hold equally many each, and begin and end with whole numbers.
    """
    if not whole:
        edges = np.linspace(low, high, BINS + 1)
        return edges, list(pairwise(edges.tolist()))
    step = math.ceil((math.ceil(high) - math.floor(low) + 1) / BINS)
    starts = np.arange(math.floor(low), math.ceil(high) + 1, step, dtype=np.float64)
    edges = np.append(starts, starts[-1] + step) - 0.5
    return edges, [(start, start + step - 1) for start in starts.tolist()]


def _relations(evaluation: Evaluation) -> Section:
    blocks = []
    for name, caption, signed in (
        ("structure.pearson", "Correlation of numbers (Pearson)", True),
        ("structure.cramers_v", "Association of categories (Cramér's V)", False),
    ):
        outcome = outcome_of(evaluation, name)
        if outcome is not None and outcome.details is not None and outcome.details.rows:
            blocks.append(
                Figures(
                    caption=caption,
                    drawings=_matrices(outcome, signed=signed),
                    note=_shades(signed=signed, drawn=outcome.details),
                )
            )
    return Section(
        key="relations",
        title="Relations between columns, side by side",
        intro="Both squares of a row should look alike, and the third should be empty.",
        blocks=tuple(blocks),
    )


def _shades(*, signed: bool, drawn: Details) -> str:
    shades = "Blue is positive, orange is negative; the darker" if signed else "The darker"
    return (
        f"Numbers along the sides are those of the list. {shades}, the stronger. In the difference blue "
        "means: stronger in the synthetic rows."
        + (
            f" Of {names} columns the {MATRIX} with the pairs that are farthest off are drawn."
            if (names := len({*drawn.column("column a"), *drawn.column("column b")})) > MATRIX
            else ""
        )
    )


def _matrices(outcome: Outcome, *, signed: bool) -> tuple[Matrix, ...]:
    details = outcome.details
    assert details is not None
    names = list(dict.fromkeys(name for row in details for name in (row["column a"], row["column b"])))
    names = sorted(map(str, names[:MATRIX]))
    place = {name: i for i, name in enumerate(names)}
    values = {side: np.full((len(names), len(names)), np.nan) for side in ("real", "synthetic")}
    for side in values:
        np.fill_diagonal(values[side], 1.0)
    for row in details:
        if not {row["column a"], row["column b"]} <= set(place):
            continue
        i, j = place[str(row["column a"])], place[str(row["column b"])]
        for side, table in values.items():
            cell = row[side]
            table[i, j] = table[j, i] = float(cell) if isinstance(cell, int | float) else np.nan
    far = values["synthetic"] - values["real"]
    return (
        matrix("real rows", names, values["real"], signed=signed),
        matrix("synthetic rows", names, values["synthetic"], signed=signed, named=False),
        matrix("difference", names, far, signed=True, named=False),
    )


def _axes(evaluation: Evaluation) -> Section:
    outcome = outcome_of(evaluation, "structure.pca")
    if outcome is None or outcome.details is None or not outcome.details.rows:
        return Section(key="axes", title="Principal axes")
    cells = {
        side: [[row["x"], row["y"]] for row in outcome.details if row["side"] == side]
        for side in ("real", "synthetic")
    }
    points = {side: np.array(each, dtype=np.float64).reshape(-1, 2) for side, each in cells.items()}
    every = np.concatenate(list(points.values()))
    ends = np.quantile(every, [0.005, 0.995], axis=0)
    pad = np.maximum((ends[1] - ends[0]) * 0.05, 1e-9)
    (left, low), (right, high) = (ends[0] - pad).tolist(), (ends[1] + pad).tolist()
    drawings = [
        scatter(
            f"{side} rows",
            "first axis",
            "second axis",
            [(side, xy[:, 0], xy[:, 1])],
            bounds=(left, right, low, high),
        )
        for side, xy in points.items()
    ]
    return Section(
        key="axes",
        title="Rows along the two principal axes",
        intro="The two directions in which real rows differ most; both clouds should have the same "
        "shape. Points beyond the frame are drawn on it.",
        blocks=(Figures(caption="A sample of rows", drawings=drawings),),
    )


def _scatters(evaluation: Evaluation) -> Section:
    """Shares of values, and scores of predictions: points on the diagonal are right."""
    drawings = []
    made = (
        ("structure.dimension_wise_probability", "Share of each value", "real rows", "synthetic rows"),
        ("prediction.dimension_wise", "Predicting each column from all others", "learned from real rows",
         "learned from synthetic rows"),
    )  # fmt: skip
    for name, title, across, up in made:
        outcome = outcome_of(evaluation, name)
        if outcome is None or outcome.details is None:
            continue
        known = [
            row
            for row in outcome.details
            if isinstance(row["real"], float) and isinstance(row["synthetic"], float)
        ]
        if not known:
            continue
        x, y = (np.array([row[side] for row in known], dtype=np.float64) for side in ("real", "synthetic"))
        far = np.argsort(-np.abs(x - y), kind="stable")[:3]
        named = [(float(x[i]), float(y[i]), _name(known[i])) for i in far if abs(x[i] - y[i]) > 0.02]
        drawings.append(scatter(title, across, up, [("one", x, y)], diagonal=True, named=named))
    caption = "Dimension-wise probability and prediction"
    return Section(
        key="dimensions",
        title="Value by value, and prediction by prediction",
        intro="Each point is a value of a column (left) or a column that is predicted (right). Points on "
        "the dashed line are the same in both tables.",
        blocks=(Figures(caption=caption, drawings=drawings),) if drawings else (),
    )


def _name(row: dict) -> str:
    value = row.get("value")
    text = f"{row['column']}" if value is None else f"{row['column']}: {value}"
    return text if len(text) <= 28 else text[:27] + "…"

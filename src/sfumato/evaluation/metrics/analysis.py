"""Analysis: would somebody who runs a regression, or reads a table, come to the same conclusions?

Both sides get the same design: numbers as they are, categories one-hot without the commonest real level, at
most `LEVELS` levels each. Rows with a missing number or outcome are left out, as most software does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.intervals import clopper_pearson
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.regression import Estimates, least_squares, logistic
from sfumato.evaluation.settings import Settings

LEVELS = 12
CELLS = 200
Z = 1.959963984540054
"""The 97.5 % point of the normal law."""
SIDES: tuple[Side, ...] = ("real", "synthetic")
_KARR = "Karr, Kohnen, Oganian, Reiter, Sanil 2006, A framework for evaluating the utility of data altered"


def _measure(name: str, title: str, meaning: str, source: str) -> Measure:
    return Measure(
        name=f"analysis.{name}", title=title, family="analysis", meaning=meaning, direction="higher",
        ideal=1.0, source=source,
    )  # fmt: skip


OVERLAP = _measure(
    "overlap", "Overlap of confidence intervals",
    "Mean overlap of the 95 % intervals of a regression's coefficients; 1 the same, 0 apart.", _KARR,
)  # fmt: skip
SIGNS = _measure(
    "sign", "Agreement of signs",
    "Share of the coefficients that are clearly not 0 in the real table that have the same sign.",
    "a share of coefficients; no paper needed",
)  # fmt: skip
TABLE = _measure(
    "table_overlap", "Overlap of a table's intervals",
    "Mean overlap of the 95 % intervals of the shares in the table of the chosen columns.", _KARR,
)  # fmt: skip


@metric("analysis.regression", OVERLAP, SIGNS)
def regression(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Coefficients of the chosen regression on both sides: logistic for two values, least squares for a
    number.
    """
    names = settings.regression
    if not names:
        raise NotApplicable("no regression was chosen")
    if len(names) < 2:
        raise NotApplicable("the regression has no predictor")
    if any(name not in pair for name in names):
        raise NotApplicable("a column of the regression is not in both tables, or is not compared")
    outcome = pair[names[0]]
    levels = np.flatnonzero(outcome.counts("real")[:-1])
    if not outcome.is_number and levels.size != 2:
        raise NotApplicable("the outcome is neither a number nor has it exactly two values")
    terms = [term for name in names[1:] for term in _terms(pair[name])]
    both = [_estimates(pair, outcome, levels, terms, names[1:], side) for side in SIDES]
    if np.isnan(both[0].errors).all():
        raise NotApplicable("the real rows do not determine the regression")
    rows: list[tuple[Cell, ...]] = []
    for place, (column, label, _) in enumerate([("(constant)", "", 0), *terms]):
        ends = [_ends(each, place) for each in both]
        if math.isnan(ends[0][0]):
            continue
        share = 0.0 if math.isnan(ends[1][0]) else overlap(*ends)
        rows.append(
            (column, label, *(float(each.coefficients[place]) for each in both), share, *ends[0], *ends[1])
        )
    header = (
        "column",
        "value",
        "real",
        "synthetic",
        "overlap",
        "real low",
        "real high",
        "synthetic low",
        "synthetic high",
    )
    details = Details(header, worst_first(rows, 4, largest=False))
    facts = {
        "model": "least squares" if outcome.is_number else "logistic regression",
        "coefficients": len(rows),
    }
    if np.isnan(both[1].errors).all():
        facts["remark"] = "the synthetic rows do not determine the regression"
    yield OVERLAP.found(float(np.mean([float(row[4] or 0) for row in rows])), details=details, facts=facts)
    clear = [row for row in rows if row[0] != "(constant)" and float(row[5] or 0) * float(row[6] or 0) > 0]
    if not clear:
        yield SIGNS.not_applicable("no coefficient is clearly different from 0 in the real rows")
        return
    same = [float(row[2] or 0) * float(np.nan_to_num(float(row[3] or 0))) > 0 for row in clear]
    yield SIGNS.found(float(np.mean(same)), facts={"coefficients": len(clear)})


def overlap(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Mean share of both intervals that is common to them; 0 when they are apart, 1 for equal points."""
    common = min(first[1], second[1]) - max(first[0], second[0])
    if common < 0:
        return 0.0
    widths = [end - start for start, end in (first, second)]
    return float(np.mean([common / width if width > 0 else 1.0 for width in widths]))


def _ends(estimates: Estimates, place: int) -> tuple[float, float]:
    middle, wide = float(estimates.coefficients[place]), Z * float(estimates.errors[place])
    return middle - wide, middle + wide


def _terms(column: PairedColumn) -> list[tuple[str, str, int]]:
    """Columns of the design: name, label and code; code -1 is the number itself."""
    if column.is_number:
        return [(column.name, "", -1)]
    counts = column.counts("real")
    common = [int(code) for code in np.argsort(-counts, kind="stable")[: LEVELS + 1] if counts[code]]
    names = [*column.labels, "(missing)"]
    return [(column.name, names[code], code) for code in common[1:]]


def _estimates(
    pair: Pair, outcome: PairedColumn, levels: np.ndarray, terms: list, names: tuple[str, ...], side: Side
) -> Estimates:
    known = ~outcome.missing(side)
    for column in [outcome, *(pair[name] for name in names)]:
        if column.is_number:
            known &= ~np.isnan(column.values(side))
    parts = [np.ones(int(known.sum()))]
    for name, _, code in terms:
        column = pair[name]
        parts.append(column.values(side)[known] if code < 0 else (column.codes(side)[known] == code) * 1.0)
    design = np.column_stack(parts)
    if outcome.is_number:
        return least_squares(design, outcome.values(side)[known])
    known_codes = outcome.codes(side)[known]
    return logistic(design, (known_codes == levels[-1]).astype(np.float64))


@metric("analysis.table", TABLE)
def table(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Shares of the cells of the table over the chosen columns, the commonest `CELLS` real ones."""
    if not settings.groups:
        raise NotApplicable("no columns of a table were chosen")
    columns = [pair[name] for name in settings.groups if name in pair]
    if not columns:
        raise NotApplicable("the chosen columns are not in both tables, or are not compared")
    index, cells = [np.zeros(pair.rows(side), dtype=np.int64) for side in SIDES], 1
    for column in columns:
        both = [each * column.size + column.codes(side) for each, side in zip(index, SIDES, strict=True)]
        known, flat = np.unique(np.concatenate(both), return_inverse=True)
        index, cells = np.split(flat, [len(both[0])]), known.size
    real, made = (np.bincount(each, minlength=cells) for each in index)
    chosen = np.argsort(-real, kind="stable")[:CELLS]
    rows: list[tuple[Cell, ...]] = []
    for cell in chosen[real[chosen] > 0]:
        first = int(np.flatnonzero(index[0] == cell)[0])
        label = ", ".join([*column.labels, "(missing)"][column.codes("real")[first]] for column in columns)
        ends = [clopper_pearson(int(side[cell]), int(side.sum())) for side in (real, made)]
        share = overlap(*((each.low, each.high) for each in ends))
        rows.append((label, float(real[cell] / real.sum()), float(made[cell] / made.sum()), share))
    header = (", ".join(column.name for column in columns), "real", "synthetic", "overlap")
    details = Details(header, worst_first(rows, 3, largest=False))
    yield TABLE.found(
        float(np.mean([float(row[3] or 0) for row in rows])), details=details, facts={"cells": len(rows)}
    )

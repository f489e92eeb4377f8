"""Subgroups: are small groups served as well as large ones?

For every value of the chosen columns with at least `LEAST` real rows: the error of all one-way marginals
within the group, less what a fresh real table of that size would have; and the loss of a target's models
within it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.distances import expected_by_chance, total_variation
from sfumato.evaluation.learners import accuracy, r_squared
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import Split
from sfumato.evaluation.targets import Target, Trained

LEAST = 30


def _measure(name: str, title: str, meaning: str, low: float, high: float) -> Measure:
    return Measure(
        name=f"analysis.{name}", title=title, family="analysis", meaning=meaning, low=low, high=high,
        source="Bhanot, Qi, Erickson, Guyon, Bennett 2021, Fairness in synthetic healthcare data",
    )  # fmt: skip


WORST = _measure(
    "subgroups", "Error of the worst subgroup",
    "Mean one-way total variation within the group where it is largest, beyond what chance alone would give.",
    0.0, 1.0,
)  # fmt: skip
SPREAD = _measure(
    "subgroup_gap", "Gap between subgroups",
    "Difference of that error between the worst and the best served group; 0 means all are served alike.",
    0.0, 1.0,
)  # fmt: skip
SHARES = _measure(
    "subgroup_shares", "Error of subgroups' sizes", "Largest relative error of a group's share of the rows.",
    0.0, float("inf"),
)  # fmt: skip
LOSS = _measure(
    "subgroup_loss", "Loss of the worst subgroup",
    "Largest loss of accuracy within a group when models of the target learn from synthetic rows.",
    -1.0, 1.0,
)  # fmt: skip


def _groups(pair: Pair, settings: Settings) -> list[tuple[PairedColumn, int]]:
    """Columns and codes of groups with enough real rows; at least two of them."""
    if not settings.groups:
        raise NotApplicable("no subgroups were chosen")
    columns = [pair[name] for name in settings.groups if name in pair]
    found = [
        (column, int(code))
        for column in columns
        for code in np.flatnonzero(column.counts("real")[:-1] >= LEAST)
    ]
    if len(found) < 2:
        raise NotApplicable(f"fewer than two subgroups have {LEAST} real rows")
    return found


@metric("analysis.subgroups", WORST, SPREAD, SHARES)
def subgroup_error(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """One-way marginals within each group; a group that is never drawn has error 1."""
    rows: list[tuple[Cell, ...]] = []
    for group, code in _groups(pair, settings):
        chosen = {side: group.codes(side) == code for side in ("real", "synthetic")}
        counts = [int(chosen[side].sum()) for side in ("real", "synthetic")]
        shares = [counts[0] / pair.real_rows, counts[1] / pair.synthetic_rows]
        far, chance = 1.0, 0.0
        others = [column for column in pair if column.name != group.name]
        if counts[1] and others:
            pairs = [
                [_shares(column, side, chosen[side]) for side in ("real", "synthetic")] for column in others
            ]
            far = float(np.mean([total_variation(*both) for both in pairs]))
            chance = float(np.mean([expected_by_chance(both[0], *counts) for both in pairs]))
        error = max(0.0, far - chance)
        rows.append(
            (group.name, group.labels[code], *counts, far, chance, error, abs(shares[1] / shares[0] - 1))
        )
    header = (
        "column", "group", "real rows", "synthetic rows", "tv", "by chance", "error",
        "relative error of size",
    )  # fmt: skip
    details = Details(header, worst_first(rows, 6))
    errors = [float(row[6] or 0.0) for row in rows]
    yield WORST.found(max(errors), details=details, facts={"groups": len(rows), "least rows": LEAST})
    yield SPREAD.found(max(errors) - min(errors))
    yield SHARES.found(max(float(row[7] or 0.0) for row in rows))


def _shares(column: PairedColumn, side: Side, chosen: np.ndarray) -> np.ndarray:
    counts = np.bincount(column.codes(side)[chosen], minlength=column.size)
    return counts / counts.sum()


def loss_by_group(
    pair: Pair, settings: Settings, target: Target, parts: Split, trained: list[Trained]
) -> Outcome:
    """Mean over the five models of the accuracy (R² of a number) within each group, learnt from real and
    synthetic.
    """
    try:
        groups = _groups(pair, settings)
    except NotApplicable as reason:
        return LOSS.not_applicable(str(reason))
    answers = target.answers(parts.test_side)[parts.test]
    score = r_squared if target.column.is_number else accuracy
    rows: list[tuple[Cell, ...]] = []
    for group, code in groups:
        inside = group.codes(parts.test_side)[parts.test] == code
        if inside.sum() < LEAST:
            continue
        scores = np.mean(
            [[score(answers[inside], each.said[part][inside]) for part in (0, 1)] for each in trained], axis=0
        )
        if np.isfinite(scores).all():
            gap = float(np.clip(scores[0] - scores[1], -1, 1))
            rows.append((group.name, group.labels[code], int(inside.sum()), *scores.tolist(), gap))
    if not rows:
        return LOSS.not_applicable(f"no subgroup has {LEAST} test rows")
    details = Details(("column", "group", "test rows", "real", "synthetic", "loss"), worst_first(rows, 5))
    gaps = [float(row[5] or 0.0) for row in rows]
    facts = {**parts.facts, "score": "R²" if target.column.is_number else "accuracy", "best": min(gaps)}
    return LOSS.found(max(gaps), details=details, facts=facts)

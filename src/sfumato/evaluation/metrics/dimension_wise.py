"""Dimension-wise prediction: each column from all others, learnt on real and on synthetic rows, tested on
real ones.

A column with two values is scored by AUROC of logistic regression, another category by F1 of a small forest
(averaged over rows), a number by R² of the lasso (Choi et al. 2017; Tantipongpipat et al. 2021, section 5).
A model that has met one class only scores as it does, 0.5 for AUROC: a collapse is shown, not dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from sfumato.evaluation.features import Features, features
from sfumato.evaluation.learners import Learner, accuracy, auc, chance_of, fitted, r_squared
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import Split, split

LEVELS = 10
COLUMNS = 200
"""So many columns at most are predicted."""
SHARE_OF_ROWS = 2

GAP = Measure(
    name="prediction.dimension_wise",
    title="Dimension-wise prediction",
    family="prediction",
    meaning="Mean difference of how well columns are predicted when learnt from synthetic, not real, rows.",
    source="Choi et al. 2017; Tantipongpipat et al. 2021, section 5",
)


@metric("prediction.dimension_wise", GAP, needs="sklearn")
def dimension_wise_prediction(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Every column in turn is the target. R² below 0 counts as 0 in the mean: no better than the mean."""
    if len(pair.columns) < 2:
        raise NotApplicable("there are fewer than two columns")
    limit = max(2, settings.rows_for(len(pair.columns)) // SHARE_OF_ROWS)
    parts = split(pair, at_most=limit, seed=settings.seed)
    if parts.test_side == "holdout":
        taken = pair.take({"real": parts.real, "synthetic": parts.synthetic, "holdout": parts.test})
    else:
        real = np.concatenate([parts.real, parts.test])
        taken = pair.take({"real": real, "synthetic": parts.synthetic})
    parts = _renumbered(parts)
    rows: list[tuple[Cell, ...]] = []
    gaps = []
    ready = _Blocks(taken, parts)
    for column in _targets(taken, settings.seed):
        kind, real, made = _scores(column, parts, ready, settings.seed)
        gap = abs(max(real, 0.0) - max(made, 0.0)) if not math.isnan(real + made) else math.nan
        rows.append((column.name, kind, real, made, gap))
        if not math.isnan(gap):
            gaps.append(min(gap, 1.0))
    details = Details(("column", "score", "real", "synthetic", "difference"), worst_first(_plain(rows), 4))
    if not gaps:
        yield GAP.not_applicable("no column varies in the test rows", details=details)
        return
    facts = {
        **parts.facts, "columns": len(gaps), "columns without a score": len(rows) - len(gaps),
        "standard error of the mean over columns": float(np.std(gaps, ddof=1) / math.sqrt(len(gaps)))
        if len(rows) < len(taken.columns) and len(gaps) > 1 else 0.0,
    }  # fmt: skip
    yield GAP.found(float(np.mean(gaps)), details=details, facts=facts)


def _targets(pair: Pair, seed: int) -> tuple[PairedColumn, ...]:
    """All columns, or `COLUMNS` of them drawn at random."""
    if len(pair.columns) <= COLUMNS:
        return pair.columns
    chosen = np.random.default_rng(seed).choice(len(pair.columns), COLUMNS, replace=False)
    return tuple(pair.columns[place] for place in np.sort(chosen))


def _plain(rows: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    return [
        tuple(None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row) for row in rows
    ]


def _renumbered(parts: Split) -> Split:
    """Places after only the rows of the split were kept."""
    real = np.arange(len(parts.real))
    first = 0 if parts.test_side == "holdout" else len(real)
    test = np.arange(first, first + len(parts.test))
    return attrs.evolve(parts, real=real, synthetic=np.arange(len(parts.synthetic)), test=test)


class _Blocks:
    """Features of all columns made once; leaving one out is leaving out its block."""

    def __init__(self, pair: Pair, parts: Split) -> None:
        self._parts = parts.sides
        made = features(pair, levels=LEVELS)
        self._linear = {name: self._of(made, name, linear=True) for name in made.names}
        self._trees = {name: self._of(made, name, linear=False) for name in made.names}

    def _of(self, made: Features, name: str, *, linear: bool) -> list[np.ndarray]:
        alone = attrs.evolve(made, names=(name,))
        return [(alone.linear if linear else alone.trees)(side, rows) for side, rows in self._parts]

    def without(self, name: str, *, linear: bool) -> list[np.ndarray]:
        """Real training, synthetic training and test rows, without the column `name`."""
        blocks = self._linear if linear else self._trees
        return [
            np.concatenate([block[part] for other, block in blocks.items() if other != name], axis=1)
            for part in range(3)
        ]


def _scores(column: PairedColumn, parts: Split, ready: _Blocks, seed: int) -> tuple[str, float, float]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import Lasso, LogisticRegression

    sides = parts.sides
    if column.is_number:
        learner, kind = Learner("lasso", lambda: Lasso(alpha=0.01, max_iter=300), linear=True), "R²"
        targets = [column.values(side)[rows] for side, rows in sides]
        known = [~np.isnan(each) for each in targets]
        real = targets[0][known[0]]
        if not real.size or not known[2].any():
            return kind, math.nan, math.nan
        mean, spread = real.mean(), real.std() or 1.0
        targets = [(each - mean) / spread for each in targets]
    else:
        targets = [column.codes(side)[rows] for side, rows in sides]
        known = [np.ones(len(each), dtype=bool) for each in targets]
        levels = np.flatnonzero(column.counts("real"))
        if levels.size == 2:
            learner, kind = (
                Learner("", lambda: LogisticRegression(solver="liblinear", max_iter=100), linear=True),
                "AUROC",
            )
        else:
            learner, kind = Learner("", lambda: RandomForestClassifier(10, random_state=seed)), "F1"
    blocks = ready.without(column.name, linear=learner.linear)
    if not blocks[0].shape[1] or np.unique(targets[2][known[2]]).size < 2:
        return kind, math.nan, math.nan
    found = []
    for part in (0, 1):
        if not known[part].any():
            found.append(0.5 if kind == "AUROC" else 0.0)
            continue
        if kind == "AUROC":
            level = int(np.flatnonzero(column.counts("real"))[-1])
            model = fitted(learner, blocks[part], targets[part] == level)
            found.append(auc(chance_of(model, blocks[2], 1), targets[2] == level))
            continue
        model = fitted(learner, blocks[part][known[part]], targets[part][known[part]])
        said = model.predict(blocks[2][known[2]])
        score = accuracy if kind == "F1" else r_squared
        found.append(score(targets[2][known[2]], said))
    return kind, found[0], found[1]

"""A target column, and five models of it: trained on real and on synthetic rows, tested on the same real
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import frozen

from sfumato.evaluation.features import features
from sfumato.evaluation.intervals import auc
from sfumato.evaluation.learners import accuracy, chance_of, classifiers, fitted, r_squared, regressors
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import Split


@frozen(eq=False)
class Target:
    """A column as answers, codes or values, and which rows have one; `level`: the rarer one of two."""

    column: PairedColumn
    level: int | None = None

    @property
    def score(self) -> str:
        """What models are scored by."""
        if self.column.is_number:
            return "R²"
        return "accuracy" if self.level is None else "AUROC"

    def answers(self, side: Side) -> np.ndarray:
        """One answer a row; NaN or the code of a missing cell where there is none."""
        return self.column.values(side) if self.column.is_number else self.column.codes(side)

    def known(self, pair: Pair) -> dict[Side, np.ndarray]:
        """Rows that have an answer."""
        return {
            side: ~self.column.missing(side) & ~np.isnan(self.answers(side)) for side in self.column.cells
        }


def target_of(pair: Pair, settings: Settings) -> Target:
    """The chosen target; NotApplicable when none was, or it cannot be predicted."""
    if settings.target is None:
        raise NotApplicable("no target column was chosen")
    if settings.target not in pair:
        where = "is not compared" if settings.target in pair.ignored else "is not in the synthetic table"
        raise NotApplicable(f"the target {where}")
    column = pair[settings.target]
    if len(pair.columns) < 2:
        raise NotApplicable("there is no other column to predict the target from")
    if column.is_number:
        return Target(column)
    levels = np.flatnonzero(column.counts("real")[:-1])
    if levels.size < 2:
        raise NotApplicable("the target does not vary in the real rows")
    rarer = min(levels.tolist(), key=lambda level: column.counts("real")[level])
    return Target(column, int(rarer) if levels.size == 2 else None)


@frozen(eq=False)
class Trained:
    """Both models of one learner on the test rows: what they say, and the score that it earns."""

    name: str
    said: tuple[np.ndarray, np.ndarray]
    ranked: tuple[np.ndarray, np.ndarray]


def models(pair: Pair, target: Target, parts: Split, seed: int) -> list[Trained]:
    """Five models of the target, each trained on both sides, on the test rows."""
    made = features(pair, without=(target.column.name,))
    sides = parts.sides
    matrices = {True: [made.linear(*side) for side in sides], False: [made.trees(*side) for side in sides]}
    answers = [target.answers(side)[rows] for side, rows in sides]
    found = []
    for learner in (regressors if target.column.is_number else classifiers)(seed):
        *rows, test = matrices[learner.linear]
        both = [fitted(learner, rows[part], answers[part]) for part in (0, 1)]
        said = tuple(model.predict(test) for model in both)
        ranked = tuple(_ranked(model, test, target, each) for model, each in zip(both, said, strict=True))
        found.append(Trained(learner.name, (said[0], said[1]), (ranked[0], ranked[1])))
    return found


def _ranked(model: Any, test: np.ndarray, target: Target, said: np.ndarray) -> np.ndarray:
    return said if target.level is None else chance_of(model, test, target.level)


def scorer(target: Target) -> Callable[[np.ndarray, np.ndarray], float]:
    """The score of a target: answers and what was said, or the chance of the level, to a number."""
    if target.column.is_number:
        return r_squared
    if target.level is None:
        return accuracy
    return lambda answers, chance: auc(chance, answers == target.level)

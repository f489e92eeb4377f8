"""Models that predict a column, trained on one table and scored on another; scikit-learn, imported late.

Classes are the codes of the target. A training table with one class gives a model that always says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.evaluation.intervals import auc

Matrix = npt.NDArray[np.float64]


@frozen
class Learner:
    """A model by name. `linear`: it takes the linear features, not those of trees."""

    name: str
    make: Callable[[], Any] = field(repr=False)
    linear: bool = False


@frozen(eq=False)
class Only:
    """The model of a target that does not vary where it is trained: it always answers `value`."""

    value: float

    def predict(self, rows: Matrix) -> np.ndarray:
        """The value, once a row."""
        return np.full(len(rows), self.value)


def classifiers(seed: int) -> tuple[Learner, ...]:
    """The five models of a target with classes."""
    from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    return (
        Learner("logistic regression", lambda: LogisticRegression(max_iter=300), linear=True),
        Learner("tree", lambda: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed)),
        Learner("random forest", lambda: RandomForestClassifier(60, min_samples_leaf=2, random_state=seed)),
        Learner("AdaBoost", lambda: AdaBoostClassifier(n_estimators=50, random_state=seed)),
        Learner("gradient boosting", lambda: HistGradientBoostingClassifier(max_iter=60, random_state=seed)),
    )


def regressors(seed: int) -> tuple[Learner, ...]:
    """The five models of a target that is a number."""
    from sklearn.ensemble import AdaBoostRegressor, HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.tree import DecisionTreeRegressor

    return (
        Learner("linear regression", lambda: Ridge(), linear=True),
        Learner("tree", lambda: DecisionTreeRegressor(min_samples_leaf=10, random_state=seed)),
        Learner("random forest", lambda: RandomForestRegressor(30, min_samples_leaf=5, random_state=seed)),
        Learner("AdaBoost", lambda: AdaBoostRegressor(n_estimators=30, random_state=seed)),
        Learner("gradient boosting", lambda: HistGradientBoostingRegressor(max_iter=60, random_state=seed)),
    )


def fitted(learner: Learner, rows: Matrix, answers: np.ndarray) -> Any:
    """The model trained on rows and answers."""
    if not len(answers) or (answers == answers[0]).all():
        return Only(float(answers[0]) if len(answers) else 0.0)
    return learner.make().fit(rows, answers)


def chance_of(model: Any, rows: Matrix, code: int) -> npt.NDArray[np.float64]:
    """The probability that a model gives the class `code`; a constant where it has not met it or only it."""
    if isinstance(model, Only):
        return np.full(len(rows), float(model.value == code))
    place = np.flatnonzero(model.classes_ == code)
    return model.predict_proba(rows)[:, place[0]] if place.size else np.zeros(len(rows))


def f1(answers: np.ndarray, said: np.ndarray, code: int) -> float:
    """2 hits / (2 hits + misses + false alarms) of one class; 0 where nothing is hit."""
    hits = float(((answers == code) & (said == code)).sum())
    return 2 * hits / max(2 * hits + float(((answers == code) != (said == code)).sum()), 1.0)


def accuracy(answers: np.ndarray, said: np.ndarray) -> float:
    """Share of rows that are right; the same as F1 averaged over rows (micro-F1)."""
    return float((answers == said).mean())


def r_squared(answers: np.ndarray, said: np.ndarray) -> float:
    """1 - Σ(y - ŷ)² / Σ(y - ȳ)², NaN when the answers do not vary."""
    spread = float(np.square(answers - answers.mean()).sum())
    return 1 - float(np.square(answers - said).sum()) / spread if spread > 0 else math.nan


__all__ = [
    "Learner",
    "Only",
    "accuracy",
    "auc",
    "chance_of",
    "classifiers",
    "f1",
    "fitted",
    "r_squared",
    "regressors",
]

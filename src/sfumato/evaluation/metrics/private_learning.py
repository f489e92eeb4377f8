"""What privacy on the task itself would cost: classifiers learnt from real rows under epsilon-DP.

A synthetic table serves every task; a private learner serves one. If the learner is much better, the table is
a poor bargain for that task. Each row is scaled to norm at most 1: numbers to [0, 1] by the declared bounds
(by the real range where there are none, which a real release would have to pay for), categories one-hot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Details, Direction, Measure, Outcome
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.private_erm import (
    LOGISTIC,
    SVM,
    Loss,
    long_noise,
    minimise,
    objective_perturbed,
    output_noise,
)
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import split
from sfumato.evaluation.targets import Target, target_of

PENALTIES = (1e-3, 1e-4, 1e-5, 1e-6)
ROWS = 3
"""So many times `model_rows` train: the noise shrinks with the number of rows."""
REPEATS = 3
TILTS = 2
"""Draws of the noise of output and of objective perturbation; the latter needs a fit each."""

_SOURCE = "Chaudhuri, Monteleoni, Sarwate 2011, Differentially private empirical risk minimization"


def _measure(name: str, title: str, meaning: str, source: str, direction: Direction) -> Measure:
    return Measure(
        name=f"prediction.{name}", title=title, family="prediction", meaning=meaning, direction=direction,
        low=-1.0 if name == "erm_margin" else 0.0, ideal=None, source=source,
    )  # fmt: skip


OUTPUT = _measure(
    "erm_output", "Private learner, output perturbation",
    "Best accuracy of a linear classifier learnt from real rows under epsilon-DP, noise on the weights.",
    f"{_SOURCE}, algorithm 1", "none",
)  # fmt: skip
OBJECTIVE = _measure(
    "erm_objective", "Private learner, objective perturbation",
    "Best accuracy of a linear classifier learnt from real rows under epsilon-DP, noise in the objective.",
    f"{_SOURCE}, algorithm 2", "none",
)  # fmt: skip
MARGIN = _measure(
    "erm_margin", "Synthetic rows against a private learner",
    "Accuracy of a linear classifier learnt from synthetic rows, less that of the best private learner.",
    f"{_SOURCE}; Bindschaedler, Shokri, Gunter 2017, table 4", "higher",
)  # fmt: skip


@metric("prediction.private", OUTPUT, OBJECTIVE, MARGIN)
def private_learning(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Accuracy on test rows of private, plain and synthetic-trained classifiers, for four penalties.

    The best penalty of each is taken by the test rows, which flatters the private ones: choosing is not
    charged.
    """
    target = target_of(pair, settings)
    if target.level is None:
        raise NotApplicable("the target does not have exactly two values")
    rows_at_most = ROWS * settings.rows_for(len(pair.columns))
    parts = split(pair, at_most=rows_at_most, seed=settings.seed, keep=target.known(pair))
    sides = parts.sides
    rows = [_bounded(pair, target, side, places) for side, places in sides]
    answers = [np.where(target.answers(side)[places] == target.level, 1.0, -1.0) for side, places in sides]
    rng = np.random.default_rng(settings.seed)
    found = []
    for loss in (LOGISTIC, SVM):
        for penalty in PENALTIES:
            scores = _accuracies(rows, answers, loss, penalty, settings.epsilon, rng)
            found.append((loss.name, penalty, *scores))
    table = np.array([row[2:] for row in found])
    plain, output, objective, made = table.max(axis=0)
    majority = float(max((answers[2] > 0).mean(), (answers[2] < 0).mean()))
    header = ("model", "penalty", "without privacy", "output", "objective", "synthetic")
    facts = {
        **parts.facts, "epsilon": settings.epsilon, "without privacy": float(plain), "synthetic": float(made),
        "always the commoner value": majority,
    }  # fmt: skip
    yield OUTPUT.found(float(output), details=Details(header, found), facts=facts)
    yield OBJECTIVE.found(float(objective), facts=facts)
    yield MARGIN.found(float(made - max(output, objective)), facts=facts)


def _accuracies(
    rows: list[Any],
    answers: list[np.ndarray],
    loss: Loss,
    penalty: float,
    epsilon: float,
    rng: np.random.Generator,
) -> tuple[float, float, float, float]:
    """Test accuracy: real rows, output and objective perturbation (means of draws), synthetic rows."""

    def accuracy(weights: np.ndarray) -> float:
        return float((np.where(rows[2] @ weights > 0, 1.0, -1.0) == answers[2]).mean())

    plain = minimise(rows[0], answers[0], loss=loss, penalty=penalty)
    made = minimise(rows[1], answers[1], loss=loss, penalty=penalty)
    rate = output_noise(rows[0].shape[0], penalty=penalty, epsilon=epsilon)
    output = [accuracy(plain + long_noise(len(plain), rate, rng)) for _ in range(REPEATS)]
    options = {"loss": loss, "penalty": penalty, "epsilon": epsilon, "rng": rng, "start": plain}
    tilted = [accuracy(objective_perturbed(rows[0], answers[0], **options)) for _ in range(TILTS)]
    return accuracy(plain), float(np.mean(output)), float(np.mean(tilted)), accuracy(made)


def _bounded(pair: Pair, target: Target, side: Side, places: np.ndarray) -> Any:
    """Rows of norm at most 1 with a constant, sparse."""
    from scipy.sparse import csr_array, hstack

    columns = [column for column in pair if column.name != target.column.name]
    blocks = [csr_array(np.ones((len(places), 1)))]
    for column in columns:
        blocks.append((_number if column.is_number else _one_hot)(column, side, places))
    return hstack(blocks, format="csr") / np.sqrt(len(columns) + 1)


def _one_hot(column: PairedColumn, side: Side, places: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    codes = column.codes(side)[places]
    shape = (len(codes), column.size)
    return csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=shape)


def _number(column: PairedColumn, side: Side, places: np.ndarray) -> Any:
    from scipy.sparse import csr_array

    from sfumato.evaluation.metrics.coverage import declared_ends

    low, high = declared_ends(column)
    real = column.values("real")
    real = real[~np.isnan(real)]
    low = low if low is not None else float(real.min()) if real.size else 0.0
    high = high if high is not None else float(real.max()) if real.size else 1.0
    values = column.values(side)[places]
    scaled = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    return csr_array(np.nan_to_num(scaled, nan=0.0)[:, None])

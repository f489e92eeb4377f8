"""Differentially private empirical risk minimisation: a linear classifier under epsilon-DP.

Chaudhuri, Monteleoni, Sarwate, "Differentially private empirical risk minimization", JMLR 12 (2011):
algorithm 1 (output perturbation) and algorithm 2 (objective perturbation), for logistic regression and for
the support vector machine with the Huber loss (sections 3.4.1 and 3.4.2). Rows have norm at most 1, answers
are ±1; neighbours differ in one row. It is a yardstick: noise comes from a seeded generator, and nothing of
it is for release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

Weights = npt.NDArray[np.float64]

HUBER = 0.5
"""Half the width of the smooth part of the hinge loss, the value of section 6.1."""


@frozen
class Loss:
    """A loss of the margin: value, derivative, and the bound c of its second derivative."""

    name: str
    value: Callable[[Weights], Weights] = field(repr=False)
    slope: Callable[[Weights], Weights] = field(repr=False)
    curvature: float


def _logistic(z: Weights) -> Weights:
    return np.logaddexp(0.0, -z)


def _logistic_slope(z: Weights) -> Weights:
    return -np.exp(-np.logaddexp(0.0, z))


def _huber(z: Weights) -> Weights:
    """Equation 7: 0 above 1+h, 1-z below 1-h, (1+h-z)²/4h between."""
    middle = np.square(1 + HUBER - z) / (4 * HUBER)
    return np.where(z > 1 + HUBER, 0.0, np.where(z < 1 - HUBER, 1 - z, middle))


def _huber_slope(z: Weights) -> Weights:
    return np.where(z > 1 + HUBER, 0.0, np.where(z < 1 - HUBER, -1.0, -(1 + HUBER - z) / (2 * HUBER)))


LOGISTIC = Loss("logistic regression", _logistic, _logistic_slope, 0.25)
SVM = Loss("support vector machine", _huber, _huber_slope, 1 / (2 * HUBER))


def minimise(
    rows: Any,
    answers: Weights,
    *,
    loss: Loss,
    penalty: float,
    tilt: Weights | None = None,
    start: Weights | None = None,
) -> Weights:
    """argmin of 1/n Σ loss(y f·x) + penalty/2 ‖f‖² + tilt·f/n. `rows`: an array or sparse matrix, n x d.

    `start`: where the search begins; the minimum is the same from anywhere.
    """
    from scipy.optimize import minimize

    count = rows.shape[0]
    tilt = np.zeros(rows.shape[1]) if tilt is None else tilt
    turned = rows.T.tocsr() if hasattr(rows, "tocsr") else rows.T

    def objective(weights: Weights) -> tuple[float, Weights]:
        margins = answers * (rows @ weights)
        value = loss.value(margins).mean() + penalty / 2 * weights @ weights + tilt @ weights / count
        slope = turned @ (answers * loss.slope(margins)) / count + penalty * weights + tilt / count
        return float(value), slope

    options = {"maxiter": 150, "ftol": 1e-9, "gtol": 1e-6}
    start = np.zeros(rows.shape[1]) if start is None else start
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x


def output_perturbed(
    rows: Any, answers: Weights, *, loss: Loss, penalty: float, epsilon: float, rng: np.random.Generator
) -> Weights:
    """Algorithm 1: the minimiser plus noise of density ∝ exp(-β‖b‖)."""
    weights = minimise(rows, answers, loss=loss, penalty=penalty)
    rate = output_noise(rows.shape[0], penalty=penalty, epsilon=epsilon)
    return weights + long_noise(len(weights), rate, rng)


def output_noise(count: int, *, penalty: float, epsilon: float) -> float:
    """β of algorithm 1, epsilon over the sensitivity 2/(n·penalty) of the minimiser (corollary 8)."""
    return count * penalty * epsilon / 2


def objective_perturbed(
    rows: Any,
    answers: Weights,
    *,
    loss: Loss,
    penalty: float,
    epsilon: float,
    rng: np.random.Generator,
    start: Weights | None = None,
) -> Weights:
    """Algorithm 2: the minimiser of the objective tilted by noise of density ∝ exp(-β‖b‖)."""
    rate, extra = objective_noise(rows.shape[0], loss=loss, penalty=penalty, epsilon=epsilon)
    tilt = long_noise(rows.shape[1], rate, rng)
    return minimise(rows, answers, loss=loss, penalty=penalty + extra, tilt=tilt, start=start)


def objective_noise(count: int, *, loss: Loss, penalty: float, epsilon: float) -> tuple[float, float]:
    """β and the added penalty Δ of algorithm 2, steps 1 to 3.

    ε' = ε - ln(1 + 2c/(nΛ) + c²/(nΛ)²); if it is not above 0, Δ = c/(n(e^(ε/4) - 1)) - Λ and ε' = ε/2. β =
    ε'/2.
    """
    ratio = loss.curvature / (count * penalty)
    left = epsilon - 2 * math.log1p(ratio)
    if left > 0:
        return left / 2, 0.0
    return epsilon / 4, loss.curvature / (count * math.expm1(epsilon / 4)) - penalty


def long_noise(size: int, rate: float, rng: np.random.Generator) -> Weights:
    """A vector of density ∝ exp(-rate‖b‖): an even direction, a length from Gamma(size, 1/rate)."""
    direction = rng.standard_normal(size)
    return direction / np.linalg.norm(direction) * rng.gamma(size, 1 / rate)

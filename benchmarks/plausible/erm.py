"""Empirical risk minimisation with differential privacy (Chaudhuri, Monteleoni, Sarwate 2011, algorithms 1 and 2).

Logistic and Huber losses, features of norm at most 1, L2 regularisation. Only a baseline of the benchmark: noise comes from
numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

HUBER = 0.5
Loss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def logistic(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss and derivative."""
    return np.logaddexp(0, -margin), -expit(-margin)


def huber(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hinge loss, smoothed within HUBER of its corner."""
    inside = np.abs(1 - margin) <= HUBER
    value = np.where(
        margin > 1 + HUBER, 0.0, np.where(inside, (1 + HUBER - margin) ** 2 / (4 * HUBER), 1 - margin)
    )
    slope = np.where(margin > 1 + HUBER, 0.0, np.where(inside, -(1 + HUBER - margin) / (2 * HUBER), -1.0))
    return value, slope


CURVATURE = {logistic: 0.25, huber: 1 / (2 * HUBER)}
"""Largest second derivative."""


def features(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    """One column a code, scaled to norm 1."""
    ends = np.cumsum([0, *sizes])
    made = np.zeros((len(codes), ends[-1]), dtype=np.float64)
    for column, start in enumerate(ends[:-1]):
        made[np.arange(len(codes)), start + codes[:, column]] = 1.0
    return made / math.sqrt(len(sizes))


def train(
    x: np.ndarray, y: np.ndarray, loss: Loss, strength: float, linear: np.ndarray | None = None
) -> np.ndarray:
    """argmin mean loss(y w·x) + strength/2 |w|² + linear·w / n; y is -1 or 1."""
    tilt = np.zeros(x.shape[1]) if linear is None else linear / len(y)

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(y * (x @ w))
        gradient = x.T @ (slope * y) / len(y) + strength * w + tilt
        return float(value.mean() + strength / 2 * w @ w + tilt @ w), gradient

    return minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def _noise(dimension: int, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Density proportional to exp(-|b| / scale)."""
    direction = rng.normal(size=dimension)
    return direction / np.linalg.norm(direction) * rng.gamma(dimension, scale)


def output_perturbation(
    x: np.ndarray, y: np.ndarray, loss: Loss, strength: float, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 1: noise on the minimiser, of sensitivity 2 / (n strength)."""
    return train(x, y, loss, strength) + _noise(x.shape[1], 2 / (len(y) * strength * epsilon), rng)


def objective_perturbation(
    x: np.ndarray, y: np.ndarray, loss: Loss, strength: float, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Algorithm 2: a random linear term in the objective."""
    ratio = CURVATURE[loss] / (len(y) * strength)
    left = epsilon - math.log1p(2 * ratio + ratio**2)
    if left <= 0:
        strength = CURVATURE[loss] / (len(y) * math.expm1(epsilon / 4))
        left = epsilon / 2
    return train(x, y, loss, strength, linear=_noise(x.shape[1], 2 / left, rng))


def accuracy(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return float(((x @ w > 0) == (y > 0)).mean())

"""The regressions that an analyst runs: least squares and logistic, with standard errors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

Matrix = npt.NDArray[np.float64]

STEPS = 50
CLOSE = 1e-9


@frozen(eq=False)
class Estimates:
    """Coefficients and standard errors, the constant first; NaN where the rows do not determine one."""

    coefficients: Matrix
    errors: Matrix


def least_squares(design: Matrix, outcome: Matrix) -> Estimates:
    """Ordinary least squares; `design` has a column of ones. The residual variance divides by n-k."""
    inverse = _inverse(design.T @ design)
    coefficients = inverse @ (design.T @ outcome)
    left = len(design) - design.shape[1]
    variance = float(np.square(outcome - design @ coefficients).sum()) / left if left > 0 else np.nan
    return Estimates(coefficients, _roots(inverse * variance))


def logistic(design: Matrix, outcome: Matrix) -> Estimates:
    """Maximum likelihood by Newton's steps, halved until they help; errors from the information matrix.

    Separated classes have no maximum: the coefficients are then NaN.
    """
    weights = np.zeros(design.shape[1])
    best = _loss(design, outcome, weights)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -500, 500)))
        information = design.T @ (design * (chance * (1 - chance))[:, None])
        step = _inverse(information) @ (design.T @ (outcome - chance))
        if not np.isfinite(step).all():
            break
        size = 1.0
        while size > CLOSE and not _loss(design, outcome, weights + size * step) <= best + CLOSE:
            size /= 2
        weights = weights + size * step
        best = _loss(design, outcome, weights)
        if np.abs(size * step).max() < CLOSE * (1 + np.abs(weights).max()):
            return Estimates(weights, _roots(_inverse(information)))
    unknown = np.full(design.shape[1], np.nan)
    return Estimates(unknown, unknown)


def _loss(design: Matrix, outcome: Matrix, weights: Matrix) -> float:
    return float(np.logaddexp(0, np.where(outcome > 0, -1, 1) * (design @ weights)).sum())


def _inverse(matrix: Matrix) -> Matrix:
    """The inverse; NaN where it does not exist in floating point."""
    scale = np.sqrt(np.diag(matrix))
    if not (scale > 0).all() or not np.isfinite(scale).all():
        return np.full_like(matrix, np.nan)
    shaped = matrix / np.outer(scale, scale)
    if np.linalg.cond(shaped) > 1e12:
        return np.full_like(matrix, np.nan)
    return np.linalg.inv(shaped) / np.outer(scale, scale)


def _roots(matrix: Matrix) -> Matrix:
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.diag(matrix))

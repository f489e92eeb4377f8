"""The correlation matrix nearest to a symmetric one, in the Frobenius norm.

Higham 2002, "Computing the nearest correlation matrix", Algorithm 3.3: projections onto the positive
semidefinite matrices (by LAPACK's eigendecomposition, through numpy) and onto those with ones on the
diagonal, in turn, with Dykstra's correction, which is what makes the limit the nearest one. No package offers
this at less than the weight of a statistics library, and beyond the eigendecomposition it is four lines.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 500
TOLERANCE = 1e-10
LEAST = 1e-8
"""Smallest eigenvalue of the result, so that it has a root and can be conditioned on."""


def nearest_correlation(matrix: npt.ArrayLike) -> Floats:
    """The positive definite correlation matrix nearest to `matrix`; ValueError unless that is symmetric."""
    wanted = np.array(matrix, dtype=np.float64)
    if wanted.ndim != 2 or not np.array_equal(wanted, wanted.T) or not np.isfinite(wanted).all():
        raise ValueError("a correlation matrix is square and symmetric, and made of finite numbers")
    np.fill_diagonal(wanted, 1.0)
    found, correction = wanted, np.zeros_like(wanted)
    for _ in range(STEPS):
        shifted = found - correction
        positive = _positive(shifted)
        correction = positive - shifted
        before, found = found, positive.copy()
        np.fill_diagonal(found, 1.0)
        if np.abs(found - before).max(initial=0.0) <= TOLERANCE:
            break
    # Rounding may leave an eigenvalue just below 0: a little of the identity lifts it.
    least = float(np.linalg.eigvalsh(found).min(initial=1.0))
    if least < LEAST:
        lift = LEAST - least
        found = (found + lift * np.eye(len(found))) / (1 + lift)
    return found


def _positive(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix."""
    if not matrix.size:
        return matrix
    values, vectors = np.linalg.eigh(matrix)
    made = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (made + made.T) / 2

"""Distances of distributions. Shares are arrays that add up to 1; samples are arrays of finite numbers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def total_variation(p: Values, q: Values) -> float:
    """Half the sum of absolute differences, 0 to 1: the largest error of the share of any set of cells."""
    return float(np.abs(p - q).sum() / 2)


def l1(p: Values, q: Values) -> float:
    """The sum of absolute differences, 0 to 2: twice the total variation."""
    return float(np.abs(p - q).sum())


def jensen_shannon(p: Values, q: Values) -> float:
    """Half the divergences of both from their middle, in nats, 0 to ln 2 (Lin 1991, equation 4.1)."""
    middle = (p + q) / 2
    return max(0.0, (_kl(p, middle) + _kl(q, middle)) / 2)


def hellinger(p: Values, q: Values) -> float:
    """sqrt(1/2 Σ (√p - √q)²), 0 to 1."""
    return float(min(1.0, math.sqrt(np.square(np.sqrt(p) - np.sqrt(q)).sum() / 2)))


def _kl(p: Values, q: Values) -> float:
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / q[seen])).sum())


def smoothed_kl(p: Values, q: Values, *, penalty: float = 1.0) -> float:
    """Σ (p+μ) ln((p+μ)/(q+μ)) with μ = exp(-penalty/(1-max p)); p real, q synthetic; 0 to infinity.

    It punishes values of the real table that are never drawn, the more the larger `penalty` is
    (Tantipongpipat et al. 2021, section 5). Neither side is normalised again: both add up to 1 + |X| μ, so
    the result is never negative. A constant p has μ = 0: the divergence is infinite when q lacks its value.
    Logarithms of μ are used, so that a μ too small for a float still counts.
    """
    largest = float(p.max())
    log_mu = -penalty / (1 - largest) if largest < 1 else -math.inf
    mu = math.exp(log_mu)
    counted = p + mu > 0
    with np.errstate(divide="ignore"):
        up, down = (np.logaddexp(np.log(side[counted]), log_mu) for side in (p, q))
    return max(0.0, float(((p + mu)[counted] * (up - down)).sum()))


def kolmogorov(a: Values, b: Values) -> float:
    """The largest difference of the distribution functions of two samples, 0 to 1. Both must have values."""
    a, b = np.sort(a), np.sort(b)
    points = np.concatenate([a, b])
    gap = (
        np.searchsorted(a, points, side="right") / a.size - np.searchsorted(b, points, side="right") / b.size
    )
    return float(np.abs(gap).max())


def wasserstein(a: Values, b: Values) -> float:
    """The earth mover's distance of two samples on the line: the area between distribution functions."""
    a, b = np.sort(a), np.sort(b)
    points = np.sort(np.concatenate([a, b]))
    below = [np.searchsorted(side, points[:-1], side="right") / side.size for side in (a, b)]
    return float((np.abs(below[0] - below[1]) * np.diff(points)).sum())


def sliced_wasserstein(a: Values, b: Values, *, directions: int, rng: np.random.Generator) -> float:
    """Mean earth mover's distance of projections on random directions; a, b: points x dimensions.

    Bonneel, Rabin, Peyré and Pfister 2015. It is at most the Wasserstein distance itself.
    """
    axes = rng.standard_normal((a.shape[1], directions))
    axes /= np.linalg.norm(axes, axis=0)
    return float(np.mean([wasserstein(a @ axis, b @ axis) for axis in axes.T]))


def matched_distance(a: Values, b: Values) -> float:
    """The Wasserstein distance of two samples of one size: mean Euclidean distance of the best matching."""
    from scipy.optimize import linear_sum_assignment

    gaps = np.sqrt(np.maximum(np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2 * a @ b.T, 0))
    return float(gaps[linear_sum_assignment(gaps)].mean())


def expected_by_chance(p: Values, real_rows: int, synthetic_rows: int) -> float:
    """The total variation that two tables of these sizes from the same distribution p are expected to have.

    Normal approximation of each cell: E|X| = σ √(2/π), σ² = p(1-p)(1/n + 1/m).
    """
    if not real_rows or not synthetic_rows:
        return 1.0
    spread = np.sqrt(p * (1 - p) * (1 / real_rows + 1 / synthetic_rows))
    return min(1.0, float(spread.sum() * math.sqrt(2 / math.pi) / 2))

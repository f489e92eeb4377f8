"""Normal scores of codes, and what products of them say about the correlation of latent normal variables.

A column is a normal variable Z cut at thresholds: code c has the interval (a_c, b_c) whose normal
probability is the code's share. Its score is the mean of Z there, (φ(a) - φ(b)) / share, clipped to ±bound.
Two columns whose latent variables have correlation ρ then have (Mehler's expansion; Lancaster 1957)

    E[s_i s_j] = Σ_k c_ik c_jk ρ^k,    c_k = Σ_c s_c ∫_{a_c}^{b_c} h_k φ,    h_k = He_k / √k! ,

and ∫_a^b h_k φ = (h_{k-1}(a) φ(a) - h_{k-1}(b) φ(b)) / √k. The sum rises with ρ, since scores rise with the
codes (Slepian), so that a measured mean of products has one ρ. Clipping costs no bias, since it is part of s.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TERMS = 160
"""Terms of the expansion: what is left out is below 1e-3 of it up to |ρ| = 0.96."""
LARGEST = 0.995
"""Correlations are sought up to this."""
BOUNDS = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.25, 2.5, 2.75, 3.0)
"""Bounds of scores that are weighed against each other."""
REFERENCE = 0.5
"""Correlation at which they are."""


def thresholds(shares: Floats) -> tuple[Floats, Floats]:
    """Lower and upper end of the interval of each code, in order; shares sum to 1."""
    from scipy.special import ndtri

    ends = np.concatenate([[0.0], np.cumsum(shares)])
    cuts = ndtri(np.clip(ends / ends[-1], 0.0, 1.0))
    cuts[0], cuts[-1] = -np.inf, np.inf
    return cuts[:-1], cuts[1:]


def normal_scores(shares: Floats, *, bound: float) -> Floats:
    """Mean of the latent variable in the interval of each code, clipped; the threshold where a share is 0."""
    low, high = thresholds(shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (_density(low) - _density(high)) / shares
    means = np.where(shares > 1e-12, means, np.where(np.isfinite(low), low, high))
    return np.clip(np.nan_to_num(means, nan=0.0, posinf=bound, neginf=-bound), -bound, bound)


def coefficients(shares: Floats, scores: Floats) -> Floats:
    """c_0 … c_TERMS of a column with these shares and scores."""
    low, high = thresholds(shares)
    found = np.empty(TERMS + 1)
    found[0] = float(scores @ shares) / float(shares.sum())
    # h_{k-1}·φ at the thresholds, by the recurrence of orthonormal Hermite polynomials; 0 at infinity.
    edges = np.stack([low, high])
    finite = np.isfinite(edges)
    place = np.where(finite, edges, 0.0)
    before, now = np.zeros_like(place), np.where(finite, _density(place), 0.0)
    for k in range(1, TERMS + 1):
        found[k] = float(scores @ (now[0] - now[1])) / np.sqrt(k)
        before, now = now, (place * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return found


def correlation_of(means: Floats, one: Floats, other: Floats) -> Floats:
    """The ρ at which pairs of columns with coefficients `one` and `other` (a row each) have mean products
    `means`, within ±LARGEST.
    """
    weights = one * other
    low, high = np.full(means.shape, -LARGEST), np.full(means.shape, LARGEST)
    for _ in range(50):
        middle = (low + high) / 2
        value = np.zeros_like(middle)
        for k in range(TERMS, -1, -1):
            value = value * middle + weights[:, k]
        above = value > means
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


def best_bound(rows: float, noise: float) -> float:
    """The bound on scores that gives the most exact correlation from `rows` rows, when the sum of products
    gets noise of standard deviation `noise`·bound².

    A small bound needs little noise, a large one uses all that far values say.
    """
    errors = [
        variance / rows + (noise * bound**2 / rows / slope) ** 2
        for bound in BOUNDS
        for variance, slope in [_precision(bound)]
    ]
    return BOUNDS[int(np.argmin(errors))]


@lru_cache(maxsize=len(BOUNDS))
def _precision(bound: float) -> tuple[float, float]:
    """For clipped normal scores at the reference correlation: rows times the variance of the ρ that their
    correlation coefficient gives (by the delta method), and the slope of their mean product in ρ.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    other = REFERENCE * nodes[:, None] + np.sqrt(1 - REFERENCE**2) * nodes[None, :]
    one, two = np.clip(nodes, -bound, bound)[:, None], np.clip(other, -bound, bound)
    m11, m22, m13, m31 = (
        float(weights @ (one**p * two**q) @ weights) for p, q in ((1, 1), (2, 2), (1, 3), (3, 1))
    )
    m2, m4 = (float(weights @ np.clip(nodes, -bound, bound) ** p) for p in (2, 4))
    r = m11 / m2
    variance = r**2 * (m22 / m11**2 + (2 * m4 + 2 * m22) / (4 * m2**2) - (m31 + m13) / (m11 * m2))
    shares = np.full(2000, 1 / 2000)
    squares = coefficients(shares, normal_scores(shares, bound=bound)) ** 2
    orders = np.arange(1, TERMS + 1)
    slope = float((orders * squares[1:] * REFERENCE ** (orders - 1)).sum())
    return variance * (m2 / slope) ** 2, slope


def _density(place: Floats) -> Floats:
    return np.exp(-(place**2) / 2) / np.sqrt(2 * np.pi)

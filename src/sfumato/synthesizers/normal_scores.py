"""Normal scores of codes, and what functions of two columns' scores say about the correlation of their latent
normal variables.

A column is a normal variable Z cut at thresholds: code c has the interval (a_c, b_c) whose normal
probability is the code's share. Its score is the mean of Z there, (φ(a) - φ(b)) / share, clipped to ±bound.
For any function f of the codes of two columns whose latent variables have correlation ρ (Mehler's expansion;
Lancaster 1957)

    E[f] = Σ_k ρ^k Σ_{c,e} f(c, e) u_k(c) v_k(e),    u_k(c) = ∫_{a_c}^{b_c} h_k φ,    h_k = He_k / √k! ,

and ∫_a^b h_k φ = (h_{k-1}(a) φ(a) - h_{k-1}(b) φ(b)) / √k. Codes may be joined to groups, whose u_k are sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TERMS = 160
"""Terms of the expansion: what is left out is below 1e-3 of it up to |ρ| = 0.96."""
LARGEST = 0.995
"""Correlations are sought up to this."""
PLACES = np.linspace(-LARGEST, LARGEST, 399)
"""Correlations at which an expectation is worked out, to be interpolated."""


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


def hermite_integrals(shares: Floats) -> Floats:
    """u_0 … u_TERMS of the codes of a column with these shares, shape (TERMS + 1, codes)."""
    low, high = thresholds(shares)
    found = np.empty((TERMS + 1, shares.size))
    found[0] = shares / shares.sum()
    # h_{k-1}·φ at the thresholds, by the recurrence of orthonormal Hermite polynomials; 0 at infinity.
    edges = np.stack([low, high])
    finite = np.isfinite(edges)
    place = np.where(finite, edges, 0.0)
    before, now = np.zeros_like(place), np.where(finite, _density(place), 0.0)
    for k in range(1, TERMS + 1):
        found[k] = (now[0] - now[1]) / np.sqrt(k)
        before, now = now, (place * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return found


def coefficients(table: npt.ArrayLike, one: Floats, other: Floats) -> Floats:
    """Σ f·u_k·v_k for k = 0 … TERMS, of f by the groups of two columns with these integrals."""
    return np.einsum("kg,kg->k", one @ np.asarray(table, dtype=np.float64), other)


def correlations_of(means: Floats, series: Floats) -> Floats:
    """The ρ at which functions with these coefficients (a row each) have these means, within ±LARGEST.

    The expectations are taken to rise with ρ; where one falls, the part before counts.
    """
    heights = series @ (PLACES ** np.arange(TERMS + 1)[:, None])
    rising = np.maximum.accumulate(heights, axis=1)
    return np.array([np.interp(m, line, PLACES) for m, line in zip(means, rising, strict=True)])


def slopes_at(places: Floats, series: Floats) -> Floats:
    """Derivatives of the expectations with these coefficients (a row each) at these correlations."""
    orders = np.arange(1, TERMS + 1)
    return ((series[:, 1:] * orders) * places[:, None] ** (orders - 1)).sum(axis=1)


def _density(place: Floats) -> Floats:
    return np.exp(-(place**2) / 2) / np.sqrt(2 * np.pi)

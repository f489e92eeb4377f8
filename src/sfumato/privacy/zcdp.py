"""Zero-concentrated differential privacy (Bun, Steinke 2016): rho.

The Rényi divergence of order α is at most rho·α for all α > 1. A second, independent account beside
Gaussian DP. Conversion to (epsilon, delta) after Canonne, Kamath, Steinke 2020, Proposition 12:

    delta = exp((α-1)(α rho - epsilon)) / (α-1) · (1 - 1/α)^α     for any α > 1,

so an α that a search finds is valid even where it is not the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_SAFE = 1e-12
_GOLDEN = (math.sqrt(5) - 1) / 2
_LOG_RANGE = (-30.0, 60.0)
"""Range of log(α-1) that is searched."""


def rho_of_gaussian(mu: float) -> float:
    """rho of a mu-GDP Gaussian mechanism: mu²/2."""
    return mu * mu / 2


def rho_of_bounded_range(epsilon: float) -> float:
    """rho of a mechanism whose log-probability ratios span at most epsilon: ε²/8 (Cesar, Rogers 2021)."""
    return epsilon * epsilon / 8


def rho_of_pure(epsilon: float) -> float:
    """rho of any epsilon-DP mechanism: ε tanh(ε/2), at most ε²/2.

    The best constant; proved in docs/methods/gdp-accounting.md.
    """
    return epsilon * math.tanh(epsilon / 2) * (1 + _SAFE)


def epsilon(rho: float, delta: float) -> float:
    """Epsilon of a rho-zCDP mechanism at `delta`, rounded up. Infinite when rho is."""
    _check(rho, delta)
    if rho == 0 or math.isinf(rho):
        return 0.0 if rho == 0 else math.inf

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return (1 + excess) * rho + (_shape(log_excess) - math.log(delta)) / excess

    return max(0.0, _least(at) * (1 + _SAFE))


def rho(epsilon: float, delta: float) -> float:
    """Largest rho that is (epsilon, delta)-DP, rounded down."""
    _check(epsilon, delta)

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        return -(epsilon * excess + math.log(delta) - _shape(log_excess)) / (excess * (1 + excess))

    return max(0.0, -_least(at) * (1 - _SAFE))


def _shape(log_excess: float) -> float:
    """log((1 - 1/α)^α / (α-1)) for α = 1 + e^log_excess."""
    excess = math.exp(log_excess)
    # log(1 - 1/α) = log(excess) - log(1 + excess)
    return -(1 + excess) * math.log1p(1 / excess) - log_excess


def _least(function: Callable[[float], float]) -> float:
    """Smallest value that a golden-section search meets, after a coarse scan for where to search."""
    low, high = _LOG_RANGE
    grid = [low + i for i in range(int(high - low) + 1)]
    start = min(grid, key=function)
    left, right = start - 1, start + 1
    best = function(start)
    a, b = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_a, at_b = function(a), function(b)
    for _ in range(45):
        best = min(best, at_a, at_b)
        if at_a < at_b:
            right, b, at_b = b, a, at_a
            a = right - _GOLDEN * (right - left)
            at_a = function(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + _GOLDEN * (right - left)
            at_b = function(b)
    return best


def _check(cost: float, delta: float) -> None:
    if not cost >= 0:
        raise ValueError("rho and epsilon must be at least 0")
    if not 0 < delta < 1:
        raise ValueError("delta must lie between 0 and 1")

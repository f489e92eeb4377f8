"""Many draws from a sampler of single symbols: composition of three-point dominating pairs, exactly on their
lattice.

A pair (p, pR, rest) against (pR, p, rest) with R = e^each has losses -each, 0 and each, and divergence p
max(0, R - e^t) at t ≥ 0. The divergence of an each-DP mechanism is convex in e^t and 0 at t = each, so that
the pair with p = TV/(R - 1) dominates it, where TV is the largest total variation distance between
neighbours. For reveal-or-obscure with the pseudo-count a = 1/(R - 1) that is p = a/(n + k a), and tight. p =
1/(1 + R) is randomised response, which dominates whatever is each-DP.

The sum of the losses of N draws is each·j with j in -N … N. Its law under the upper distribution, the
coefficients of (p/x + rest + pR x)^N, follows from a recursion with positive terms alone; P(j) = e^{each·j}
P(-j) gives the other half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

SLACK = 1e-9
SMALLEST = 1e-300
"""Least probability of a loss that is told from 0."""
"""Relative rounding of probabilities that is allowed for."""
STEEPEST = 700.0
"""Largest epsilon of a draw whose ratio is a float."""
LARGEST = 1_000_000
"""Most draws whose law is worked out."""


def randomised_response(each: float) -> float:
    """p of the pair that dominates every mechanism that is each-DP."""
    return 1 / (1 + math.exp(min(each, 700.0)))


def pair_mass(each: float, distance: float) -> float:
    """p of the pair that dominates every mechanism that is each-DP and moves by at most `distance` in total
    variation between neighbours, rounded up: distance/(R - 1), and at most that of randomised response.
    """
    return min(max(distance / math.expm1(min(each, 700.0)), SMALLEST), randomised_response(each))


def epsilon_of_draws(count: int, *, each: float, mass: float, delta: float) -> float:
    """Smallest epsilon ≥ 0 at `delta` of `count` draws with the pair of `each` and p = `mass`, rounded up.

    count·each, which holds at any delta, where that is less or delta is 0.
    """
    basic = count * each
    if delta <= 0 or count > LARGEST or each > STEEPEST:
        return basic
    return min(basic, _epsilon(count, each, mass, delta))


@lru_cache(maxsize=4096)
def _epsilon(count: int, each: float, mass: float, delta: float) -> float:
    steps, law = _upper_law(count, each, mass)
    losses = steps * each

    def holds(epsilon: float) -> bool:
        over = losses > epsilon
        return float((law[over] * -np.expm1(epsilon - losses[over])).sum()) * (1 + SLACK) <= delta

    if holds(0.0):
        return 0.0
    low, high = 0.0, count * each
    for _ in range(100):
        middle = (low + high) / 2
        if high - low <= 1e-12 * high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high * (1 + SLACK)


def _upper_law(
    count: int, each: float, mass: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Steps 0 … count and their probabilities under the upper distribution."""
    below, above = mass, mass * math.exp(each)
    rest = max(0.0, 1 - below - above)
    # log P(i - count) for i = 0 … count, from the ratios of neighbouring coefficients.
    logs = np.empty(count + 1)
    logs[0] = 0.0
    ratio = math.inf
    for i in range(count):
        term = 0.0 if i == 0 else above * (2 * count - i + 1) / ratio
        ratio = (rest * (count - i) + term) / (below * (i + 1))
        if ratio <= 0:  # without a third point every other coefficient is 0
            return _two_points(count, each)
        logs[i + 1] = logs[i] + math.log(ratio)
    steps = np.arange(count + 1, dtype=np.float64)
    upper = logs[::-1] + each * steps
    top = max(float(logs.max()), float(upper.max()))
    whole = np.exp(logs[:-1] - top).sum() + np.exp(upper - top).sum()
    return steps, np.exp(upper - top) / whole


def _two_points(count: int, each: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The same for randomised response: a binomial law."""
    from scipy.stats import binom

    heads = np.arange(count + 1)
    steps = (2 * heads - count).astype(np.float64)
    law = binom.pmf(heads, count, 1 / (1 + math.exp(-each)))
    return steps[steps >= 0], law[steps >= 0]


def each_of_total(
    epsilon: float, *, count: int, delta: float, mass: Callable[[float], float] = randomised_response
) -> float:
    """Largest epsilon a draw at which `count` draws are within (epsilon, delta). mass: p of the pair of a
    draw."""

    def fits(each: float) -> bool:
        return epsilon_of_draws(count, each=each, mass=mass(each), delta=delta) <= epsilon

    low, high = epsilon / count, epsilon
    if fits(high):
        return high
    for _ in range(40):
        middle = (low + high) / 2
        if high - low <= 1e-6 * high:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

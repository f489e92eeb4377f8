"""Gaussian differential privacy (Dong, Roth, Su 2022): mu as (epsilon, delta), and mechanisms as mu.

A mechanism is mu-GDP when telling two neighbours apart is at least as hard as telling N(0, 1) from N(mu,
1). It then is (epsilon, delta)-DP for

    delta = Φ(-u) - e^epsilon Φ(-v),   u = epsilon/mu - mu/2,   v = epsilon/mu + mu/2      (their Corollary
    2.13)
          = φ(u) (R(u) - R(v)),        R(x) = (1 - Φ(x)) / φ(x),

and the second form has no underflow and little cancellation. Every function here errs on the safe side of
double precision, by about 1e-12 relatively (more where mu is below 1e-6); the tests hold them against
60-digit arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_ROUNDING = 2.0**-50
_SAFE = 1e-12
_STEPS = 200
_SMALLEST = 1e-100


def delta(mu: float, epsilon: float) -> float:
    """Smallest delta of a mu-GDP mechanism at `epsilon` ≥ 0, rounded up."""
    _check_mu(mu)
    _check_epsilon(epsilon)
    if mu == 0:
        return 0.0
    return min(1.0, max(math.exp(_log_delta(mu, epsilon)), 5e-324))


def epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon ≥ 0 of a mu-GDP mechanism at `delta`, rounded up. Infinite when mu is."""
    _check_mu(mu)
    _check_delta(delta)
    target = math.log(delta)
    if mu == 0 or (math.isfinite(mu) and _log_delta(mu, 0.0) <= target):
        return 0.0
    if math.isinf(mu):
        return math.inf
    # delta ≤ Φ(-u) ≤ e^{-u²/2} gives a first upper bound.
    high = mu * mu / 2 + mu * math.sqrt(-2 * target)
    while _log_delta(mu, high) > target:
        high *= 1 + 1e-9
    return _smallest(lambda value: _log_delta(mu, value) <= target, 0.0, high)


def mu(epsilon: float, delta: float) -> float:
    """Largest mu that is (epsilon, delta)-DP, rounded down."""
    _check_epsilon(epsilon)
    _check_delta(delta)
    target = math.log(delta)
    low = 1.0
    while _log_delta(low, epsilon) > target:
        low /= 2
        if low < _SMALLEST:
            return 0.0
    high = 2 * low
    while _log_delta(high, epsilon) <= target:
        low, high = high, 2 * high
    # The same bisection on -mu.
    return -_smallest(lambda value: _log_delta(-value, epsilon) <= target, -high, -low)


def mu_of_pure(epsilon: float) -> float:
    """mu of any epsilon-DP mechanism: 2 Φ⁻¹(e^ε / (1 + e^ε)), rounded up. Randomised response needs it."""
    _check_epsilon(epsilon)
    from scipy.special import erfinv, ndtri_exp

    if epsilon < 1:
        # Φ⁻¹(1/2 + t) = √2 erf⁻¹(2t), with 2t = tanh(ε/2).
        exact = 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        exact = -2 * float(ndtri_exp(-(epsilon + math.log1p(math.exp(-epsilon)))))
    return exact * (1 + _SAFE)


def mu_of_three_points(each: float, mass: float) -> float:
    """mu of the pair (p, pR, rest) against (pR, p, rest), p = `mass` and R = e^`each`: Φ⁻¹(1-p) - Φ⁻¹(1-pR),
    rounded up, and at most that of any mechanism that is `each`-DP.
    """
    from scipy.special import ndtri

    most = mu_of_pure(each)
    above = mass * math.exp(min(each, 700.0))
    if not (0 < mass < above < 1):
        return most
    low, high = -float(ndtri(mass)), -float(ndtri(above))
    return min(most, (low - high) + 1e-12 * (abs(low) + abs(high)))


def mu_of_bounded_range(epsilon: float) -> float:
    """mu of a mechanism whose log-probability ratios span at most epsilon, rounded up.

    2 Φ⁻¹(e^{ε/2} / (1 + e^{ε/2})), the best constant; for exponential mechanisms above all. Proved in
    docs/methods/gdp-accounting.md.
    """
    return mu_of_pure(epsilon / 2)


def bounded_range_of_mu(mu: float) -> float:
    """Largest epsilon with `mu_of_bounded_range(epsilon)` ≤ mu, rounded down: 2 log(Φ(mu/2) / Φ(-mu/2))."""
    _check_mu(mu)
    from scipy.special import log_ndtr

    if mu < 1:
        exact = 4 * math.atanh(math.erf(mu / (2 * math.sqrt(2))))
    else:
        exact = 2 * (float(log_ndtr(mu / 2)) - float(log_ndtr(-mu / 2)))
    return exact * (1 - 4 * _SAFE)


def _log_delta(mu: float, epsilon: float) -> float:
    """Upper bound on the logarithm of delta, for mu > 0."""
    from scipy.special import erfcx, ndtr

    if math.isinf(mu):
        return 0.0
    if epsilon == 0:
        return math.log(math.erf(mu * _SQRT_HALF / 2)) + _SAFE
    slack = _ROUNDING * (epsilon / mu + mu)
    u, v = epsilon / mu - mu / 2 - slack, epsilon / mu + mu / 2 + slack
    mills_v = _SQRT_HALF_PI * float(erfcx(v * _SQRT_HALF))
    if u >= 0:
        mills_u = _SQRT_HALF_PI * float(erfcx(u * _SQRT_HALF))
        gap = mills_u - mills_v + 4 * _ROUNDING * mills_u
        return math.log(gap) - u * u / 2 - _LOG_SQRT_TAU + _SAFE
    gap = float(ndtr(-u)) - math.exp(-u * u / 2 - _LOG_SQRT_TAU - _SAFE * u * u) * mills_v + 4 * _ROUNDING
    return min(0.0, math.log(gap) + _SAFE)


def _smallest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Smallest value in (low, high] for which `holds`, to 1e-13 relatively; it holds for what is returned."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if high - low <= 1e-13 * abs(high) or not low < middle < high:
            break
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


_SQRT_HALF = math.sqrt(0.5)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_LOG_SQRT_TAU = math.log(2 * math.pi) / 2


def _check_mu(value: float) -> None:
    if not value >= 0:
        raise ValueError("mu must be a number of at least 0")


def _check_epsilon(value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError("epsilon must be a finite number of at least 0")


def _check_delta(value: float) -> None:
    if not 0 < value < 1:
        raise ValueError("delta must lie between 0 and 1")

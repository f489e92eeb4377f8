"""Conversions between currencies of privacy, against 60-digit arithmetic, brute force and other
accountants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from sfumato.privacy import gdp, zcdp

EXACT = mpmath.MPContext()
EXACT.prec = 500
EPSILONS = (1e-4, 1e-2, 0.3, 1.0, 5.0, 30.0, 200.0, 1000.0)
DELTAS = (1e-30, 1e-15, 1e-9, 1e-5, 0.01, 0.5)


def normal_cdf(x: mpmath.mpf) -> mpmath.mpf:
    return EXACT.erfc(-x / EXACT.sqrt(2)) / 2


def true_delta(mu: float, epsilon: float) -> mpmath.mpf:
    m, e = EXACT.mpf(mu), EXACT.mpf(epsilon)
    return normal_cdf(-e / m + m / 2) - EXACT.exp(e) * normal_cdf(-e / m - m / 2)


def normal_quantile(probability: mpmath.mpf) -> mpmath.mpf:
    """Φ⁻¹ by Newton's method from double precision."""
    from scipy.special import ndtri

    if probability > 0.5:
        return -normal_quantile(1 - probability)
    x = EXACT.mpf(float(ndtri(float(probability))))
    for _ in range(5):
        density = EXACT.exp(-x * x / 2) / EXACT.sqrt(2 * EXACT.pi)
        x -= (normal_cdf(x) - probability) / density
    return x


# ---- Gaussian DP ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", DELTAS)
def test_conversions_are_safe_and_sharp(delta: float) -> None:
    for epsilon in (0.0, *EPSILONS):
        mu = gdp.mu(epsilon, delta)
        assert 1 - 1e-6 < true_delta(mu, epsilon) / delta <= 1
        stated = gdp.delta(mu, epsilon)
        assert true_delta(mu, epsilon) <= stated <= delta * (1 + 1e-12)
        found = gdp.epsilon(mu, delta)
        assert true_delta(mu, found) <= delta
        assert found == pytest.approx(epsilon, rel=1e-6, abs=1e-12)


def test_delta_is_never_understated() -> None:
    rng = np.random.default_rng(11)
    for _ in range(500):
        mu, ratio = 10 ** rng.uniform(-6, 1.6), rng.uniform(-0.5, 12)
        epsilon = max(0.0, mu * (ratio + mu / 2))
        assert 1 <= gdp.delta(mu, epsilon) / true_delta(mu, epsilon) < 1 + 1e-6


def test_extremes() -> None:
    assert gdp.epsilon(0.0, 1e-9) == 0 and gdp.delta(0.0, 0.0) == 0
    assert gdp.epsilon(math.inf, 1e-9) == math.inf and gdp.delta(math.inf, 3.0) == 1
    assert gdp.epsilon(1e-12, 1e-3) == 0
    assert 0 < gdp.delta(0.01, 1000.0) < 1e-300
    assert gdp.delta(200.0, 1.0) == 1
    for bad in (-1.0, math.nan):
        with pytest.raises(ValueError, match="mu"):
            gdp.delta(bad, 1.0)
        with pytest.raises(ValueError, match="epsilon"):
            gdp.mu(bad, 0.1)
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            gdp.epsilon(1.0, bad)
        with pytest.raises(ValueError, match="delta"):
            zcdp.epsilon(1.0, bad)


# ---- pure and bounded-range mechanisms -------------------------------------------------------------------


def kink(epsilon: mpmath.mpf, t: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """(q, p) of the two-point pair with losses t and t - epsilon."""
    p = (EXACT.exp(epsilon) - EXACT.exp(t)) / (EXACT.exp(epsilon) - 1)
    return p * EXACT.exp(-t), p


def check_bounded_range(mu_of: Callable[[float], float]) -> None:
    """No pair of losses t, t - epsilon is easier to tell apart than N(0, 1) and N(mu, 1), and mu is not
    wasteful.
    """
    for epsilon in (1e-6, 0.01, 0.5, 2.0, 9.0, 40.0):
        mu, exact = EXACT.mpf(mu_of(epsilon)), EXACT.mpf(epsilon)
        worst = EXACT.mpf(0)
        for share in (0.001, 0.1, 0.3, 0.49, 0.499999, 0.5, 0.500001, 0.6, 0.95):
            q, p = kink(exact, exact * share)
            needed = normal_quantile(p) - normal_quantile(q)
            assert needed <= mu, (epsilon, share)
            worst = max(worst, needed)
        assert mu <= worst * (1 + EXACT.mpf(10) ** -11), epsilon


def check_pure(mu_of: Callable[[float], float]) -> None:
    for epsilon in (1e-6, 0.01, 0.5, 0.999, 1.0, 6.0, 30.0, 300.0):
        tail = 1 / (1 + EXACT.exp(EXACT.mpf(epsilon)))
        mu = EXACT.mpf(mu_of(epsilon))
        assert normal_cdf(-mu / 2) <= tail
        assert normal_cdf(-mu / 2 * (1 - EXACT.mpf(10) ** -11)) > tail


def test_mu_of_bounded_range_and_of_pure() -> None:
    check_bounded_range(gdp.mu_of_bounded_range)
    check_pure(gdp.mu_of_pure)


def test_bounded_range_of_mu_is_the_inverse_rounded_down() -> None:
    for epsilon in (1e-9, 1e-4, 0.3, 1.59, 1.61, 4.0, 50.0, 300.0):
        mu = gdp.mu_of_bounded_range(epsilon)
        back = gdp.bounded_range_of_mu(mu)
        assert back == pytest.approx(epsilon, rel=1e-11)
        assert gdp.mu_of_bounded_range(back) <= mu
    assert gdp.mu_of_bounded_range(0.0) == 0 == gdp.bounded_range_of_mu(0.0)


def test_the_lemma_behind_bounded_range() -> None:
    """J(x) = φ(Φ⁻¹(x)) / (x (1-x)) by its integral form, growing away from 1/2; g largest at epsilon/2."""
    zs = [EXACT.mpf(i) / 4 for i in range(21)]
    js = []
    for z in zs:
        density = EXACT.exp(-z * z / 2) / EXACT.sqrt(2 * EXACT.pi)
        j = density / (normal_cdf(z) * normal_cdf(-z))
        integral = mpmath.quad(
            lambda a, z=z: mpmath.exp(-(z * z / 2) * mpmath.tan(a) ** 2), [0, mpmath.pi / 4]
        )
        assert abs(1 / j - EXACT.sqrt(2 * EXACT.pi) / EXACT.pi * EXACT.mpf(integral)) < 1e-12
        js.append(j)
    assert all(a < b for a, b in pairwise(js))
    epsilon = EXACT.mpf(3)
    g = []
    for i in range(1, 40):
        q, p = kink(epsilon, epsilon * i / 40)
        g.append(normal_quantile(p) - normal_quantile(q))
    assert all(a < b for a, b in pairwise(g[:20])) and all(a > b for a, b in pairwise(g[19:]))


def test_the_trade_off_curve_lies_above_the_gaussian_one() -> None:
    """Section 3.3 of the proof, on a grid of error levels."""
    for epsilon in (0.1, 1.0, 6.0):
        mu = EXACT.mpf(gdp.mu_of_bounded_range(epsilon))
        for share in (0.1, 0.5, 0.8):
            q, p = kink(EXACT.mpf(epsilon), EXACT.mpf(epsilon) * share)
            for i in range(1, 40):
                alpha = EXACT.mpf(i) / 40
                f = 1 - alpha / q * p if alpha <= q else (1 - p) * (1 - alpha) / (1 - q)
                assert normal_cdf(normal_quantile(1 - alpha) - mu) <= f


# ---- zero-concentrated DP --------------------------------------------------------------------------------


def renyi(p: list[mpmath.mpf], q: list[mpmath.mpf], alpha: float) -> mpmath.mpf:
    total = sum(x**alpha * y ** (1 - EXACT.mpf(alpha)) for x, y in zip(p, q, strict=True))
    return EXACT.log(total) / (EXACT.mpf(alpha) - 1)


def check_rho(of_pure: Callable[[float], float], of_range: Callable[[float], float]) -> None:
    """Rényi divergences of the extreme pairs are at most rho·α."""
    for epsilon in (0.01, 0.5, 2.0, 12.0):
        e = EXACT.mpf(epsilon)
        p = EXACT.exp(e) / (1 + EXACT.exp(e))
        for alpha in (1.0001, 1.5, 2, 10, 200):
            assert renyi([p, 1 - p], [1 - p, p], alpha) <= of_pure(epsilon) * alpha
            for share in (0.2, 0.5, 0.9):
                q0, p0 = kink(e, e * share)
                assert renyi([p0, 1 - p0], [q0, 1 - q0], alpha) <= of_range(epsilon) * alpha


def test_rho_of_pure_and_of_bounded_range() -> None:
    check_rho(zcdp.rho_of_pure, zcdp.rho_of_bounded_range)
    e = EXACT.mpf("0.5")
    p = EXACT.exp(e) / (1 + EXACT.exp(e))
    assert renyi([p, 1 - p], [1 - p, p], 1.00001) > 0.9999 * zcdp.rho_of_pure(0.5)
    assert zcdp.rho_of_gaussian(2.0) == 2.0


@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_conversion_is_valid_and_best_over_alpha(delta: float) -> None:
    for target in EPSILONS:
        rho = zcdp.rho(target, delta)
        found = zcdp.epsilon(rho, delta)
        assert found <= target * (1 + 1e-7)
        # Any alpha gives a valid bound; the best one on a fine grid is the one found, nearly.
        excess = np.exp(np.linspace(-12, 40, 20_001))
        alpha = 1 + excess
        grid = alpha * rho + (-alpha * np.log1p(1 / excess) - np.log(excess) - np.log(delta)) / excess
        assert grid.min() * (1 - 1e-5) - 1e-6 <= found <= max(0.0, grid.min()) * (1 + 1e-9)
        # A Gaussian with this rho is one of the mechanisms covered.
        assert true_delta(math.sqrt(2 * rho), found) <= delta


def test_zcdp_extremes() -> None:
    assert zcdp.epsilon(0.0, 1e-9) == 0 and zcdp.epsilon(math.inf, 1e-9) == math.inf
    with pytest.raises(ValueError, match="at least 0"):
        zcdp.epsilon(-1.0, 0.1)


# ---- other accountants ------------------------------------------------------------------------------------


def test_dp_accounting_agrees() -> None:
    from dp_accounting import get_epsilon_gaussian

    for sigma in (0.3, 1.0, 20.0):
        assert gdp.epsilon(1 / sigma, 1e-6) == pytest.approx(get_epsilon_gaussian(sigma, 1e-6), rel=1e-6)


def test_opendp_agrees() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    for sigma in (2.0, 30.0):
        private = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=sigma))
        theirs = private.map(1.0).epsilon(delta=1e-6)
        assert zcdp.epsilon(zcdp.rho_of_gaussian(1 / sigma), 1e-6) == pytest.approx(theirs, rel=1e-4)


# ---- broken accounts --------------------------------------------------------------------------------------


def test_prices_that_are_too_low_are_noticed() -> None:
    with pytest.raises(AssertionError):
        check_bounded_range(lambda epsilon: gdp.mu_of_bounded_range(epsilon) * (1 - 1e-9))
    with pytest.raises(AssertionError):
        check_bounded_range(lambda epsilon: epsilon / 2)
    with pytest.raises(AssertionError):
        check_pure(gdp.mu_of_bounded_range)
    with pytest.raises(AssertionError):
        check_rho(lambda epsilon: epsilon**2 / 8, zcdp.rho_of_bounded_range)
    with pytest.raises(AssertionError):
        check_rho(zcdp.rho_of_pure, lambda epsilon: epsilon**2 / 9)

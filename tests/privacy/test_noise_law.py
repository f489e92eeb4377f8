"""The laws of the noise tables, verified exhaustively in exact integers, and what happens when they are
wrong.

Every check is a function that raises AssertionError, so that the tests at the end can run it on broken
noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction

import mpmath
import pytest

from sfumato.privacy import discrete_laplace, gaussian_weights, rounded_gaussian
from sfumato.privacy.discrete_laplace import DiscreteLaplace, Geometric
from sfumato.privacy.noise import Law, Noise
from sfumato.privacy.noise_table import TOTAL
from sfumato.privacy.rounded_gaussian import RoundedGaussian, quantise_sigma

EXACT = mpmath.MPContext()
EXACT.prec = 640
SIGMAS = [
    Fraction(text) for text in ("1/100", "1/8", "3/10", "1/2", "1", "3/2", "4", "615/64", "25", "100", "1000")
]
SCALES = [Fraction(text) for text in ("1/10", "1/2", "1", "7/3", "20", "90")]
EPSILONS = [Fraction(text) for text in ("0", "1/10", "1/2", "1", "3", "10", "100")]
E_BITS = 300


def rational(value: Fraction) -> mpmath.mpf:
    return EXACT.mpf(value.numerator) / value.denominator


def exp_below(epsilon: Fraction) -> int:
    """⌊2**300 e^epsilon⌋: taking e^epsilon too small makes delta too large, which is the safe side here."""
    return int(EXACT.floor(EXACT.ldexp(EXACT.exp(rational(epsilon)), E_BITS)))


def hockey_stick(above: Sequence[int], below: Sequence[int], epsilon: Fraction) -> Fraction:
    """Upper bound on Σ max(0, P - e^epsilon Q) for integer weights, exact but for the rounding of
    e^epsilon.
    """
    factor = exp_below(epsilon)
    excess = sum(max(0, (p << E_BITS) - factor * q) for p, q in zip(above, below, strict=True))
    return Fraction(excess, TOTAL << E_BITS)


def shifted(law: Law, shift: int) -> tuple[list[int], list[int]]:
    """Weights of Z + shift and of Z on their common support."""
    return [0] * shift + list(law.weights), list(law.weights) + [0] * shift


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    m, e = rational(mu), rational(epsilon)
    root = EXACT.sqrt(2)
    value = EXACT.erfc((e / m - m / 2) / root) / 2 - EXACT.exp(e) * EXACT.erfc((e / m + m / 2) / root) / 2
    return Fraction(int(EXACT.ceil(EXACT.ldexp(value, 400))), 1 << 400)


def allowance(noise: Noise, epsilon: Fraction) -> Fraction:
    """Delta for the distance of the table to its ideal law."""
    return (1 + Fraction(exp_below(epsilon) + 1, 1 << E_BITS)) * noise.tv_bound


def check_gaussian(noise: RoundedGaussian, shifts: Sequence[int]) -> None:
    """Counts that differ by s are as hard to tell apart as N(0, 1) and N(s/sigma, 1)."""
    law = noise.table()
    for shift in shifts:
        above, below = shifted(law, shift)
        for epsilon in EPSILONS:
            claimed = gaussian_delta(shift / noise.sigma, epsilon) + allowance(noise, epsilon)
            for p, q in ((above, below), (below, above)):
                assert hockey_stick(p, q, epsilon) <= claimed, (noise, shift, epsilon)


def check_gaussian_plane(noise: RoundedGaussian, shift: tuple[int, int], squared_length: int) -> None:
    """Two cells that both change: the same with mu² = squared length / sigma²."""
    law = noise.table()
    (p0, q0), (p1, q1) = (shifted(law, s) for s in shift)
    mu = Fraction(str(round(squared_length**0.5 + 1e-12, 12))) / noise.sigma
    for epsilon in EPSILONS[:4]:
        factor = exp_below(epsilon)
        excess = 0
        for a, b in zip(p0, q0, strict=True):
            a_scaled, b_scaled = a << E_BITS, b * factor
            excess += sum(max(0, a_scaled * c - b_scaled * d) for c, d in zip(p1, q1, strict=True))
        claimed = gaussian_delta(mu, epsilon) + 2 * allowance(noise, epsilon)
        assert Fraction(excess, TOTAL * TOTAL << E_BITS) <= claimed, (noise, shift, epsilon)


def check_laplace(noise: DiscreteLaplace, shifts: Sequence[int]) -> None:
    """Counts that differ by s: epsilon = s/scale, and no delta but the allowance."""
    law = noise.table()
    for shift in shifts:
        epsilon = shift / noise.scale
        if epsilon > 60:
            continue
        above, below = shifted(law, shift)
        for p, q in ((above, below), (below, above)):
            assert hockey_stick(p, q, epsilon) <= allowance(noise, epsilon), (noise, shift)


def check_geometric(noise: Geometric) -> None:
    """From above, a step costs epsilon = 1/scale; from below, it shows with probability P(G = 0)."""
    law = noise.table()
    epsilon = 1 / noise.scale
    above, below = shifted(law, 1)
    assert hockey_stick(above, below, epsilon) <= allowance(noise, epsilon)
    first = Fraction(law.weights[0], TOTAL)
    assert hockey_stick(below, above, epsilon) <= first + allowance(noise, epsilon)
    assert abs(first - 1 + Fraction(exp_below(-epsilon), 1 << E_BITS)) <= noise.tv_bound + Fraction(
        2, 1 << E_BITS
    )


def check_shape(law: Law, *, symmetric: bool) -> None:
    weights = list(law.weights)
    assert sum(weights) == TOTAL
    assert min(weights) > 0
    half = weights[len(weights) // 2 :] if symmetric else weights
    assert half == sorted(half, reverse=True)
    assert not symmetric or (weights == weights[::-1] and law.start == -(len(weights) // 2))


def check_distance(noise: Noise, ideal: Sequence[mpmath.mpf]) -> None:
    """Half the L1 distance to the ideal masses, and what these lack of 1, are within `tv_bound`."""
    scaled = [EXACT.ldexp(mass, 256) for mass in ideal]
    pairs = zip(noise.table().weights, scaled, strict=True)
    off = sum(abs(weight - mass) for weight, mass in pairs) + EXACT.ldexp(1 - sum(ideal), 256)
    assert off / 2 <= rational(noise.tv_bound * TOTAL)
    assert noise.tv_bound < Fraction(1, 1 << 233)


def cell(sigma: Fraction, k: int) -> mpmath.mpf:
    root = rational(sigma) * EXACT.sqrt(2)
    k = abs(k)
    low, high = (k - EXACT.mpf(1) / 2) / root, (k + EXACT.mpf(1) / 2) / root
    return (EXACT.erfc(low) - EXACT.erfc(high)) / 2


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_rounded_gaussian(sigma: Fraction) -> None:
    noise = RoundedGaussian(sigma)
    check_shape(noise.table(), symmetric=True)
    check_gaussian(noise, (1, 2, 5) if sigma < 100 else (1, 30))


@pytest.mark.parametrize(("shift", "squared_length"), [((1, 1), 2), ((1, 2), 5)])
def test_rounded_gaussian_in_two_cells(shift: tuple[int, int], squared_length: int) -> None:
    for sigma in (Fraction(1, 2), Fraction(2)):
        check_gaussian_plane(RoundedGaussian(sigma), shift, squared_length)


@pytest.mark.parametrize("sigma", SIGMAS[:-2], ids=str)
def test_gaussian_weights_are_near_the_ideal(sigma: Fraction) -> None:
    noise = RoundedGaussian(sigma)
    check_distance(noise, [cell(sigma, k) for k in range(-noise.bound, noise.bound + 1)])


@pytest.mark.parametrize("sigma", [Fraction(1023), Fraction(1024)], ids=str)
def test_large_gaussian_weights_are_rounded_down_by_one_unit_at_most(sigma: Fraction) -> None:
    weights = gaussian_weights.half_weights(sigma)
    for k in range(1, len(weights), len(weights) // 60):
        short = EXACT.ldexp(cell(sigma, k), 256) - weights[k]
        assert 0 <= short < rational(gaussian_weights.SHORTFALL)
    assert weights[0] + 2 * sum(weights[1:]) == TOTAL


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(17, 3), Fraction(512)], ids=str)
def test_the_series_keeps_its_error_bound(sigma: Fraction) -> None:
    """In units of 2**-300, long before masses are rounded to weights."""
    units = 2 * gaussian_weights.error(1 / sigma, int(19 * sigma) + 3, 40)
    masses = gaussian_weights.masses_by_series(sigma)
    for k, mass in zip(range(1, int(18 * sigma)), masses, strict=False):
        if k < 20 or k % 97 == 0:
            assert 0 <= EXACT.ldexp(cell(sigma, k), gaussian_weights.BITS) - mass <= units + 1
    assert units < 1 << (gaussian_weights.BITS - 256 - 16)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_and_geometric(scale: Fraction) -> None:
    laplace, geometric = DiscreteLaplace(scale), Geometric(scale)
    check_shape(laplace.table(), symmetric=True)
    check_shape(geometric.table(), symmetric=False)
    check_laplace(laplace, (1, 2, 7))
    check_geometric(geometric)
    a = EXACT.exp(-1 / rational(scale))
    mass = [(1 - a) / (1 + a) * a ** abs(k) for k in range(-laplace.bound, laplace.bound + 1)]
    check_distance(laplace, mass)
    check_distance(geometric, [(1 - a) * a**k for k in range(geometric.bound + 1)])


def test_threads_do_not_disturb_each_other() -> None:
    sigmas = [Fraction(1, 2) + Fraction(i, 7) for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(gaussian_weights.half_weights, sigmas))
    assert together == [gaussian_weights.half_weights(sigma) for sigma in sigmas]


def test_variance_is_that_of_the_table() -> None:
    for noise in (RoundedGaussian(2), RoundedGaussian(Fraction(3, 10)), DiscreteLaplace(3), Geometric(3)):
        assert noise.variance == pytest.approx(noise.table().variance, rel=1e-12)


def test_quantised_sigma_is_at_most_one_in_five_hundred_above() -> None:
    for sigma in (1e-3, 0.3, 1, 1.0009, 1.5, 12345.6, 1e7, 1023 / 1024, 1e-200, 1e200):
        grid = quantise_sigma(sigma)
        assert Fraction(sigma) <= grid <= Fraction(sigma) * Fraction(1002, 1000)
        assert quantise_sigma(grid) == grid == quantise_sigma(float(grid))
    assert len({quantise_sigma(1 + i / 1000) for i in range(1000)}) <= 513
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="sigma"):
            quantise_sigma(bad)


def test_scales_are_exact_and_positive() -> None:
    for law in (RoundedGaussian, DiscreteLaplace, Geometric):
        with pytest.raises(TypeError):
            law(1.5)
        with pytest.raises(ValueError, match="above 0"):
            law(0)
        with pytest.raises(ValueError, match="at most"):
            law(1 << 60)


# ---- broken noise: each of these must be noticed ---------------------------------------------------------


@contextmanager
def gaussian_drawn_at(monkeypatch: pytest.MonkeyPatch, change: object) -> Iterator[None]:
    right = gaussian_weights.half_weights
    rounded_gaussian._magnitudes.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(gaussian_weights, "half_weights", lambda sigma: right(change(sigma)))  # type: ignore[operator]
        yield
    rounded_gaussian._magnitudes.cache_clear()


@contextmanager
def laplace_drawn_at(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> Iterator[None]:
    right = discrete_laplace._magnitudes
    with monkeypatch.context() as patch:
        patch.setattr(discrete_laplace, "_magnitudes", lambda scale: right(scale * factor))
        yield


@pytest.mark.parametrize(
    "change",
    [lambda s: s / 2, lambda s: Fraction(95, 100) * s, lambda s: Fraction(999, 1000) * s, lambda s: s**2],
    ids=["halved", "5 % low", "0.1 % low", "square for scale"],
)
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3, 4)], ids=str)
def test_weak_gaussian_noise_is_noticed(
    monkeypatch: pytest.MonkeyPatch, sigma: Fraction, change: object
) -> None:
    with gaussian_drawn_at(monkeypatch, change), pytest.raises(AssertionError):
        check_gaussian(RoundedGaussian(sigma), (1, 2, 5))


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(95, 100)], ids=["halved", "5 % low"])
def test_weak_gaussian_noise_is_noticed_at_large_scale(
    monkeypatch: pytest.MonkeyPatch, factor: Fraction
) -> None:
    with gaussian_drawn_at(monkeypatch, lambda sigma: sigma * factor), pytest.raises(AssertionError):
        check_gaussian(RoundedGaussian(25), (1,))
    with gaussian_drawn_at(monkeypatch, lambda sigma: sigma * factor), pytest.raises(AssertionError):
        check_gaussian_plane(RoundedGaussian(2), (1, 1), 2)


def test_a_distance_that_forgets_a_cell_is_noticed() -> None:
    with pytest.raises(AssertionError):
        check_gaussian_plane(RoundedGaussian(2), (1, 1), 1)


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)], ids=str)
def test_weak_laplace_noise_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    with laplace_drawn_at(monkeypatch, factor), pytest.raises(AssertionError):
        check_laplace(DiscreteLaplace(20), (1, 2))


def test_a_lopsided_or_incomplete_table_is_noticed() -> None:
    law = RoundedGaussian(2).table()
    weights = list(law.weights)
    weights[3] += 1
    with pytest.raises(AssertionError):
        check_shape(Law(start=law.start, weights=weights), symmetric=True)
    weights[4] -= 1
    with pytest.raises(AssertionError):
        check_shape(Law(start=law.start, weights=weights), symmetric=True)

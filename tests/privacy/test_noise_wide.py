"""Noise of scales that no single table holds: rejection for the Gaussian, digits for the geometric laws.

Statistical checks raise a false alarm in less than 1e-7 of all runs, all together.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from sfumato.privacy import discrete_laplace, wide_gaussian
from sfumato.privacy.discrete_laplace import DiscreteLaplace, Geometric
from sfumato.privacy.noise import Noise
from sfumato.privacy.noise_table import TOTAL
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.wide_gaussian import MARGIN, WideGaussian

EXACT = mpmath.MPContext()
EXACT.prec = 640
pytestmark = pytest.mark.secure_noise
DRAWS = 100_000
SIGMAS = [Fraction(1 << 10), Fraction(20_481), Fraction(10**7) + Fraction(1, 3), Fraction(1 << 45)]


def places(sampler: WideGaussian, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Random places of a sampler, and all its corners."""
    rng = np.random.default_rng(20240501)
    width, cells = 1 << sampler.cell_bits, sampler.cells.size
    cell = np.concatenate([rng.integers(0, cells, count), [0, 0, 0, cells - 1, cells - 1]])
    offset = np.concatenate([rng.integers(0, width, count), [0, 1, width - 1, 0, width - 1]])
    return cell, offset


def check_chances(sampler: WideGaussian) -> None:
    """The double-precision chance is within 2**-46 of the exact one, which is a probability."""
    cell, offset = places(sampler, 60)
    approximate = sampler.approximate_chance(cell, offset)
    for c, r, value in zip(cell.tolist(), offset.tolist(), approximate.tolist(), strict=True):
        exact = sampler.exact_chance(c, r)
        assert 0 < exact < 1
        assert abs(exact - Fraction(value)) < Fraction(1, 1 << 46)
    assert MARGIN >= 64 * 2.0**-46


def check_kept_law(sampler: WideGaussian) -> None:
    """Cell weight × chance is the Gaussian's mass times one constant, wherever weights are not cut short."""
    cell, offset = places(sampler, 40)
    scale = EXACT.mpf(sampler.sigma.numerator) / sampler.sigma.denominator
    weights = sampler.cells.weights()
    ratios = []
    for c, r in zip(cell.tolist(), offset.tolist(), strict=True):
        if weights[c] < 1 << 200:
            continue
        k = (c << sampler.cell_bits) + r
        chance = sampler.exact_chance(c, r)
        mass = EXACT.erfc((k - 0.5) / (scale * EXACT.sqrt(2))) - EXACT.erfc(
            (k + 0.5) / (scale * EXACT.sqrt(2))
        )
        ratios.append(weights[c] * EXACT.mpf(chance.numerator) / chance.denominator / mass)
    assert len(ratios) > 10
    assert max(ratios) / min(ratios) - 1 < EXACT.ldexp(1, -180)


def check_spread(noise: Noise, probability: object, quantile: object) -> None:
    """Chi-square over 100 bins of equal probability, low bits and variance; false alarms below 1e-8."""
    drawn = noise.draw(DRAWS)
    edges = np.unique(np.floor(quantile(np.arange(1, 100) / 100)))  # type: ignore[operator]
    expected = DRAWS * np.diff(np.concatenate([[0.0], probability(edges), [1.0]]))  # type: ignore[operator]
    seen = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=edges.size + 1)
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), edges.size) > 1e-9, "bins"
    low = np.bincount(drawn & 31, minlength=32)
    assert chi2.sf(((low - DRAWS / 32) ** 2 / (DRAWS / 32)).sum(), 31) > 1e-9, "low bits"
    excess = 2.0 if isinstance(noise, RoundedGaussian) else 5.0 if isinstance(noise, DiscreteLaplace) else 8.0
    mean = 0.0 if not isinstance(noise, Geometric) else float(noise.scale) - 0.5
    assert abs(np.mean((drawn - mean) ** 2.0) / noise.variance - 1) < 6.5 * np.sqrt(excess / DRAWS), (
        "variance"
    )


def check_gaussian(sigma: Fraction) -> None:
    scale = float(sigma)
    check_spread(RoundedGaussian(sigma), lambda k: ndtr((k + 0.5) / scale), lambda p: scale * ndtri(p))


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_wide_gaussian_is_exact(sigma: Fraction) -> None:
    sampler = WideGaussian(sigma)
    check_chances(sampler)
    check_kept_law(sampler)
    assert sampler.tv_bound < Fraction(1, 1 << 240)
    assert 18 < sampler.bound / sigma < 19


@pytest.mark.parametrize("sigma", SIGMAS[1:], ids=str)
def test_wide_gaussian_draws(sigma: Fraction) -> None:
    check_gaussian(sigma)


def test_close_decisions_use_further_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = WideGaussian(Fraction(10**6))
    chance = sampler.exact_chance(200, 77)
    word = int(chance * (1 << 64))
    for extra, kept in ((0, True), ((1 << 320) - 1, False)):
        monkeypatch.setattr(wide_gaussian, "random_below", lambda bound, extra=extra: extra)
        assert sampler.decide(200, 77, word) is kept
    assert sampler.decide(200, 77, word - 1) and not sampler.decide(200, 77, word + 1)


def test_the_slow_path_gives_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a huge margin every proposal near its chance is decided in high precision."""
    sampler = WideGaussian(Fraction(10**6))
    seen = []
    right = WideGaussian.decide
    monkeypatch.setattr(wide_gaussian, "MARGIN", 0.02)
    monkeypatch.setattr(
        WideGaussian, "decide", lambda self, *place: seen.append(place) or right(self, *place)
    )
    drawn = sampler.draw(2000)
    assert drawn.shape == (2000,)
    assert seen
    for cell, offset, word in seen[:20]:
        chance = sampler.approximate_chance(np.array([cell]), np.array([offset]))[0]
        assert right(sampler, cell, offset, word) == (word * 2.0**-64 < chance)


def test_minus_zero_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = WideGaussian(Fraction(10**6))
    for sign, kept in ((0, 5), (1, 0)):
        word = sign << sampler.cell_bits
        monkeypatch.setattr(wide_gaussian, "random_words", lambda n, w=word: np.full(n, w, dtype=np.uint64))
        assert sampler._propose(5).tolist() == [0] * kept
        cell, v = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint64)
        drawn, keeps = sampler._decided(np.array([word], dtype=np.uint64), cell, v)
        assert (drawn.tolist(), keeps.tolist()) == ([0], [not sign])


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_the_short_cut_keeps_nothing_that_may_be_rejected(sigma: Fraction) -> None:
    """Leading bits of V below the mark of a cell mean V < α at every place of the cell."""
    sampler = WideGaussian(sigma)
    cell, offset = places(sampler, 30)
    assert sampler._sure.size == sampler.cells.size + 1 and sampler._sure[-1] == 0
    for c, r in zip(cell.tolist(), offset.tolist(), strict=True):
        mark = Fraction(int(sampler._sure[c]), 1 << sampler._v_bits)
        assert mark <= sampler.exact_chance(c, r)
    bits = sampler.cells.spare_bits
    assert sampler._v_bits + 1 + sampler.cell_bits == bits and sampler._v_bits >= 7


def test_words_that_do_not_decide_the_cell_are_looked_at_whole() -> None:
    """The cells of a proposal are those of all 64 bits, settled by the leading ones or not."""
    sampler = WideGaussian(Fraction(1 << 33))
    words = np.random.default_rng(3).integers(0, 1 << 64, 200_000, dtype=np.uint64)
    leading, whole = sampler.cells.leading(words), sampler.cells.locate(words)
    settled = leading >= 0
    assert 0.9 < settled.mean() < 1
    assert np.array_equal(leading[settled], whole[settled])


def test_zero_is_as_likely_as_it_should_be() -> None:
    draws, scale = 400_000, 1025
    expected = draws * np.tanh(0.5 / scale)
    zeros = np.count_nonzero(DiscreteLaplace(scale).draw(draws) == 0)
    assert abs(zeros - expected) < 6.5 * np.sqrt(expected)
    assert DiscreteLaplace(scale).tv_bound == 2 * Geometric(scale).tv_bound


@pytest.mark.parametrize("scale", [Fraction(1025), Fraction(10**5), Fraction(10**8)], ids=str)
def test_digits_of_a_geometric_number_multiply_to_its_law(scale: Fraction) -> None:
    tables = discrete_laplace._digits(scale)
    a = EXACT.exp(-EXACT.mpf(scale.denominator) / scale.numerator)
    rng = np.random.default_rng(7)
    laws = [table.weights() for table in tables]
    for _ in range(50):
        digits = [int(rng.integers(min(len(law), 4096))) for law in laws]
        value = sum(digit << 12 * i for i, digit in enumerate(digits))
        product = EXACT.mpf(1)
        for law, digit in zip(laws, digits, strict=True):
            product *= EXACT.mpf(law[digit]) / TOTAL
        if laws[-1][digits[-1]] > 1 << 200:
            assert abs(product / ((1 - a) * a**value) - 1) < EXACT.ldexp(1, -180)
    assert all(len(law) == 4096 for law in laws[:-1])
    assert Geometric(scale).tv_bound < Fraction(1, 1 << 238)


@pytest.mark.parametrize("scale", [Fraction(1025), Fraction(10**7)], ids=str)
def test_wide_laplace_and_geometric_draws(scale: Fraction) -> None:
    b = float(scale)

    def laplace_cdf(k: np.ndarray) -> np.ndarray:
        a = np.exp(-1 / b)
        return np.where(k < 0, np.exp(k / b) / (1 + a), 1 - np.exp(-(k + 1) / b) / (1 + a))

    check_spread(
        DiscreteLaplace(scale), laplace_cdf, lambda p: np.sign(p - 0.5) * -b * np.log1p(-abs(2 * p - 1))
    )
    check_spread(Geometric(scale), lambda k: -np.expm1(-(k + 1) / b), lambda p: -b * np.log1p(-p))


# ---- broken noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 0.95])
def test_weak_wide_noise_is_noticed(factor: float) -> None:
    sigma = Fraction(10**6)
    weak = RoundedGaussian(sigma * Fraction(factor))
    with pytest.raises(AssertionError, match="bins"):
        check_spread(weak, lambda k: ndtr((k + 0.5) / 1e6), lambda p: 1e6 * ndtri(p))
    with pytest.raises(AssertionError, match="bins"):
        check_spread(
            Geometric(sigma * Fraction(factor)),
            lambda k: -np.expm1(-(k + 1) / 1e6),
            lambda p: -1e6 * np.log1p(-p),
        )


def test_a_wrong_chance_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = WideGaussian.approximate_chance
    with monkeypatch.context() as patch:
        patch.setattr(
            WideGaussian, "approximate_chance", lambda self, c, r: right(self, c, r) * (1 - 2.0**-45)
        )
        with pytest.raises(AssertionError):
            check_chances(WideGaussian(Fraction(10**6)))
    monkeypatch.setattr(WideGaussian, "exact_chance", lambda self, cell, offset: Fraction(1, 2))
    with pytest.raises(AssertionError):
        check_kept_law(WideGaussian(Fraction(10**6)))

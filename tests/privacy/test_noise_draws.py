"""What is drawn follows the tables: ties and guides exactly, 10⁵ draws by variance and chi-square.

Statistical checks raise a false alarm in less than 1e-7 of all runs, all together.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.privacy import discrete_laplace, gaussian_weights, noise_table, rounded_gaussian, secure_random
from sfumato.privacy.discrete_laplace import DiscreteLaplace, Geometric
from sfumato.privacy.noise import Noise, add_noise
from sfumato.privacy.noise_table import TOTAL, NoiseTable
from sfumato.privacy.rounded_gaussian import RoundedGaussian

pytestmark = pytest.mark.secure_noise
DRAWS = 100_000
FAMILIES = [
    RoundedGaussian(Fraction(2, 5)),
    RoundedGaussian(3),
    RoundedGaussian(200),
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteLaplace(15),
    Geometric(4),
]


def check_draws(noise: Noise) -> None:
    """Variance within 6 standard errors and chi-square over all values with at least 20 expected draws."""
    claimed = noise.variance
    drawn = noise.draw(DRAWS)
    assert drawn.dtype == np.int64 and drawn.shape == (DRAWS,)
    law = noise.table()
    mass = np.array([weight / TOTAL for weight in law.weights])
    values = law.start + np.arange(mass.size)
    mean = (mass * values).sum()
    fourth = (mass * (values - mean) ** 4).sum()
    error = np.sqrt((fourth - law.variance**2) / DRAWS)
    assert abs(np.mean((drawn - mean) ** 2) - claimed) < 6 * error, "variance"
    seen = np.bincount(drawn - law.start, minlength=mass.size)
    common = mass * DRAWS >= 20
    seen = np.append(seen[common], seen[~common].sum())
    expected = DRAWS * np.append(mass[common], mass[~common].sum())
    seen, expected = seen[expected > 1], expected[expected > 1]
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, max(1, seen.size - 1)) > 1e-9, "chi-square"


@pytest.mark.parametrize("noise", FAMILIES, ids=str)
def test_draws_follow_the_table(noise: Noise) -> None:
    check_draws(noise)


def test_two_draws_differ() -> None:
    for scale in (10, 10**6):
        for law in (RoundedGaussian, DiscreteLaplace, Geometric):
            assert not np.array_equal(law(scale).draw(50), law(scale).draw(50))


def test_every_boundary_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """U just below, at and above each cumulative weight, including several that share their leading half."""
    pieces = [(5 << 192) + 3, 4, 1 << 100, 1, 1 << 255, (1 << 192) - 15, 2]
    weights = [*pieces, TOTAL - sum(pieces)]
    table = NoiseTable.of(weights)
    assert table.weights() == weights
    boundaries = list(accumulate(weights))[:-1]
    for boundary in boundaries:
        for drawn in (boundary - 1, boundary, boundary + 1):
            word, rest = drawn >> 192, drawn & (1 << 192) - 1
            with monkeypatch.context() as patch:
                patch.setattr(noise_table, "random_words", lambda n, w=word: np.full(n, w, dtype=np.uint64))
                patch.setattr(noise_table, "random_below", lambda bound, r=rest: r)
                assert table.draw(1)[0] == bisect_right(boundaries, drawn)


@pytest.mark.parametrize("sigma", [1, 100, 5000])
def test_the_guide_agrees_with_bisection(sigma: int) -> None:
    table = rounded_gaussian._magnitudes(Fraction(sigma))
    words = np.concatenate(
        [secure_random.random_words(2000), np.uint64(2**64 - 1) - np.arange(40, dtype=np.uint64)]
    )
    boundaries = list(accumulate(table.weights()))[:-1]
    high = {boundary >> 192 for boundary in boundaries}
    clear = [word for word in words if int(word) not in high]
    located = table.locate(np.array(clear, dtype=np.uint64))
    assert located.tolist() == [bisect_right(boundaries, int(word) << 192) for word in clear]


def test_tables_refuse_weights_that_are_no_law() -> None:
    for weights in ([], [TOTAL - 1], [TOTAL, 0], [TOTAL + 1, -1]):
        with pytest.raises(ValueError, match="2\\*\\*256"):
            NoiseTable.of(weights)
    assert NoiseTable.of([TOTAL]).draw(3).tolist() == [0, 0, 0]


def test_random_integers_are_uniform() -> None:
    drawn = [secure_random.random_below(6) for _ in range(6000)]
    counts = np.bincount(drawn, minlength=6)
    assert chi2.sf(((counts - 1000) ** 2 / 1000).sum(), 5) > 1e-9
    assert secure_random.random_below(1) == 0
    assert {secure_random.random_below((1 << 64) + 1) >> 63 for _ in range(200)} <= {0, 1, 2}
    signs = secure_random.random_signs(10_001)
    assert set(signs.tolist()) == {-1, 1} and abs(signs.sum()) < 620
    with pytest.raises(ValueError, match="at least 1"):
        secure_random.random_below(0)


def test_shapes() -> None:
    for noise in (*FAMILIES, RoundedGaussian(10**6), DiscreteLaplace(10**6), Geometric(10**6)):
        assert noise.draw((2, 0, 3)).shape == (2, 0, 3)
        assert noise.draw((2, 3)).shape == (2, 3)
        assert noise.draw(()).shape == ()


def test_adding_noise_never_overflows_and_never_fails_on_a_count() -> None:
    extreme = np.array([[np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max]] * 40)
    noisy = add_noise(extreme, RoundedGaussian(1 << 45))
    assert noisy.dtype == np.int64 and noisy.shape == extreme.shape
    assert noisy[:, 0].max() < -(1 << 60) and noisy[:, 2].min() > 1 << 60
    with pytest.raises(TypeError):
        add_noise(np.zeros(3), RoundedGaussian(1))  # type: ignore[arg-type]
    for law in (DiscreteLaplace(1 << 50), Geometric(1 << 50), RoundedGaussian(1 << 45)):
        assert law.bound < 1 << 61


# ---- broken noise -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [lambda s: s / 2, lambda s: 2 * s, lambda s: s**2, lambda s: s * 95 / 100],
    ids=["halved", "doubled", "square for scale", "5 % low"],
)
def test_wrong_gaussian_scale_is_noticed(monkeypatch: pytest.MonkeyPatch, change: object) -> None:
    right = gaussian_weights.half_weights
    monkeypatch.setattr(gaussian_weights, "half_weights", lambda sigma: right(change(sigma)))  # type: ignore[operator]
    rounded_gaussian._magnitudes.cache_clear()
    with pytest.raises(AssertionError, match="variance"):
        check_draws(RoundedGaussian(3))
    rounded_gaussian._magnitudes.cache_clear()


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(2), Fraction(95, 100)], ids=str)
def test_wrong_laplace_scale_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    right = discrete_laplace._magnitudes
    monkeypatch.setattr(discrete_laplace, "_magnitudes", lambda scale: right(scale * factor))
    with pytest.raises(AssertionError, match="variance"):
        check_draws(DiscreteLaplace(15))


def test_a_sampler_that_does_not_follow_its_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = NoiseTable.draw
    swap = np.array([1, 0])

    def swapped(self: NoiseTable, count: int) -> np.ndarray:
        drawn = right(self, count)
        return np.where(drawn < 2, swap[np.minimum(drawn, 1)], drawn)

    monkeypatch.setattr(NoiseTable, "draw", swapped)
    with pytest.raises(AssertionError):
        check_draws(RoundedGaussian(3))


def test_a_stuck_sign_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded_gaussian, "random_signs", lambda count: np.ones(count, dtype=np.int64))
    with pytest.raises(AssertionError, match="chi-square"):
        check_draws(RoundedGaussian(3))

"""Batches: coins of their own, exactly at their rate; and what a shuffled batch would give away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom, chi2, norm

from sfumato.privacy import batches
from sfumato.privacy.batches import fixed_groups, picks, poisson_batch, rate_of
from sfumato.privacy.subsampled import Schedule, epsilon


def sizes(draw, rows: int, count: int) -> np.ndarray:
    return np.array([draw(rows).size for _ in range(count)])


def binomial_deviation(found: np.ndarray, rows: int, rate: float) -> float:
    """Deviation of the variance of batch sizes from a binomial's, in standard deviations."""
    variance = rows * rate * (1 - rate)
    statistic = ((found - rows * rate) ** 2).sum() / variance
    return float(norm.isf(max(chi2.sf(statistic, found.size), 1e-300)))


def test_batch_sizes_are_binomial():
    rate = Fraction(1, 7)
    found = sizes(lambda rows: poisson_batch(rows, rate), 400, 3_000)
    assert abs(binomial_deviation(found, 400, 1 / 7)) < 5.5
    assert abs(found.mean() - 400 / 7) < 5.5 * np.sqrt(400 * 6 / 49 / 3_000)
    # Coins of different rows are independent, and those of different batches.
    member = np.zeros((3_000, 20))
    for row in member:
        batch = poisson_batch(20, rate)
        row[batch] = 1
    together = np.corrcoef(member.T)[np.triu_indices(20, 1)]
    assert np.abs(together).max() < 6.5 / np.sqrt(3_000)


@pytest.mark.parametrize("broken", ["fixed", "shuffled"])
def test_batches_of_one_size_are_noticed(broken):
    rng = np.random.default_rng(0)

    def wrong(rows: int) -> np.ndarray:
        return rng.permutation(rows)[: rows // 7]

    assert abs(binomial_deviation(sizes(wrong, 400, 500), 400, 1 / 7)) > 5.5


def test_coins_are_exact(monkeypatch):
    """A coin is a 48-bit number below a: the first 8 bits are drawn, the others where they matter."""
    rate = Fraction((5 << 40) + 9, 1 << 48)
    heads = np.array([4, 5, 6, 5, 0], dtype=np.uint8)
    monkeypatch.setattr(batches, "random_bytes", lambda count: heads.tobytes()[:count])
    monkeypatch.setattr(batches, "random_words", lambda n: np.array([8 << 24, 9 << 24], dtype=np.uint64)[:n])
    assert poisson_batch(5, rate).tolist() == [0, 1, 4]


def test_rates():
    assert rate_of(1.0) == 1 and poisson_batch(4, Fraction(1)).tolist() == [0, 1, 2, 3]
    assert 0 <= 0.3 - rate_of(0.3) < Fraction(1, 2**48) + Fraction(1, 10**15)
    for wrong in (0.0, -0.1, 1.1, 1e-16):
        with pytest.raises(ValueError):
            rate_of(wrong)
    assert poisson_batch(0, Fraction(1, 2)).size == 0


def test_picks_and_groups():
    chosen = picks(20_000, 16)
    assert binom.sf(np.bincount(chosen, minlength=16).max(), 20_000, 1 / 16) > 1e-8
    with pytest.raises(ValueError):
        picks(3, 12)
    dealt = fixed_groups(20_000, 10)
    assert set(dealt) <= set(range(10)) and binom.sf(np.bincount(dealt).max(), 20_000, 0.1) > 1e-8


def test_no_batch_has_a_seed():
    assert not np.array_equal(poisson_batch(1_000, Fraction(1, 2)), poisson_batch(1_000, Fraction(1, 2)))


# ---- the game that batches of a shuffled table lose (Chua et al. 2024) ------------------------------------

STEPS, EPOCHS, NOISE, RUNS, DELTA = 100, 5, 0.8, 20_000, 1e-5


def claimed() -> float:
    return epsilon([Schedule(noise=NOISE, rate=1 / STEPS, steps=STEPS * EPOCHS)], DELTA)


def lower_bound(one: np.ndarray, other: np.ndarray, level: float = 1e-6) -> float:
    """Largest epsilon that a threshold, chosen on the first half, proves on the second, by Clopper and Pearson."""
    half = one.size // 2
    limits = np.quantile(np.concatenate([one[:half], other[:half]]), np.linspace(0.5, 0.9999, 300))
    hits = [((one[:half] > t).mean(), (other[:half] > t).mean()) for t in limits]
    best = max(
        range(limits.size), key=lambda i: np.log(max(hits[i][0] - DELTA, 1e-9) / max(hits[i][1], 4 / half))
    )
    a, b = (int((each[half:] > limits[best]).sum()) for each in (one, other))
    low = beta.ppf(level, a, half - a + 1) if a else 0.0
    high = beta.ppf(1 - level, b + 1, half - b)
    return float(np.log(max(low - DELTA, 1e-300) / high))


def game(batch_of: str) -> float:
    """All other rows contribute -1 where the row in question contributes 1, or is missing: the worst case."""
    rng = np.random.default_rng(11)
    scores = []
    for present in (True, False):
        noise = rng.standard_normal((RUNS, EPOCHS, STEPS)) * NOISE
        if batch_of == "poisson":
            if present:
                flat = noise.reshape(-1)
                flat[poisson_batch(flat.size, rate_of(1 / STEPS))] += 1
            values = noise
            each = np.log1p((np.exp((2 * values - 1) / (2 * NOISE**2)) - 1) / STEPS)
            scores.append(each.sum((1, 2)))
        else:
            # In every epoch each batch has one row of its own, so that a batch without the row shows -1.
            place = rng.integers(STEPS, size=(RUNS, EPOCHS))
            shift = np.full((RUNS, EPOCHS, STEPS), -1.0)
            np.put_along_axis(shift, place[..., None], 1.0 if present else 0.0, axis=2)
            scores.append(np.log(np.exp((noise + shift) * 2 / NOISE**2).mean(2)).sum(1))
    return lower_bound(*scores)


def test_poisson_batches_stand_the_game():
    assert game("poisson") < claimed()


def test_shuffled_batches_are_found_out():
    assert game("shuffled") > claimed()

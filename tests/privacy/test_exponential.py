"""The exponential mechanism, exhaustively over small score vectors in exact integers, and its broken
variants.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.privacy import exponential, quantile
from sfumato.privacy.quantile import rank_distance, rank_scores

EXACT = mpmath.MPContext()
EXACT.prec = 600
BITS = 400


def exp_below(epsilon: Fraction) -> int:
    return int(EXACT.floor(EXACT.ldexp(EXACT.exp(EXACT.mpf(epsilon.numerator) / epsilon.denominator), BITS)))


def integer_law(scores: Sequence[int], rate: Fraction) -> tuple[list[int], int]:
    """Weights as `choose` uses them, one a candidate, and their sum."""
    gaps, group, _ = exponential._gaps(scores, rate)
    weights = exponential.gap_weights(gaps, rate)
    each = [weights[i] for i in group.tolist()]
    return each, sum(each)


def check_private(values: Sequence[int], moves: Sequence[int], epsilon: Fraction, *, distance: int) -> None:
    """All score vectors of length 3 over `values`, all neighbours: ratios at most e^epsilon, and so is
    their range.

    Nothing is allowed for rounding: the mechanism claims pure differential privacy.
    """
    rate = epsilon / (2 * distance)
    bound = exp_below(epsilon)
    laws = {}

    def law(scores: tuple[int, ...]) -> tuple[list[int], int]:
        if scores not in laws:
            laws[scores] = integer_law(scores, rate)
        return laws[scores]

    for scores in product(values, repeat=3):
        here, total = law(scores)
        for move in product(moves, repeat=3):
            there, other = law(tuple(s + m for s, m in zip(scores, move, strict=True)))
            up = [(p * other << BITS) <= bound * q * total for p, q in zip(here, there, strict=True)]
            assert all(up), (scores, move, "ratio")
            ratios = [Fraction(p, q) for p, q in zip(here, there, strict=True)]
            high, low = max(ratios), min(ratios)
            assert (high.numerator * low.denominator << BITS) <= bound * low.numerator * high.denominator, (
                "range"
            )


def check_choices(scores: Sequence[int], rate: Fraction, draws: int = 4000) -> None:
    """Frequencies of `choose` by chi-square, false alarms below 1e-9."""
    ideal = [EXACT.exp(EXACT.mpf(rate.numerator) * (s - max(scores)) / rate.denominator) for s in scores]
    mass = np.array([float(p / sum(ideal)) for p in ideal])
    seen = np.bincount([exponential.choose(scores, rate) for _ in range(draws)], minlength=len(scores))
    assert chi2.sf(((seen - draws * mass) ** 2 / (draws * mass)).sum(), len(scores) - 1) > 1e-9


def test_every_small_neighbourhood_is_pure_and_of_bounded_range() -> None:
    for epsilon in (Fraction(1, 1000), Fraction(1, 2), Fraction(2), Fraction(30)):
        check_private(range(4), (-1, 0, 1), epsilon, distance=1)
    check_private(range(0, 9, 3), (-2, 0, 2), Fraction(1), distance=2)


def test_privacy_is_pure_where_weights_are_cut_off() -> None:
    """At rate 1 gaps above 88 are treated alike; at tiny rates the cut is far away."""
    check_private((0, 86, 87, 88, 89, 1000), (-1, 0, 1), Fraction(2), distance=1)
    check_private((0, 7, 1 << 40), (-1, 1), Fraction(1, 1 << 30), distance=1)
    check_private((0, 1 << 70), (-1, 1), Fraction(1, 1 << 59), distance=1)


@pytest.mark.parametrize("rate", [Fraction(1, 1 << 22), Fraction(3, 7), Fraction(5)], ids=str)
def test_weights_are_the_exponential_to_140_bits(rate: Fraction) -> None:
    deepest = int(88 / rate)
    gaps = sorted({0, 1, 2, *(g for g in (255, 256, 257) if g < deepest), deepest // 3, deepest - 1, deepest})
    slower = EXACT.mpf(rate.numerator) / rate.denominator * (1 - EXACT.ldexp(1, -64))
    for gap, weight in zip(gaps, exponential.gap_weights(gaps, rate), strict=True):
        ideal = EXACT.ldexp(EXACT.exp(-slower * gap), 256)
        assert 0 <= ideal - weight < 1 + EXACT.ldexp(1, -30)
        assert weight >= 1 << 128


def test_rates_near_zero_choose_without_looking() -> None:
    """Below the rates for which the theorem holds, and at 0, scores have no influence at all."""
    smallest = Fraction(1, 1 << 61)
    scores = np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max])
    for rate in (Fraction(0), smallest / 2, smallest * (1 - Fraction(1, 1 << 30))):
        assert exponential.probabilities(scores, rate) == [Fraction(1, 3)] * 3
        assert {exponential.choose(scores, rate) for _ in range(200)} == {0, 1, 2}
    assert len(set(exponential.probabilities(scores, smallest))) == 3


def test_choices_follow_the_exponential_law() -> None:
    check_choices([3, 0, 1, 3, 2, -1], Fraction(1, 2))
    check_choices([0, 1 << 16, 3 << 16], Fraction(1, 1 << 17))
    law = exponential.probabilities(np.array([5, 5, 4]), Fraction(1))
    assert sum(law) == 1 and law[0] == law[1]
    assert float(law[2] / law[0]) == pytest.approx(np.exp(-1))


def test_scores_of_any_size() -> None:
    extremes = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0])
    assert exponential.choose(extremes, Fraction(1)) == 1
    assert exponential.choose([-(10**50), 10**50, 10**50 - 5], Fraction(10)) == 1
    assert exponential.probabilities([7], Fraction(1)) == [1]
    spread = np.random.default_rng(1).integers(-(1 << 40), 1 << 40, 10_000)
    assert 0 <= exponential.choose(spread, Fraction(1, 1 << 30)) < spread.size


def test_bad_requests() -> None:
    with pytest.raises(ValueError, match="no candidate"):
        exponential.choose([], Fraction(1))
    with pytest.raises(ValueError, match="at least 0"):
        exponential.choose([1], Fraction(-1))
    for scores, rate in (([1.5], Fraction(1)), (np.array([1.0]), Fraction(1)), ([1], 0.5)):
        with pytest.raises(TypeError):
            exponential.choose(scores, rate)  # type: ignore[arg-type]


# ---- quantiles --------------------------------------------------------------------------------------------


def check_rank_distance(level: Fraction) -> None:
    """All tables of 4 cells with counts up to 2: how far scores move when rows come, or come and go."""
    for counts in product(range(3), repeat=4):
        base = rank_scores(np.array(counts), level)
        for i in range(4):
            more = np.array(counts)
            more[i] += 1
            moved = rank_scores(more, level)
            assert np.abs(moved - base).max() <= rank_distance(level, relation="add-remove")
            for j in range(4):
                if more[j]:
                    swapped = more.copy()
                    swapped[j] -= 1
                    far = np.abs(rank_scores(swapped, level) - base).max()
                    assert far <= rank_distance(level, relation="replace")


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_rank_scores(level: Fraction) -> None:
    check_rank_distance(level)
    counts = np.full(1000, 3)
    assert abs((rank_scores(counts, level).argmax() + 1) - 1000 * float(level)) <= 1
    assert rank_distance(level, relation="add-remove", at_most=3) == 3 * rank_distance(
        level, relation="add-remove"
    )


def test_bad_ranks() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        rank_scores(np.array([1, 2]), Fraction(1))
    with pytest.raises(ValueError, match="fewer than two"):
        rank_scores(np.array([1]), Fraction(1, 2))
    with pytest.raises(TypeError):
        rank_scores(np.array([1.0, 2.0]), Fraction(1, 2))
    with pytest.raises(ValueError, match="relation"):
        rank_distance(Fraction(1, 2), relation="both")


# ---- broken mechanisms ------------------------------------------------------------------------------------


def scaled(factor: Fraction) -> Callable[..., list[int]]:
    right = exponential.gap_weights
    return lambda gaps, rate: right(gaps, rate * factor)


@pytest.mark.parametrize("factor", [Fraction(2), Fraction(101, 100)], ids=["missing 1/2", "1 % sharp"])
def test_a_sharper_mechanism_is_noticed(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    monkeypatch.setattr(exponential, "gap_weights", scaled(factor))
    with pytest.raises(AssertionError):
        check_private(range(4), (-1, 0, 1), Fraction(2), distance=1)


def test_a_forgotten_sensitivity_is_noticed() -> None:
    with pytest.raises(AssertionError):
        check_private(range(0, 9, 3), (-2, 0, 2), Fraction(1), distance=1)


def test_weights_cut_to_one_unit_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """⌊2**8 exp⌋, at least 1, is close to the law but not private to the last bit."""
    right = exponential.gap_weights
    monkeypatch.setattr(
        exponential, "gap_weights", lambda gaps, rate: [max(1, w >> 248) for w in right(gaps, rate)]
    )
    with pytest.raises(AssertionError):
        check_private((0, 4, 5), (-1, 0, 1), Fraction(2), distance=1)


def test_a_wrong_choice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential, "gap_weights", scaled(Fraction(1, 2)))
    with pytest.raises(AssertionError):
        check_choices([3, 0, 1, 3, 2, -1], Fraction(1, 2))


def test_a_rank_distance_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile, "rank_distance", lambda level, **_: level.numerator)
    monkeypatch.setitem(globals(), "rank_distance", quantile.rank_distance)
    with pytest.raises(AssertionError):
        check_rank_distance(Fraction(1, 4))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 50), Fraction(3, 2), Fraction(1000)])
@pytest.mark.parametrize("spread", [3, 200, 1 << 40])
def test_several_choices_are_repeated_choices(rate, spread, monkeypatch):
    """The same random bits give the same candidates, one after the other, as `choose` among what is left."""
    scores = np.random.default_rng(7).integers(-spread, spread, size=60)
    for seed in range(5):
        monkeypatch.setattr(exponential, "random_below", random.Random(seed).randrange)
        found = exponential.choose_several(scores, rate, 60)
        monkeypatch.setattr(exponential, "random_below", random.Random(seed).randrange)
        left = list(range(60))
        expected = [left.pop(exponential.choose(scores[left], rate)) for _ in range(60)]
        assert found == expected


def test_no_more_are_chosen_than_there_are():
    with pytest.raises(ValueError, match="more candidates"):
        exponential.choose_several(np.zeros(2, dtype=np.int64), Fraction(1), 3)

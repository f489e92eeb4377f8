"""Exact delta of thresholds: "at least" against "more than", for each law of noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from sfumato.privacy import thresholds
from sfumato.privacy.discrete_laplace import DiscreteLaplace, Geometric
from sfumato.privacy.noise import Noise
from sfumato.privacy.noise_table import TOTAL
from sfumato.privacy.rounded_gaussian import RoundedGaussian

FAMILIES = [
    RoundedGaussian(Fraction(1, 2)),
    RoundedGaussian(10),
    DiscreteLaplace(Fraction(5, 3)),
    Geometric(4),
]


def released(noise: Noise, count: int, passes: Callable[[int], bool]) -> Fraction:
    """Probability that `passes(count + Z)`, summed over the whole table."""
    law = noise.table()
    return Fraction(sum(w for z, w in enumerate(law.weights, law.start) if passes(count + z)), TOTAL)


def check_delta(noise: Noise) -> None:
    """What is stated is the probability that a key shows itself, to within the distance to the ideal law."""
    for threshold in (-3, 1, 2, 7, 15):
        for count, keys in ((1, 1), (3, 1), (2, 5)):
            shown = min(1, keys * released(noise, count, lambda noisy, t=threshold: noisy >= t))
            stated = thresholds.delta(noise, threshold, max_count=count, keys=keys)
            assert shown <= stated <= shown + 3 * keys * noise.tv_bound + Fraction(keys, 1 << 150)


def check_threshold(noise: Noise) -> None:
    """The threshold found keeps the promise, and the next lower one does not."""
    for delta in (Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**9), Fraction(1, 10**25)):
        for count, keys in ((1, 1), (4, 3)):
            threshold = thresholds.threshold_for(noise, delta, max_count=count, keys=keys)
            assert keys * released(noise, count, lambda noisy, t=threshold: noisy >= t) <= delta
            assert keys * released(noise, count, lambda noisy, t=threshold: noisy >= t - 1) > delta * (
                1 - 1e-6
            )


@pytest.mark.parametrize("noise", FAMILIES, ids=str)
def test_thresholds(noise: Noise) -> None:
    check_delta(noise)
    check_threshold(noise)


@pytest.mark.parametrize("noise", FAMILIES[:3], ids=str)
def test_more_than_is_not_at_least(noise: Noise) -> None:
    """The rule "noisy count > T" has the delta of T + 1."""
    shown = released(noise, 1, lambda noisy: noisy > 5)
    assert shown <= thresholds.delta(noise, 6) < thresholds.delta(noise, 5)


def test_thresholds_of_wide_noise() -> None:
    for noise in (RoundedGaussian(10**6), DiscreteLaplace(10**6)):
        threshold = thresholds.threshold_for(noise, Fraction(1, 10**9), max_count=2, keys=2)
        assert thresholds.delta(noise, threshold, max_count=2, keys=2) <= Fraction(1, 10**9)
        assert thresholds.delta(noise, threshold - 1, max_count=2, keys=2) > Fraction(1, 10**9)
    assert thresholds.threshold_for(RoundedGaussian(10**6), Fraction(1, 10**9)) == pytest.approx(
        5.9978e6, rel=1e-4
    )


def test_bad_requests() -> None:
    with pytest.raises(ValueError, match="precision"):
        thresholds.threshold_for(RoundedGaussian(1), Fraction(1, 1 << 260))
    with pytest.raises(ValueError, match="at least 1"):
        thresholds.delta(RoundedGaussian(1), 3, keys=0)
    assert thresholds.delta(RoundedGaussian(1), -100, keys=7) == 1
    assert thresholds.threshold_for(Geometric(4), Fraction(1), max_count=3) <= 3


@pytest.mark.parametrize("noise", FAMILIES, ids=str)
@pytest.mark.parametrize("offset", [1, -1], ids=["more than", "one too low"])
def test_off_by_one_is_noticed(monkeypatch: pytest.MonkeyPatch, noise: Noise, offset: int) -> None:
    right = thresholds.tail
    monkeypatch.setattr(thresholds, "tail", lambda noise, t: right(noise, t + offset))
    with pytest.raises(AssertionError):
        check_delta(noise)
    with pytest.raises(AssertionError):
        check_threshold(noise)


def test_a_forgotten_number_of_keys_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = thresholds.delta
    monkeypatch.setattr(
        thresholds, "delta", lambda noise, t, *, max_count, keys: right(noise, t, max_count=max_count)
    )
    with pytest.raises(AssertionError):
        check_delta(RoundedGaussian(10))

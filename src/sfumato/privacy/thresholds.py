"""The exact delta of releasing a key if and only if its noisy count reaches a threshold.

A key that only one of two neighbouring tables holds, at most c times, shows itself with probability P(c + Z
≥ T) = P(Z ≥ T - c): that probability is what the release adds to delta. With "noisy count > T" it would be
P(Z ≥ T + 1 - c). Up to `keys` such keys may differ at once; their probabilities are summed.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.privacy.noise import Noise


def tail(noise: Noise, t: int) -> Fraction:
    """Upper bound on P(Z ≥ t), for the ideal law and for the noise as drawn; within 2·`tv_bound` of both."""
    return min(Fraction(1), noise.ideal_tail(t) + noise.tv_bound)


def delta(noise: Noise, threshold: int, *, max_count: int = 1, keys: int = 1) -> Fraction:
    """Delta of releasing the keys with count + Z ≥ threshold.

    `max_count` bounds the count of a key that a neighbour lacks, `keys` bounds the number of such keys.
    """
    _check(max_count, keys)
    return min(Fraction(1), keys * tail(noise, threshold - max_count))


def threshold_for(noise: Noise, delta: Fraction, *, max_count: int = 1, keys: int = 1) -> int:
    """The smallest threshold whose `delta` is at most the given one.

    ValueError when that is out of reach because delta is below the distance of the noise to its ideal law.
    """
    _check(max_count, keys)
    target = Fraction(delta) / keys
    low, high = -noise.bound - 2, noise.bound + 2
    if tail(noise, high) > target:
        raise ValueError("delta is below the precision of the noise")
    if tail(noise, low) <= target:
        return low + max_count
    while high - low > 1:
        middle = (low + high) // 2
        if tail(noise, middle) <= target:
            high = middle
        else:
            low = middle
    return high + max_count


def _check(max_count: int, keys: int) -> None:
    if max_count < 1 or keys < 1:
        raise ValueError("max_count and keys must be at least 1")

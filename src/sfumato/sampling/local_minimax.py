"""The local minimax sampler on a finite alphabet (Park, Asoodeh, Lee 2024): whoever holds a distribution P
draws from

    clip(P_y / s ; 1/(e^epsilon + k - 1), e^epsilon/(e^epsilon + k - 1)),   s such that it adds up to 1.

It hides P altogether: any two distributions look alike, so it is epsilon-DP whatever changes in the table,
for a whole group of persons as for one. That is another promise than the others make, at a price that does
not fall with n: total variation up to (k-1)/(e^epsilon + k - 1). It is here for comparison.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.tally import Tally


def stretch(tally: Tally, ratio: Fraction) -> Fraction:
    """The smallest s ≥ 0 with Σ_y min(max(s c_y, 1), R) = R + k - 1; needs a record."""
    pairs = [(c, size) for c, size in zip(tally.values, tally.sizes, strict=True) if c]
    goal = ratio + tally.symbols - 1

    def held(s: Fraction) -> Fraction:
        inside = sum((min(max(s * c, Fraction(1)), ratio) * size for c, size in pairs), Fraction(0))
        return inside + (tally.symbols - sum(size for _, size in pairs))

    corners = sorted({Fraction(1, c) for c, _ in pairs} | {ratio / c for c, _ in pairs})
    low, high = (
        0,
        len(corners) - 1,
    )  # the sum rises with s, and reaches the goal at the last corner at the latest
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if held(corners[middle]) >= goal else (middle + 1, high)
    if low == 0:
        return corners[0]
    start, end = corners[low - 1], corners[low]
    rise = held(end) - held(start)
    return start + (goal - held(start)) * (end - start) / rise


@frozen(kw_only=True)
class LocalMinimax:
    """The minimax sampler of one holder of the whole table."""

    name: ClassVar[str] = "local-minimax"
    ratio: Fraction

    def weights(self, tally: Tally) -> list[int]:
        if tally.rows == 0:
            return [1] * len(tally.values)
        s, up, down = stretch(tally, self.ratio), self.ratio.numerator, self.ratio.denominator
        least, most = s.denominator * down, s.denominator * up
        return [min(max(value * s.numerator * down, least), most) for value in tally.values]

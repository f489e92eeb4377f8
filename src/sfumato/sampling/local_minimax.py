"""The local minimax sampler on a finite alphabet (Park, Asoodeh, Lee 2024): whoever holds a distribution P
draws from

    clip(P_y / s ; 1/(e^epsilon + k - 1), e^epsilon/(e^epsilon + k - 1)),   s such that it adds up to 1.

It hides P altogether: any two distributions look alike, so it is epsilon-DP whatever changes in the table,
for a whole group of persons as for one. That is another promise than the others make, at a price that does
not fall with n: total variation up to (k-1)/(e^epsilon + k - 1). It is here for comparison.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.tally import Tally


def stretch(tally: Tally, ratio: Fraction) -> Fraction:
    """The smallest s ≥ 0 with Σ_y min(max(s c_y, 1), R) = R + k - 1; needs a record.

    The sum rises with s, linearly between the corners 1/c and R/c.
    """
    counts = [c for c in tally.values if c]
    sizes = tally.sizes[len(tally.sizes) - len(counts) :]
    unseen, many = tally.symbols - sum(sizes), list(accumulate(sizes, initial=0))
    records = list(accumulate((c * size for c, size in zip(counts, sizes, strict=True)), initial=0))
    goal = ratio + tally.symbols - 1

    def held(s: Fraction) -> Fraction:
        low, high = bisect_left(counts, math.ceil(1 / s)), bisect_right(counts, math.floor(ratio / s))
        inside = s * (records[high] - records[low])
        return unseen + many[low] + inside + ratio * (many[-1] - many[high])

    ends = []
    for top in (Fraction(1), ratio):
        # Corners top/c fall with c: the last count whose corner reaches the goal.
        reaching = bisect_left(range(len(counts)), 1, key=lambda i: held(top / counts[i]) < goal) - 1
        ends.append((top, reaching))
    reached = [top / counts[i] for top, i in ends if i >= 0]
    short = [top / counts[i + 1] for top, i in ends if i + 1 < len(counts)]
    end = min(reached)
    if not short:
        return end
    start = max(short)
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

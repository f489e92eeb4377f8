"""GEO: below a threshold the weight of a count falls geometrically, above it a count is its own weight.

    w(j) = j for j ≥ T,   w(j) = T r^(j-T) for j < T,   P(y | c) = w(c_y) / Σ_z w(c_z),   T = ⌈1/(r-1)⌉,

    r = e^epsilon (1 - 1/n)   for replacing one of n records; needs r > 1, which is ROO's where it is not,
    r = e^epsilon             for adding or removing a record, with n private.

Weights are integers in units of 2**-64: from T downwards each is its neighbour over r, rounded up. All that
the proof needs (docs/methods/roo.md) holds for them exactly: they rise by a factor of at most r and by at
most one unit of count at a step, and are at least the count.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.roo import Roo
from sfumato.sampling.tally import Tally

UNIT = 1 << 64


def growth(ratio: Fraction, rows: int | None) -> Fraction:
    """The factor r between the weights of neighbouring counts; at most 1 where GEO cannot be used."""
    return ratio if rows is None else ratio * (1 - Fraction(1, max(rows, 1)))


@lru_cache(maxsize=64)
def ramp(r: Fraction) -> tuple[int, ...]:
    """Weights of the counts 0 … T, in units of 1/UNIT."""
    top = math.ceil(1 / (r - 1))
    found = [top * UNIT]
    for _ in range(top):
        found.append(-(-found[-1] * r.denominator // r.numerator))
    return tuple(reversed(found))


@frozen(kw_only=True)
class Geo:
    """Geometric weights below a threshold. rows: the public number of records; None: it is private."""

    name: ClassVar[str] = "geo"
    ratio: Fraction
    rows: int | None

    @property
    def usable(self) -> bool:
        """Whether r > 1; elsewhere the law is that of ROO. Depends on public numbers alone."""
        return growth(self.ratio, self.rows) > 1

    def weights(self, tally: Tally) -> list[int]:
        if not self.usable:
            return Roo(ratio=self.ratio).weights(tally)
        low = ramp(growth(self.ratio, self.rows))
        return [low[value] if value < len(low) else value * UNIT for value in tally.values]

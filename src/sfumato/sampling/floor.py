"""FLOOR: counts are raised to a floor, max(c_y, t) / Σ_z max(c_z, t).

With a = 1/(e^epsilon - 1) and T = ⌈a⌉ the floor is

    t = T (n - T + 1) / (e^epsilon n - T)   for replacing one of n records (t = T where that is not in (T-1,
    T]), t = T / e^epsilon                       for adding or removing a record, with n private.

The second is larger than needed for no relation, and too small under the first: there a record that arrives
also leaves a symbol, so the sum of the counts above the floor can fall. Proofs: docs/methods/roo.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.tally import Tally


def floor_of(ratio: Fraction, rows: int | None) -> Fraction:
    """The floor t. rows: the public number of records; None: it is private."""
    above = math.ceil(1 / (ratio - 1))
    if rows is None:
        return above / ratio
    if rows < above or ratio * rows <= above:
        return Fraction(above)
    found = above * (rows - above + 1) / (ratio * rows - above)
    return found if above - 1 < found <= above else Fraction(above)


@frozen(kw_only=True)
class Floor:
    """Counts with a floor. rows: the public number of records; None: it is private."""

    name: ClassVar[str] = "floor"
    ratio: Fraction
    rows: int | None

    @property
    def level(self) -> Fraction:
        """The floor t, in records."""
        return floor_of(self.ratio, self.rows)

    def weights(self, tally: Tally) -> list[int]:
        level = self.level
        return [max(value * level.denominator, level.numerator) for value in tally.values]

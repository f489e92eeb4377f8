"""ROO: with probability 1-q a record of the table, with probability q a uniform symbol (Tasnim, Gilani,
Sankar, Kosut, "Reveal-or-Obscure", arXiv 2504.14696).

    P(y | c) = q/k + (1-q) c_y/n,   q = k / (k + n(e^epsilon - 1)),

which is (c_y + a)/(n + k a) with a = 1/(e^epsilon - 1): additive smoothing by a pseudo-count that depends
neither on n nor on k. It is epsilon-DP for replacing a record, sharply, and also for adding or removing one,
with n private; docs/methods/roo.md has both proofs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.tally import Tally


@frozen(kw_only=True)
class Roo:
    """Reveal-or-obscure. ratio: largest factor of a probability, e^epsilon from below."""

    name: ClassVar[str] = "roo"
    ratio: Fraction

    @property
    def pseudo_count(self) -> Fraction:
        """What every symbol's count is raised by: 1/(ratio - 1)."""
        return 1 / (self.ratio - 1)

    def q(self, n: int, k: int) -> Fraction:
        """Probability of obscuring, for n records over k symbols."""
        return Fraction(k) / (k + n * (self.ratio - 1))

    def weights(self, tally: Tally) -> list[int]:
        up, down = self.ratio.numerator, self.ratio.denominator
        return [value * (up - down) + down for value in tally.values]

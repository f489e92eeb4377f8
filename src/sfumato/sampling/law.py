"""What all samplers that look at counts have in common: a weight for every count, exact and integer.

The symbol y is drawn with probability weight(c_y) / Σ_z weight(c_z), where c counts the records and z runs
over the whole public alphabet. So a law is checked by going through count vectors
(`sfumato.sampling.enumeration`), and drawn by one number below the sum of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

from sfumato.sampling.tally import Counts, Histogram, Tally, choose


class CountLaw(Protocol):
    """A sampler of one symbol whose law depends on counts alone, the same for every naming of symbols."""

    name: ClassVar[str]

    @property
    def ratio(self) -> Fraction:
        """Largest factor by which a probability may change between neighbours."""
        ...

    def weights(self, tally: Tally) -> list[int]:
        """A weight for each value of the tally."""
        ...


def probabilities(law: CountLaw, counts: Sequence[int] | Counts) -> list[Fraction]:
    """The exact law of `draw`, symbol by symbol. counts: one for every symbol of the alphabet."""
    tally = Histogram.of(counts).tally
    weights = law.weights(tally)
    total = sum(weight * size for weight, size in zip(weights, tally.sizes, strict=True))
    of = dict(zip(tally.values, weights, strict=True))
    return [Fraction(of[int(count)], total) for count in counts]


def draw(law: CountLaw, counts: Sequence[int] | Counts | Histogram) -> int:
    """One symbol, drawn by the operating system's generator. Its cost in privacy is the caller's to account
    for; `sfumato.sampling.sample` and `sfumato.sampling.draw` do it.
    """
    histogram = counts if isinstance(counts, Histogram) else Histogram.of(counts)
    tally = histogram.tally
    return choose(histogram, tally, law.weights(tally))


def whole(weights: Sequence[Fraction]) -> list[int]:
    """Rational weights over their common denominator."""
    import math

    common = math.lcm(*(weight.denominator for weight in weights))
    return [int(weight * common) for weight in weights]

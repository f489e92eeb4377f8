"""Counts of symbols in the form that the samplers need: how many symbols have each count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.privacy.secure_random import random_below

Counts = npt.NDArray[np.int64]


@frozen(kw_only=True)
class Tally:
    """Distinct counts in rising order, and how many symbols of the alphabet have each of them.

    Symbols that nobody has count 0 and are part of it: the alphabet is public, what occurs is not.
    """

    values: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Number of records."""
        return sum(value * size for value, size in zip(self.values, self.sizes, strict=True))

    @property
    def symbols(self) -> int:
        """Size of the alphabet."""
        return sum(self.sizes)

    @property
    def least(self) -> int:
        """The smallest count, over the whole alphabet."""
        return self.values[0]


@frozen(kw_only=True, eq=False)
class Histogram:
    """Counts over the symbols 0 … symbols-1, kept for those that occur.

    cells: symbols that occur, in rising order; counts: how often, at least 1 each.
    """

    cells: Counts
    counts: Counts
    symbols: int

    @classmethod
    def of(cls, counts: Sequence[int] | Counts) -> Histogram:
        """From one count for every symbol."""
        every = np.asarray(counts, dtype=np.int64)
        if every.ndim != 1 or not every.size or every.min() < 0:
            raise ValueError(
                "one count of at least 0 for every symbol of the alphabet, and at least one symbol"
            )
        cells = np.flatnonzero(every)
        return cls(cells=cells, counts=every[cells], symbols=every.size)

    @property
    def tally(self) -> Tally:
        """How many symbols have each count."""
        values, sizes = np.unique(self.counts, return_counts=True)
        empty = self.symbols - self.cells.size
        return Tally(
            values=(*([0] if empty else []), *values.tolist()),
            sizes=(*([empty] if empty else []), *sizes.tolist()),
        )

    def symbol(self, value: int, place: int) -> int:
        """The symbol number `place` among those whose count is `value`.

        Both kinds of symbols, those that occur and those that do not, are looked up whatever is asked.
        """
        before = self.cells - np.arange(self.cells.size)
        unseen = place + int(np.searchsorted(before, place, side="right"))
        rank = np.cumsum(self.counts == value)
        at = int(np.searchsorted(rank, place + 1))
        held = np.append(self.cells, 0)
        return (unseen, int(held[min(at, self.cells.size)]))[value > 0]


def choose(histogram: Histogram, tally: Tally, weights: Sequence[int]) -> int:
    """A symbol, drawn with probability exactly in proportion to the weight of its count.

    weights: one integer of at least 0 for each value of the tally. One number is drawn from the operating
    system, and all weights are compared with it.
    """
    masses = [weight * size for weight, size in zip(weights, tally.sizes, strict=True)]
    drawn = random_below(sum(masses))
    group = start = end = 0
    for mass in masses:
        end += mass
        passed = end <= drawn
        group += passed
        start += mass * passed
    return histogram.symbol(tally.values[group], (drawn - start) // weights[group])

"""Pairs of finely divided columns, measured in few ranges of each.

Two numbers with a hundred groups each have ten thousand cells, and a table of a few thousand rows does not
fill them above the noise: such a pair would never be worth measuring, however strongly its columns depend on
each other. In a few ranges of about equal numbers of rows it is. What was measured is spread over the groups
inside the ranges as the one-way marginals are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.views import Coarse
from sfumato.graphical import Measurement
from sfumato.synthesizers.grouping import Groups
from sfumato.synthesizers.structure import MEAN_ABSOLUTE
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

ROOM = 4.0
"""Noise scales that a cell of a pair of ranges holds, on average."""
CLEAR = (1.0, 3.0)
"""Distances to independence, in those that noise makes, that are hardly and that are perfectly clear."""
RANGES = (2, 12)
"""Ranges of a column, at least and at most."""


def number_of_ranges(rows: float, sigma: float) -> int:
    """Ranges of each column for a pair that is measured with noise `sigma`."""
    return int(np.clip(np.sqrt(max(rows, 0.0) / (ROOM * sigma)), *RANGES))


@frozen(eq=False)
class Ranges:
    """The ranges of one column, made of its groups."""

    of: Groups
    """The range of each group."""
    shares: Floats
    """What each group holds of its range."""

    @classmethod
    def of_counts(cls, counts: Floats, number: int, *, ordered: bool) -> Ranges:
        """About `number` ranges of about as many rows each: of neighbours, or of the commonest first."""
        order = np.arange(counts.size) if ordered else np.argsort(-counts, kind="stable")
        reached = np.cumsum(counts[order]) - counts[order] / 2
        labels = np.empty(counts.size, dtype=np.int64)
        labels[order] = np.floor(reached * number / max(counts.sum(), 1e-300))
        return cls._shared(np.unique(labels, return_inverse=True)[1], counts)

    @classmethod
    def _shared(cls, of: Groups, counts: Floats) -> Ranges:
        held = np.bincount(of, weights=counts)
        shares = np.divide(counts, held[of], out=np.full(counts.size, 1e-9), where=held[of] > 0)
        return cls(of, np.maximum(shares, 1e-9))

    def shared_by(self, counts: Floats) -> Ranges:
        """The same ranges, whose groups hold `counts`."""
        return self._shared(self.of, counts)

    @property
    def size(self) -> int:
        """Number of ranges."""
        return int(self.of.max()) + 1

    def view(self, view: Coarse) -> Coarse:
        """The column in ranges, for a column seen in groups."""
        return Coarse(view.codec, tuple(self.of[list(view.groups)].tolist()))


def summed(table: Floats, ranges: Sequence[Ranges]) -> Floats:
    """A table of groups as a table of ranges."""
    for axis, each in enumerate(ranges):
        moved = np.moveaxis(table, axis, 0)
        found = np.zeros((each.size, *moved.shape[1:]))
        np.add.at(found, each.of, moved)
        table = np.moveaxis(found, 0, axis)
    return table


def spread(
    clique: Clique, table: Floats, sigma: float, ranges: Sequence[Ranges], *, distance: float
) -> Measurement:
    """A measured table of ranges as a measurement of groups; `distance`: its noisy distance to independence.

    A range of n cells gets noise of sigma·√n times a cell's share on each, so that together they have about
    the noise that the range was measured with. Where the relation is clear it gets less, down to sigma times
    the share, so that the fit follows it all the way in the time it has.
    """
    ratio = distance / (MEAN_ABSOLUTE * sigma * table.size)
    power = float(np.interp(ratio, CLEAR, (0.5, 0.0)))
    places = np.ix_(*(each.of for each in ranges))
    share = np.ones(())
    cells = np.ones(())
    for each in ranges:
        share = np.multiply.outer(share, each.shares)
        cells = np.multiply.outer(cells, np.bincount(each.of)[each.of])
    return Measurement(clique=clique, values=table[places] * share, sigma=sigma * share * cells**power)

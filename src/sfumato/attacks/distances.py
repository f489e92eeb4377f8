"""Nearest records and densities, in blocks of fixed memory.

A scan goes over all pairs of a query and a candidate; a block of QUERIES x CANDIDATES squared distances is
all that exists of them at a time (4 MB a thread), however many records there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.attacks.space import Floats32, Points

QUERIES, CANDIDATES = 128, 8192
FLOOR = -4.5


@frozen(eq=False, kw_only=True)
class Near:
    """What a scan found for each query.

    `squared`: squared distances of the nearest candidates, ascending, one row a query, infinite where there
    are fewer. `places`: which candidates these are, -1 where there are fewer. `sums`: logarithm of
    Σ exp(-d²/(2 width²)) over all candidates, one row a width. `count`: candidates.
    """

    squared: Floats32
    places: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    count: int

    def density(self, width: int) -> npt.NDArray[np.float64]:
        """Logarithm of the kernel density, up to a constant that depends on the width alone. Farther than
        three widths from all candidates it is that at three widths from one: how far does not matter there.
        """
        return np.logaddexp(self.sums[width], FLOOR) - np.log(self.count)

    @property
    def closest(self) -> npt.NDArray[np.float64]:
        """Distance of the nearest candidate."""
        return np.sqrt(self.squared[:, 0].astype(np.float64))

    def with_others(self, other: Near) -> Near:
        """The scan over the candidates of both; those of `other` are counted after these."""
        keep = self.squared.shape[1]
        squared = np.concatenate((self.squared, other.squared), axis=1)
        places = np.concatenate(
            (self.places, np.where(other.places < 0, -1, other.places + self.count)), axis=1
        )
        order = np.argsort(squared, axis=1, kind="stable")[:, :keep]
        return Near(
            squared=np.take_along_axis(squared, order, 1),
            places=np.take_along_axis(places, order, 1),
            sums=np.logaddexp(self.sums, other.sums),
            count=self.count + other.count,
        )

    def take(self, queries: slice) -> Near:
        """The same for some of the queries."""
        return attrs.evolve(
            self, squared=self.squared[queries], places=self.places[queries], sums=self.sums[:, queries]
        )


def scan(queries: Points, candidates: Points, *, nearest: int = 1, widths: Sequence[float] = ()) -> Near:
    """The `nearest` candidates of every query, and kernel sums of some `widths`; on up to four threads."""
    keep = min(nearest, max(len(candidates), 1))
    found = Near(
        squared=np.full((len(queries), keep), np.inf, np.float32),
        places=np.full((len(queries), keep), -1, np.int64),
        sums=np.full((len(widths), len(queries)), -np.inf),
        count=len(candidates),
    )

    def fill(start: int) -> None:
        part = slice(start, start + QUERIES)
        for first, squared in blocks(queries.take(part), candidates):
            _merge(found, part, first, squared)
            for i, width in enumerate(widths):
                found.sums[i, part] = np.logaddexp(found.sums[i, part], _log_sums(squared, width))

    each_block(fill, len(queries))
    return found


def each_block(fill: Callable[[int], None], queries: int) -> None:
    """Call `fill` with the first place of every block of queries, on up to four threads."""
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for done in [pool.submit(fill, start) for start in range(0, queries, QUERIES)]:
            done.result()


def blocks(queries: Points, candidates: Points) -> Iterator[tuple[int, Floats32]]:
    """Squared distances of all queries to one block of candidates after another, and where it begins."""
    for first in range(0, len(candidates), CANDIDATES):
        yield first, squared_distances(queries, candidates.take(slice(first, first + CANDIDATES)))


def squared_distances(queries: Points, candidates: Points, column: int | None = None) -> Floats32:
    """Squared distances of all pairs; with `column`, what that column alone adds to them."""
    total = np.zeros((len(queries), len(candidates)), np.float32)
    work = np.empty_like(total)
    differ = np.empty(total.shape, bool)
    numbers, codes = (
        (range(len(queries.numbers)), range(len(queries.codes))) if column is None else queries.parts(column)
    )
    for i in numbers:
        np.subtract(queries.numbers[i][:, None], candidates.numbers[i][None, :], out=work)
        np.multiply(work, work, out=work)
        np.add(total, work, out=total)
    for i in codes:
        np.not_equal(queries.codes[i][:, None], candidates.codes[i][None, :], out=differ)
        np.add(total, differ, out=total)
    return total


def _merge(found: Near, part: slice, first: int, squared: Floats32) -> None:
    """Put the nearest of a block among the nearest so far."""
    keep = found.squared.shape[1]
    if keep == 1:
        places = squared.argmin(axis=1)[:, None]
    else:
        top = min(keep, squared.shape[1])
        places = np.argpartition(squared, top - 1, axis=1)[:, :top]
    values = np.concatenate((found.squared[part], np.take_along_axis(squared, places, 1)), axis=1)
    every = np.concatenate((found.places[part], places + first), axis=1)
    order = np.argsort(values, axis=1, kind="stable")[:, :keep]
    found.squared[part] = np.take_along_axis(values, order, 1)
    found.places[part] = np.take_along_axis(every, order, 1)


def _log_sums(squared: Floats32, width: float) -> npt.NDArray[np.float64]:
    """Logarithm of Σ exp(-d²/(2 width²)) over each row, without underflow."""
    least = squared.min(axis=1, keepdims=True)
    scale = np.float32(-1 / (2 * width * width))
    sums = np.exp((squared - least) * scale).sum(axis=1, dtype=np.float64)
    return np.log(sums) + least[:, 0].astype(np.float64) * float(scale)

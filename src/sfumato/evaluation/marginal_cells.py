"""Marginals of sets of columns: which sets, and the shares of their cells on both sides.

A marginal with more possible cells than rows is kept by the cells that occur, so memory is bounded by the
rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer]
Shares = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def column_sets(columns: int, ways: int, *, at_most: int, seed: int) -> list[tuple[int, ...]]:
    """All sets of `ways` columns in order, or `at_most` of them drawn without replacement; `seed` fixes
    which.
    """
    if math.comb(columns, ways) <= at_most:
        return list(itertools.combinations(range(columns), ways))
    rng = np.random.default_rng(seed)
    if math.comb(columns, ways) <= 50 * at_most:
        everything = list(itertools.combinations(range(columns), ways))
        return [everything[place] for place in np.sort(rng.choice(len(everything), at_most, replace=False))]
    found: set[tuple[int, ...]] = set()
    while len(found) < at_most:
        found.add(tuple(sorted(rng.choice(columns, ways, replace=False).tolist())))
    return sorted(found)


def marginals(
    tables: Sequence[Sequence[Codes]], sizes: Sequence[int], sets: Sequence[tuple[int, ...]]
) -> Iterator[list[Shares]]:
    """The shares of the cells of each set, one array a table, cells in the same order.

    `tables`: codes by column of each table, each with at least one row. Sets in order share their work.
    """
    prefix: tuple[int, ...] | None = None
    heads: list[Places] = []
    head_cells = 1
    for chosen in sets:
        if chosen[:-1] != prefix:
            prefix = chosen[:-1]
            heads, head_cells = [np.zeros(len(table[0]), dtype=np.int64) for table in tables], 1
            for a in prefix:
                heads, head_cells = _joined(heads, head_cells, [table[a] for table in tables], sizes[a])
        a = chosen[-1]
        both, cells = _joined(heads, head_cells, [table[a] for table in tables], sizes[a])
        if cells > 4 * sum(map(len, both)):
            both, cells = _renumbered(both)
        yield [np.bincount(index, minlength=cells) / index.size for index in both]


def _joined(
    heads: Sequence[Places], cells: int, codes: Sequence[Codes], size: int
) -> tuple[list[Places], int]:
    """One number for each combination of a head and a code."""
    if cells * size >= 1 << 62:
        heads, cells = _renumbered(heads)
    return [head * size + code for head, code in zip(heads, codes, strict=True)], cells * size


def _renumbered(both: Sequence[Places]) -> tuple[list[Places], int]:
    """The same places numbered without gaps, alike for all tables."""
    known, index = np.unique(np.concatenate(both), return_inverse=True)
    return np.split(index, np.cumsum([len(each) for each in both])[:-1]), known.size

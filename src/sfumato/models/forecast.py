"""Expected error of a run on a table that is not read; docs/methods/plan.md has the derivation.

Error is mean total variation distance over all marginals of one, two or three columns, between the rows and
as many synthetic rows. It has three parts: noise, relations that are not measured, and the drawing of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.models.assumed import DEPENDENCE, SEED, AssumedColumn
from sfumato.synthesizers.structure import MEAN_ABSOLUTE

Floats = npt.NDArray[np.float64]

SETS = 40
"""Pairs, and triples, that stand for all of them."""
CELLS = 10_000
"""Cells of one set that stand for all of its."""
SMOOTH = 0.22
"""Noise that is left in columns of numbers, whose neighbouring cells are smoothed."""
FITTED = 0.86
"""The same of other columns, whose counts are fitted to their sum."""
AGAIN = 3.0
"""How often the tables of pairs, and later ones of single columns, tell of a column, in tables of a pair."""
ONES = 0.66
"""Error that one noisy one-way marginal adds to a pair, per unit of its own."""
MEASURED = 0.34
"""Noise that is left in a measured pair when all measurements are fitted together."""
MISSED = 0.48
"""Share of the dependence of an unmeasured pair that the chain of measured ones does not carry."""
DRAWN, EVENLY = 0.8, 0.2
"""A cell that expects e rows is off by DRAWN e^EVENLY when rows are drawn: the sampler spreads codes evenly,
where independent draws would be off by 0.8 e^(1/2)."""
COMPROMISE = 0.06
"""Error of a column that comes of fitting it together with others, per unit of theirs."""
TRIPLE = 1.36
"""Error of three columns, per unit of that of two, before the drawing of rows."""
GRID = np.geomspace(1e-4, 1.0, 60)


@frozen(kw_only=True, eq=False)
class Sets:
    """Cells of typical marginals of some number of columns, as shares of the rows; ascending."""

    shares: Floats
    weights: Floats
    _below: Floats = field(init=False, repr=False)
    _above: Floats = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_below", np.append(0.0, np.cumsum(self.shares * self.weights)))
        object.__setattr__(self, "_above", np.append(np.cumsum(self.weights[::-1])[::-1], 0.0))

    @classmethod
    def of(cls, marginals: Sequence[Floats], sets: Sequence[tuple[int, ...]]) -> Sets:
        rng = np.random.default_rng(SEED)
        shares, weights = [], []
        for each in sets:
            sizes = [marginals[i].size for i in each]
            cells = int(np.prod(sizes, dtype=np.float64))
            if cells <= CELLS:
                index = np.unravel_index(np.arange(cells), sizes)
            else:
                index = tuple(rng.integers(size, size=CELLS) for size in sizes)
            part = np.prod([marginals[i][at] for i, at in zip(each, index, strict=True)], axis=0)
            scale = cells / part.size if cells <= CELLS else 1 / max(float(part.sum()), 1e-300)
            shares.append(part)
            weights.append(np.full(part.size, scale / len(sets)))
        every = np.concatenate(shares) if shares else np.zeros(0)
        order = np.argsort(every)
        return cls(shares=every[order], weights=np.concatenate(weights)[order] if weights else np.zeros(0))

    def noise(self, level: float) -> float:
        """Mean TVD when every cell is off by `level`, a share, or by all that it holds if that is less."""
        small = int(np.searchsorted(self.shares, level))
        return float(self._below[small] + level * self._above[small]) / 2

    def drawing(self, rows: float) -> float:
        """Mean TVD of so many rows that are drawn, were the model exact."""
        expected = self.shares * rows
        off = np.minimum(DRAWN * expected**EVENLY, 2 * expected) / rows
        return float(off @ self.weights) / 2


@frozen(kw_only=True)
class Errors:
    """Mean total variation distance over all marginals of one, two and three columns, 0 if there is none."""

    one_way: float
    two_way: float
    three_way: float

    @property
    def main(self) -> float:
        """That of two columns, or of the only one."""
        return max(self.two_way, self.one_way)


@frozen(kw_only=True, eq=False)
class Forecast:
    """What error to expect of a table, for any budget."""

    columns: tuple[AssumedColumn, ...]
    rows: float

    @cached_property
    def _ones(self) -> list[Sets]:
        return [Sets.of([c.shares], [(0,)]) for c in self.columns]

    @cached_property
    def _pairs(self) -> Sets:
        return Sets.of([c.shares for c in self.columns], chosen(len(self.columns), 2))

    @cached_property
    def _triples(self) -> Sets:
        return Sets.of([c.shares for c in self.columns], chosen(len(self.columns), 3))

    def one_way(self, ones: float, tables: float) -> float:
        """Error of the one-way marginals from noise: of their own tables, and of those of pairs, which hold
        them too.
        """
        columns, found = len(self.columns), []
        for sets, column in zip(self._ones, self.columns, strict=True):
            held = int(np.count_nonzero(column.shares))
            precision = (1 / ones**2 + AGAIN / (tables**2 * self._breadth)) / columns
            level = MEAN_ABSOLUTE * np.sqrt((1 - 1 / max(held, 2)) / precision) / self.rows
            found.append(sets.noise(level * (SMOOTH if column.codec.ordered and held > 8 else FITTED)))
        return float(np.mean(found))

    @cached_property
    def _breadth(self) -> float:
        """Codes of a typical column."""
        sizes = [np.count_nonzero(column.shares) for column in self.columns]
        return float(np.exp(np.mean(np.log(np.maximum(sizes, 1)))))

    def relations(self, sigma: float, *, pairs: int | None, most: float) -> float:
        """Error of pairs given their columns, when one table alone would have noise `sigma`.

        `pairs` tables are measured; None: as many, up to `most`, as make the error least.
        """
        columns = len(self.columns)
        every = columns * (columns - 1) / 2
        if columns < 2 or not np.isfinite(sigma):
            return DEPENDENCE
        tables = np.clip(GRID * every, 1.0, None) if pairs is None else np.array([float(pairs)])
        tables = np.minimum(tables, min(most, every))
        share = tables / every
        missed = 1 - share + share * np.log(share)
        noise = np.array([self._pairs.noise(MEAN_ABSOLUTE * sigma * np.sqrt(k) / self.rows) for k in tables])
        return float(np.min(DEPENDENCE * MISSED * missed + MEASURED * np.minimum(noise, DEPENDENCE)))

    def errors(self, *, ones: float, tables: float, pairs: int | None, max_cells: float) -> Errors:
        """`ones`, `tables`: noise if one table took the whole share; infinite where there is no share."""
        columns = len(self.columns)
        if not columns:
            return Errors(one_way=0.0, two_way=0.0, three_way=0.0)
        noise = self.one_way(ones, tables)
        between = 0.0
        if columns > 1:
            between = self.relations(tables, pairs=pairs, most=self.reach(max_cells))
        single, double, triple = self._drawing
        kept = (1 - ONES * noise) ** 2 * (1 - between)
        return Errors(
            one_way=_either(noise + COMPROMISE * between if tables < np.inf else noise, single),
            two_way=_either(1 - kept, double) if columns > 1 else 0.0,
            three_way=_either(1 - kept**TRIPLE, triple) if columns > 2 else 0.0,
        )

    def of_records(self, distance: float, *, records: int) -> Errors:
        """Where `records` rows are drawn independently from a law at total variation `distance` from the
        table's, and repeated: an independent draw that expects e is off by 0.8 e^(1/2) on average.
        """

        def error(sets: Sequence[Sets]) -> float:
            found = []
            for each in sets:
                expected = each.shares * records
                off = np.minimum(DRAWN * np.sqrt(expected), 2 * expected) / records
                found.append(float(off @ each.weights) / 2)
            return _either(distance, float(np.mean(found)))

        columns = len(self.columns)
        return Errors(
            one_way=error(self._ones) if columns else 0.0,
            two_way=error([self._pairs]) if columns > 1 else 0.0,
            three_way=error([self._triples]) if columns > 2 else 0.0,
        )

    @cached_property
    def _drawing(self) -> tuple[float, float, float]:
        """Error of independent draws, in marginals of one, two and three columns."""
        ones = float(np.mean([sets.drawing(self.rows) for sets in self._ones]))
        return ones, self._pairs.drawing(self.rows), self._triples.drawing(self.rows)

    def reach(self, max_cells: float) -> float:
        """Pairs that a model of so many cells can hold: those of a graph whose cliques just fit."""
        sizes = np.array([min(column.compared, 64) for column in self.columns], dtype=np.float64)
        columns, size = sizes.size, max(float(np.exp(np.log(sizes).mean())), 1.5)
        width = np.log(max(max_cells / columns, size**2)) / np.log(size) - 1
        width = min(max(width, 1.0), columns - 1.0)
        return width * columns - width * (width + 1) / 2


def _either(one: float, other: float) -> float:
    """Two errors together, which is at most 1."""
    return 1 - (1 - min(one, 1.0)) * (1 - min(other, 1.0))


def chosen(columns: int, ways: int) -> list[tuple[int, ...]]:
    """All sets of `ways` columns, or a fixed random selection."""
    rng = np.random.default_rng(SEED)
    count = float(np.prod([columns - i for i in range(ways)]) / np.prod(range(1, ways + 1)))
    if count <= SETS:
        return list(combinations(range(columns), ways))
    return [tuple(sorted(rng.choice(columns, ways, replace=False).tolist())) for _ in range(SETS)]

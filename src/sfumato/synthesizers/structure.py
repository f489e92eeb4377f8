"""Which marginals to measure next, and how well: the greedy search and the closed-form allocation.

A candidate has a noisy distance D between data and model (L1, in records). Measuring it with noise sigma
removes that error and puts in about Σ min(0.8 sigma, e) over its cells, e the expected count: noise of
standard deviation sigma has mean absolute value √(2/π) sigma, and a cell that the model expects to be
small is not driven far from it. So a set S is worth Σ w (D - noise(sigma)), and given a budget Σ 1/sigma²
the noise Σ w s sigma (s cells) is least for 1/sigma² in proportion to (w s)^(2/3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.graphical import CellCounter
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

MEAN_ABSOLUTE = float(np.sqrt(2 / np.pi))
PATIENCE = 12
"""Candidates in a row that may fail to improve before the search ends."""
APART = {1: 2 / 3, 2: 1 / 2}
"""A column, or a pair, is measured by its interaction alone when that has at most this share of its table's
noise."""
GUESS = 6.0
"""Candidates are ranked by what they would gain with the budget divided by this."""
DEAR = 8
"""A candidate that takes more than this part of the cells is tried after all others."""
TRIED = 200
"""Candidates that are tried at most."""


@frozen(eq=False)
class Candidate:
    """A clique that may be measured."""

    clique: Clique
    weight: float
    distance: float
    """Noisy L1 distance between data and model, in records."""
    portion: float
    """Noise of a cell once it is measured, in that of a table of counts: 1, less for an interaction."""
    _cells: Floats = field(repr=False)
    """Expected counts, ascending."""
    _below: Floats = field(repr=False)
    """Sums of the smallest expected counts: 0, e0, e0 + e1, …"""

    @classmethod
    def of(
        cls, clique: Clique, weight: float, distance: float, expected: Floats, portion: float = 1.0
    ) -> Candidate:
        """A candidate whose model marginal is `expected`."""
        cells = np.sort(expected, axis=None)
        return cls(clique, weight, distance, portion, cells, np.concatenate(([0.0], np.cumsum(cells))))

    @property
    def size(self) -> int:
        """Number of cells."""
        return self._cells.size

    @property
    def importance(self) -> float:
        """What a unit of noise costs here."""
        return self.weight * self.size * self.portion

    def noise(self, sigma: float) -> float:
        """Expected L1 error after a measurement with noise `sigma`."""
        level = MEAN_ABSOLUTE * self.portion * sigma
        small = int(np.searchsorted(self._cells, level))
        return float(self._below[small]) + level * (self.size - small)

    def gain(self, sigma: float) -> float:
        """Weighted error that a measurement with noise `sigma` removes."""
        return self.weight * (self.distance - self.noise(sigma))


@frozen(eq=False)
class Choice:
    """Cliques to measure, and their noise relative to each other."""

    cliques: tuple[Clique, ...]
    scales: tuple[Fraction, ...]


def choose(
    candidates: Sequence[Candidate],
    *,
    sizes: Sequence[int],
    measured: Iterable[Clique],
    spend: float,
    distance: float,
    doubt: float,
    max_cells: int,
    thrift: float = 0.0,
) -> Choice:
    """The set of candidates that greedily promises most for `spend`, within `max_cells` of junction tree.

    They are tried in the order of their gain over their cells to the power of `thrift`. `measured` cliques
    are in the tree already. `distance` is the L2 distance of one table between neighbours; distances below
    `doubt` are taken for noise. Empty when no candidate promises anything.
    """
    sigma = distance * np.sqrt(GUESS / spend)
    ranked = sorted(candidates, key=lambda c: (-c.gain(sigma) / c.size**thrift, c.clique))[:TRIED]
    found = _greedy(ranked, CellCounter(sizes, measured), spend, distance, doubt, max_cells)
    return Choice(tuple(c.clique for c in found), scales_of([c.importance for c in found]))


def _greedy(
    ranked: Sequence[Candidate],
    counter: CellCounter,
    spend: float,
    distance: float,
    doubt: float,
    max_cells: int,
) -> list[Candidate]:
    """The candidates that are taken when they are tried in the order of `ranked`."""
    chosen: list[Candidate] = []
    dear: list[Candidate] = []
    # What would fill much of the tree alone comes last, lest it keep out many that need little.
    for waiting, growth in ((ranked, max_cells // DEAR), (dear, max_cells)):
        fresh = (candidate for candidate in waiting if not _covered(candidate.clique, chosen))
        for candidate in improving(fresh, chosen, spend=spend, distance=distance, doubt=doubt):
            if counter.add_within(candidate.clique, min(max_cells, counter.cells + growth)):
                chosen.append(candidate)
            elif waiting is ranked:
                dear.append(candidate)
    return chosen


def improving(
    ranked: Iterable[Candidate], chosen: list[Candidate], *, spend: float, distance: float, doubt: float
) -> Iterator[Candidate]:
    """Candidates that raise what `chosen` promises, in order; the caller appends there those it takes."""
    best, failed = (promised(chosen, spend, distance) if chosen else 0.0), 0
    for candidate in ranked:
        if candidate.distance < doubt:
            continue
        value = promised([*chosen, candidate], spend, distance)
        if value <= best:
            failed += 1
            if failed > PATIENCE:
                return
            continue
        taken = len(chosen)
        yield candidate
        if len(chosen) > taken:
            best, failed = value, 0


def _covered(clique: Clique, chosen: Sequence[Candidate]) -> bool:
    mine = set(clique)
    return any(mine <= set(other.clique) or mine >= set(other.clique) for other in chosen)


def promised(chosen: Sequence[Candidate], spend: float, distance: float) -> float:
    """Weighted error that measuring all of `chosen` for `spend` removes."""
    shares = np.array([c.importance ** (2 / 3) for c in chosen])
    sigmas = distance / np.sqrt(spend * shares / shares.sum())
    return sum(c.gain(float(sigma)) for c, sigma in zip(chosen, sigmas, strict=True))


def portion_of(sizes: Sequence[int]) -> float:
    """Noise of a cell, in that of a table of counts for the same price, when the margins are known otherwise.

    An interaction (`sfumato.privacy.mechanisms.interactions`) moves by Π (1 - 1/s) of what a table does, in
    squares, and that share of the noise on it is in its own directions. 1: the table is to be measured.
    """
    portion = float(np.prod([1 - 1 / size for size in sizes]))
    return portion if 0 < portion <= APART.get(len(sizes), 0.0) else 1.0


def scales_of(importance: Sequence[float]) -> tuple[Fraction, ...]:
    """Noise scales in proportion to importance^(-1/3), to the nearest of 1, 3/2, 2, 3, 4, 6, …

    The error of a set is flat around the best allocation, and noise scales that recur share their tables.
    """
    if not len(importance):
        return ()
    ratios = (np.array(importance, dtype=np.float64) / max(importance)) ** (-1 / 3)
    return tuple(nearest_step(float(ratio)) for ratio in ratios)


def nearest_step(ratio: float) -> Fraction:
    """The nearest to `ratio` (at least 1) of 1, 3/2, 2, 3, 4, 6, …"""
    steps = [Fraction(2**k * m, 2) for k in range(24) for m in (2, 3)]
    return min(steps, key=lambda step: abs(np.log(float(step) / ratio)))

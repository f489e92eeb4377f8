"""Codes put together into groups that noise does not drown, before relations are measured.

A table of two columns is worth measuring only in cells that hold more rows than the noise. Neighbouring
cells of an ordered column are joined until each group is expected to hold `least` rows; rare values of an
unordered one go into one group. Codes that no row can have, or that the one-way marginal leaves empty,
join another group, since a cell of their own would be nothing but noise. What is joined here is taken
apart again when rows are drawn, in proportion to the one-way marginal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.domain.codecs import Codec

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]


def group_codes(codec: Codec, counts: Floats, *, least: float, at_most: int) -> Groups:
    """The group of every code, numbered 0, 1, … in the order of their first code."""
    if codec.size > at_most:
        least = max(least, float(counts.sum()) / at_most)
    atoms = codec.atoms
    label = np.full(codec.size, -1, dtype=np.int64)
    following = 0
    for code in np.flatnonzero(counts[:atoms] >= max(least, 1e-9)):
        label[code] = following
        following += 1
    cells = counts[atoms:]
    if codec.ordered:
        label[atoms:] = following + _runs(cells, least)
    else:
        common = np.flatnonzero((cells >= least) & (cells > 0)) + atoms
        label[common] = following + np.arange(common.size)
        rare = np.flatnonzero((cells < least) & (cells > 0)) + atoms
        label[rare] = following + common.size
    return _renumbered(_without_empty(label, counts))


def _runs(cells: Floats, least: float) -> Groups:
    """Runs of neighbours that hold at least `least` each."""
    rest = cells.sum() - np.cumsum(cells)
    run, held = 0, 0.0
    runs = np.empty(cells.size, dtype=np.int64)
    for i, count in enumerate(cells.tolist()):
        runs[i] = run
        held += count
        if held > 0 and held >= least and rest[i] >= least:
            run, held = run + 1, 0.0
    return runs


def _without_empty(label: Groups, counts: Floats) -> Groups:
    """Groups without rows, and codes without a group, join the largest group."""
    known = label >= 0
    mass = np.bincount(label[known], weights=counts[known], minlength=1)
    largest = int(np.argmax(mass))
    return np.where(known & (mass[np.maximum(label, 0)] > 0), label, largest)


def _renumbered(label: Groups) -> Groups:
    order = {group: number for number, group in enumerate(dict.fromkeys(label.tolist()))}
    return np.array([order[group] for group in label.tolist()], dtype=np.int64)

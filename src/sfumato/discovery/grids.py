"""Bounds and cells for numbers and dates, from noisy counts on a public grid.

The public grid does not depend on the data: powers of two on either side of zero for numbers and
durations, calendar years for dates. Its outermost cells that stand out of the noise give the bounds.
Then cells with many rows are split, and the finer partition is counted again, for a fixed number of
levels: an adaptive histogram in the spirit of PrivTree (Zhang, Xiao, Xie 2016), with one Gaussian
measurement a level (a row falls into one cell of each level). Frequent single values, such as 0, end up
in cells of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from sfumato.domain.codecs import GridCodec
from sfumato.domain.kinds.date import Date
from sfumato.domain.kinds.datetime import DAY, Datetime
from sfumato.domain.kinds.integer import Int
from sfumato.domain.kinds.real import Float
from sfumato.domain.measured import Measured
from sfumato.domain.strftime import GRAINS
from sfumato.privacy.curator import Curator

Edges = npt.NDArray[np.int64]

LEVELS = (16, 8, 8, 8)
"""Into how many parts a crowded cell is split, level by level."""
CROWDED = 4.0
"""A cell is split when its noisy count exceeds this many noise scales, …"""
CLEAR = 6.0
"""… and inside cells of the public grid that exceed this many …"""
SHARED = 2.5
"""… when it exceeds so many: values that many share are looked for where there are many rows."""
OCCUPIED = 4.5
"""A cell of the public grid holds data when its noisy count exceeds this many noise scales …"""
ADJACENT = 2.0
"""… and this many when it lies next to one that does: a cell too many there costs little."""
HIDDEN = 3.5
"""Where no cell holds data by itself, those 1, 2, 4 … 32 neighbours do that stand out most, by this many
noise scales."""
LOST = 2.0
"""Bounds are widened while the rows outside exceed this many standard deviations of the noise inside, …"""
WIDENED = 8
"""… by so many cells at most."""
CELLS_AT_MOST = 768
"""Cells of one column after splitting."""

_EPOCH = date(1970, 1, 1)


def units_per_day(facts: Measured) -> int:
    """Units in a day for a column of dates or moments; 0 for all others."""
    if isinstance(facts, Date):
        return 1
    return DAY // GRAINS[facts.grain] if isinstance(facts, Datetime) else 0


def with_bounds(facts: Measured, low: int, high: int) -> Measured:
    """`facts` with min and max at the given units, spelled as the column spells its values."""
    declared = facts.end_units
    ends = [end if end is not None else bought for end, bought in zip(declared, (low, high), strict=True)]
    low, high = ends[0], max(ends)
    if isinstance(facts.source, str) and facts.source != "dp":
        bought = [name for name, end in zip(("min", "max"), declared, strict=True) if end is None]
        facts = attrs.evolve(facts, source=dict.fromkeys(bought, "dp"))
    least, most = facts.unit_limits
    units = np.clip(np.array([low, high], dtype=np.int64), least, most)
    if isinstance(facts, Int):
        return attrs.evolve(facts, min=int(units[0]), max=int(units[1]))
    if isinstance(facts, Float):
        ends = [float(end) for end in facts.natural(units)]
        return attrs.evolve(facts, min=ends[0], max=ends[1])
    texts = facts.spell(units).to_list()
    ends: Any = {"min": texts[0], "max": texts[1]}
    return attrs.evolve(facts, **ends)


def public_edges(facts: Measured) -> Edges:
    """Edges of the public grid, in units, inside the declared bounds where there are any."""
    resolution = units_per_day(facts)
    if resolution:
        years = np.array([(date(year, 1, 1) - _EPOCH).days for year in range(1, 10000)], dtype=np.int64)
        # Single years only where people live; a decade or more a cell elsewhere.
        keep = [i for i in range(years.size) if 1850 <= i + 1 <= 2150 or i % 50 == 0]
        edges = years[keep] * resolution
    else:
        powers = 1 << np.arange(62, dtype=np.int64)
        edges = np.concatenate([-powers[::-1] + 1, [0], powers, [(1 << 62) + 1]])
        edges = np.unique(np.append(edges, 1))
    low, high = facts.end_units
    low = int(edges[0]) if low is None else low
    high = int(edges[-1]) - 1 if high is None else high
    return within(edges, low, max(low, high))


def within(edges: Edges, low: int, high: int) -> Edges:
    """The edges strictly inside, closed by `low` and `high` + 1."""
    return np.concatenate([[low], edges[(edges > low) & (edges <= high)], [high + 1]])


def learn_bounds(curator: Curator, columns: Sequence[Measured], *, spend: float) -> list[tuple[int, int]]:
    """Inclusive unit bounds of each column, from one noisy measurement on the public grid."""
    encoders = [GridCodec(facts, tuple(public_edges(facts).tolist())) for facts in columns]
    noisy = curator.measure(
        [(encoder,) for encoder in encoders], spend=spend, purpose="bounds of numbers and dates"
    )
    bounds = []
    # Every table has all rows.
    rows = float(np.mean([counts.sum() for counts in noisy.tables]))
    for encoder, counts in zip(encoders, noisy.tables, strict=True):
        ordinary = rows - float(counts[: encoder.atoms].sum())
        cells = _extent(counts[encoder.atoms :], noisy.sigma, rows=ordinary)
        if cells is None:
            # Nothing stands out of the noise: the public default.
            bounds.append((0, units_per_day(encoder.facts) or 1))
        else:
            bounds.append((encoder.edges[cells[0]], encoder.edges[cells[1] + 1] - 1))
    return bounds


def _extent(counts: npt.NDArray[np.int64], sigma: float, *, rows: float) -> tuple[int, int] | None:
    """First and last cell that hold data, as far as the noise lets one see; about `rows` rows are in some."""
    occupied = np.flatnonzero(counts > OCCUPIED * sigma)
    if occupied.size == 0:
        occupied = _hidden(counts, sigma)
    if occupied.size == 0:
        return None
    first, last = int(occupied[0]), int(occupied[-1])
    while first > 0 and counts[first - 1] > ADJACENT * sigma:
        first -= 1
    while last + 1 < counts.size and counts[last + 1] > ADJACENT * sigma:
        last += 1
    if first == last:
        # Never down to one cell: what is rare next to it would be lost.
        first, last = max(first - 1, 0), min(last + 1, counts.size - 1)
    sums = np.concatenate([[0], np.cumsum(counts)])
    for _ in range(WIDENED):
        if rows - (sums[last + 1] - sums[first]) <= LOST * sigma * np.sqrt(last + 1 - first):
            break
        # The rest lies somewhere: next to where data are seen, on the side that looks fuller.
        below = counts[first - 1] if first > 0 else -np.inf
        above = counts[last + 1] if last + 1 < counts.size else -np.inf
        first, last = (first - 1, last) if below > above else (first, min(last + 1, counts.size - 1))
    return first, last


def _hidden(counts: npt.NDArray[np.int64], sigma: float) -> npt.NDArray[np.int64]:
    """The neighbouring cells whose sum stands out most, if it does by HIDDEN noise scales; else none."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    best, found = HIDDEN, np.arange(0)
    for size in (1, 2, 4, 8, 16, 32):
        if size <= counts.size:
            scores = (sums[size:] - sums[:-size]) / (sigma * np.sqrt(size))
            start = int(scores.argmax())
            if scores[start] > best:
                best, found = float(scores[start]), np.arange(start, start + size)
    return found


def learn_grids(curator: Curator, columns: Sequence[Measured], *, spend: float) -> list[tuple[int, ...]]:
    """Edges of the adaptive cells of each column, whose bounds must be known."""
    grids = [_Cells(public_edges(facts)) for facts in columns]
    for parts in LEVELS:
        encoders = [
            GridCodec(facts, tuple(grid.edges.tolist())) for facts, grid in zip(columns, grids, strict=True)
        ]
        noisy = curator.measure(
            [(encoder,) for encoder in encoders],
            spend=spend / len(LEVELS),
            purpose="cells of numbers and dates",
        )
        for grid, encoder, counts in zip(grids, encoders, noisy.tables, strict=True):
            grid.split(counts[encoder.atoms :] / noisy.sigma, parts)
    return [tuple(grid.edges.tolist()) for grid in grids]


class _Cells:
    """The cells of one column, level by level."""

    def __init__(self, edges: Edges) -> None:
        self.edges = self._public = edges
        self._crowded: npt.NDArray[np.float64] | None = None

    def split(self, counts: npt.NDArray[np.float64], parts: int) -> None:
        """Split the crowded cells into so many parts; counts are in noise scales."""
        if self._crowded is None:
            self._crowded = np.where(counts > CLEAR, SHARED, CROWDED)
        home = np.searchsorted(self._public, self.edges[:-1], side="right") - 1
        self.edges = refine(self.edges, counts, crowded=self._crowded[home], parts=parts)


def refine(
    edges: Edges, counts: npt.NDArray[np.float64], *, crowded: npt.NDArray[np.float64], parts: int
) -> Edges:
    """Split every cell wider than one unit whose count exceeds `crowded`, the fullest first, into `parts`."""
    widths = np.diff(edges)
    candidates = np.flatnonzero((counts > crowded) & (widths > 1))
    candidates = candidates[np.argsort(-counts[candidates], kind="stable")]
    room = CELLS_AT_MOST - counts.size
    inner: list[Edges] = []
    for cell in candidates:
        pieces = min(parts, int(widths[cell]))
        if room < pieces - 1:
            break
        room -= pieces - 1
        low, width = int(edges[cell]), int(widths[cell])
        inner.append(np.array([low + width * i // pieces for i in range(1, pieces)], dtype=np.int64))
    return np.unique(np.concatenate([edges, *inner]))

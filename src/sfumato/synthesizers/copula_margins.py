"""Private margins of a copula: distribution functions of numbers, frequencies of categories, the row count.

A number's cells are counted twice: in about √cells coarse cells, and in all. Coarse counts carry the shape,
so that the error of the distribution function does not grow with the number of cells; fine counts divide
each coarse cell. Both are post-processed as `one_way` does it: ends of the range that hold nothing but noise
are taken as empty, and differences within the noise are smoothed. Missing values and special codes are atoms
of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.grids import public_edges
from sfumato.domain.codecs import Codec, GridCodec
from sfumato.domain.measured import Measured
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.histogram import denoise
from sfumato.synthesizers.one_way import expected_counts, tell_strays

Floats = npt.NDArray[np.float64]

COUNT_SHARE = 0.1
"""Share of what margins may spend that goes to the row count: every mean is a sum over it."""
COARSE_SHARE = 0.65
"""Share of what a column may spend that goes to its coarse counts."""
LEAST = 1e-6
"""Share of a coarse cell that is spread evenly, so that no fine cell is impossible."""
DIRECT = 32
"""A column of at most this many codes is counted once."""


@frozen(kw_only=True)
class Margins:
    """Released margins."""

    total: float
    """Estimated number of rows, at least 1."""
    shares: tuple[Floats, ...]
    """Share of every code of every column; sums to 1."""
    deviations: tuple[float, ...]
    """Standard deviation of the noise in the counts that carry each column's shape, in rows."""


def even_grid(facts: Measured, cells: int) -> tuple[int, ...]:
    """Public edges of a number with bounds: `cells` cells of one width, and edges at powers of two, since
    amounts crowd near zero.
    """
    bounds = facts.unit_bounds()
    if bounds is None:
        raise AssertionError(f"{facts.name!r} has no bounds")
    low, high = bounds
    span = high + 1 - low
    pieces = min(cells, span)
    even = {low + span * i // pieces for i in range(pieces + 1)}
    return tuple(sorted(even | set(public_edges(facts).tolist())))


def measure_margins(
    curator: Curator, codecs: Sequence[Codec], *, numbers: float, categories: float
) -> Margins:
    """Measure the row count and every margin; `numbers` and `categories` are what may be spent on either.

    Where there are no numbers the row count is paid from the share of categories.
    """
    measured = [i for i, codec in enumerate(codecs) if isinstance(codec, GridCodec)]
    labelled = [i for i, codec in enumerate(codecs) if not isinstance(codec, GridCodec)]
    count = COUNT_SHARE * (numbers if measured else categories)
    rest = {True: numbers, False: categories}
    rest[bool(measured)] -= count

    cliques: list[tuple[Codec, ...]] = [()]
    spends, coarse = [count], {}
    for i in measured:
        codec, spend = codecs[i], rest[True] / len(measured)
        assert isinstance(codec, GridCodec)
        if codec.size > DIRECT:
            coarse[i] = _coarse(codec)
            cliques += [(coarse[i],), (codec,)]
            spends += [COARSE_SHARE * spend, (1 - COARSE_SHARE) * spend]
        else:
            cliques.append((codec,))
            spends.append(spend)
    if labelled and not measured:
        cliques += [(codecs[i],) for i in labelled]
        spends += [rest[False] / len(labelled)] * len(labelled)
    noisy = curator.laplace(cliques, spends=spends, purpose="margins")
    tables, scales = list(noisy.tables), list(noisy.scales)
    if labelled and measured:
        more = curator.laplace(
            [(codecs[i],) for i in labelled],
            spends=[rest[False] / len(labelled)] * len(labelled),
            purpose="frequencies of categories",
        )
        tables, scales = tables + list(more.tables), scales + list(more.scales)
    total = _total(tables, scales)

    left = iter(zip(tables[1:], scales[1:], strict=True))
    shares: dict[int, Floats] = {}
    deviations: dict[int, float] = {}
    for i in [*measured, *labelled]:
        table, scale = next(left)
        codec, sigma = codecs[i], math.sqrt(2) * scale
        tell_strays(curator, codec, float(table[0]), sigma=sigma, total=total)
        deviations[i] = sigma
        if i in coarse:
            fine, fine_scale = next(left)
            held = expected_counts(coarse[i], table.astype(np.float64), sigma=sigma, total=total)
            assert isinstance(codec, GridCodec)
            counts = _divided(coarse[i], held, codec, fine, math.sqrt(2) * fine_scale)
        else:
            counts = expected_counts(codec, table.astype(np.float64), sigma=sigma, total=total)
        shares[i] = counts / counts.sum()
    places = range(len(codecs))
    return Margins(
        total=total,
        shares=tuple(shares[i] for i in places),
        deviations=tuple(deviations[i] for i in places),
    )


def _coarse(codec: GridCodec) -> GridCodec:
    """The same column in about √cells cells."""
    step = max(2, round(math.sqrt(codec.cells)))
    return GridCodec(codec.facts, (*codec.edges[:-1:step], codec.edges[-1]))


def _total(tables: Sequence[npt.NDArray[np.int64]], scales: Sequence[float]) -> float:
    """The row count, from all tables together: each of them holds every row once."""
    estimates = np.array([float(table.sum()) for table in tables])
    weights = 1 / np.array(
        [max(table.size, 1) * scale**2 for table, scale in zip(tables, scales, strict=True)]
    )
    return max(1.0, float(estimates @ weights / weights.sum()))


def _divided(
    coarse: GridCodec, held: Floats, codec: GridCodec, fine: npt.NDArray[np.int64], sigma: float
) -> Floats:
    """Counts of fine cells: those of each coarse cell, divided as a smooth distribution function through the
    coarse edges does (Fritsch, Carlson 1980), unless the fine counts clearly say otherwise.
    """
    from scipy.interpolate import PchipInterpolator

    found = np.zeros(codec.size)
    found[: codec.atoms] = held[: codec.atoms]
    starts = np.searchsorted(codec.edges, coarse.edges)
    heights = np.concatenate([[0.0], np.cumsum(held[coarse.atoms :])])
    # Even spacing of the coarse edges, so that a cell is no wider than its neighbours for the curve.
    places = np.interp(codec.edges, coarse.edges, np.arange(len(coarse.edges), dtype=np.float64))
    smooth = np.maximum(np.diff(PchipInterpolator(np.arange(len(heights)), heights)(places)), 0.0)
    for cell, (first, last) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
        mass = float(held[coarse.atoms + cell])
        inside = slice(codec.atoms + first, codec.atoms + last)
        allowed = codec.allowed[inside]
        if mass <= 0 or not allowed.any():
            continue
        even = codec.widths[first:last][allowed] / codec.widths[first:last][allowed].sum()
        expected = smooth[first:last][allowed] + LEAST * mass * even
        part = np.zeros(last - first)
        counts = fine[inside][allowed].astype(np.float64)
        part[allowed] = denoise(counts, expected, sigma=sigma, total=mass)
        found[inside] = part
    return found if found.sum() > 0 else np.where(codec.allowed, 1.0, 0.0)

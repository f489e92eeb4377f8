"""Expected counts of the cells of one column from noisy ones; post-processing.

Two steps. First the ends: declared bounds are often far wider than the data, and the noise of many empty
cells adds up to people of 120 years. Cells beyond the outermost window of 1, 2, 4, … cells whose sum stands
out of the noise, and what adjoins it, are taken as empty. Then a tree: the known number of rows is
handed down from the whole to halves, quarters, … Where the two halves of a stretch differ from an even
spread by less than the noise, rows are spread evenly over the width of the stretch; otherwise as
measured. The result is nonnegative and has the known sum. It is averaged over several positions of the
tree, so that no edge of a half shows.

This is Haar thresholding (Donoho, Johnstone 1994; Coifman, Donoho 1995) of a density on cells of unequal
width, in the multiplicative form of Willett, Nowak 2003, "Platelets", section II.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SEEN = 4.0
"""A window holds rows when its sum exceeds this many standard deviations of its noise."""
ADJOINING, ADJOINING_FAR = 1.0, 2.5
"""… and so many when it adjoins one that does, for windows of up to 2 cells and for wider ones."""
UNEVEN = 2.0
"""Two halves differ when they do so by this many standard deviations of the noise."""
POSITIONS = 8
"""Positions of the tree that are averaged."""


def support(counts: Floats, sigma: float) -> slice:
    """The cells between the outermost ones that hold rows; all cells when none is seen to."""
    last, first = _last_seen(counts, sigma), _last_seen(counts[::-1], sigma)
    if last is None or first is None:
        return slice(0, counts.size)
    # Where only a wide window stands out, its far end is met first from either side.
    low, high = sorted((counts.size - 1 - first, last))
    return slice(low, high + 1)


def _last_seen(counts: Floats, sigma: float) -> int | None:
    """Where the last window starts that stands out; from there on as long as the next one adjoins."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    widths = 1 << np.arange(counts.size.bit_length())
    starts = []
    for width in widths:
        seen = np.flatnonzero(sums[width:] - sums[:-width] > SEEN * sigma * np.sqrt(width))
        starts += [int(seen[-1])] if seen.size else []
    if not starts:
        return None
    end, adjoins = max(starts) + 1, True
    while adjoins:
        ahead = widths[widths <= counts.size - end]
        least = np.where(ahead <= 2, ADJOINING, ADJOINING_FAR) * sigma * np.sqrt(ahead)
        adjoining = np.flatnonzero(sums[end + ahead] - sums[end] > least)
        adjoins = adjoining.size > 0
        end += int(ahead[adjoining[0]]) if adjoins else 0
    return end - 1


def denoise(counts: Floats, widths: Floats, *, sigma: float, total: float) -> Floats:
    """Nonnegative counts with sum `total` for cells with noise of scale `sigma` and the given widths."""
    size = counts.size
    length = 1 << max(size - 1, 1).bit_length()
    positions = np.unique(np.linspace(0, length - 1, min(POSITIONS, length)).astype(np.int64))
    sums, spans = (np.concatenate([[0.0], np.cumsum(each)]) for each in (counts, widths))
    found = np.zeros(size)
    for position in positions:
        low, mass, step = np.array([-position]), np.array([total]), 2 * length
        while step > 1:
            step //= 2
            start, middle, end = (np.clip(low + k * step, 0, size) for k in range(3))
            left, right = middle - start, end - middle
            both = np.maximum(left + right, 1)
            even = mass * (spans[middle] - spans[start]) / np.maximum(spans[end] - spans[start], 1e-300)
            # The left half is measured twice: by its own cells, and as what the right half leaves.
            ours, theirs = sums[middle] - sums[start], mass - (sums[end] - sums[middle])
            measured = np.clip((ours * right + theirs * left) / both, 0.0, mass)
            differs = np.abs(measured - even) > UNEVEN * sigma * np.sqrt(left * right / both)
            part = np.where(differs, measured, even)
            low = np.concatenate([low, low + step])
            mass = np.concatenate([part, mass - part])
            inside = (low + step > 0) & (low < size) & (mass > 0)
            low, mass = low[inside], mass[inside]
        np.add.at(found, low, mass)
    return found / positions.size

"""Expected counts of the cells of one column from noisy ones; post-processing.

Three steps. First the ends: declared bounds are often far wider than the data, and the noise of many empty
cells adds up to people of 120 years. Cells beyond the outermost window of 1, 2, 4, … cells whose sum stands
out of the noise, and what adjoins it, are taken as empty, or as a tail that fades. What stands out is decided
for all windows together, and the more cells would widen the range the clearer they must be. Then cells that
tower above their neighbours, such as round numbers, are left as measured. Of all others a tree is made: the
known number of rows is handed down from the whole to halves, quarters, … By how much the two halves of a
stretch differ from an even spread over its width is shrunk, the more the less it stands out of the noise, but
never below what chance alone makes them differ. The result is nonnegative and has the known sum. It is
averaged over several positions of the tree, so that no edge of a half shows.

This is Haar shrinkage (Donoho, Johnstone 1994; Coifman, Donoho 1995) of a density on cells of unequal width,
in the multiplicative form of Willett, Nowak 2003, "Platelets", section II, with the nonnegative garrote (Gao
1998) at the threshold of each level for which Stein's unbiased estimate of the risk is least (SureShrink:
Donoho, Johnstone 1995).
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erfcx

Floats = npt.NDArray[np.float64]

FALSE_ALARM = 1e-2
"""A window holds rows when its sum is so large that noise alone shows one such in this share of columns, at
most."""
DOUBTFUL = (0.1, 0.5)
"""… and at these shares, one after another, while too many rows would be left without a place."""
LOST = 2.0
"""Rows have no place when their number exceeds this many standard deviations of the noise of what is kept."""
ADJOINING = 0.16
"""Cells that adjoin cells with rows are added at this level: one noise scale …"""
WIDENING = 0.03
"""… or, if smaller, at this level divided by the square of the factor by which they widen the range: that of
the number of cells or, if larger, the number of times they double the width."""
COARSE = 0.1
"""A cell beyond the fullest is coarse when it widens the range by at least this share."""
FADING = 1 / 3
"""A tail is expected to fall by this factor while the distance from the other end doubles."""
STANDING_OUT = 3.0
"""A coarse cell between the ends is left as it is when it differs from a tail by so many noise scales."""
PROLONGED = 2
"""Coarse cells that a tail goes on for, at most."""
UNEVEN = 2.0
"""A tail ends where a count is below it by this many standard deviations of the noise."""
FAR_BELOW = -1e4
"""Where a normal law is cut off so many standard deviations above its mean, what is left is exponential."""
SPIKE = 4.0
"""A spike holds more than twice what its neighbours say, by more than this many noise scales."""
NEIGHBOURS = 3
"""Neighbours on either side whose median density is the usual one."""
THRESHOLDS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
"""Thresholds of a level, in standard deviations of the noise, of which one is chosen …"""
USUAL, USUAL_WEIGHT = 1.4, 4.0
"""… and the one that is preferred, with its weight: the risk, in variances of one difference, for each factor
of e from it."""
POSITIONS = 8
"""Positions of the tree that are averaged."""


def support(counts: Floats, widths: Floats, *, sigma: float, total: float) -> slice:
    """The cells between the outermost ones that hold rows, of which there are about `total`.

    All cells when none are seen to, or when those that are hold too few.
    """
    sums, spans = (np.concatenate([[0.0], np.cumsum(each)]) for each in (counts, widths))
    for level in (FALSE_ALARM, *DOUBTFUL):
        found = _seen(sums, sigma, level)
        if found is not None:
            kept = _widened(sums, spans, found, sigma)
            lost = total - (sums[kept.stop] - sums[kept.start])
            if lost <= LOST * sigma * np.sqrt(kept.stop - kept.start):
                return kept
    return slice(0, counts.size)


def _widened(sums: Floats, spans: Floats, found: tuple[int, int], sigma: float) -> slice:
    """The cells found and what adjoins them."""
    low, high = found
    while True:
        held = high - low, spans[high] - spans[low]
        above = _adjoining(sums[high:] - sums[high], spans[high:] - spans[high], held, sigma)
        below = _adjoining(sums[low] - sums[low::-1], spans[low] - spans[low::-1], held, sigma)
        if above == below == 0:
            return slice(low, high)
        low, high = low - below, high + above


def _seen(sums: Floats, sigma: float, level: float) -> tuple[int, int] | None:
    """Ends of what the windows that stand out of the noise have in common with their neighbours: from the
    last cell of the first one to the first cell of the last one. None where none does.
    """
    size = sums.size - 1
    sizes = (1 << np.arange(size.bit_length())).tolist()
    scores = [(sums[step:] - sums[:-step]) / (sigma * np.sqrt(step)) for step in sizes]
    tested = sum(each.size for each in scores)
    least = _quantile(level / tested)
    standing_out = (np.flatnonzero(each >= least) for each in scores)
    seen = [(starts, step) for starts, step in zip(standing_out, sizes, strict=True) if starts.size]
    if not seen:
        return None
    first = min(int(starts[0]) + step - 1 for starts, step in seen)
    last = max(int(starts[-1]) for starts, _ in seen)
    # Where only wide windows stand out, the far end of one is met first from either side.
    return min(first, last), max(first, last) + 1


def _adjoining(sums: Floats, spans: Floats, held: tuple[int, float], sigma: float) -> int:
    """How many cells are added next to those held, given as their number and their width together.

    `sums` and `spans` are cumulative, away from there.
    """
    cells, span = held
    ahead = 1
    while ahead < sums.size:
        wider = spans[ahead] / span
        factor = max(ahead / cells, min(wider, np.log2(1 + wider)))
        if sums[ahead] > _quantile(min(ADJOINING, WIDENING / factor**2)) * sigma * np.sqrt(ahead):
            return ahead
        ahead *= 2
    return 0


def fade(found: Floats, counts: Floats, widths: Floats, kept: slice, *, sigma: float) -> Floats:
    """`found`, which is zero outside `kept`, with tails that fade in coarse cells at its ends and next to it.

    Far out cells are as wide as all before them: rows are not spread evenly over them, and a tail that fades
    into the noise does not end where it is seen last. A cell is expected to hold what a power law says, give
    or take as much; its count corrects this, and is left as it is where it stands out. Where the count of a
    cell outside `kept` is too low for a tail the end is sharp. `found` itself where nothing would be left.
    """
    mirrored = slice(counts.size - kept.stop, counts.size - kept.start)
    faded = _fade(found, counts, widths, kept, sigma)
    faded = _fade(faded[::-1], counts[::-1], widths[::-1], mirrored, sigma)[::-1]
    return faded if faded.any() else found


def _fade(found: Floats, counts: Floats, widths: Floats, kept: slice, sigma: float) -> Floats:
    found, spans = found.copy(), np.concatenate([[0.0], np.cumsum(widths)])
    range_before = np.maximum(spans[:-1] - spans[kept.start], 1.0)
    coarse = widths >= COARSE * range_before
    first = kept.stop
    while first > found.argmax() + 1 and coarse[first - 1]:
        first -= 1
    for cell in range(first, min(kept.stop + PROLONGED, found.size)):
        if not coarse[cell]:
            break
        ratio = widths[cell] / range_before[cell]
        stretch = min(ratio, 1.0) / 2
        sums = np.concatenate([[0.0], np.cumsum(found[:cell])])
        inner = np.interp(spans[cell] - stretch * range_before[cell], spans[: cell + 1], sums)
        expected = (sums[-1] - inner) * _power_law(ratio, stretch)
        beyond = counts[cell] - expected
        if cell < kept.stop and abs(beyond) > STANDING_OUT * sigma:
            continue
        if cell >= kept.stop and beyond < -UNEVEN * sigma:
            break
        found[cell] = _posterior_mean(counts[cell], expected, sigma)
    return found


def _posterior_mean(count: float, expected: float, sigma: float) -> float:
    """Mean of an exponential law of mean `expected`, given a count of it with normal noise of scale `sigma`.

    It is that of a normal law that is cut off at zero.
    """
    if expected <= 0:
        return 0.0
    place = count / sigma - sigma / expected
    if place < FAR_BELOW:
        return -sigma / place
    return sigma * (place + float(np.sqrt(2 / np.pi) / erfcx(-place / np.sqrt(2))))


def _power_law(ratio: float, stretch: float) -> float:
    """Rows in a cell `ratio` times as wide as the range before it, in those of the range's last `stretch`."""
    power = -np.log2(FADING)
    return float((1 - (1 + ratio) ** -power) / ((1 - stretch) ** -power - 1))


def _quantile(level: float) -> float:
    """The number of standard deviations that normal noise exceeds with probability `level`."""
    return -NormalDist().inv_cdf(max(level, 1e-300))


def denoise(counts: Floats, widths: Floats, *, sigma: float, total: float) -> Floats:
    """Nonnegative counts with sum `total` for cells with noise of scale `sigma` and the given widths."""
    alone = _spikes(counts, widths, sigma)
    if not alone.any():
        return _tree(counts, widths, sigma, total)
    found = np.zeros(counts.size)
    found[alone] = counts[alone] * min(1.0, total / counts[alone].sum())
    found[~alone] = _tree(counts[~alone], widths[~alone], sigma, max(total - found.sum(), 0.0))
    return found


def _spikes(counts: Floats, widths: Floats, sigma: float) -> npt.NDArray[np.bool_]:
    """Cells far above what the density of their neighbours that are no spikes says."""
    alone = np.zeros(counts.size, dtype=bool)
    widths = np.maximum(widths, 1e-9 * widths.mean())
    around = np.delete(np.arange(2 * NEIGHBOURS + 1), NEIGHBOURS)
    for _ in range(2):
        rest = np.flatnonzero(~alone)
        if rest.size <= 2 * NEIGHBOURS:
            break
        density = np.pad(counts[rest] / widths[rest], NEIGHBOURS, mode="reflect")
        near = np.median(sliding_window_view(density, around.size + 1)[:, around], axis=1)
        usual = np.maximum(near, 0.0) * widths[rest]
        alone[rest] = counts[rest] > usual + np.maximum(SPIKE * sigma, usual)
    return alone


def _tree(counts: Floats, widths: Floats, sigma: float, total: float) -> Floats:
    """The total handed down from the whole to halves, quarters, …; averaged over positions of the tree."""
    size = counts.size
    length = 1 << max(size - 1, 1).bit_length()
    positions = np.unique(np.linspace(0, length - 1, min(POSITIONS, length)).astype(np.int64))
    sums, spans = (np.concatenate([[0.0], np.cumsum(each)]) for each in (counts, widths))
    found = np.zeros(size)
    low, mass, step = -positions, np.full(positions.size, total), 2 * length
    while step > 1:
        step //= 2
        start, middle, end = (np.clip(low + k * step, 0, size) for k in range(3))
        left, right = middle - start, end - middle
        both = np.maximum(left + right, 1)
        share = (spans[middle] - spans[start]) / np.maximum(spans[end] - spans[start], 1e-300)
        even, variance = mass * share, sigma**2 * left * right / both
        # The left half is measured twice: by its own cells, and as what the right half leaves.
        ours, theirs = sums[middle] - sums[start], mass - (sums[end] - sums[middle])
        beyond = (ours * right + theirs * left) / both - even
        noisy = variance > 0
        threshold = _threshold(beyond[noisy] ** 2 / variance[noisy], positions.size)
        beyond = np.clip(beyond, -even, mass - even)
        squares, noise, chance = beyond**2, threshold**2 * variance, even * (1 - share)
        by_size = (squares - noise) / np.maximum(np.maximum(squares, noise), 1e-300)
        by_chance = chance / np.maximum(chance + variance, 1e-300)
        part = even + np.maximum(by_size, by_chance) * beyond
        low = np.concatenate([low, low + step])
        mass = np.concatenate([part, mass - part])
        inside = (low + step > 0) & (low < size) & (mass > 0)
        low, mass = low[inside], mass[inside]
    np.add.at(found, low, mass)
    return found / positions.size


def _threshold(squares: Floats, positions: int) -> float:
    """The threshold of a level at which Stein's unbiased estimate of the risk is least."""
    risks = []
    for each in THRESHOLDS:
        beyond = squares > each**2
        inner = squares[~beyond] - 1
        outer = 1 + each**2 * (each**2 + 2) / squares[beyond]
        risks.append((inner.sum() + outer.sum()) / positions + USUAL_WEIGHT * abs(np.log(each / USUAL)))
    return THRESHOLDS[int(np.argmin(risks))]

"""Take noise off a histogram on an even grid; post-processing.

Translation-invariant Haar thresholding (Coifman, Donoho 1995; Donoho, Johnstone 1994): differences
between neighbouring averages at every scale and position are kept only if they stand out of the noise,
whose scale is known exactly. Smooth stretches are averaged over many cells and single spikes stay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

KEPT = 2.0
"""A difference is kept when it exceeds this many standard deviations of its noise."""
SHORTEST = 8
"""Shorter histograms are left as they are."""


def smooth(counts: Floats, sigma: float) -> Floats:
    """`counts` on an even grid, each with noise of scale `sigma`, with the noise reduced; same sum up to
    the ends.
    """
    size = counts.size
    if size < SHORTEST or sigma <= 0:
        return counts
    length = 1 << (size - 1).bit_length()
    # Mirrored at the end, so that no jump arises where the ends meet.
    average = np.pad(counts, (0, length - size), mode="symmetric")
    details: list[tuple[int, Floats]] = []
    step = 1
    while step < length:
        ahead = np.roll(average, -step)
        detail = (average - ahead) / 2
        # An average of `step` cells has noise sigma/√step; half a difference of two has sigma/√(2 step).
        detail[np.abs(detail) <= KEPT * sigma / np.sqrt(2 * step)] = 0.0
        details.append((step, detail))
        average = (average + ahead) / 2
        step *= 2
    for step, detail in reversed(details):
        # Each average belongs to two pairs, of which it is the first and the second member.
        average = ((average + detail) + np.roll(average - detail, step)) / 2
    return average[:size]

"""Counts with Laplace noise, projected onto the simplex, from which symbols are drawn (Raskhodnikova,
Sivakumar, Smith, Swanberg 2021).

Noise is discrete Laplace of scale 2/epsilon where a record is replaced (two counts change by one) and
1/epsilon where it is added or removed. What follows is post-processing of epsilon-DP counts, so any number of
symbols may be drawn from one noisy histogram. The projection is not unique:

    euclid   the nearest point of the simplex: max(v_y - θ, 0) with θ such that the sum is n;
    clip     negative counts become 0, and the rest is scaled.

With n private the sum of the noisy counts takes the place of n. The noise is exact (no table is cut off, so
that delta is 0), noisy counts are cut at ±2**40, and everything after the noise is exact integer arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfumato.privacy.exact_laplace import LARGEST, ExactLaplace
from sfumato.privacy.secure_random import random_below
from sfumato.sampling.tally import Counts, Histogram

CUT = 1 << 40
CELLS = 1 << 20
"""Largest alphabet: every cell has noise of its own."""
FINE = 1 << 20

Projection = Callable[[Counts, int], Counts]


def euclid(noisy: Counts, total: int) -> Counts:
    """Integer weights in proportion to the point nearest to `noisy` among those that are at least 0 and add
    up to `total` (at least 1).
    """
    falling = np.sort(noisy)[::-1]
    excess = np.cumsum(falling) - total
    held = int(np.flatnonzero(falling * np.arange(1, noisy.size + 1) > excess)[-1])
    return np.maximum(noisy * (held + 1) - excess[held], 0)


def clip(noisy: Counts, total: int) -> Counts:
    """Integer weights max(v, 0); all 1 where no noisy count is above 0."""
    above = np.maximum(noisy, 0)
    return above if above.any() else np.ones_like(noisy)


PROJECTIONS: dict[str, Projection] = {"laplace-euclid": euclid, "laplace-clip": clip}


def scale_of(epsilon: float, *, replace: bool) -> Fraction:
    """Scale of the noise, rounded up: L1 distance of the counts over epsilon. ValueError where it is too
    large to be drawn.
    """
    exact = Fraction(2 if replace else 1) / Fraction(epsilon)
    fine = min(FINE, LARGEST // math.ceil(exact))
    if not fine:
        raise ValueError("epsilon is too small for noise that can be drawn")
    return Fraction(-(-exact.numerator * fine // exact.denominator), fine)


def noisy_counts(histogram: Histogram, scale: Fraction) -> Counts:
    """Counts of all symbols with independent noise."""
    counts = np.zeros(histogram.symbols, dtype=np.int64)
    counts[histogram.cells] = histogram.counts
    drawn = ExactLaplace(scale).draw(counts.shape)
    return np.clip(np.clip(counts, 0, CUT) + drawn, -CUT, CUT)


def weights(noisy: Counts, *, rows: int | None, projection: str) -> Counts:
    """Integer weights of all symbols from noisy counts. rows: the public number of records, if it is
    public.
    """
    total = int(noisy.sum()) if rows is None else rows
    return PROJECTIONS[projection](noisy, max(1, min(total, CUT)))


def draw_several(found: Counts, count: int) -> list[int]:
    """Independent symbols with probabilities in proportion to integer weights."""
    ends = np.cumsum(found.astype(object)) if int(found.max()) > CUT else np.cumsum(found)
    whole = int(ends[-1])
    return [int(np.searchsorted(ends, random_below(whole), side="right")) for _ in range(count)]

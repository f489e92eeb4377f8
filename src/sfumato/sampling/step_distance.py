"""How far one record can move the law of a draw, in total variation: what makes many draws cheap.

For an e-DP draw H_t, the hockey-stick divergence of order t, is convex in e^t and 0 at t = e, so between t =
0 and e it lies below the chord: H_t ≤ TV (R - e^t)/(R - 1), R = e^e. That is H_t of the three-point pair
with p = TV/(R - 1) (`sfumato.privacy.three_points`), which therefore dominates. For ROO it is tight. Bounds,
proved in docs/methods/roo.md:

    roo          1/(n + k a)                                          n private: 1/(k a)
    floor, geo   1/n                                                  n private: 1/(1 + k w(0))
    ds-roo       max over m of (1-q_{m+1})/n + (q_m - q_{m+1})(1 - km/n)
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.sampling.ds_roo import short_table
from sfumato.sampling.floor import floor_of
from sfumato.sampling.geo import UNIT, growth, ramp
from sfumato.sampling.ratios import ratio_below

SAFE = 1 + 1e-9
VAST = 10**300
"""Alphabets beyond this are taken for this."""


@lru_cache(maxsize=4096)
def step_distance(sampler: str, *, symbols: int, rows: int | None, epsilon: float) -> float:
    """Largest total variation distance between the laws of a draw on neighbours that differ in one record,
    rounded up.

    rows: the public number of records, for replacing one; None: it is private, for adding or removing one. 1
    where no better bound is known.
    """
    k = min(symbols, VAST)
    pseudo = 1 / math.expm1(min(epsilon, 700.0))
    if sampler == "roo":
        return min(1.0, SAFE / (k * pseudo if rows is None else rows + k * pseudo))
    if rows == 0:
        return 1.0
    if sampler in ("floor", "geo") and rows is not None:
        return min(1.0, SAFE / rows)
    if sampler == "ds-roo" and rows is not None:
        return _ds_roo(k, rows, epsilon)
    if sampler == "floor":
        return min(1.0, SAFE / (1 + k * float(floor_of(ratio_below(epsilon), None))))
    if sampler == "geo":
        return min(1.0, SAFE / (1 + k * (ramp(growth(ratio_below(epsilon), None))[0] / UNIT)))
    return 1.0


def _ds_roo(k: int, rows: int, epsilon: float) -> float:
    table = [float(q) for q in short_table(rows, k, ratio_below(epsilon))]
    found = 1 / rows
    for m, q in enumerate(table):
        after = table[m + 1] if m + 1 < len(table) else 0.0
        found = max(found, (1 - q) / rows, (1 - after) / rows + (q - after) * (1 - k * m / rows))
    return min(1.0, found * SAFE)

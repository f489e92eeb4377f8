"""e^epsilon as an exact rational, from below: everything that is drawn rests on it, and nothing on a
float.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sfumato.privacy.high_precision import exp_fixed

PRECISION = 128
"""Bits of e^-epsilon that are kept beyond its leading zeros."""


@lru_cache(maxsize=4096)
def ratio_below(epsilon: float | Fraction) -> Fraction:
    """A rational R with 1 < R ≤ e^epsilon, smaller by less than 2**-124 of it.

    epsilon: above 0, at most 1000; a float stands for the number that it is exactly. A sampler whose
    probabilities change by at most the factor R is epsilon-DP. ValueError outside that range.
    """
    exact = Fraction(epsilon)
    if not 0 < exact <= 1000:
        raise ValueError("epsilon must lie above 0, and not above 1000")
    bits = PRECISION + math.ceil(float(exact) / math.log(2)) + max(0, -math.floor(math.log2(exact)))
    # The floor is at most 1 below the number and computed at most 1 too small: e^-epsilon < (f + 2) /
    # 2**bits.
    found = Fraction(1 << bits, exp_fixed(-exact, bits) + 2)
    if found <= 1:
        raise ValueError("epsilon is too small to be told from 0")
    return found

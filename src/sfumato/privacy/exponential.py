"""The exponential mechanism (McSherry, Talwar 2007) on integer scores, in integers, pure to the last bit.

For rate = epsilon / (2·distance), where no score moves by more than `distance` between neighbours,
candidate i is chosen with probability w_i / Σ w, where

    w_i = ⌊2**256 exp(-rate' · min(max s - s_i, D))⌋ (up to 2**-140 of itself),  rate' = rate (1 - 2**-64),
    D = ⌊88/rate⌋.

Theorem. For rate ≥ 2**-61, and so epsilon ≥ 2**-60, the log-probability ratios between neighbours lie in an
interval of length epsilon (bounded range, Durfee, Rogers 2019) around zero; so the choice is epsilon-DP,
exactly. Proof. Scores cut at max s - D move by at most `distance`, as the maximum does. The exponent is at
most 88, so every real weight is at least 2**129 and its integer is smaller by a factor of 1 - 2**-127 at
most. Hence log w_i - log w'_i spans at most 2·rate'·distance + 2·2**-126 ≤ epsilon - 2**-64 epsilon +
2**-125 ≤ epsilon over i, and the normaliser shifts all of them alike. □

A smaller rate is rounded down to 0, where every candidate has the same chance and nothing is told.

Scores may be any integers, for instance in units of 2**-16 records. exp is a product of look-ups over
base-256 digits of the score difference: each table holds a geometric sequence made with one truncation an
entry in units of 2**-320, so all errors together stay below 2**-300 absolutely, 2**-170 of any weight.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sfumato.privacy.high_precision import exp_fixed
from sfumato.privacy.secure_random import random_below

WEIGHT_BITS = 256
_BITS = 320
_DEPTH = 88
"""Largest exponent that is told apart, in nats; e^-88 is about 2**-127."""
_SMALLEST = Fraction(1, 1 << 61)
"""Rates below this are 0."""
_SLOWER = 1 - Fraction(1, 1 << 64)
_LARGEST_GAP = (1 << 64) - 1

Scores = Sequence[int] | npt.NDArray[np.int64]


def choose(scores: Scores, rate: Fraction) -> int:
    """Index of one candidate, chosen with probability ∝ exp(rate·score); ties are broken by chance.

    `scores` are integers (Python's or int64), `rate` is an exact rational: epsilon / (2·distance), at
    least 0. The proof of privacy is in the module's docstring. ValueError when there is no candidate or the
    rate is negative, whatever the scores are.
    """
    gaps, group, sizes = _gaps(scores, rate)
    weights = gap_weights(gaps, rate)
    ends = list(accumulate(weight * size for weight, size in zip(weights, sizes.tolist(), strict=True)))
    chosen = bisect_right(ends, random_below(ends[-1]))
    members = np.flatnonzero(group == chosen)
    return int(members[random_below(members.size)])


def choose_several(scores: npt.NDArray[np.int64], rate: Fraction, count: int) -> list[int]:
    """Indices of `count` different candidates: `choose`, then `choose` among the others, and so on.

    Draws what repeated calls would draw, in time that hardly grows with the number of candidates.
    """
    depth = min(_depth(rate), _LARGEST_GAP)
    array = _as_integers(scores)
    if not 0 <= count <= array.size:
        raise ValueError("more candidates are asked for than there are")
    values, sizes = np.unique(array, return_counts=True)
    left = np.ones(array.size, dtype=bool)
    known: dict[int, int] = {}
    chosen: list[int] = []
    for _ in range(count):
        held = np.flatnonzero(sizes)
        below = values[held[-1]].astype(np.uint64) - values[held].astype(np.uint64)
        near = held[below < depth][::-1]
        gaps = below[below < depth][::-1].tolist()
        groups = sizes[near].tolist()
        if near.size < held.size:
            gaps.append(depth)
            groups.append(int(sizes[held].sum() - sum(groups)))
        fresh = [gap for gap in gaps if gap not in known]
        known.update(zip(fresh, gap_weights(fresh, rate), strict=True))
        ends = list(accumulate(known[gap] * size for gap, size in zip(gaps, groups, strict=True)))
        group = bisect_right(ends, random_below(ends[-1]))
        if group < near.size:
            members = np.flatnonzero(left & (array == values[near[group]]))
        else:
            members = np.flatnonzero(left & np.isin(array, values[held[below >= depth]]))
        found = int(members[random_below(members.size)])
        chosen.append(found)
        left[found] = False
        sizes[np.searchsorted(values, array[found])] -= 1
    return chosen


def probabilities(scores: Scores, rate: Fraction) -> list[Fraction]:
    """The exact law of `choose`, by candidate."""
    gaps, group, sizes = _gaps(scores, rate)
    weights = gap_weights(gaps, rate)
    total = sum(weight * size for weight, size in zip(weights, sizes.tolist(), strict=True))
    return [Fraction(weights[i], total) for i in group.tolist()]


def gap_weights(gaps: Sequence[int], rate: Fraction) -> list[int]:
    """Integer weights of candidates by how far they are below the best score."""
    tables = _powers(rate)
    weights = []
    for gap in gaps:
        product, level = 1 << _BITS, 0
        while gap:
            digit = gap & 255
            if digit:
                product = product * tables[level][digit] >> _BITS
            gap >>= 8
            level += 1
        weights.append(product >> (_BITS - WEIGHT_BITS))
    return weights


def _gaps(scores: Scores, rate: Fraction) -> tuple[list[int], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Distinct gaps to the best score, cut at D; the group of each candidate; the sizes of the groups."""
    depth = _depth(rate)
    array = _as_integers(scores)
    # In 64-bit arithmetic modulo 2**64 the differences are exact, even where the scores span all of int64.
    below = array.max().astype(np.uint64) - array.astype(np.uint64)
    distinct, group, sizes = np.unique(
        np.minimum(below, np.uint64(min(depth, _LARGEST_GAP))), return_inverse=True, return_counts=True
    )
    return distinct.tolist(), group, sizes


def _as_integers(scores: Scores) -> npt.NDArray[np.int64]:
    if len(scores) == 0:
        raise ValueError("there is no candidate to choose from")
    if isinstance(scores, np.ndarray):
        if scores.dtype != np.int64 or scores.ndim != 1:
            raise TypeError("scores must be a vector of 64-bit integers")
        return scores
    if not all(isinstance(score, int) for score in scores):
        raise TypeError("scores must be integers")
    # Only gaps to the best count. Cutting them at 2**62 is a smaller D, for which the theorem holds as well.
    best = max(scores)
    return np.array([max(score - best, -(1 << 62)) for score in scores], dtype=np.int64)


def _depth(rate: Fraction) -> int:
    if not isinstance(rate, Fraction | int) or isinstance(rate, bool):
        raise TypeError("rate must be an exact rational")
    if rate < 0:
        raise ValueError("rate must be at least 0")
    return math.floor(_DEPTH / Fraction(rate)) if rate >= _SMALLEST else 0


@lru_cache(maxsize=16)
def _powers(rate: Fraction) -> list[list[int]]:
    """exp(-rate'·digit·256^level) in units of 2**-320, for the levels that differences up to D need."""
    tables = []
    for level in range((_depth(rate).bit_length() + 7) // 8 or 1):
        step = exp_fixed(-rate * _SLOWER * 256**level, _BITS)
        tables.append(
            list(accumulate([1 << _BITS, *([step] * 255)], lambda power, factor: power * factor >> _BITS))
        )
    return tables

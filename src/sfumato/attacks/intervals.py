"""Confidence intervals for shares, differences of shares, and areas under ROC curves.

All of them stay inside the possible range and keep a width where every try had the same result. Sources:
Clopper, Pearson 1934; Newcombe 1998 (Statistics in Medicine 17, 873-890, method 10); Agresti, Min 2005
(Statistics in Medicine 24, 729-740); Newcombe 2006 (Statistics in Medicine 25, 559-573, method 5).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.evaluation.intervals import auc, clopper_pearson

LEVEL = 0.95
SURE = 1 - 2 * 0.001 / 13
"""Level of the intervals by which a guarantee is said not to hold: over 13 attacks that is said wrongly once
in a thousand runs at most."""
Ends = tuple[float, float]
Floats = npt.NDArray[np.floating]


def z_of(level: float) -> float:
    """The normal quantile of a two-sided interval."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))


def share(hits: int, tries: int, *, level: float = LEVEL) -> Ends:
    """Clopper-Pearson: covers with at least `level`, whatever the share."""
    found = clopper_pearson(hits, tries, level=level)
    return found.low, found.high


def wilson(hits: float, tries: float, *, level: float = LEVEL) -> Ends:
    """The score interval of a share."""
    z2, p = z_of(level) ** 2, hits / tries
    middle = (p + z2 / (2 * tries)) / (1 + z2 / tries)
    half = math.sqrt(z2 * (p * (1 - p) / tries + z2 / (4 * tries**2))) / (1 + z2 / tries)
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(one: tuple[int, int], other: tuple[int, int], *, level: float = LEVEL) -> Ends:
    """Newcombe's hybrid score interval for the share of `one` less that of `other`, both (hits, tries)."""
    p, q = one[0] / one[1], other[0] / other[1]
    (p_low, p_high), (q_low, q_high) = wilson(*one, level=level), wilson(*other, level=level)
    return (
        p - q - math.hypot(p - p_low, q_high - q),
        p - q + math.hypot(p_high - p, q - q_low),
    )


def paired_difference(more: int, less: int, tries: int, *, level: float = LEVEL) -> Ends:
    """Agresti and Min: difference of two shares over the same people, of whom `more` are hit by the first
    alone and `less` by the second alone. Half a person is added to each of the four cells.
    """
    n, b, c = tries + 2, more + 0.5, less + 0.5
    middle = (b - c) / n
    half = z_of(level) * math.sqrt(max(b + c - (b - c) ** 2 / n, 0.0)) / n
    return max(-1.0, middle - half), min(1.0, middle + half)


def area(members: Floats, others: Floats) -> float:
    """Area under the ROC curve: how often a member scores above another person, ties counted half."""
    scores = np.concatenate((members, others)).astype(np.float64)
    return auc(scores, np.arange(scores.size) < members.size)


def area_ends(value: float, m: int, n: int, *, level: float = LEVEL) -> Ends:
    """Newcombe's method 5 for an area that was found with m and n scores: all areas that are no more than z
    standard errors away, by the variance of Hanley and McNeil at that area, averaged over the two orders.
    """
    z, half = z_of(level), (m + n) / 2 - 1

    def error(at: float) -> float:
        return math.sqrt(at * (1 - at) * (1 + half * ((1 - at) / (2 - at) + at / (1 + at))) / (m * n))

    def end(edge: float) -> float:
        inside, outside = value, edge
        for _ in range(60):
            middle = (inside + outside) / 2
            if abs(middle - value) <= z * error(middle):
                inside = middle
            else:
                outside = middle
        return inside

    return end(0.0), end(1.0)


def mean(values: Floats, *, level: float = LEVEL) -> Ends:
    """Normal interval of the mean of independent values between -1 and 1; never narrower than one value in
    `values.size` could make it.
    """
    n = values.size
    spread = float(values.std(ddof=1)) if n > 1 else 1.0
    half = z_of(level) * spread / math.sqrt(n) + 1 / (2 * n)
    middle = float(values.mean())
    return middle - half, middle + half

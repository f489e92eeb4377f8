"""Scores for a private quantile: how far the rank of a cut between two cells is from the wanted rank.

For the quantile a/b of n units and a cut with L of them below it, the score is -|b·L - a·n|, an integer,
best at the quantile. A row more adds b-a (below the cut) or -a (above it) to b·L - a·n: at most max(a,
b-a). A row out and another in add at most b in all, also where a unit comes back with fewer rows than it
left with. n itself is private and never leaves the scores. With `sfumato.privacy.exponential.choose` this
is the quantile of Smith 2011, on public cells instead of the data's own values. For the median, a/b = 1/2,
the distances are 1 and 2.

Cells of disjoint ranges can be cut side by side: a unit lies in one range, so that adding or removing one
touches one of them; replacing one may touch two, by at most max(a, b-a) each, in place of one by b.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt


def rank_scores(cell_counts: npt.NDArray[np.int64], quantile: Fraction) -> npt.NDArray[np.int64]:
    """Private scores of the cuts between consecutive cells: entry i is the cut below cell i+1.

    `cell_counts` are exact counts of at least two cells in order, `quantile` lies strictly between 0 and 1.
    """
    _check(quantile)
    if cell_counts.dtype != np.int64 or cell_counts.ndim != 1:
        raise TypeError("cell counts must be a vector of 64-bit integers")
    if cell_counts.size < 2:
        raise ValueError("there is no cut between fewer than two cells")
    below = np.cumsum(cell_counts)
    return -np.abs(quantile.denominator * below[:-1] - quantile.numerator * below[-1])


def rank_distance(quantile: Fraction, *, relation: str, at_most: int = 1) -> int:
    """How far a score moves at most, under "add-remove" or "replace" of a unit with `at_most` rows."""
    _check(quantile)
    if relation not in ("add-remove", "replace"):
        raise ValueError(f"there is no neighbouring relation {relation!r}")
    if relation == "replace":
        return at_most * quantile.denominator
    return at_most * max(quantile.numerator, quantile.denominator - quantile.numerator)


def _check(quantile: Fraction) -> None:
    if not 0 < quantile < 1 or quantile.denominator > 1000:
        raise ValueError("a quantile is a fraction between 0 and 1 with a denominator of at most 1,000")

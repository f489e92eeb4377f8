"""DS-ROO: the probability of obscuring falls as the rarest symbol becomes frequent (arXiv 2504.14696).

    P(y | c) = q_m/k + (1 - q_m) c_y/n,   m = min_y c_y over the whole public alphabet.

Replace, n public. The table q_0, q_1, … is the smallest that three families of neighbours allow; all of them
are lower bounds on q_{m+1} that rise with q_m, so going forward gives the smallest table at every m (k ≥ 3):

    same    the minimum stays where it is, and a symbol that has it gains a record;
    donor   the minimum rises from m to m+1, and the record comes from a symbol with m+2;
    crowd   the same, seen by a third symbol: a huge one gains probability when q falls.

Add or remove, n private: P(y | c) = (c_y + a_m)/(n + k a_m) with a_m = max(0, a - m), a = 1/(e^epsilon - 1).

Proofs, and why nothing smaller is possible: docs/methods/roo.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from attrs import frozen

from sfumato.sampling.ratios import ratio_below
from sfumato.sampling.tally import Tally

Constraint = Callable[[int, int, Fraction, int, Fraction], Fraction]

EXACT_BITS = 1 << 12
GRID = 1 << 256
"""Denominators above 2**EXACT_BITS are not kept: q is rounded up to the next 1/GRID, at most to the q
before.
"""


def same(n: int, k: int, ratio: Fraction, m: int, before: Fraction) -> Fraction:
    """Least q_m where a symbol with the minimum m gains a record and m stays: 1-q ≤ (R-1)(qn/k + (1-q)m)."""
    short = 1 - (ratio - 1) * m
    return short / (short + (ratio - 1) * Fraction(n, k)) if short > 0 else Fraction(0)


def donor(n: int, k: int, ratio: Fraction, m: int, before: Fraction) -> Fraction:
    """Least q_m where a symbol gave a record away: it had m+1 under `before` = q_{m-1}, and has m."""
    return ((before * (n - k * (m + 1)) + k * (m + 1)) / ratio - k * m) / (n - k * m)


def crowd(n: int, k: int, ratio: Fraction, m: int, before: Fraction) -> Fraction:
    """Least q_m where an untouched symbol holds all records that others need not have."""
    most = n - (k - 1) * m
    if k < 3 or most * k <= n:
        return Fraction(0)
    return (Fraction(most, n) - ratio * (before / k + (1 - before) * Fraction(most, n))) / (
        Fraction(most, n) - Fraction(1, k)
    )


CONSTRAINTS: tuple[Constraint, ...] = (same, donor, crowd)


def recursion(n: int, k: int, ratio: Fraction) -> tuple[Fraction, ...]:
    """The table q_0 … q_{n//k} for n records over k symbols; zeros at its end are left out."""
    table = [Fraction(k) / (k + n * (ratio - 1))]
    for m in range(1, n // k + 1):
        if n - k * m <= 0:
            break  # every symbol has n/k records: the law is uniform whatever q is
        before = table[-1]
        q = max(Fraction(0), *(least(n, k, ratio, m, before) for least in CONSTRAINTS))
        if not q:
            break  # from here on all bounds stay at or below 0
        if q.denominator.bit_length() > EXACT_BITS:
            q = min(before, Fraction(-(-q.numerator * GRID // q.denominator), GRID))
        table.append(q)
    return tuple(table)


@lru_cache(maxsize=64)
def short_table(n: int, k: int, ratio: Fraction) -> tuple[Fraction, ...]:
    """The table without the zeros at its end, kept for every (n, k, ratio)."""
    return recursion(n, k, ratio)


def q_table(n: int, k: int, epsilon: float) -> list[Fraction]:
    """All of q_0 … q_{n//k}: the probability of obscuring by the smallest count, for replacing one of n
    records.

    n, k: at least 1. Computed once for every (n, k, epsilon).
    """
    if n < 1 or k < 1:
        raise ValueError("n and k must be at least 1")
    found = short_table(n, k, ratio_below(epsilon))
    return [*found, *[Fraction(0)] * (n // k + 1 - len(found))]


@frozen(kw_only=True)
class DsRoo:
    """Data-dependent reveal-or-obscure. rows: the public number of records; None: it is private."""

    name: ClassVar[str] = "ds-roo"
    ratio: Fraction
    rows: int | None

    def q(self, m: int, k: int) -> Fraction:
        """Probability of obscuring at the smallest count m; needs public rows."""
        if self.rows is None:
            raise ValueError("q depends on the number of records, which is private here")
        table = short_table(self.rows, k, self.ratio)
        return table[m] if m < len(table) else Fraction(0)

    def weights(self, tally: Tally) -> list[int]:
        if tally.rows == 0:
            return [1] * len(tally.values)
        if self.rows is None:
            extra = max(Fraction(0), 1 / (self.ratio - 1) - tally.least)
            return [value * extra.denominator + extra.numerator for value in tally.values]
        q = self.q(tally.least, tally.symbols)
        uniform, own = q.numerator * self.rows, (q.denominator - q.numerator) * tally.symbols
        return [uniform + own * value for value in tally.values]

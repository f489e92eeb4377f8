"""SubRR: m different records, each revealed with probability 1-q or replaced by a uniform symbol (Cheu,
Nayak).

m samples for one epsilon. For replacing one of n records

    epsilon = ln(1 + (m/n) k(1-q)/q)   exactly,   so   q = m k / (m k + n(e^epsilon - 1)),   m ≤ n.

With n private the same q is used for N records, where N ≥ m is public, and tables of fewer records are filled
up to N with records that say nothing (a uniform symbol each); adding or removing a record then costs at most
the same epsilon. For m = 1 it is ROO. Proofs: docs/methods/roo.md.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import perm

from attrs import field, frozen


@frozen(kw_only=True)
class SubRR:
    """m samples at once. records: their public number n, or the N up to which fewer are filled up."""

    ratio: Fraction
    symbols: int
    records: int
    m: int = field()

    @m.validator
    def _check(self, _: object, m: int) -> None:
        if not 1 <= m <= self.records:
            raise ValueError("m lies between 1 and the number of records")

    @property
    def q(self) -> Fraction:
        """Probability that a record is not shown."""
        shown = self.m * self.symbols
        return Fraction(shown) / (shown + self.records * (self.ratio - 1))

    def law(self, data: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
        """Probability of every sequence of m symbols, for a table of at least `records` records. For small
        cases: it goes through all of them.
        """
        n, k, q = len(data), self.symbols, self.q
        chosen: dict[tuple[int, ...], int] = {(): 1}
        # Ordered choices of different records, by their symbols: only how many are left of each symbol
        # matters.
        counts = [data.count(symbol) for symbol in range(k)]
        for _ in range(self.m):
            longer: dict[tuple[int, ...], int] = {}
            for taken, ways in chosen.items():
                for symbol in range(k):
                    left = counts[symbol] - taken.count(symbol)
                    if left > 0:
                        longer[(*taken, symbol)] = longer.get((*taken, symbol), 0) + ways * left
            chosen = longer
        shown, other = (1 - q) + q / k, q / k
        law = dict.fromkeys(product(range(k), repeat=self.m), Fraction(0))
        for taken, ways in chosen.items():
            for said in law:
                agree = sum(a == b for a, b in zip(taken, said, strict=True))
                law[said] += Fraction(ways, perm(n, self.m)) * shown**agree * other ** (self.m - agree)
        return law

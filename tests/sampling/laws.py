"""Checks of laws that the tests share: all count vectors of small tables, all feasible counts of large ones."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from sfumato.sampling import laplace
from sfumato.sampling.enumeration import neighbours, vectors
from sfumato.sampling.laplace import PROJECTIONS

RATIOS = [Fraction(text) for text in ("101/100", "11/10", "5/4", "3/2", "2", "3", "6", "20")]


def worst_of_table(table: list[Fraction], n: int, k: int) -> Fraction:
    """The largest ratio of DS-ROO's law over neighbours, where count vectors are too many to go through.

    A probability depends on the smallest count m and on the symbol's own count c. All (m, c) that neighbours can have
    are gone through: c to c+1 while m stays; and m to m+1, for the symbol that had m, for the one that gave a record
    away, and for a third one.
    """

    def p(m: int, c: int) -> Fraction:
        return table[m] / k + (1 - table[m]) * Fraction(c, n)

    worst = Fraction(1)

    def see(one: Fraction, two: Fraction) -> None:
        nonlocal worst
        worst = max(worst, one / two, two / one)

    for m in range(n // k + 1):
        if k >= 3 or m > 0:
            for c in {m, n - (k - 1) * m - 1}:  # the ratio falls with c
                if m <= c < n - (k - 1) * m:
                    see(p(m, c + 1), p(m, c))
        if m + 1 > n // k or n - m - (k - 2) * (m + 1) < m + 2:
            continue
        see(p(m, m), p(m + 1, m + 1))
        most = n - m - (k - 2) * (m + 1)
        for c in {m + 2, most}:  # ratios of linear functions are largest at an end
            see(p(m, c), p(m + 1, c - 1))
        third = n - m - (m + 2) - (k - 3) * (m + 1)
        if k >= 3 and third >= m + 1:
            for c in {m + 1, third}:
                see(p(m, c), p(m + 1, c))
    return worst


def laplace_law(
    counts: tuple[int, ...], *, decay: Fraction, reach: int, projection: str, rows: int | None
) -> list[Fraction]:
    """The exact law of one symbol from a histogram with discrete Laplace noise, P(Z = z) in proportion to
    decay^|z|, where noisy counts are cut at -reach and at the largest count plus reach.
    """
    import numpy as np

    low, high = -reach, sum(counts) + 1 + reach
    inner = (1 - decay) / (1 + decay)

    def cell(count: int) -> list[tuple[int, Fraction]]:
        below = decay ** (count - low) / (1 + decay)
        above = decay ** (high - count) / (1 + decay)
        middle = [(value, inner * decay ** abs(value - count)) for value in range(low + 1, high)]
        return [(low, below), *middle, (high, above)]

    law = [Fraction(0)] * len(counts)
    for noisy in product(*(cell(count) for count in counts)):
        chance = Fraction(1)
        for _, part in noisy:
            chance *= part
        values = np.array([value for value, _ in noisy], dtype=np.int64)
        found = laplace.weights(values, rows=rows, projection=projection).tolist()
        for symbol, weight in enumerate(found):
            law[symbol] += chance * Fraction(weight, sum(found))
    return law


def worst_laplace(n: int, k: int, *, decay: Fraction, projection: str, replace: bool) -> Fraction:
    """The largest ratio of that law over neighbours."""
    assert projection in PROJECTIONS
    worst = Fraction(1)
    for counts in vectors(n, k):
        own = _law(counts, n, decay, projection, replace)
        for other in neighbours(counts, "replace" if replace else "add-remove"):
            theirs = _law(other, n, decay, projection, replace)
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(own, theirs, strict=True)))
    return worst


def _law(counts: tuple[int, ...], n: int, decay: Fraction, projection: str, replace: bool) -> list[Fraction]:
    return laplace_law(counts, decay=decay, reach=2, projection=projection, rows=n if replace else None)

"""Exhaustive checks: all count vectors, all neighbours, all symbols, in exact rationals.

A law on counts treats symbols alike, so count vectors in falling order stand for all of them. `worst_ratio`
is the largest factor by which any probability changes; a sampler is epsilon-DP on n records over k symbols
exactly when it is at most e^epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from sfumato.privacy.unit import Relation
from sfumato.sampling.law import CountLaw
from sfumato.sampling.tally import Tally

Vector = tuple[int, ...]


def vectors(n: int, k: int, largest: int | None = None) -> Iterator[Vector]:
    """All ways to write n as a sum of k counts in falling order."""
    largest = n if largest is None else min(n, largest)
    if k == 1:
        if n <= largest:
            yield (n,)
        return
    for first in range(largest, -1, -1):
        if first * k < n:
            break
        for rest in vectors(n - first, k - 1, first):
            yield (first, *rest)


def neighbours(counts: Vector, relation: Relation) -> Iterator[Vector]:
    """Count vectors with one record replaced, or with one added; those that only rename symbols once."""
    seen: set[int | tuple[int, int]] = set()
    for gain, gained in enumerate(counts):
        if relation == "add-remove":
            if gained not in seen:
                seen.add(gained)
                yield _moved(counts, gain, None)
            continue
        for loss, lost in enumerate(counts):
            if gain != loss and lost and (gained, lost) not in seen:
                seen.add((gained, lost))
                yield _moved(counts, gain, loss)


def _moved(counts: Vector, gain: int, loss: int | None) -> Vector:
    moved = list(counts)
    moved[gain] += 1
    if loss is not None:
        moved[loss] -= 1
    return tuple(moved)


def worst_ratio(
    law: CountLaw | Callable[[int], CountLaw], n: int, k: int, relation: Relation = "replace"
) -> Fraction:
    """The largest factor between probabilities of one symbol on neighbouring tables; n counts the smaller
    table.

    law: the law, or a function that gives it from the number of records. ZeroDivisionError where a symbol can
    occur on one side alone.
    """
    known: dict[tuple[int, Vector], tuple[dict[int, int], int]] = {}

    def weighed(counts: Vector) -> tuple[dict[int, int], int]:
        key = tuple(sorted(counts))
        at = (sum(counts), key)
        if at not in known:
            values = sorted(set(key))
            tally = Tally(values=tuple(values), sizes=tuple(key.count(value) for value in values))
            made = law(tally.rows) if callable(law) else law
            weights = dict(zip(values, made.weights(tally), strict=True))
            known[at] = weights, sum(weights[value] for value in key)
        return known[at]

    up, down = 1, 1
    for counts in vectors(n, k):
        one, total = weighed(counts)
        for other_counts in neighbours(counts, relation):
            two, other_total = weighed(other_counts)
            for a, b in set(zip(counts, other_counts, strict=True)):
                first, second = one[a] * other_total, two[b] * total
                if first == second:
                    continue
                first, second = max(first, second), min(first, second)
                if second == 0:
                    raise ZeroDivisionError("a symbol can occur on one side alone")
                if first * down > second * up:
                    up, down = first, second
    return Fraction(up, down)

"""Structure by correlation-based feature selection (Hall 1999; Bindschaedler, Shokri, Gunter 2017, equations
4-6).

A set of parents P of attribute i has the merit

    Σ_{j ∈ P} corr(i, j) / sqrt(|P| + Σ_{j ≠ l ∈ P} corr(j, l)),

so that parents that tell the same thing twice gain nothing. Parents are added one at a time, always the
addition that raises the merit of an attribute most among those that leave the graph acyclic and the number of
parent configurations within the limit, until nothing improves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True)
class Dag:
    """Parents of every attribute, and an order in which parents come first."""

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]], sizes: Sequence[int] = ()) -> Dag:
        """With the order that takes, among attributes whose parents are placed, the one with fewest codes,
        and of these the one with most descendants: seeds keep the first attributes, and many seeds share
        those of few codes, so that more records pass. ValueError for a cycle.

        sizes: number of codes of each attribute; without it all count as equal.
        """
        count = len(parents)
        below = [_below(parents, i) for i in range(count)]
        placed: list[int] = []
        while len(placed) < count:
            ready = [i for i in range(count) if i not in placed and set(parents[i]) <= set(placed)]
            if not ready:
                raise ValueError("the parents form a cycle")
            placed.append(min(ready, key=lambda i: (sizes[i] if sizes else 0, -len(below[i]), i)))
        return cls(parents=tuple(tuple(sorted(each)) for each in parents), order=tuple(placed))


def merit(relevance: Floats, redundancy: Floats, chosen: Sequence[int]) -> float:
    """Equation 4: relevance[j] = corr(i, j); redundancy[j, l] = corr(j, l); 0 for no parents."""
    if not chosen:
        return 0.0
    picked = np.asarray(chosen)
    between = redundancy[np.ix_(picked, picked)]
    extra = between.sum() - np.trace(between)
    return float(relevance[picked].sum() / np.sqrt(len(chosen) + max(extra, 0.0)))


def learn_structure(
    relevance: Floats,
    redundancy: Floats,
    *,
    buckets: Sequence[int],
    configurations: Sequence[float],
    parents_at_most: int | None = None,
    sizes: Sequence[int] = (),
) -> Dag:
    """Greedy structure from correlations.

    relevance[i, j]: of attribute i with the bucketised attribute j; redundancy[j, l]: of two bucketised ones.
    buckets: number of buckets of each attribute as a parent. configurations: the most parent configurations
    (maxcost) of each attribute. sizes: numbers of codes, for the order.
    """
    count = len(buckets)
    parents: list[list[int]] = [[] for _ in range(count)]
    held = np.zeros(count)
    while True:
        best, found = 1e-12, None
        for i in range(count):
            if parents_at_most is not None and len(parents[i]) >= parents_at_most:
                continue
            cells = float(np.prod([buckets[j] for j in parents[i]], dtype=np.float64))
            for j in range(count):
                if j == i or j in parents[i] or cells * buckets[j] > configurations[i]:
                    continue
                gain = merit(relevance[i], redundancy, [*parents[i], j]) - held[i]
                if gain > best and j not in _below(parents, i):
                    best, found = gain, (i, j)
        if found is None:
            return Dag.of(parents, sizes)
        i, j = found
        parents[i].append(j)
        held[i] += best


def _below(parents: Sequence[Sequence[int]], root: int) -> set[int]:
    """All attributes that depend on `root`, directly or not."""
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {i for i, each in enumerate(parents) if fresh & set(each)} - found
        found |= fresh
    return found

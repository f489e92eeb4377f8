"""How far synthetic rows are from real ones: total variation distance (TVD) of marginals, at full resolution."""

from __future__ import annotations

import itertools
import math

import numpy as np

SMALL = 10_000
LISTED = 5_000_000
"""Most sets of columns that are listed to choose among."""


def summary(real: np.ndarray, made: np.ndarray, sizes: tuple[int, ...], at_most: int) -> dict[str, float]:
    """Mean TVD over the two-way marginals (tvd2), the three-way ones (tvd3), and those of the three-way ones
    with at most 10,000 cells (tvd3s). `real`, `made`: rows x columns. With more than `at_most` marginals of a
    kind, a fixed random subset of so many.
    """
    tables = [[np.ascontiguousarray(column) for column in codes.T] for codes in (real, made)]
    pairs, triples = (cliques(len(sizes), ways, at_most) for ways in (2, 3))
    near, far = (distances(*tables, sizes, sets) for sets in (pairs, triples))
    small = np.array([np.prod([float(sizes[a]) for a in clique]) <= SMALL for clique in triples], dtype=bool)
    return {
        "tvd2": float(near.mean()) if near.size else 0.0,
        "tvd3": float(far.mean()) if far.size else 0.0,
        "tvd3s": float(far[small].mean()) if small.any() else 0.0,
    }


def cliques(columns: int, ways: int, at_most: int) -> list[tuple[int, ...]]:
    """All sets of `ways` columns, or a fixed random subset of `at_most` of them, in order."""
    if math.comb(columns, ways) > LISTED:
        rng, drawn = np.random.default_rng(0), set()
        while len(drawn) < at_most:
            drawn.add(tuple(sorted(rng.choice(columns, ways, replace=False).tolist())))
        return sorted(drawn)
    found = list(itertools.combinations(range(columns), ways))
    if len(found) <= at_most:
        return found
    chosen = np.random.default_rng(0).choice(len(found), at_most, replace=False)
    return [found[i] for i in sorted(chosen)]


def distances(real, made, sizes, sets) -> np.ndarray:
    """TVD of each marginal, exactly: counts where the table is small, else counts of the cells that occur."""
    answers = np.empty(len(sets))
    prefix: tuple[int, ...] = ()
    heads = [np.zeros(0, np.int64)] * 2
    for number, clique in enumerate(sets):
        if clique[:-1] != prefix:
            prefix = clique[:-1]
            heads = [_index(table, prefix, sizes) for table in (real, made)]
        cells = int(np.prod([sizes[a] for a in clique]))
        last = clique[-1]
        both = [head * sizes[last] + table[last] for head, table in zip(heads, (real, made), strict=True)]
        if cells > 4 * sum(index.size for index in both):
            cells, both = _compact(both)
        shares = [np.bincount(index, minlength=cells) / max(index.size, 1) for index in both]
        answers[number] = np.abs(shares[0] - shares[1]).sum() / 2
    return answers


def _index(table, clique, sizes) -> np.ndarray:
    index = table[clique[0]].astype(np.int64)
    for a in clique[1:]:
        index = index * sizes[a] + table[a]
    return index


def _compact(both) -> tuple[int, list[np.ndarray]]:
    """The same indices numbered without gaps."""
    known, index = np.unique(np.concatenate(both), return_inverse=True)
    return known.size, np.split(index, [both[0].size])

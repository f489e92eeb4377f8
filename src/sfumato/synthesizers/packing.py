"""Pairs of columns with few values, measured together: one table of three or four columns holds several.

A table with noise sigma per cell gives each pair in it with noise sigma sqrt(k), where k is the product of
the sizes of the columns left out. Three pairs measured apart from the budget of one table have noise
sigma sqrt(3): more than sqrt(2), that of three columns of two values measured together. So a table is worth
Σ 1/k tables of a single pair, summed over the chosen pairs in it, and it tells of its triples besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sfumato.graphical import junction_tree
from sfumato.synthesizers.workload import Clique

WORTH = 1.2
"""A table takes the place of pairs when it is worth at least so many tables of one pair."""
WAYS = (3, 4)
"""Columns of such a table."""
LARGEST = 3
"""Codes of a column in such a table."""
AT_MOST = 20_000
"""Tables that are considered."""


def pack(pairs: Sequence[Clique], sizes: Sequence[int]) -> dict[Clique, tuple[Clique, ...]]:
    """The tables to measure, within the junction tree of `pairs`, each with the pairs it is measured for."""
    number = {pair: i for i, pair in enumerate(pairs)}
    wanted: dict[Clique, dict[int, float]] = {}
    for home in junction_tree(sizes, pairs).cliques:
        small = sorted(a for a in home if sizes[a] <= LARGEST)
        for ways in WAYS:
            for clique in combinations(small, ways):
                if clique in wanted or len(wanted) >= AT_MOST:
                    continue
                cells = float(np.prod([sizes[a] for a in clique]))
                held = {
                    number[pair]: sizes[pair[0]] * sizes[pair[1]] / cells
                    for pair in combinations(clique, 2)
                    if pair in number
                }
                if sum(held.values()) >= WORTH:
                    wanted[clique] = held
    found: dict[Clique, tuple[Clique, ...]] = {}
    left = np.ones(len(pairs))
    cliques = list(wanted)
    worth = np.zeros((len(cliques), len(pairs)))
    for row, clique in enumerate(cliques):
        for pair, share in wanted[clique].items():
            worth[row, pair] = share
    while cliques:
        values = (worth @ left).tolist()
        best = max(range(len(cliques)), key=values.__getitem__)
        if values[best] < WORTH:
            break
        taken = np.flatnonzero((worth[best] > 0) & (left > 0)).tolist()
        found[cliques[best]] = tuple(pairs[i] for i in taken)
        left[taken] = 0.0
    found.update({pair: (pair,) for i, pair in enumerate(pairs) if left[i]})
    return found

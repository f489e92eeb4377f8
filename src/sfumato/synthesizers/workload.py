"""What synthetic rows should be good at: marginals with weights, and what measuring a clique is worth.

By default every set of two or three columns counts the same. A workload of chosen column sets W makes a
clique c worth Σ |c ∩ w| / |w| over the sets w in W, as far as they share columns (McKenna et al. 2022, "AIM",
section 4, up to the factor). A target and columns that matter more multiply that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from attrs import field, frozen

Clique = tuple[int, ...]


@frozen(kw_only=True)
class Workload:
    """Sets of columns that rows should get right, or None for all sets of `ways` columns."""

    columns: int
    ways: tuple[int, ...] = (2, 3)
    sets: tuple[Clique, ...] | None = None
    importance: tuple[float, ...] = ()
    """Weight of each column; a set has the product of its columns' weights. Empty: 1 for all."""
    target: int | None = None
    """A column whose relations count for more."""
    triple: float = 1.0
    """What a record of error in a three-way marginal counts, against one in a two-way marginal."""
    _overlap: dict[Clique, float] = field(init=False, factory=dict, eq=False, repr=False)

    def pairs(self) -> list[Clique]:
        """All pairs that lie in some set, in order."""
        return list(self._within(2))

    def triples(self) -> list[Clique]:
        """All triples that lie in some set, in order; none when only pairs matter."""
        return list(self._within(3)) if self.sets is not None or max(self.ways) >= 3 else []

    def _within(self, size: int) -> Iterator[Clique]:
        if self.sets is None:
            yield from combinations(range(self.columns), size)
        else:
            yield from sorted({c for w in self.sets for c in combinations(w, size)})

    def weight(self, clique: Clique) -> float:
        """What one record less of error in `clique` is worth; 1 for a pair of ordinary columns."""
        value = 1.0
        if self.importance:
            value *= float(np.prod([self.importance[a] for a in clique])) ** (1 / len(clique))
        if self.target in clique:
            value *= TARGET
        return value * self._shared(clique)

    def _shared(self, clique: Clique) -> float:
        if self.sets is None:
            return self.triple if len(clique) == 3 else 1.0
        if clique not in self._overlap:
            mine = set(clique)
            self._overlap[clique] = sum(len(mine.intersection(w)) / len(w) for w in self.sets)
        return self._overlap[clique]


TARGET = 4.0
"""How much more a relation with the target counts."""


def sets_of(names: Sequence[str], asked: Iterable[Iterable[str]]) -> tuple[Clique, ...]:
    """Column sets by name as sorted positions; names that are not modelled are left out."""
    place = {name: i for i, name in enumerate(names)}
    found = {tuple(sorted({place[name] for name in each if name in place})) for each in asked}
    return tuple(sorted(clique for clique in found if len(clique) > 1))


def importance_of(names: Sequence[str], weights: Mapping[str, float]) -> tuple[float, ...]:
    """Weight of each column, 1 where none is given; empty when none differs."""
    found = tuple(float(weights.get(name, 1.0)) for name in names)
    return found if any(value != 1.0 for value in found) else ()

"""Beliefs: one probability array per clique of a junction tree, and the passing of messages between them.

*Calibrated* beliefs agree: neighbouring cliques have the same marginal over their separator, and the joint
distribution is the product of the cliques divided by the product of the separators. Messages are the ratio of
a separator's new marginal to its old one (Hugin), so multiplying a clique by any factor and passing messages
makes the beliefs calibrated again. Everything is in the probability domain; 0/0 counts as 0.

Source: Jensen, Lauritzen and Olesen (1990); Koller and Friedman (2009), section 10.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sfumato.graphical.junction_tree import JunctionTree
from sfumato.graphical.layout import Floats, Projection, cell_count

TINY = 1e-290
"""Separator states with less mass than this are impossible: their ratios could overflow."""


class Beliefs:
    """The arrays of a junction tree; mutable, used while fitting."""

    def __init__(self, tree: JunctionTree, arrays: Sequence[Floats], separators: Sequence[Floats]) -> None:
        self.tree = tree
        self.arrays = list(arrays)
        self.separators = list(separators)
        sizes = tree.sizes
        self._from_child = [
            Projection(sizes, clique, separator)
            for clique, separator in zip(tree.cliques, tree.separators, strict=True)
        ]
        self._from_parent = [
            Projection(sizes, tree.cliques[parent], separator) if parent >= 0 else None
            for parent, separator in zip(tree.parents, tree.separators, strict=True)
        ]
        self.children: list[list[int]] = [[] for _ in tree.cliques]
        for child, parent in enumerate(tree.parents):
            if parent >= 0:
                self.children[parent].append(child)

    @classmethod
    def ones(cls, tree: JunctionTree) -> Beliefs:
        """All cells 1: not calibrated, to be multiplied by factors."""
        arrays = [np.ones(tree.clique_cells(index)) for index in range(len(tree.cliques))]
        separators = [np.ones(cell_count(tree.sizes, separator)) for separator in tree.separators]
        return cls(tree, arrays, separators)

    def copy(self) -> Beliefs:
        """An independent copy of the arrays."""
        twin = Beliefs.__new__(Beliefs)
        twin.tree, twin.children = self.tree, self.children
        twin._from_child, twin._from_parent = self._from_child, self._from_parent
        twin.arrays = [array.copy() for array in self.arrays]
        twin.separators = [array.copy() for array in self.separators]
        return twin

    def push_down(self, child: int) -> None:
        """Tell `child` what its parent believes about their separator."""
        projection = self._from_parent[child]
        assert projection is not None
        new = projection.sum(self.arrays[self.tree.parents[child]])
        self._from_child[child].multiply(self.arrays[child], ratio(new, self.separators[child]))
        self.separators[child] = new

    def push_up(self, child: int) -> None:
        """Tell the parent of `child` what the child believes about their separator."""
        projection = self._from_parent[child]
        assert projection is not None
        new = self._from_child[child].sum(self.arrays[child])
        projection.multiply(self.arrays[self.tree.parents[child]], ratio(new, self.separators[child]))
        self.separators[child] = new

    def calibrate(self) -> float:
        """Make all cliques agree and every part sum to 1; returns the logarithm of the mass there was.

        Returns -inf, and leaves the arrays useless, when no cell has any mass.
        """
        tree, log_mass = self.tree, 0.0
        for index in reversed(range(len(tree.cliques))):
            new = self._from_child[index].sum(self.arrays[index])
            mass = float(new.sum())
            if not mass > 0.0:
                return -np.inf
            log_mass += float(np.log(mass))
            projection = self._from_parent[index]
            if projection is None:
                self.arrays[index] /= mass
                self.separators[index] = np.ones(1)
            else:
                message = ratio(new / mass, self.separators[index])
                message[new <= TINY] = 0.0
                projection.multiply(self.arrays[tree.parents[index]], message)
                self.separators[index] = new
        for index, parent in enumerate(tree.parents):
            if parent >= 0:
                self.push_down(index)
        return log_mass

    def sweep(self) -> Iterable[tuple[str, int]]:
        """Depth-first tour of the tree: ("visit", clique), ("down", child) and ("up", child) in turn.

        Whoever passes the messages along and changes only the clique being visited sees up-to-date beliefs
        at every visit.
        """
        for root, parent in enumerate(self.tree.parents):
            stack = [] if parent >= 0 else [("visit", root)]
            while stack:
                event, index = stack.pop()
                yield event, index
                if event == "visit":
                    for child in reversed(self.children[index]):
                        stack += [("up", child), ("visit", child), ("down", child)]


def ratio(new: Floats, old: Floats) -> Floats:
    """`new` / `old`, and 0 where `old` has no mass."""
    quotient = np.zeros(new.shape)
    np.divide(new, old, out=quotient, where=old > TINY)
    return quotient

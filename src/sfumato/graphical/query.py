"""Questions to calibrated beliefs that no single clique answers: elimination along the tree.

For attributes spread over several cliques, take the smallest subtree that has them all. Away from its root,
each clique divided by its separator is a conditional distribution; children first, each is multiplied by the
messages of its own children and summed down to its separator and the attributes asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

import numpy as np
from numpy.typing import ArrayLike

from sfumato.graphical.beliefs import ratio
from sfumato.graphical.junction_tree import Clique, JunctionTree
from sfumato.graphical.layout import Floats, Projection, axes, cell_count

Table = tuple[tuple[int, ...], np.ndarray]
"""Attributes and an array with one axis for each."""


def checked(sizes: Sequence[int], clique: Sequence[int], max_cells: int) -> Clique:
    """`clique` as a tuple; ValueError for unknown or repeated attributes and for too many cells."""
    wanted = tuple(int(attribute) for attribute in clique)
    if len(set(wanted)) != len(wanted) or not all(0 <= attribute < len(sizes) for attribute in wanted):
        raise ValueError(f"clique {wanted} must name distinct attributes below {len(sizes)}")
    _check_cells(sizes, wanted, wanted, max_cells)
    return wanted


def checked_codes(sizes: Sequence[int], codes: Sequence[ArrayLike]) -> list[np.ndarray]:
    """One integer array per attribute, all of one length, all codes in range."""
    columns = [np.asarray(column) for column in codes]
    if len(columns) != len(sizes):
        raise ValueError(f"codes for {len(columns)} attributes were given; there are {len(sizes)}")
    for attribute, (column, size) in enumerate(zip(columns, sizes, strict=True)):
        if column.shape != columns[0].shape or column.dtype.kind not in "iu":
            raise ValueError(
                f"the codes of attribute {attribute} must be whole numbers, as many as of the others"
            )
        if column.size and not (column.min() >= 0 and column.max() < size):
            raise ValueError(f"attribute {attribute} has codes outside 0..{size - 1}")
    return [column.astype(np.int64) for column in columns]


def checked_mask(sizes: Sequence[int], attribute: int, mask: ArrayLike) -> Floats:
    """`mask` of the allowed codes of `attribute` as 0.0 and 1.0."""
    if not 0 <= attribute < len(sizes):
        raise ValueError(f"the condition names attribute {attribute}; there are {len(sizes)}")
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != (sizes[attribute],):
        raise ValueError(f"the condition on attribute {attribute} must be {sizes[attribute]} booleans")
    return array.astype(np.float64)


def look_up(
    sizes: Sequence[int], clique: Sequence[int], table: Floats, columns: Sequence[np.ndarray]
) -> Floats:
    """The cell of the flat array `table` of `clique` that each row falls into."""
    order = axes(sizes, clique)
    if not order:
        return np.broadcast_to(table.reshape(()), columns[0].shape)
    return table.reshape([sizes[a] for a in order])[tuple(columns[a] for a in order)]


def eliminate(tree: JunctionTree, beliefs: Sequence[Floats], wanted: Clique, max_cells: int) -> Floats:
    """The probabilities of `wanted`, one axis each, in that order."""
    sizes = tree.sizes
    asked = {attribute for attribute in wanted if sizes[attribute] > 1}
    needed = _subtree(tree, asked)
    messages: dict[int, list[Table]] = {}
    answer: Table = ((), np.ones(()))
    for index in sorted(needed, reverse=True):
        parent = tree.parents[index]
        inner = parent in needed
        order = axes(sizes, tree.cliques[index])
        belief = beliefs[index]
        separator = set(axes(sizes, tree.separators[index])) if inner else set()
        if inner:
            projection = Projection(sizes, tree.cliques[index], tree.separators[index])
            belief = belief.copy()
            mass = projection.sum(belief)
            projection.multiply(belief, ratio(np.ones_like(mass), mass))
        table: Table = (order, belief.reshape([sizes[a] for a in order]))
        waiting = sorted(messages.pop(index, []), key=lambda message: message[1].size)
        keep = asked | separator
        table = _reduce(table, keep.union(*(message[0] for message in waiting)))
        for at, message in enumerate(waiting):
            later = keep.union(*(other[0] for other in waiting[at + 1 :]))
            table = _combine(sizes, table, message, later, wanted, max_cells)
        if inner:
            messages.setdefault(parent, []).append(table)
        else:
            answer = _combine(sizes, answer, table, asked, wanted, max_cells)
    names, array = answer
    moved = array.transpose([names.index(attribute) for attribute in wanted if attribute in asked])
    return moved.reshape([sizes[attribute] for attribute in wanted])


def _subtree(tree: JunctionTree, asked: set[int]) -> set[int]:
    """The cliques left after leaves that add no attribute asked for are taken away again and again."""
    children = [0] * len(tree.cliques)
    for parent in tree.parents:
        if parent >= 0:
            children[parent] += 1
    needed = set(range(len(tree.cliques)))
    for index in reversed(range(len(tree.cliques))):
        extra = asked.intersection(tree.cliques[index]).difference(tree.separators[index])
        if not extra and children[index] == 0:
            needed.discard(index)
            if tree.parents[index] >= 0:
                children[tree.parents[index]] -= 1
    # From the top: a root with one child adds nothing when the child has all its attributes asked for.
    below: dict[int, list[int]] = {}
    for index in needed:
        below.setdefault(tree.parents[index], []).append(index)
    for root in below.get(-1, []):
        top = root
        while len(below.get(top, ())) == 1:
            (child,) = below[top]
            if not asked.intersection(tree.cliques[top]) <= set(tree.cliques[child]):
                break
            needed.discard(top)
            top = child
    return needed


def _reduce(table: Table, keep: set[int]) -> Table:
    names, array = table
    gone = tuple(axis for axis, attribute in enumerate(names) if attribute not in keep)
    return tuple(a for a in names if a in keep), array.sum(axis=gone) if gone else array


def _combine(
    sizes: Sequence[int], left: Table, right: Table, keep: set[int], wanted: Clique, max_cells: int
) -> Table:
    """The product of two tables, summed down to `keep`."""
    every = tuple(dict.fromkeys((*left[0], *right[0])))
    names = tuple(attribute for attribute in every if attribute in keep)
    _check_cells(sizes, names, wanted, max_cells)
    letter = dict(zip(every, ascii_letters, strict=False))
    first, second, out = ("".join(letter[a] for a in part) for part in (left[0], right[0], names))
    return names, np.einsum(f"{first},{second}->{out}", left[1], right[1], optimize=True)


def _check_cells(sizes: Sequence[int], names: Sequence[int], wanted: Clique, max_cells: int) -> None:
    count = cell_count(sizes, names)
    if count > max_cells:
        raise ValueError(f"the marginal of {wanted} needs {count} cells at once, more than {max_cells}")

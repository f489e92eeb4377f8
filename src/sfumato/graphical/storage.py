"""A model as named arrays, and back: what a file of plain tensors needs.

total              float64 (1,)   rows
clique_lengths     int64 (k,)     attributes of each clique, parents first
clique_attributes  int64          the cliques one after another
clique_parents     int64 (k,)     index of the parent clique, -1 for a root
beliefs            float64        clique marginals one after another, axes in increasing attribute order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.graphical.junction_tree import JunctionTree, check_sizes
from sfumato.graphical.layout import Floats, Projection, cell_count, pack, unpack

NAMES = ("total", "clique_lengths", "clique_attributes", "clique_parents", "beliefs")


def arrays(tree: JunctionTree, total: float, beliefs: Sequence[Floats]) -> dict[str, np.ndarray]:
    """The arrays listed above."""
    tables = [
        unpack(tree.sizes, clique, belief).reshape(-1)
        for clique, belief in zip(tree.cliques, beliefs, strict=True)
    ]
    return {
        "total": np.array([total], dtype=np.float64),
        "clique_lengths": np.array([len(clique) for clique in tree.cliques], dtype=np.int64),
        "clique_attributes": np.array([a for clique in tree.cliques for a in clique], dtype=np.int64),
        "clique_parents": np.array(tree.parents, dtype=np.int64),
        "beliefs": np.concatenate(tables) if tables else np.zeros(0),
    }


def restore(
    sizes: Sequence[int], arrays: Mapping[str, np.ndarray]
) -> tuple[JunctionTree, float, tuple[Floats, ...]]:
    """Tree, total and beliefs, checked to be those of a distribution; ValueError says what is wrong."""
    counts = check_sizes(sizes)
    missing = [name for name in NAMES if name not in arrays]
    if missing:
        raise ValueError(f"the model lacks the array {missing[0]!r}")
    tree = _tree(counts, arrays)
    total, flat = np.asarray(arrays["total"]), np.asarray(arrays["beliefs"])
    if total.shape != (1,) or not np.isfinite(total).all() or total[0] < 0.0:
        raise ValueError("the total of the model must be one number, not negative")
    if flat.dtype != np.float64 or flat.shape != (tree.cells,):
        raise ValueError(f"the beliefs of the model must be {tree.cells} float64 numbers")
    if not np.isfinite(flat).all() or (flat < 0.0).any():
        raise ValueError("the beliefs of the model must be finite and not negative")
    ends = np.cumsum([tree.clique_cells(index) for index in range(len(tree.cliques))])
    beliefs = []
    for clique, part in zip(tree.cliques, np.split(flat, ends[:-1]) if len(ends) else [], strict=True):
        beliefs.append(pack(counts, clique, part.reshape([counts[a] for a in clique])).copy())
    _check_agreement(tree, beliefs)
    return tree, float(total[0]), tuple(beliefs)


def _tree(sizes: tuple[int, ...], arrays: Mapping[str, np.ndarray]) -> JunctionTree:
    lengths, members, parents = (
        np.asarray(arrays[name]) for name in ("clique_lengths", "clique_attributes", "clique_parents")
    )
    whole = all(array.dtype == np.int64 and array.ndim == 1 for array in (lengths, members, parents))
    if not whole or lengths.shape != parents.shape or (lengths < 1).any() or lengths.sum() != members.size:
        raise ValueError("the cliques of the model do not add up")
    ends = np.cumsum(lengths)
    cliques = [
        tuple(members[end - length : end].tolist())
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    ]
    separators, seen = [], set()
    for index, (clique, parent) in enumerate(zip(cliques, parents.tolist(), strict=True)):
        if not -1 <= parent < index or clique != tuple(sorted(set(clique))):
            raise ValueError(f"clique {index} of the model is out of order")
        if clique[0] < 0 or clique[-1] >= len(sizes):
            raise ValueError(f"clique {index} of the model names an attribute that does not exist")
        separator = tuple(sorted(set(clique) & set(cliques[parent]))) if parent >= 0 else ()
        # Running intersection: what was seen before is shared with the parent.
        if seen & set(clique) != set(separator):
            raise ValueError("the cliques of the model do not form a junction tree")
        separators.append(separator)
        seen |= set(clique)
    if len(seen) != len(sizes):
        raise ValueError("the cliques of the model do not cover all attributes")
    return JunctionTree(
        sizes=sizes, cliques=tuple(cliques), parents=tuple(parents.tolist()), separators=tuple(separators)
    )


def _check_agreement(tree: JunctionTree, beliefs: Sequence[Floats]) -> None:
    sizes = tree.sizes
    for index, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
        separator = tree.separators[index]
        mine = Projection(sizes, clique, separator).sum(beliefs[index])
        theirs = (
            Projection(sizes, tree.cliques[parent], separator).sum(beliefs[parent]) if parent >= 0 else 1.0
        )
        if mine.size != cell_count(sizes, separator) or not np.allclose(mine, theirs, rtol=1e-6, atol=1e-9):
            raise ValueError(f"the beliefs of clique {clique} do not agree with the rest of the model")

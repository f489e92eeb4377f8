"""Fit a graphical model to noisy marginals: check, build the tree, set the base, pool, run a method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.graphical import mirror_descent, proximal
from sfumato.graphical.beliefs import Beliefs
from sfumato.graphical.junction_tree import Clique, JunctionTree, check_sizes, junction_tree
from sfumato.graphical.layout import Floats, Projection, pack, unpack
from sfumato.graphical.measurement import LARGEST, Measurement, check_clique
from sfumato.graphical.model import GraphicalModel
from sfumato.graphical.pooling import pool

Base = Sequence[ArrayLike | None] | Mapping[int, ArrayLike]
Zero = tuple[Sequence[int], NDArray[np.bool_]]

BASE_FLOOR = 1e-9
"""Share of the uniform distribution mixed into base vectors: a 0 in the base is not a structural zero."""


def fit(
    sizes: Sequence[int],
    measurements: Iterable[Measurement],
    *,
    total: float,
    method: Literal["pis", "mirror-descent"] = "pis",
    base: Base | None = None,
    zeros: Iterable[Zero] = (),
    sweeps: int | None = None,
    strength: float = 1.0,
    max_cells: int = 2_000_000,
) -> GraphicalModel:
    """The model over attributes with `sizes` codes that explains `measurements` of a table of `total` rows.

    `total`: rows (finite; below 1 counts as 1). `base`: for each attribute a probability vector, or None, for
    what the measurements leave open; by default it comes from the attribute's own 1-way measurements, and is
    uniform without any. `zeros`: pairs (clique, mask) with True where a combination is impossible; such cells
    get probability exactly 0. `method`: "pis" (see `proximal`), or "mirror-descent", which minimises the
    squared error and is slower. `sweeps`: how many rounds (30 for "pis", 1000 for "mirror-descent").
    `strength`: follow measurements for this many times the usual time ("pis" only; more fits closer).

    Deterministic. Raises ValueError for shapes that do not match `sizes`, for `zeros` that leave nothing
    possible, and, before any large array is made, when the junction tree has more than `max_cells` cells.
    """
    counts = check_sizes(sizes)
    known = _checked_measurements(counts, measurements)
    impossible = _checked_zeros(counts, zeros)
    if not abs(total) <= LARGEST:
        raise ValueError(f"the total must be finite, and at most {LARGEST:g}")
    if method not in ("pis", "mirror-descent"):
        raise ValueError(f"there is no method {method!r}; known: 'mirror-descent', 'pis'")
    if sweeps is not None and sweeps < 1:
        raise ValueError("the number of sweeps must be at least 1")
    if not 0.0 < strength < np.inf:
        raise ValueError("the strength must be finite and above 0")
    rows = max(float(total), 1.0)
    tree = junction_tree(counts, [m.clique for m in known] + [clique for clique, _ in impossible])
    check_cells(tree, max_cells)
    beliefs = _start(tree, _base_vectors(counts, known, impossible, base, rows), impossible)
    possible = {m.clique: _marginal(beliefs, m.clique) > 0.0 for m in known}
    targets = pool(counts, known, rows, possible)
    if method == "pis":
        sweeps = proximal.DEFAULT_SWEEPS if sweeps is None else sweeps
        proximal.scale(beliefs, targets, total=rows, sweeps=sweeps, strength=strength)
    else:
        sweeps = mirror_descent.DEFAULT_SWEEPS if sweeps is None else sweeps
        beliefs = mirror_descent.descend(beliefs, targets, total=rows, sweeps=sweeps)
    return GraphicalModel(tree=tree, total=rows, beliefs=tuple(beliefs.arrays))


def check_cells(tree: JunctionTree, max_cells: int) -> None:
    """ValueError, naming the largest clique, when `tree` has more than `max_cells` cells."""
    if tree.cells > max_cells:
        worst = max(range(len(tree.cliques)), key=tree.clique_cells)
        raise ValueError(
            f"the junction tree needs {tree.cells} cells, more than the {max_cells} allowed; "
            f"its largest clique {tree.cliques[worst]} alone has {tree.clique_cells(worst)}"
        )


def _checked_measurements(sizes: tuple[int, ...], measurements: Iterable[Measurement]) -> list[Measurement]:
    known = list(measurements)
    for measurement in known:
        _check_shape(sizes, measurement.clique, measurement.values.shape, "measurement")
    return known


def _checked_zeros(sizes: tuple[int, ...], zeros: Iterable[Zero]) -> list[tuple[Clique, NDArray[np.bool_]]]:
    checked = []
    for clique, mask in zeros:
        check_clique(clique)
        members = tuple(int(attribute) for attribute in clique)
        array = np.asarray(mask)
        if array.dtype != np.bool_:
            raise ValueError(f"zeros of {members}: the mask must be boolean, not {array.dtype}")
        _check_shape(sizes, members, array.shape, "zeros")
        checked.append((members, array))
    return checked


def _check_shape(sizes: tuple[int, ...], clique: Clique, shape: tuple[int, ...], what: str) -> None:
    if clique[-1] >= len(sizes):
        raise ValueError(f"{what} of {clique} names attribute {clique[-1]}; there are {len(sizes)}")
    wanted = tuple(sizes[attribute] for attribute in clique)
    if shape != wanted:
        raise ValueError(f"{what} of {clique} has shape {shape}; the sizes say {wanted}")


def _base_vectors(
    sizes: tuple[int, ...],
    measurements: Sequence[Measurement],
    zeros: Sequence[tuple[Clique, NDArray[np.bool_]]],
    base: Base | None,
    total: float,
) -> list[Floats]:
    """One probability vector per attribute, nowhere 0."""
    vectors = [np.full(size, 1.0 / size) for size in sizes]
    if base is None:
        possible: dict[Clique, NDArray[np.bool_]] = {
            (attribute,): np.ones(size, dtype=bool) for attribute, size in enumerate(sizes)
        }
        for clique, mask in zeros:
            if len(clique) == 1:
                possible[clique] &= ~mask
        one_way = [m for m in measurements if len(m.clique) == 1 and possible[m.clique].any()]
        for target in pool(sizes, one_way, total, possible):
            vectors[target.clique[0]] = proximal.fit_one_way(target, possible[target.clique], total)
    else:
        given = base.items() if isinstance(base, Mapping) else enumerate(base)
        for attribute, vector in given:
            if vector is not None:
                vectors[attribute] = _probabilities(vector, sizes, attribute)
    return [(1.0 - BASE_FLOOR) * vector + BASE_FLOOR / vector.size for vector in vectors]


def _probabilities(vector: ArrayLike, sizes: tuple[int, ...], attribute: int) -> Floats:
    if not 0 <= attribute < len(sizes):
        raise ValueError(f"the base names attribute {attribute}; there are {len(sizes)}")
    size = sizes[attribute]
    array = np.asarray(vector, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ValueError(f"the base of attribute {attribute} must be {size} finite numbers")
    array = np.maximum(array, 0.0)
    mass = array.sum()
    return array / mass if mass > 0.0 else np.full(size, 1.0 / size)


def _start(
    tree: JunctionTree, base: Sequence[Floats], zeros: Sequence[tuple[Clique, NDArray[np.bool_]]]
) -> Beliefs:
    """Calibrated beliefs of independent attributes distributed as `base`, without the impossible cells."""
    beliefs = Beliefs.ones(tree)
    for attribute, vector in enumerate(base):
        _multiply(beliefs, (attribute,), vector)
    for clique, mask in zeros:
        _multiply(beliefs, clique, (~mask).astype(np.float64))
    if beliefs.calibrate() == -np.inf:
        raise ValueError("the zeros leave no combination possible")
    return beliefs


def _multiply(beliefs: Beliefs, clique: Clique, factor: np.ndarray) -> None:
    tree = beliefs.tree
    home = tree.home(clique)
    assert home is not None
    projection = Projection(tree.sizes, tree.cliques[home], clique)
    projection.multiply(beliefs.arrays[home], pack(tree.sizes, clique, factor))


def _marginal(beliefs: Beliefs, clique: Clique) -> Floats:
    tree = beliefs.tree
    home = tree.home(clique)
    assert home is not None
    projection = Projection(tree.sizes, tree.cliques[home], clique)
    return unpack(tree.sizes, clique, projection.sum(beliefs.arrays[home]))

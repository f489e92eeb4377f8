"""Brute force: the whole joint table of a small model, put together from its saved arrays."""

from collections.abc import Callable

import numpy as np
import pytest

from sfumato.graphical import GraphicalModel


def _joint(model: GraphicalModel) -> np.ndarray:
    saved = model.arrays()
    sizes = model.sizes
    table = np.ones(sizes)
    lengths, parents = saved["clique_lengths"], saved["clique_parents"]
    members = np.split(saved["clique_attributes"], np.cumsum(lengths)[:-1])
    at = 0
    for index, clique in enumerate(members):
        shape = [sizes[a] if a in clique else 1 for a in range(len(sizes))]
        cells = int(np.prod(shape))
        belief = saved["beliefs"][at : at + cells].reshape(shape)
        at += cells
        own = set(members[parents[index]]) if parents[index] >= 0 else set()
        gone = tuple(a for a in range(len(sizes)) if a not in own or a not in clique)
        mass = belief.sum(axis=gone, keepdims=True)
        table = table * belief / np.where(mass > 0, mass, 1.0)
    return table


def _project(table: np.ndarray, clique: tuple[int, ...]) -> np.ndarray:
    left = table.sum(axis=tuple(a for a in range(table.ndim) if a not in clique))
    order = sorted(clique)
    return left.transpose([order.index(a) for a in clique])


@pytest.fixture(scope="session")
def joint_of() -> Callable[[GraphicalModel], np.ndarray]:
    """Probability of every combination of codes."""
    return _joint


@pytest.fixture(scope="session")
def project() -> Callable[[np.ndarray, tuple[int, ...]], np.ndarray]:
    """Sum of a joint table over all but the attributes of a clique, axes in the order of the clique."""
    return _project

"""Small networks and seeds."""

from __future__ import annotations

import numpy as np

from sfumato.bayesian_network import TOTAL, Dag, Network, integer_weights

SIZES = (3, 2, 4, 2, 3)
PARENTS = ((), (0,), (), (2,), (1, 3))


def network(seed: int = 0) -> Network:
    """Five attributes, one of them with two codes in a group, one with buckets, some codes impossible."""
    rng = np.random.default_rng(seed)
    groups = [np.arange(size) for size in SIZES]
    groups[2] = np.array([0, 1, 1, 2])
    buckets = [np.arange(size) for size in SIZES]
    buckets[0] = np.array([0, 1, 1])
    inner = [np.full(size, TOTAL) for size in SIZES]
    inner[2] = np.array([TOTAL, TOTAL // 4, TOTAL - TOTAL // 4, TOTAL])
    tables = []
    for i, group in enumerate(groups):
        rows = int(np.prod([buckets[j].max() + 1 for j in PARENTS[i]], dtype=int))
        shares = rng.dirichlet(np.ones(int(group.max()) + 1), size=rows)
        tables.append(integer_weights(np.where(shares < 0.05, 0.0, shares)))
    return Network(dag=Dag.of(PARENTS), buckets=buckets, groups=groups, tables=tables, inner=inner)


def every_record() -> np.ndarray:
    """All records, one a row."""
    return np.stack([axis.ravel() for axis in np.indices(SIZES)], axis=1)


def seeds(count: int, seed: int = 1) -> np.ndarray:
    """Records that depend on each other."""
    rng = np.random.default_rng(seed)
    found = np.stack([rng.integers(0, size, count) for size in SIZES], axis=1)
    found[:, 1] = (found[:, 0] > 0) ^ (rng.random(count) < 0.2)
    found[:, 3] = (found[:, 2] > 1) ^ (rng.random(count) < 0.1)
    return found


def chance(net: Network, record: np.ndarray, seed: np.ndarray, omegas: tuple[int, ...]) -> float:
    """Pr(record = M(seed)), attribute by attribute."""
    order, count, total = net.dag.order, len(SIZES), 0.0
    for omega in omegas:
        keep = order[: count - omega]
        if all(record[i] == seed[i] for i in keep):
            product = 1.0
            for i in order[count - omega :]:
                row = int(net.configuration(i, record[None])[0])
                product *= float(net.code_distribution(i)[row, record[i]])
            total += product / len(omegas)
    return total

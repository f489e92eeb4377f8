"""What a model expects of many cliques: exactly where that is cheap, else from a sample with a fixed seed.

A clique inside one clique of the junction tree is a sum. Others are read off one large systematic sample,
the same for all of them, whose seed is fixed, so that a replay asks the same questions. Estimates are rounded
to 1/64 record: a processor that rounds the last bit of a sum differently still asks the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.graphical import GraphicalModel
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

SEED = 20_220_131
GRID = 64
SAMPLE = 1 << 18
"""Rows of the sample."""


def expected_counts(model: GraphicalModel, cliques: Sequence[Clique], *, rows: int = SAMPLE) -> list[Floats]:
    """Expected counts of each clique, one axis per attribute."""
    inside = [model.tree.home(clique) is not None for clique in cliques]
    columns: list[npt.NDArray[np.integer]] = []
    if not all(inside):
        columns = model.sample(rows, np.random.default_rng(SEED))
    found = []
    for clique, cheap in zip(cliques, inside, strict=True):
        if cheap:
            counts = model.marginal(clique)
        else:
            counts = _counted(columns, clique, model.sizes) * (model.total / rows)
        found.append(np.rint(counts * GRID) / GRID)
    return found


def _counted(columns: Sequence[npt.NDArray[np.integer]], clique: Clique, sizes: Sequence[int]) -> Floats:
    shape = [sizes[a] for a in clique]
    index = columns[clique[0]].astype(np.int32)
    for a in clique[1:]:
        index *= np.int32(sizes[a])
        index += columns[a]
    return np.bincount(index, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)

"""Rows from a graphical model over groups of codes, with codes inside each group from the one-way
marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import JobError
from sfumato.graphical import GraphicalModel, Measurement, fit
from sfumato.graphical.sampling import draw_within
from sfumato.synthesizers.one_way import Floats
from sfumato.synthesizers.recipe import generator


@generator("marginals")
@frozen(kw_only=True, eq=False)
class MarginalGenerator:
    """`model` is over groups; `groups[i]` maps codes of column i to groups, `counts[i]` are expected
    counts of codes.
    """

    kind: ClassVar[str] = "marginals"

    total: float
    counts: tuple[Floats, ...]
    groups: tuple[npt.NDArray[np.int64], ...]
    model: GraphicalModel

    @classmethod
    def independent(cls, *, total: float, counts: Sequence[Floats]) -> MarginalGenerator:
        """No relation between columns; every code is its own group."""
        sizes = [table.size for table in counts]
        model = fit(
            sizes,
            [Measurement(clique=(i,), values=table, sigma=1.0) for i, table in enumerate(counts)],
            total=total,
            base=[table / table.sum() for table in counts],
        )
        return cls(
            total=total,
            counts=tuple(counts),
            groups=tuple(np.arange(size, dtype=np.int64) for size in sizes),
            model=model,
        )

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        model, allowed = self.model, where or {}
        if allowed:
            model = model.condition({i: self._group_mask(i, mask) for i, mask in allowed.items()})
        drawn = model.sample(rows, rng)
        return [self._refine(i, codes, rng, allowed.get(i)) for i, codes in enumerate(drawn)]

    def _group_mask(self, i: int, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        groups = np.zeros(self.model.sizes[i], dtype=bool)
        groups[self.groups[i][mask & self._possible(i)]] = True
        if not groups.any():
            raise JobError("no value that is asked for can occur in the model")
        return groups

    def _possible(self, i: int) -> npt.NDArray[np.bool_]:
        return self.counts[i] > 0

    def _refine(
        self, i: int, drawn: Codes, rng: np.random.Generator, mask: npt.NDArray[np.bool_] | None
    ) -> Codes:
        """Codes inside the groups drawn, in proportion to `counts`, spread evenly over the rows of a
        group.
        """
        groups, counts = self.groups[i], self.counts[i]
        if groups.size == self.model.sizes[i]:
            return drawn.astype(code_dtype(groups.size), copy=False)
        weights = counts if mask is None else np.where(mask, counts, 0.0)
        return split_groups(drawn, groups, weights, rng)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {"total": np.array([self.total])}
        for i, (counts, groups) in enumerate(zip(self.counts, self.groups, strict=True)):
            arrays[f"counts/{i}"] = counts
            arrays[f"groups/{i}"] = groups
        arrays.update({f"model/{name}": array for name, array in self.model.arrays().items()})
        return arrays

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> MarginalGenerator:
        counts = tuple(arrays[f"counts/{i}"] for i in range(len(sizes)))
        groups = tuple(arrays[f"groups/{i}"] for i in range(len(sizes)))
        if any(
            c.shape != (size,) or g.shape != (size,) for c, g, size in zip(counts, groups, sizes, strict=True)
        ):
            raise ValueError("the arrays do not fit the domain")
        inner = {name.removeprefix("model/"): a for name, a in arrays.items() if name.startswith("model/")}
        model = GraphicalModel.from_arrays([int(g.max()) + 1 for g in groups], inner)
        return cls(total=float(arrays["total"][0]), counts=counts, groups=groups, model=model)


def split_groups(
    drawn: Codes, groups: npt.NDArray[np.int64], weights: Floats, rng: np.random.Generator
) -> Codes:
    """A code of group `drawn[r]` for every row r, with probabilities in proportion to `weights` within the
    group, each code getting its share of the group's rows up to one.
    """
    result = np.zeros(int(groups.max()) + 1, dtype=code_dtype(groups.size))
    result[groups] = np.arange(groups.size)
    codes = result.take(drawn)
    several = np.bincount(groups) > 1
    rows = np.flatnonzero(several.take(drawn))
    if rows.size == 0:
        return codes
    # The groups with several codes, and for each of them its codes in a row of one table.
    number = np.cumsum(several) - 1
    members = [np.flatnonzero(groups == group) for group in np.flatnonzero(several)]
    width = max(part.size for part in members)
    code = np.zeros((len(members), width), dtype=codes.dtype)
    cumulative = np.ones((len(members), width))
    for row, part in enumerate(members):
        mass = np.cumsum(weights[part])
        code[row, : part.size] = part
        if mass[-1] > 0:
            cumulative[row, : part.size] = mass / mass[-1]
    everywhere = rows.size == drawn.size
    states = number.astype(code_dtype(len(members))).take(drawn if everywhere else drawn[rows])
    place = states.astype(np.int64)
    place *= width
    place += draw_within(states, cumulative, rng)
    if everywhere:
        return code.reshape(-1).take(place)
    codes[rows] = code.reshape(-1).take(place)
    return codes

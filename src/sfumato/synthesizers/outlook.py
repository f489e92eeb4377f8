"""What a method is going to measure, told from public facts alone: the part of a plan that a recipe knows.

A recipe may have a method `outlook(scene)`, which returns an Outlook. Without one the answer is read off its
`split()`: what goes to one-way marginals, and what is left for as many pairs as make a tree. So a new method
has a plan without being named anywhere, and a better one by one method of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.codecs import Codec
from sfumato.synthesizers.grouping import group_codes
from sfumato.synthesizers.recipe import Recipe
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

ONE_WAY = "one-way marginals"
ASIDE = ("row count", "error scores", "tree", "selection")
"""Purposes in a split that count rows, or choose what to measure; all others but `ONE_WAY` are taken to
measure relations."""
CELLS = 2_000_000


@frozen(kw_only=True, eq=False)
class Scene:
    """A table that nobody has looked at, with what is assumed of it."""

    rows: float
    codecs: tuple[Codec, ...]
    counts: tuple[Floats, ...]
    """Expected counts of every code of every codec."""
    distances: Mapping[Clique, float]
    """How far each pair of columns is from independence: L1, in rows."""
    budget: float
    """What discovery leaves, in the currency of the filter: Σ mu²."""
    distance: float
    """L2 distance of one table of counts between neighbours."""

    @property
    def signal(self) -> float:
        """Rows over the noise that the whole budget would put on one table."""
        return float(self.rows * np.sqrt(self.budget) / self.distance)

    def groups(self, *, least: float, at_most: int) -> list[Floats]:
        """Expected counts of the groups of each column, as `grouping` would make them."""
        found = []
        for codec, counts in zip(self.codecs, self.counts, strict=True):
            groups = group_codes(codec, counts, least=least, at_most=at_most)
            found.append(np.bincount(groups, weights=counts).astype(np.float64))
        return found


@frozen(kw_only=True, eq=False)
class Outlook:
    """What a method will do with its budget."""

    one_way: float
    """Share of the one-way marginals."""
    relations: float
    """Share of tables over several columns; 0 when columns are drawn independently."""
    pairs: int | None = None
    """Tables that divide the latter; None: as many as pay off."""
    max_cells: int = CELLS
    """Most cells of the model."""
    fits: float = 1.0
    """Fits of the model, each counted by its sweeps over those of a usual last fit."""
    candidates: int = 0
    """Tables over several columns that are counted, for choosing or for measuring."""
    _model: Callable[[], int] | None = field(default=None, alias="model")

    @cached_property
    def cells(self) -> int:
        """Cells that the model is expected to have."""
        return 0 if self._model is None else self._model()


def outlook_of(recipe: Recipe, scene: Scene) -> Outlook:
    """What `recipe` says, or what its split tells."""
    ask = getattr(recipe, "outlook", None)
    found = tree_outlook(recipe.split(len(scene.codecs)), scene) if ask is None else ask(scene)
    if not isinstance(found, Outlook):
        raise TypeError(f"the outlook of {recipe.name!r} is not an Outlook")
    return found


def tree_outlook(split: Mapping[str, float], scene: Scene, *, groups: int = 64) -> Outlook:
    """One-way marginals as in `split`, all else that it measures on a tree of pairs."""
    columns = len(scene.codecs)
    ones = split.get(ONE_WAY, 0.0)
    others = 0.0 if columns < 2 else sum(v for k, v in split.items() if k not in (ONE_WAY, *ASIDE))
    if not ones and not others:
        ones = sum(split.values())
    if not others:
        return Outlook(
            one_way=ones, relations=0.0, pairs=0,
            model=lambda: sum(codec.size for codec in scene.codecs),
        )  # fmt: skip
    sigma = scene.distance * np.sqrt((columns - 1) / (others * scene.budget))

    def cells() -> int:
        sizes = np.array([len(g) for g in scene.groups(least=3 * sigma, at_most=groups)], dtype=np.float64)
        mean = (sizes.sum() ** 2 - (sizes**2).sum()) / max(columns * (columns - 1), 1)
        return round((columns - 1) * mean)

    return Outlook(
        one_way=ones or others, relations=others, pairs=columns - 1, model=cells,
        candidates=columns * (columns - 1) // 2,
    )  # fmt: skip

"""A fitted model: a joint distribution over discrete attributes, known by its clique marginals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from sfumato.graphical import query, storage
from sfumato.graphical.beliefs import Beliefs
from sfumato.graphical.junction_tree import Clique, JunctionTree
from sfumato.graphical.layout import Floats, Projection, unpack
from sfumato.graphical.sampling import Plan


@frozen(eq=False, kw_only=True)
class GraphicalModel:
    """Expected counts of a table of `total` rows; made by `fit`, `condition` or `from_arrays`.

    The joint distribution is the product of the clique marginals divided by the product of the separator
    marginals of `tree`. Immutable; its arrays are read-only.
    """

    tree: JunctionTree
    total: float
    _beliefs: tuple[Floats, ...] = field(repr=False)
    _plans: list[Plan] = field(init=False, factory=list, repr=False)

    def __attrs_post_init__(self) -> None:
        for belief in self._beliefs:
            belief.flags.writeable = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes of each attribute."""
        return self.tree.sizes

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """The cliques of the junction tree; marginals inside one are cheap."""
        return self.tree.cliques

    @property
    def cells(self) -> int:
        """Numbers that the model consists of."""
        return sum(belief.size for belief in self._beliefs)

    def marginal(self, clique: Sequence[int], *, max_cells: int = 10_000_000) -> Floats:
        """Expected counts of the attributes in `clique` (distinct, any order): one axis each, sum `total`.

        Exact. When no clique of the tree holds them all, the others are eliminated along the tree; ValueError
        when the answer, or an array on the way, would have more than `max_cells` cells.
        """
        wanted = query.checked(self.sizes, clique, max_cells)
        home = self.tree.home(wanted)
        if home is None:
            return self.total * query.eliminate(self.tree, self._beliefs, wanted, max_cells)
        projection = Projection(self.sizes, self.tree.cliques[home], wanted)
        return self.total * unpack(self.sizes, wanted, projection.sum(self._beliefs[home]))

    def log_probability(self, codes: Sequence[ArrayLike]) -> Floats:
        """Natural logarithm of the probability of each row; `codes` holds one array of codes per attribute.

        -inf for impossible rows. ValueError when a code is out of range or arrays differ in length.
        """
        columns = query.checked_codes(self.sizes, codes)
        answer = np.zeros(columns[0].shape if columns else (), dtype=np.float64)
        with np.errstate(divide="ignore"):
            for index, clique in enumerate(self.tree.cliques):
                answer += np.log(query.look_up(self.sizes, clique, self._beliefs[index], columns))
            for index, separator in enumerate(self.tree.separators):
                if separator:
                    projection = Projection(self.sizes, self.tree.cliques[index], separator)
                    mass = query.look_up(self.sizes, separator, projection.sum(self._beliefs[index]), columns)
                    answer -= np.log(np.where(mass > 0.0, mass, 1.0))
        return answer

    def sample(self, rows: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Exactly `rows` rows as one array of codes per attribute, each of the smallest unsigned type.

        Systematic: the counts of the sample stay close to their expectation, closer than those of independent
        rows; single rows are distributed as the model says and their order carries no meaning.
        """
        if rows < 0:
            raise ValueError("the number of rows must not be negative")
        if not self._plans:
            self._plans.append(Plan.of(self.tree, self._beliefs))
        return self._plans[0].sample(rows, rng)

    def condition(self, allowed: Mapping[int, ArrayLike]) -> GraphicalModel:
        """The model of the rows whose code of each attribute is True in its mask in `allowed`.

        `total` becomes the expected number of such rows. ValueError when there can be none.
        """
        beliefs = Beliefs(self.tree, self._beliefs, self._separators()).copy()
        for attribute, mask in allowed.items():
            keep = query.checked_mask(self.sizes, attribute, mask)
            home = self.tree.home((attribute,))
            assert home is not None
            projection = Projection(self.sizes, self.tree.cliques[home], (attribute,))
            projection.multiply(beliefs.arrays[home], keep)
        log_mass = beliefs.calibrate()
        if log_mass == -np.inf:
            raise ValueError("no row of the model satisfies the condition")
        return GraphicalModel(
            tree=self.tree, total=self.total * float(np.exp(log_mass)), beliefs=tuple(beliefs.arrays)
        )

    def _separators(self) -> list[Floats]:
        return [
            Projection(self.sizes, clique, separator).sum(belief) if separator else np.ones(1)
            for clique, separator, belief in zip(
                self.tree.cliques, self.tree.separators, self._beliefs, strict=True
            )
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        """The model as a few named arrays; `from_arrays` restores it bit for bit."""
        return storage.arrays(self.tree, self.total, self._beliefs)

    @classmethod
    def from_arrays(cls, sizes: Sequence[int], arrays: Mapping[str, np.ndarray]) -> GraphicalModel:
        """The model that `arrays()` described; ValueError when the arrays are not those of a model."""
        tree, total, beliefs = storage.restore(sizes, arrays)
        return cls(tree=tree, total=total, beliefs=beliefs)

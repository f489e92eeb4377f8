"""`aim`: the adaptive and iterative mechanism, for comparison by name.

McKenna, Mullins, Sheldon, Miklau 2022, "AIM: an adaptive and iterative mechanism for differentially private
synthetic data", Algorithm 1 to 3, with its published settings: candidates are all subsets of the workload's
marginals, a candidate is worth Σ |c ∩ w|, each of at most T = 16 d rounds selects one by the exponential
mechanism (10 % of the budget) with score w (error - expected noise), measures it (90 %), and halves the noise
scale when the model moved less than the noise; the model may have max_size megabytes by the end.

What differs: charges are composed in the currency of the run (Gaussian DP by default), the row count is
measured (1 % of the budget), and the model is fitted by this library's engine.
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec
from sfumato.domain.views import Coarse
from sfumato.graphical import CellCounter, GraphicalModel, Measurement, fit
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.weighted_errors import WeightedErrors
from sfumato.synthesizers.estimates import expected_counts
from sfumato.synthesizers.grouping import group_codes
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import LEAST, OneWay, measure_one_way
from sfumato.synthesizers.outlook import Outlook, Scene, tree_outlook
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.structure import MEAN_ABSOLUTE
from sfumato.synthesizers.workload import Clique

SELECTING = 0.1
"""Share of selection in the budget of a round."""
SWEEPS = (12, 30)
BYTES = 8


@synthesizer("aim")
@frozen(kw_only=True)
class Aim:
    """Adaptive and iterative mechanism."""

    name: ClassVar[str] = "aim"
    summary: ClassVar[str] = (
        "one marginal at a time, chosen by the exponential mechanism (McKenna et al. 2022)"
    )
    guarantee: ClassVar[str] = "(epsilon, delta)"

    max_size: float = field(default=80.0)
    """Megabytes that the model may have."""
    max_cells: int = field(default=10_000)
    """Cells of the largest three-way marginal of the workload."""

    @max_size.validator
    @max_cells.validator
    def _check(self, attribute: object, value: float) -> None:
        if not 0 < value < np.inf:
            raise ValueError("max_size and max_cells must be finite and above 0")

    def split(self, columns: int) -> dict[str, float]:
        if columns < 2:
            return {"row count": 0.01, "one-way marginals": 0.99}
        rest = 0.99 * 15 / 16
        return {
            "row count": 0.01,
            "one-way marginals": 0.99 / 16 * (1 - SELECTING),
            "selection": rest * SELECTING + 0.99 / 16 * SELECTING,
            "marginals": rest * (1 - SELECTING),
        }

    def outlook(self, scene: Scene) -> Outlook:
        """What will be measured, for a plan."""
        columns, split = len(scene.codecs), self.split(len(scene.codecs))
        if columns < 2:
            return tree_outlook(split, scene)
        most = int(self.max_size * 2**20) // BYTES
        joint = float(np.exp(min(sum(np.log(codec.allowed.sum()) for codec in scene.codecs), 100.0)))
        return Outlook(
            one_way=split["one-way marginals"],
            relations=split["marginals"],
            max_cells=most,
            fits=1 + 2 * columns * SWEEPS[0] / SWEEPS[1],
            candidates=columns * (columns - 1) * (columns + 1) // 6,
            model=lambda: int(min(most, joint)),
        )

    def learn(self, curator: Curator, domain: Domain) -> MarginalGenerator:
        curator.ledger.adaptive = True
        codecs, budget, split = domain.codecs, curator.left, self.split(len(domain.codecs))
        ones = measure_one_way(
            curator,
            codecs,
            spend=split["one-way marginals"] * budget,
            total_spend=split["row count"] * budget,
        )
        if len(codecs) < 2:
            return MarginalGenerator.independent(total=ones.total, counts=ones.counts)
        return _Run(self, curator, codecs, ones, 0.99 * budget).learn()


class _Run:
    """One run of the method: what is known so far."""

    def __init__(
        self, recipe: Aim, curator: Curator, codecs: tuple[Codec, ...], ones: OneWay, budget: float
    ) -> None:
        self.curator, self.ones, self.budget = curator, ones, budget
        self.max_bytes = recipe.max_size * 2**20
        self.distance = float(np.sqrt(curator.unit.table_l2_squared(curator.filter.relation)))
        # Only codes that no row can have are taken out; nothing else is put together.
        self.groups = [
            group_codes(codec, np.where(codec.allowed, 1.0, 0.0), least=0.0, at_most=codec.size)
            for codec in codecs
        ]
        self.views = [Coarse(codec, tuple(g.tolist())) for codec, g in zip(codecs, self.groups, strict=True)]
        self.sizes = [view.size for view in self.views]
        # A group may turn out to have rows though none was expected in it: they take its allowed codes.
        self.within = tuple(
            np.where(codec.allowed, np.maximum(c, LEAST * ones.total), 0.0)
            for codec, c in zip(codecs, ones.counts, strict=True)
        )
        counts = [
            np.bincount(g, weights=c, minlength=size)
            for g, c, size in zip(self.groups, self.within, self.sizes, strict=True)
        ]
        self.base = [table / ones.total for table in counts]
        self.known = [
            Measurement(clique=(i,), values=table, sigma=sigma)
            for i, (table, sigma) in enumerate(zip(counts, ones.sigmas, strict=True))
        ]
        self.weights = compiled(self.sizes, recipe.max_cells)
        self.cliques = list(self.weights)
        self.cells = np.array([np.prod([self.sizes[a] for a in c], dtype=np.float64) for c in self.cliques])
        self.counter = CellCounter(self.sizes)

    def learn(self) -> MarginalGenerator:
        rounds = 16 * len(self.sizes)
        selecting = SELECTING * self.budget / rounds
        measuring = (1 - SELECTING) * self.budget / rounds
        model, last = self._fit(SWEEPS[0]), False
        while not last:
            left = self.curator.left
            if left < 2 * (selecting + measuring):
                selecting, measuring, last = SELECTING * left, left, True
            moved, sigma, model = self._round(model, selecting, measuring, last=last)
            if moved <= MEAN_ABSOLUTE * sigma:
                selecting, measuring = 4 * selecting, 4 * measuring
        return MarginalGenerator(
            total=self.ones.total, counts=self.within, groups=tuple(self.groups), model=model
        )

    def _round(
        self, model: GraphicalModel, selecting: float, measuring: float, *, last: bool
    ) -> tuple[float, float, GraphicalModel]:
        """Select, measure, fit: how far a cell of the marginal moved, its noise, and the model."""
        estimates = expected_counts(model, self.cliques)
        among = self._small(model, 1 - (self.curator.left - selecting - measuring) / self.budget)
        weights = np.array(list(self.weights.values()))
        weights /= weights[among].max()
        sigma = float(self.curator.sigma_for(measuring, tables=1))
        scores = WeightedErrors(
            cliques=[tuple(self.views[a] for a in clique) for clique in self.cliques],
            estimates=estimates,
            weights=np.minimum(weights, 1.0),
            penalties=weights * MEAN_ABSOLUTE * sigma * self.cells,
        )
        chosen = self.curator.select(scores, among=among, spend=selecting, purpose="worst marginal")
        clique = self.cliques[chosen]
        spend = self.curator.left if last else measuring
        noisy = self.curator.measure([scores.cliques[chosen]], spend=spend, purpose="marginals")
        table = noisy.tables[0].astype(np.float64)
        self.known.append(Measurement(clique=clique, values=table, sigma=noisy.sigma))
        self.counter.add(clique)
        fitted = self._fit(SWEEPS[last])
        moved = float(np.abs(fitted.marginal(clique) - estimates[chosen]).mean())
        return moved, noisy.sigma, fitted

    def _small(self, model: GraphicalModel, used: float) -> npt.NDArray[np.int64]:
        """Candidates with which the model stays within its share of the memory, or does not grow."""
        limit = int(self.max_bytes * min(used, 1.0)) // BYTES
        fits = [
            model.tree.home(clique) is not None or self.counter.fits(clique, limit) for clique in self.cliques
        ]
        return np.flatnonzero(fits)

    def _fit(self, sweeps: int) -> GraphicalModel:
        return fit(
            self.sizes,
            self.known,
            total=self.ones.total,
            base=self.base,
            sweeps=sweeps,
            max_cells=max(int(self.max_bytes / BYTES), sum(self.sizes), self.counter.cells),
        )


def compiled(sizes: list[int], max_cells: int) -> dict[Clique, float]:
    """All subsets of the workload's marginals with Σ |c ∩ w|; the workload is every triple of at most
    `max_cells` cells, or every pair where there is none.
    """
    columns = range(len(sizes))
    workload = [
        w
        for w in combinations(columns, min(3, len(sizes)))
        if np.prod([sizes[a] for a in w], dtype=float) <= max_cells
    ] or list(combinations(columns, 2))
    inside = np.zeros((len(workload), len(sizes)))
    for row, w in enumerate(workload):
        inside[row, list(w)] = 1.0
    per_column = inside.sum(axis=0)
    subsets = {c for w in workload for k in range(1, len(w) + 1) for c in combinations(w, k)}
    subsets |= {(i,) for i in columns}
    return {
        c: max(float(sum(per_column[a] for a in c)), 1.0) for c in sorted(subsets, key=lambda c: (len(c), c))
    }

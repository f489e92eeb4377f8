"""`mst`: a privately chosen maximum spanning tree of two-way marginals.

McKenna, Miklau, Sheldon 2021, "Winning the NIST contest", Algorithm 1 and 2: measure all one-way
marginals; weigh each pair of columns by the L1 distance between its counts and the product of its
one-way marginals; build a spanning tree by d - 1 exponential mechanisms, each among the pairs that join
two parts; measure the pairs chosen; fit a graphical model. One third of the budget each, as published.
The charges are composed in Gaussian DP instead of zCDP. Rare values are joined before pairs are counted
(the published "compress domain"), and put back from the one-way marginals when rows are drawn.
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from sfumato.discovery.discover import Domain
from sfumato.domain.views import Coarse
from sfumato.graphical import Measurement, fit
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.selection import ErrorScores
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import coarsen, measure_one_way
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("mst")
@frozen(kw_only=True)
class Mst:
    """Maximum spanning tree of noisy two-way marginals."""

    name: ClassVar[str] = "mst"
    summary: ClassVar[str] = "maximum spanning tree of two-way marginals, chosen privately"
    guarantee: ClassVar[str] = "(epsilon, delta)"

    rare: float = field(default=3.0, validator=ge(0.0))
    """Values expected fewer than this many noise scales of a pair measurement are joined."""

    def split(self, columns: int) -> dict[str, float]:
        if columns < 2:
            return {"row count": 0.01, "one-way marginals": 0.99}
        if columns == 2:
            return {"row count": 0.01, "one-way marginals": 0.495, "two-way marginals": 0.495}
        return {"row count": 0.01, "one-way marginals": 0.33, "tree": 0.33, "two-way marginals": 0.33}

    def learn(self, curator: Curator, domain: Domain) -> MarginalGenerator:
        codecs = domain.codecs
        budget, split = curator.left, self.split(len(codecs))
        ones = measure_one_way(
            curator,
            codecs,
            spend=split["one-way marginals"] * budget,
            total_spend=split["row count"] * budget,
        )
        if len(codecs) < 2:
            return MarginalGenerator.independent(total=ones.total, counts=ones.counts)
        edges = len(codecs) - 1
        sigma = float(curator.sigma_for(split["two-way marginals"] * budget, tables=edges))
        groups = [
            coarsen(codec, counts, least=self.rare * sigma)
            for codec, counts in zip(codecs, ones.counts, strict=True)
        ]
        views = [Coarse(codec, tuple(g.tolist())) for codec, g in zip(codecs, groups, strict=True)]
        coarse = [
            np.bincount(g, weights=counts, minlength=view.size)
            for g, counts, view in zip(groups, ones.counts, views, strict=True)
        ]

        pairs = list(combinations(range(len(codecs)), 2))
        scores = ErrorScores(
            cliques=[(views[i], views[j]) for i, j in pairs],
            estimates=[np.outer(coarse[i], coarse[j]) / ones.total for i, j in pairs],
        )
        part = np.arange(len(codecs))
        ends = np.array(pairs)
        tree: list[tuple[int, int]] = []
        if len(pairs) == 1:
            tree = pairs
        for _ in range(edges - len(tree)):
            joining = np.flatnonzero(part[ends[:, 0]] != part[ends[:, 1]])
            chosen = curator.select(
                scores, among=joining, spend=split["tree"] * budget / edges, purpose="tree of pairs"
            )
            i, j = pairs[chosen]
            tree.append((i, j))
            part[part == part[j]] = part[i]

        noisy = curator.measure(
            [(views[i], views[j]) for i, j in tree],
            spend=split["two-way marginals"] * budget,
            purpose="two-way marginals",
        )
        measurements = [
            Measurement(clique=clique, values=table.astype(np.float64), sigma=noisy.sigma)
            for clique, table in zip(tree, noisy.tables, strict=True)
        ]
        for i, g in enumerate(groups):
            members = np.bincount(g, minlength=views[i].size)
            measurements.append(
                Measurement(
                    clique=(i,), values=coarse[i], sigma=ones.sigmas[i] * np.sqrt(np.maximum(members, 1))
                )
            )
        zeros = [((i,), counts <= 0) for i, counts in enumerate(coarse)]
        model = fit(
            [view.size for view in views],
            measurements,
            total=ones.total,
            base=[counts / ones.total for counts in coarse],
            zeros=zeros,
        )
        return MarginalGenerator(total=ones.total, counts=ones.counts, groups=tuple(groups), model=model)

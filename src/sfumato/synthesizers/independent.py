"""`independent`: one-way marginals only.

Every column is measured once and drawn on its own. It keeps each column's distribution as exactly as
the budget allows and no relation between columns: the floor that any other method must beat.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import measure_one_way
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("independent")
@frozen(kw_only=True)
class Independent:
    """One-way marginals with rounded Gaussian noise; columns are independent."""

    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "one-way marginals only; columns are drawn independently"
    guarantee: ClassVar[str] = "(epsilon, delta)"

    def split(self, columns: int) -> dict[str, float]:
        return {"row count": 0.01, "one-way marginals": 0.99}

    def learn(self, curator: Curator, domain: Domain) -> MarginalGenerator:
        budget, split = curator.left, self.split(len(domain.codecs))
        ones = measure_one_way(
            curator,
            domain.codecs,
            spend=split["one-way marginals"] * budget,
            total_spend=split["row count"] * budget,
        )
        return MarginalGenerator.independent(total=ones.total, counts=ones.counts)

"""Partition selection with exact Laplace noise: pure but for what thresholds must cost.

No pure mechanism can release a text that only one of two neighbouring tables holds. So texts of open
categories are bought at a delta, as in `partitions`, and at a pure epsilon: one column moves by m in L1 under
add-remove, by 2m under replace.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import attrs
from attrs import frozen

from sfumato.privacy import thresholds
from sfumato.privacy.cost import Cost, pure
from sfumato.privacy.exact_laplace import ExactLaplace
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.noise import Noise
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class LaplacePartitions(PartitionSelection):
    """Noisy counts of the texts of several columns, those at or above a threshold; `sigma` is the scale b."""

    name: ClassVar[str] = "laplace_partition_selection"

    @classmethod
    def law(cls, sigma: Fraction) -> Noise:
        return ExactLaplace(sigma)

    def cost(self, unit: PrivacyUnit) -> Cost:
        prices = []
        for relation in RELATIONS:
            seen = thresholds.delta(
                self.noise, self.threshold, max_count=unit.at_most, keys=unit.score(relation)
            )
            price = pure(Fraction(len(self.columns) * unit.table_l1(relation)) / self.sigma)
            prices.append(attrs.evolve(price, delta=float(len(self.columns) * seen)))
        return Cost(add_remove=prices[0], replace=prices[1], draws=sum(map(len, self.public_values)))

    def describe(self) -> dict[str, Any]:
        facts = super().describe()
        return {("scale" if key == "sigma" else key): value for key, value in facts.items()}

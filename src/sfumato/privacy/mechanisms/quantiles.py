"""Private quantiles of one column, by the exponential mechanism over the cuts between public cells.

The score of a cut is minus the distance of its rank from the wanted rank, an exact integer (see
`sfumato.privacy.quantile`; Smith 2011). Each quantile is one choice whose log-probability ratios span at most
2·rate·distance.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy import exponential
from sfumato.privacy.cost import Cost, bounded_range
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.quantile import rank_distance, rank_scores
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class Quantile:
    """The cut between cells of `encoder` nearest to a quantile of the rows in its cells: the answer i is the
    cut between cell i and cell i+1.
    """

    name: ClassVar[str] = "exponential_quantile"
    encoder: Encoder
    first: int = field()
    """Code of the first cell; smaller codes (missing, special codes) are not ranked."""
    quantile: Fraction = field(converter=Fraction)
    rate: Fraction = field()
    """Factor of the score in the exponent; 0 makes a choice that looks at nothing."""

    # What is wrong with a question must show before it is charged.

    @first.validator
    def _check_first(self, _: object, first: int) -> None:
        if not 0 <= first <= self.encoder.size - 2:
            raise ValueError("there is no cut between fewer than two cells")

    @rate.validator
    def _check_rate(self, _: object, rate: Fraction) -> None:
        if rate < 0:
            raise ValueError("the rate must be at least 0")

    def cost(self, unit: PrivacyUnit) -> Cost:
        ranges = [
            float(2 * self.rate * rank_distance(self.quantile, relation=relation, at_most=unit.at_most))
            for relation in ("add-remove", "replace")
        ]
        return Cost(add_remove=bounded_range(ranges[0]), replace=bounded_range(ranges[1]), draws=1)

    def describe(self) -> dict[str, Any]:
        return {
            "column": self.encoder.column,
            "encoder": encoder_digest([(self.encoder,)]),
            "first": self.first,
            "quantile": str(self.quantile),
            "rate": str(self.rate),
        }

    def exact(self, rows: Rows) -> Counts:
        (counts,) = rows.marginals([(self.encoder,)])
        return rank_scores(counts[self.first :], self.quantile)

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=(np.array([exponential.choose(exact, self.rate)], dtype=np.int64),))

    def fits(self, answer: Answer) -> bool:
        cuts = self.encoder.size - self.first - 1
        return has_shapes(answer, (1,)) and 0 <= int(answer.arrays[0][0]) < cuts

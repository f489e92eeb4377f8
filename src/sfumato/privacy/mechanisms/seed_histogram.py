"""The combinations of codes that many records have, with noisy counts: seeds that cost once.

A stability histogram (Korolova et al. 2009): combinations that occur are counted, rounded Gaussian noise is
added, and those whose noisy count reaches a threshold are released. Prices are those of partition selection
of one column (`sfumato.privacy.mechanisms.partitions`): a combination that only one of two neighbours holds
shows itself with the probability that is charged as delta.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy import thresholds
from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.mechanisms.partitions import TEXTS_AT_MOST
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class SeedHistogram:
    """Noisy counts of the combinations of `encoders`' codes, those at or above a threshold."""

    name: ClassVar[str] = "seed_histogram"
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    sigma: Fraction
    threshold: int

    @classmethod
    def calibrated(
        cls, encoders: tuple[Encoder, ...], *, sigma: Fraction, delta: float, unit: PrivacyUnit
    ) -> SeedHistogram:
        """The smallest threshold whose delta is at most `delta`."""
        threshold = thresholds.threshold_for(
            RoundedGaussian(sigma), Fraction(delta), max_count=unit.at_most, keys=unit.score(unit.neighbours)
        )
        return cls(encoders=encoders, sigma=sigma, threshold=threshold)

    def cost(self, unit: PrivacyUnit) -> Cost:
        noise = RoundedGaussian(self.sigma)
        prices = [
            gaussian(
                unit.table_l2_squared(relation),
                self.sigma,
                delta=float(
                    thresholds.delta(noise, self.threshold, max_count=unit.at_most, keys=unit.score(relation))
                ),
            )
            for relation in RELATIONS
        ]
        return Cost(add_remove=prices[0], replace=prices[1], distance=float(TEXTS_AT_MOST * noise.tv_bound))

    def describe(self) -> dict[str, Any]:
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest((self.encoders,)),
            "sigma": str(self.sigma),
            "threshold": self.threshold,
        }

    def exact(self, rows: Rows) -> tuple[Counts, Counts]:
        """Combinations that occur, and how often."""
        return rows.cells(self.encoders)

    def noisy(self, exact: tuple[Counts, Counts]) -> Answer:
        combinations, counts = exact
        noisy = counts + RoundedGaussian(self.sigma).draw(counts.size)
        kept = noisy >= self.threshold
        combinations, noisy = combinations[kept], noisy[kept]
        order = np.lexsort((*combinations.T[::-1], -noisy))
        return Answer(arrays=(combinations[order], noisy[order]))

    def fits(self, answer: Answer) -> bool:
        if answer.labels or len(answer.arrays) != 2:
            return False
        combinations, counts = answer.arrays
        if combinations.shape != (counts.size, len(self.encoders)) or counts.ndim != 1:
            return False
        if not counts.size:
            return True
        sizes = np.array([encoder.size for encoder in self.encoders])
        order = np.lexsort((*combinations.T[::-1], -counts))
        return bool(
            (combinations >= 0).all()
            and (combinations < sizes).all()
            and counts.min() >= self.threshold
            and (order == np.arange(counts.size)).all()
            and len(np.unique(combinations, axis=0)) == counts.size
        )

"""Partition selection: which values an open category has.

Each column's texts are counted, every count gets rounded Gaussian noise, and a text is released only if
its noisy count reaches a threshold T (Korolova et al. 2009; Gaussian variant as in Desfontaines, Voss,
Gipson, Mandayam 2022). Texts that the schema states are public and come with their noisy counts
whatever these are.

A text that only one of two neighbouring tables holds must not tip the reader off: with at most m rows
of the unit there are at most K = m (add-remove) or 2m (replace) such texts, each held at most m times,
so that releasing any of them has probability at most K·P(Z ≥ T - m), which is charged as delta. All
other texts are one query of L2 distance D per column.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.privacy import thresholds
from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows
from sfumato.privacy.noise import Noise
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit

TEXTS_AT_MOST = 1 << 32
"""Public bound on the number of distinct texts, and so on the draws: their true number is private."""


@frozen(kw_only=True)
class PartitionSelection:
    """Noisy counts of the texts of several columns, those at or above a threshold."""

    name: ClassVar[str] = "gaussian_partition_selection"
    columns: tuple[str, ...] = field(converter=tuple)
    public_values: tuple[tuple[str, ...], ...] = field(converter=lambda value: tuple(map(tuple, value)))
    """Texts known beforehand, per column."""
    sigma: Fraction
    threshold: int
    """T: a text is released if and only if its noisy count is at least T."""

    @classmethod
    def calibrated(
        cls,
        *,
        columns: Sequence[str],
        public_values: Sequence[Sequence[str]],
        sigma: Fraction,
        delta: float,
        unit: PrivacyUnit,
    ) -> PartitionSelection:
        """The smallest threshold whose delta, over all columns and under the unit's relation, is at most
        `delta`.
        """
        threshold = thresholds.threshold_for(
            cls.law(sigma),
            Fraction(delta) / max(1, len(columns)),
            max_count=unit.at_most,
            keys=unit.score(unit.neighbours),
        )
        return cls(columns=columns, public_values=public_values, sigma=sigma, threshold=threshold)

    @classmethod
    def law(cls, sigma: Fraction) -> Noise:
        """The noise of scale `sigma`."""
        return RoundedGaussian(sigma)

    @property
    def noise(self) -> Noise:
        """The noise on every count."""
        return self.law(self.sigma)

    def cost(self, unit: PrivacyUnit) -> Cost:
        noise = self.noise
        prices = [
            gaussian(
                len(self.columns) * unit.table_l2_squared(relation),
                self.sigma,
                delta=float(
                    len(self.columns)
                    * thresholds.delta(
                        noise, self.threshold, max_count=unit.at_most, keys=unit.score(relation)
                    )
                ),
            )
            for relation in RELATIONS
        ]
        return Cost(
            add_remove=prices[0],
            replace=prices[1],
            draws=sum(map(len, self.public_values)),
            distance=float(TEXTS_AT_MOST * noise.tv_bound),
        )

    def describe(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "public_values": [len(values) for values in self.public_values],
            "public_digest": hashlib.sha256(json.dumps(self.public_values).encode()).hexdigest(),
            "sigma": str(self.sigma),
            "threshold": self.threshold,
        }

    def exact(self, rows: Rows) -> list[dict[str, int]]:
        return rows.value_counts(self.columns)

    def noisy(self, exact: Sequence[Mapping[str, int]]) -> Answer:
        noise = self.noise
        labels, arrays = [], []
        for counts, known in zip(exact, self.public_values, strict=True):
            public = set(known)
            others = [text for text in counts if text not in public]
            texts = [*known, *others]
            noisy = np.array([counts.get(text, 0) for text in texts], dtype=np.int64) + noise.draw(len(texts))
            kept = [i for i in range(len(texts)) if i < len(known) or noisy[i] >= self.threshold]
            # Sorted by noisy count: the order of the rows must not show.
            kept.sort(key=lambda i: (-int(noisy[i]), texts[i]))
            labels.append(tuple(texts[i] for i in kept))
            arrays.append(noisy[kept])
        return Answer(arrays=tuple(arrays), labels=tuple(labels))

    def fits(self, answer: Answer) -> bool:
        if not len(answer.labels) == len(answer.arrays) == len(self.columns):
            return False
        columns = zip(answer.labels, answer.arrays, self.public_values, strict=True)
        return all(self._column_fits(texts, counts, known) for texts, counts, known in columns)

    def _column_fits(self, texts: tuple[str, ...], counts: Counts, known: tuple[str, ...]) -> bool:
        if counts.shape != (len(texts),) or len(set(texts)) < len(texts) or not set(known) <= set(texts):
            return False
        order = [(-int(count), text) for count, text in zip(counts, texts, strict=True)]
        shown = all(t in known or n >= self.threshold for t, n in zip(texts, counts, strict=True))
        return shown and order == sorted(order)

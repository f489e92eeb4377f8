"""Tables of counts with rounded Gaussian noise.

All tables of one measurement share a noise scale. k tables at L2 distance D each form one query at
distance √k·D, so the release is mu-GDP with mu = √k·D/sigma.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class Measurement:
    """Noisy counts of several cliques in one pass over the rows."""

    name: ClassVar[str] = "rounded_gaussian_counts"
    cliques: tuple[Clique, ...] = field(converter=tuple)
    sigma: Fraction
    """Noise scale, in records."""

    def cost(self, unit: PrivacyUnit) -> Cost:
        noise = RoundedGaussian(self.sigma)
        draws = sum(int(np.prod([encoder.size for encoder in clique])) for clique in self.cliques)
        add_remove, replace = (
            gaussian(len(self.cliques) * unit.table_l2_squared(relation), self.sigma)
            for relation in RELATIONS
        )
        return Cost(
            add_remove=add_remove, replace=replace, draws=draws, distance=float(draws * noise.tv_bound)
        )

    def describe(self) -> dict[str, Any]:
        return {
            "cliques": clique_names(self.cliques),
            "shapes": [[encoder.size for encoder in clique] for clique in self.cliques],
            "encoders": encoder_digest(self.cliques),
            "sigma": str(self.sigma),
        }

    def exact(self, rows: Rows) -> list[Counts]:
        return rows.marginals(self.cliques)

    def noisy(self, exact: Sequence[Counts]) -> Answer:
        return Answer(arrays=add_noise(exact, RoundedGaussian(self.sigma)))


def add_noise(exact: Sequence[Counts], noise: RoundedGaussian) -> tuple[Counts, ...]:
    """Independent noise on every cell; int64 in, int64 out."""
    for counts in exact:
        if counts.dtype != np.int64:
            raise TypeError("counts must be 64-bit integers before noise is added")
    sizes = [counts.size for counts in exact]
    draws = np.split(noise.draw(sum(sizes)), np.cumsum(sizes)[:-1])
    return tuple(counts + draw.reshape(counts.shape) for counts, draw in zip(exact, draws, strict=True))


def encoder_digest(cliques: Sequence[Clique]) -> str:
    """SHA-256 over the public facts of all encoders, so that a replay asks the very same question."""
    text = json.dumps([[encoder.describe() for encoder in clique] for clique in cliques], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

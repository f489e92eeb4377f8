"""Tables of counts with rounded Gaussian noise.

Table i has the noise scale sigma·scale_i. Divided by its scale, each table is at L2 distance D/scale_i
between neighbours, and together they are one query at distance D·√(Σ 1/scale_i²) with noise sigma: the
release is mu-GDP with mu² = D²/sigma² · Σ 1/scale_i², which is k·D²/sigma² for k tables of scale 1.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class Measurement:
    """Noisy counts of several cliques in one pass over the rows."""

    name: ClassVar[str] = "rounded_gaussian_counts"
    cliques: tuple[Clique, ...] = field(converter=tuple)
    sigma: Fraction
    """Noise scale, in records."""
    scales: tuple[Fraction, ...] = field(default=(), converter=tuple)
    """Factor of `sigma` for each clique; empty: 1 for all."""

    @scales.validator
    def _check_scales(self, _: object, scales: tuple[Fraction, ...]) -> None:
        if scales and (len(scales) != len(self.cliques) or not all(scale > 0 for scale in scales)):
            raise ValueError("one scale above 0 for each clique")

    @property
    def sigmas(self) -> tuple[Fraction, ...]:
        """Noise scale of each clique, in records."""
        return tuple(self.sigma * scale for scale in self.scales or (Fraction(1),) * len(self.cliques))

    def cost(self, unit: PrivacyUnit) -> Cost:
        cells = [math.prod(encoder.size for encoder in clique) for clique in self.cliques]
        distance = sum(
            size * RoundedGaussian(sigma).tv_bound for size, sigma in zip(cells, self.sigmas, strict=True)
        )
        weight = float(inverse_squares(self.scales)) if self.scales else len(self.cliques)
        add_remove, replace = (
            gaussian(weight * unit.table_l2_squared(relation), self.sigma) for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=sum(cells), distance=float(distance))

    def describe(self) -> dict[str, Any]:
        facts = {
            "cliques": clique_names(self.cliques),
            "shapes": [[encoder.size for encoder in clique] for clique in self.cliques],
            "encoders": encoder_digest(self.cliques),
            "sigma": str(self.sigma),
        }
        return facts | {"scales": [str(scale) for scale in self.scales]} if self.scales else facts

    def exact(self, rows: Rows) -> list[Counts]:
        return rows.marginals(self.cliques)

    def noisy(self, exact: Sequence[Counts]) -> Answer:
        if not self.scales:
            return Answer(arrays=add_noise(exact, RoundedGaussian(self.sigma)))
        return Answer(
            arrays=tuple(
                add_noise([counts], RoundedGaussian(sigma))[0]
                for counts, sigma in zip(exact, self.sigmas, strict=True)
            )
        )

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, *(tuple(encoder.size for encoder in clique) for clique in self.cliques))


def inverse_squares(scales: Sequence[Fraction]) -> Fraction:
    """Σ 1/scale², exactly."""
    return sum((1 / scale**2 for scale in scales), Fraction(0))


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

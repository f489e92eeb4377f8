"""Entropies of columns and of pairs of columns, with rounded Gaussian noise.

The m (m+1) values of Bindschaedler, Shokri, Gunter 2017, equation 8: H(x_i), H(bucket x_j) and H(x_i, bucket
x_j) for i ≠ j. Each moves by at most h(1/n0) bits a row, under add-remove and under replace, when what is
released is n H / max(n, n0) (`sfumato.bayesian_network.information`), and by at most a few units of 2**-26
bits more for rounding. So all of them together are a query of L2 distance sqrt(m (m+1)) times that, and
Gaussian noise costs far less than Laplace noise on as many values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.bayesian_network.information import FRACTION_BITS, ROUNDING, fixed_point_entropy, sensitivity
from sfumato.domain.encoder import Encoder
from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise, encoder_digest
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class NoisyEntropies:
    """Entropies in units of 2**-26 bits: first of `columns`, then of `buckets`, then of all (i, j), i ≠ j."""

    name: ClassVar[str] = "rounded_gaussian_entropies"
    columns: tuple[Encoder, ...] = field(converter=tuple)
    buckets: tuple[Encoder, ...] = field(converter=tuple)
    """Coarser views of the same columns, as parents."""
    least: int
    """n0: with fewer rows, entropies are scaled down."""
    sigma: Fraction
    """Noise scale of each value, in units of 2**-26 bits."""

    @staticmethod
    def distance2(columns: int, least: int, unit: PrivacyUnit) -> float:
        """Squared L2 distance of all values between neighbours, in units of 2**-26 bits."""
        # 1e-6 covers the floating-point logarithms.
        each = math.ceil(sensitivity(max(least, 2)) * 2.0**FRACTION_BITS * (1 + 1e-6)) + ROUNDING
        return columns * (columns + 1) * float(each * unit.at_most) ** 2

    @property
    def cliques(self) -> list[Clique]:
        """Tables whose entropies are asked for."""
        places = range(len(self.columns))
        return [
            *((column,) for column in self.columns),
            *((bucket,) for bucket in self.buckets),
            *((self.columns[i], self.buckets[j]) for i in places for j in places if i != j),
        ]

    def cost(self, unit: PrivacyUnit) -> Cost:
        # A person of m rows who is replaced moves by m replacements of one row at most.
        prices = [
            gaussian(Fraction(self.distance2(len(self.columns), self.least, unit)), self.sigma)
            for _ in RELATIONS
        ]
        count = len(self.columns) * (len(self.columns) + 1)
        distance = float(count * RoundedGaussian(self.sigma).tv_bound)
        return Cost(add_remove=prices[0], replace=prices[1], draws=count, distance=distance)

    def describe(self) -> dict[str, Any]:
        return {
            "columns": len(self.columns),
            "encoders": encoder_digest((self.columns, self.buckets)),
            "least": self.least,
            "sigma": str(self.sigma),
        }

    def exact(self, rows: Rows) -> Counts:
        tables: Sequence[Counts] = rows.marginals(self.cliques)
        return np.array([fixed_point_entropy(table.ravel(), self.least) for table in tables], dtype=np.int64)

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=add_noise([exact], RoundedGaussian(self.sigma)))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (len(self.columns) * (len(self.columns) + 1),))

"""The noisy sum of a bounded vector for every row, for statistics such as those of expectation-maximisation.

A public function gives each row a vector; it is cut towards zero to whole multiples of bound/2**20, and a
row whose integers have a norm above 2**20 is left out, so that the exact sum moves by at most 2**20 a row.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise, encoder_digest
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import PrivacyUnit

UNITS = 20
BLOCK = 4096
Vectors = Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]]


@frozen(kw_only=True)
class VectorSum:
    """Σ over rows of `vectors`, each of L2 norm at most `bound`, with noise of `sigma` bounds."""

    name: ClassVar[str] = "rounded_gaussian_vectors"
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    vectors: Vectors = field(eq=False, repr=False)
    """Codes (rows x encoders) to vectors (rows x size). The vector of a row depends on that row alone."""
    size: int
    bound: float
    sigma: Fraction
    facts: dict[str, Any]
    """What the vectors are, for the ledger."""

    @property
    def noise(self) -> RoundedGaussian:
        """Noise in units of bound/2**20."""
        return RoundedGaussian(self.sigma * 2**UNITS)

    def cost(self, unit: PrivacyUnit) -> Cost:
        m2 = unit.at_most**2
        # A replaced row takes one vector away and brings another.
        return Cost(
            add_remove=gaussian(m2, self.sigma),
            replace=gaussian(4 * m2, self.sigma),
            draws=self.size,
            distance=float(self.size * self.noise.tv_bound),
        )

    def describe(self) -> dict[str, Any]:
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest([self.encoders]),
            "size": self.size,
            "bound": self.bound,
            "sigma": str(self.sigma),
            "vectors": self.facts,
        }

    def exact(self, rows: Rows) -> Counts:
        codes = rows.records(self.encoders)
        total = np.zeros(self.size, np.int64)
        for start in range(0, codes.shape[0], BLOCK):
            total += self.units(codes[start : start + BLOCK]).sum(0)
        return total

    def units(self, codes: npt.NDArray[Any]) -> Counts:
        """The integers of each row."""
        scaled = np.nan_to_num(self.vectors(codes) * (2.0**UNITS / self.bound))
        whole = np.trunc(np.clip(scaled, -(2.0**UNITS), 2.0**UNITS)).astype(np.int64)
        kept = (whole**2).sum(1) <= 4**UNITS
        return whole * kept[:, None]

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=add_noise([exact], self.noise))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (self.size,))

    def released(self, answer: Answer) -> npt.NDArray[np.float64]:
        """The noisy sum."""
        return answer.arrays[0].astype(np.float64) * (self.bound / 2.0**UNITS)

"""The number of rows, with rounded Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class Total:
    """Noisy row count. It is private under `replace` as well, since rows may be dropped or cut."""

    name: ClassVar[str] = "rounded_gaussian_total"
    sigma: Fraction

    def cost(self, unit: PrivacyUnit) -> Cost:
        noise = RoundedGaussian(self.sigma)
        price = gaussian(unit.total**2, self.sigma)
        return Cost(add_remove=price, replace=price, draws=1, distance=float(noise.tv_bound))

    def describe(self) -> dict[str, Any]:
        return {"sigma": str(self.sigma)}

    def exact(self, rows: Rows) -> Counts:
        (counts,) = rows.marginals([()])
        return np.asarray(counts, dtype=np.int64).reshape(1)

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=add_noise([exact], RoundedGaussian(self.sigma)))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (1,))

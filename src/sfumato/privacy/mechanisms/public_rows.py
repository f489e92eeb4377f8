"""The exact number of rows, as a public number.

Where a unit is one row and units are exchanged, neighbours have the same number of rows, so that it tells
nothing. Where units come and go it tells whether somebody is there: then nothing is guaranteed. Whoever asks
makes sure that no row is left out for what it holds.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.unit import PrivacyUnit

EVERYTHING = Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
"""The price under a relation that does not keep the number of rows."""


@frozen(kw_only=True)
class PublicRows:
    """How many rows there are, exactly."""

    name: ClassVar[str] = "public_row_count"

    def cost(self, unit: PrivacyUnit) -> Cost:
        nothing = Price(shape="none") if unit.column is None else EVERYTHING
        return Cost(add_remove=EVERYTHING, replace=nothing)

    def describe(self) -> dict[str, Any]:
        return {}

    def exact(self, rows: Rows) -> Counts:
        (counts,) = rows.marginals([()])
        return np.asarray(counts, dtype=np.int64).reshape(1)

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=(exact,))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (1,)) and int(answer.arrays[0][0]) >= 0

"""Something learned from the rows as they are, without noise: for methods without a guarantee. An infinite
charge.

The answer is what was learned, as whole numbers (`sfumato.privacy.dpsgd.pack` for those of a network), so
that a model file holds this and no row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from attrs import field, frozen

from sfumato.domain.encoder import Codes, Encoder
from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.unit import PrivacyUnit

Report = Callable[[str], None]


class Learner(Protocol):
    """What learns. It may do with the rows what it likes: its price is infinite."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what it learns."""
        ...

    def describe(self) -> dict[str, Any]:
        """Public parameters, JSON-able."""
        ...

    def learn(self, codes: Codes, report: Report) -> Counts:
        """What rows of codes, rows x columns, teach, as 64-bit integers; `report` is told how far it is."""
        ...


@frozen(kw_only=True)
class PlainTraining:
    """What `learner` learns from all rows."""

    name: ClassVar[str] = "plain_training"
    learner: Learner = field(eq=False, repr=False)
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    report: Report = field(default=lambda _: None, eq=False, repr=False)

    def cost(self, unit: PrivacyUnit) -> Cost:
        price = Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
        return Cost(add_remove=price, replace=price)

    def describe(self) -> dict[str, Any]:
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest([self.encoders]),
            "learner": self.learner.describe(),
        }

    def exact(self, rows: Rows) -> Codes:
        return rows.records(self.encoders)

    def noisy(self, exact: Codes) -> Answer:
        return Answer(arrays=(np.asarray(self.learner.learn(exact, self.report), dtype=np.int64),))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, self.learner.shape)

"""The charge of a method without a guarantee: everything is read, nothing is protected."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from attrs import frozen

from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.mechanisms.base import Answer, Rows, has_shapes
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class Reveal:
    """An infinite charge, with the reason in plain words."""

    name: ClassVar[str] = "reveal"
    reason: str

    def cost(self, unit: PrivacyUnit) -> Cost:
        price = Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
        return Cost(add_remove=price, replace=price)

    def describe(self) -> dict[str, Any]:
        return {"reason": self.reason}

    def exact(self, rows: Rows) -> None:
        return None

    def noisy(self, exact: None) -> Answer:
        return Answer(arrays=())

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer)

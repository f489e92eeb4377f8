"""The exact answer of another mechanism: for methods without a guarantee. An infinite charge."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.mechanisms.base import Answer, Mechanism, Rows
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class Exact:
    """What `question` would be answered without noise. It must answer with integer arrays."""

    name: ClassVar[str] = "exact"
    question: Mechanism

    def cost(self, unit: PrivacyUnit) -> Cost:
        price = Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
        return Cost(add_remove=price, replace=price)

    def describe(self) -> dict[str, Any]:
        return {"question": self.question.name, **self.question.describe()}

    def exact(self, rows: Rows) -> Any:
        return self.question.exact(rows)

    def noisy(self, exact: Any) -> Answer:
        arrays = tuple(exact) if isinstance(exact, list) else (exact,)
        return Answer(arrays=tuple(np.asarray(array, dtype=np.int64) for array in arrays))

    def fits(self, answer: Answer) -> bool:
        return self.question.fits(answer)

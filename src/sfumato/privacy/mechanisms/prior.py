"""The price of facts that were bought from the same rows before this run, such as a drafted schema."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen

from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.mechanisms.base import Answer, Rows, has_shapes
from sfumato.privacy.unit import PrivacyUnit


@frozen(kw_only=True)
class PriorRelease:
    """A charge for an earlier release; it reads nothing."""

    name: ClassVar[str] = "prior_release"
    what: str
    mu2: float
    mu2_replace: float
    delta: float
    delta_replace: float

    def cost(self, unit: PrivacyUnit) -> Cost:
        add_remove, replace = (
            Price(shape="gaussian", mu2=mu2, rho=mu2 / 2, delta=delta)
            for mu2, delta in ((self.mu2, self.delta), (self.mu2_replace, self.delta_replace))
        )
        return Cost(add_remove=add_remove, replace=replace)

    def describe(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "mu2": self.mu2,
            "mu2_replace": self.mu2_replace,
            "delta": self.delta,
            "delta_replace": self.delta_replace,
        }

    def exact(self, rows: Rows) -> None:
        return None

    def noisy(self, exact: None) -> Answer:
        return Answer(arrays=())

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer)

"""What a stated guarantee says no attack can exceed.

A mechanism that is (epsilon, delta)-DP turns an event of probability p without a record into one of at most

    min(e^epsilon p + delta, 1 - e^-epsilon (1 - delta - p))                                            (1)

with it (Kairouz, Oh, Viswanath 2015, Theorem 2.1: the region of all tests). For membership p is the false
positive rate; for copies and guesses it is the success against somebody who was not in the table. A
mechanism that is mu-GDP as well has at most Φ(Φ⁻¹(p) + mu) there (Dong, Roth, Su 2022, Definition 2.6).
Since an average over records of (1) is at most (1) of the average, by concavity, the bound holds for shares
of people, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from sfumato.errors import UsageError

if TYPE_CHECKING:
    from sfumato.models.model import Model

_GRID = 4_001


@frozen
class Guarantee:
    """The bound that a release states: (epsilon, delta), and mu where Gaussian DP is known. Infinite epsilon:
    none.
    """

    epsilon: float = field(converter=float)
    delta: float = field(default=0.0, converter=float)
    mu: float = field(default=math.inf, kw_only=True, converter=float)

    def __attrs_post_init__(self) -> None:
        if not self.epsilon >= 0:
            raise UsageError(f"epsilon must be a number of at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta must lie between 0 and 1, not {self.delta}")

    @classmethod
    def of(cls, model: Model) -> Guarantee:
        """That of a model, under the relation of its unit: what its filter never let pass, in mu as well."""
        statement, limit = model.statement, model.ledger.limit
        known = not statement.void and limit is not None and limit.accountant == "gdp"
        mu = math.sqrt(limit.spend) if known and limit is not None else math.inf
        return cls(statement.epsilon, statement.delta, mu=mu)

    @property
    def holds(self) -> bool:
        """Whether anything is promised."""
        return math.isfinite(self.epsilon)

    def at_most(self, without: float) -> float:
        """Highest success against people in the table, where it is `without` against people who are not."""
        if not self.holds:
            return 1.0
        steep = math.exp(min(self.epsilon, 700.0))
        found = min(1.0, steep * without + self.delta, 1 - (1 - self.delta - without) / steep)
        if math.isfinite(self.mu):
            from scipy.special import ndtr, ndtri

            # delta holds what comes on top of mu: thresholds, and the distance of the noise to the ideal law.
            found = min(found, float(ndtr(ndtri(without) + self.mu)) + self.delta)
        return max(found, without)

    def area(self) -> float:
        """Largest area under the ROC curve of a membership attack, to 1e-6: e^ε/(1 + e^ε) for delta 0."""
        rates = np.concatenate(([0.0], np.geomspace(1e-9, 1.0, _GRID)))
        tops = np.array([self.at_most(float(rate)) for rate in rates])
        return float(min(1.0, np.trapezoid(tops, rates)))

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        return {"epsilon": self.epsilon if self.holds else "infinity", "delta": self.delta}

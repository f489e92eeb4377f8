"""What a fitted model has cost: a view on its ledger."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import attrs
from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.models.model import Model
    from sfumato.privacy.ledger import Entry


@frozen(kw_only=True)
class PrivacyAccountant:
    """Epsilons of a model's ledger. Nothing is kept here: every number is worked out from the charges."""

    model: Model

    @property
    def delta(self) -> float:
        """The delta that the model states."""
        return self.model.statement.delta

    def get_epsilon(self, delta: float | None = None) -> float:
        """Epsilon of the whole run, margins and discovery included, at `delta` (default: the stated one).

        Infinite where nothing is guaranteed.
        """
        if self.model.statement.void:
            return math.inf
        return self.model.ledger.epsilon(self.delta if delta is None else delta)

    @property
    def total_epsilon(self) -> float:
        """Epsilon of the whole run at the stated delta."""
        return self.get_epsilon()

    @property
    def ecdf_epsilon(self) -> float:
        """Epsilon of the charges for margins alone; 0 where there were none.

        Parts add up to the total for pure charges; for others composition makes the total less than the sum.
        """
        return self._part([entry for entry in self.model.ledger if "margin" in entry.purpose])

    @property
    def train_epsilon(self) -> float:
        """Epsilon of all other charges."""
        return self._part([entry for entry in self.model.ledger if "margin" not in entry.purpose])

    def _part(self, entries: Sequence[Entry]) -> float:
        from sfumato.privacy.statement import epsilon_of

        if self.model.statement.void:
            return math.inf
        if not entries:
            return 0.0
        part = attrs.evolve(self.model.ledger, entries=list(entries), adaptive=False)
        return epsilon_of(part, delta=self.delta, relation=None)

    @property
    def noise_multiplier(self) -> float:
        """Noise over sensitivity: that of the training where there was one, else that of one mechanism that
        costs as much as the whole run (Gaussian; Laplace for a pure run). 0 where nothing is guaranteed.
        """
        from sfumato.privacy.ledger import total

        if self.model.statement.void:
            return 0.0
        ledger = self.model.ledger
        for entry in ledger:
            if "steps" in entry.parameters and "noise" in entry.parameters:
                return float(Fraction(entry.parameters["noise"]))
        if ledger.limit is not None and ledger.limit.accountant == "pure":
            return 1 / sum(entry.cost.under(ledger.unit["neighbours"]).epsilon for entry in ledger)
        return 1 / math.sqrt(total(ledger, ledger.unit["neighbours"]).mu2)

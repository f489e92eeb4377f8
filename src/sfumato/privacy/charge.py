"""What one run costs on the ledger of a data set, and what runs add up to.

A run is charged with the whole of its budget, whatever it turns out to spend. Only a schema that was drafted
from the same rows is taken off, where the ledger holds the run that bought it: the run's filter counts its
price first, so that the run itself has no more than the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from sfumato.errors import Overdraft, UsageError
from sfumato.privacy import gdp, zcdp
from sfumato.privacy.cost import Price
from sfumato.privacy.filter import ROUNDING, Budget
from sfumato.privacy.unit import PrivacyUnit

Runs = Sequence[Mapping[str, Any]]
"""Lines of a ledger."""


@frozen(kw_only=True)
class Charge:
    """One run, in every currency that runs are added up in."""

    epsilon: float
    delta: float
    delta_outside: float
    """Part of `delta` that converting mu or rho does not use: thresholds, and the tables of noise."""
    mu2: float | None
    """Limit of Σ mu²; None where the filter of the run does not bound it."""
    rho: float

    @classmethod
    def of(cls, budget: Budget, *, paid: Price | None = None) -> Charge:
        """The charge of a run with `budget`, of which `paid` is on the ledger already."""
        spend, delta, epsilon = budget.spend, budget.delta, budget.epsilon
        if budget.accountant == "pure":
            # (epsilon, delta)-DP is epsilon-DP but for delta (Dong, Roth, Su 2022, equation 5).
            mu2 = gdp.mu_of_pure(min(epsilon, 700.0)) ** 2
            return cls(epsilon=epsilon, delta=delta, delta_outside=delta, mu2=mu2, rho=mu2 / 2)
        gaussian = budget.accountant == "gdp"
        if paid is not None:
            spend, delta = spend - (paid.mu2 if gaussian else 2 * paid.rho), delta - paid.delta
            rest = budget.conversion_delta
            epsilon = gdp.epsilon(math.sqrt(spend), rest) if gaussian else zcdp.epsilon(spend / 2, rest)
        spend *= ROUNDING
        return cls(
            epsilon=epsilon,
            delta=delta,
            delta_outside=delta - budget.conversion_delta,
            mu2=spend if gaussian else None,
            rho=spend / 2,
        )


def composed(runs: Runs, delta: float) -> float:
    """Smallest epsilon at `delta` of all runs together."""
    if any(run["void"] for run in runs):
        return math.inf
    if not runs:
        return 0.0
    rest = delta - sum(run["delta_outside"] for run in runs)
    plain = sum(run["epsilon"] for run in runs)
    bounds = [plain] if sum(run["delta"] for run in runs) <= delta else []
    if 0 < rest < 1:
        bounds.append(zcdp.epsilon(sum(run["rho"] for run in runs), rest))
        if all(run["mu2"] is not None for run in runs):
            bounds.append(gdp.epsilon(math.sqrt(sum(run["mu2"] for run in runs)), rest))
    return min(bounds, default=math.inf)


def check_unit(runs: Runs, unit: PrivacyUnit, *, label: str) -> None:
    """UsageError when earlier runs protect something else than `unit`.

    How many rows of a person are kept may differ: what is hidden is the person with all rows in either case.
    """
    for run in runs:
        before = PrivacyUnit(**run["unit"])
        if (before.neighbours, before.column) != (unit.neighbours, unit.column):
            raise UsageError(
                f"{label}: earlier runs in this ledger protect {before} under {before.neighbours}, and this "
                f"one {unit} under {unit.neighbours}: they do not add up",
                mend="charge this run to another ledger file, or ask for the same unit and relation",
            )


def check_limit(runs: Runs, limit: tuple[float, float] | None, *, label: str) -> None:
    """Overdraft when `runs`, the last of which is asked for, exceed the limit."""
    if limit is None:
        return
    epsilon, delta = limit
    if runs[-1]["void"]:
        raise Overdraft(
            f"{label}: this run guarantees nothing ({runs[-1]['void']}), and the limit is {epsilon:g}"
        )
    if any(run["void"] for run in runs):
        raise Overdraft(f"{label}: an earlier run guarantees nothing, which no limit covers")
    if runs[-1]["delta"] > delta:
        raise Overdraft(
            f"{label}: this run asks for delta = {runs[-1]['delta']:.3g}, and the limit is stated "
            f"at delta = {delta:.3g}",
            mend="ask for a smaller delta, or set the limit at a larger one",
        )
    after = composed(runs, delta)
    if math.isinf(after):
        raise Overdraft(
            f"{label}: its limit is stated at delta = {delta:.3g}, which is less than the runs "
            "keep for thresholds alone",
            mend="set the limit at a larger --delta",
        )
    if not after <= epsilon * (1 + 1e-9):
        raise Overdraft(
            f"{label}: with this run all runs would spend epsilon = {after:.4g} at delta = "
            f"{delta:.3g}, and the limit is {epsilon:g}",
            mend="ask for a smaller epsilon, or draw rows from a model that is paid for",
        )

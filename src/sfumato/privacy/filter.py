"""A privacy filter: admits a mechanism only while the sum of costs stays within the budget.

Mechanisms may be chosen after looking at earlier answers, so composition must hold for adaptively chosen
parameters. For Gaussian DP, stopping when Σ mu² would exceed the budget is free of charge (Smith,
Thakurta 2022, "Fully adaptive composition for Gaussian differential privacy", Theorem 1); for zCDP
likewise with Σ rho (Feldman, Zrnic 2021; Whitehouse et al. 2023). Additive deltas are summed beside it.

Where every mechanism has an epsilon of its own, the pure filter adds up epsilons, and the deltas of
thresholds and of draws; plain sums stay valid for adaptively chosen mechanisms as well (Rogers, Roth, Ullman,
Vadhan 2016, section 3). It admits nothing else, so that no delta is needed to convert the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

from attrs import define, field, frozen

from sfumato.errors import Overdraft, UsageError
from sfumato.privacy import gdp, zcdp
from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.ledger import Limit
from sfumato.privacy.unit import PrivacyUnit, Relation
from sfumato.scalars import real

Accountant = Literal["gdp", "zcdp", "pure"]
THRESHOLD_SHARE = 0.10
"""Share of delta kept for partition selection, where a column needs it."""
PURE_THRESHOLD_SHARE = 0.49
"""The same where nothing else needs delta. Under the other relation up to twice as much is spent."""
TRAINING_SHARES = (0.001, 0.04)
"""Least and largest share of delta kept for the prices of trained networks, where a method trains any …"""
TRAINING_DELTA = 4e-11
"""… and what suffices, in between."""
NUMERIC_SHARE = 0.001
"""Share of delta kept for the distance of the noise tables to the ideal law."""

ROUNDING = 1 + 1e-12
"""Sums of floating-point prices may exceed the limit by so much."""
NOISELESS = 50.0
"""Largest epsilon that noise is calibrated to. There the noise is a fraction of one record, and e^epsilon
times the distance of the noise tables to the ideal law is still far below any delta in use."""

WIDEST = 2.0**28
"""Largest noise scale, in records, of one question that takes the whole budget. Samplers reach 2**45, so that
questions may have a share of 2**-34."""
DISTANCE_AT_MOST = 2.0**-200
"""Total variation distance of all noise of a run to the ideal law; the tables are far below it."""


def check_epsilon(epsilon: Any) -> float:
    """`epsilon` as a float; UsageError unless it is a finite number above 0 of a useful size."""
    epsilon = real(epsilon, "epsilon")
    if not math.isfinite(epsilon) or epsilon <= 0:
        raise UsageError(f"epsilon must be a finite number above 0, not {epsilon}")
    if not 1e-5 <= epsilon <= 1000:
        raise UsageError(f"epsilon = {epsilon} is outside 1e-5 … 1000", mend="no useful guarantee lies there")
    return epsilon


def check_delta(delta: Any) -> float:
    """`delta` as a float; UsageError unless 0 < delta < 1."""
    delta = real(delta, "delta")
    if not 1e-30 <= delta < 1:
        raise UsageError(f"delta must lie between 1e-30 and 1, not {delta}")
    return delta


def check_pure_delta(delta: Any) -> float:
    """`delta` as a float, which may be 0; else as `check_delta`."""
    found = real(delta, "delta")
    return 0.0 if found == 0 else check_delta(found)


def _number(delta: Any) -> float:
    return real(delta, "delta")


@frozen(kw_only=True)
class Budget:
    """What may be spent in all: (epsilon, delta), and what it buys.

    `spend` is Σ mu² for the Gaussian-DP filter and 2 Σ rho for the zCDP filter, so that a Gaussian of
    scale sigma on a query of L2 distance 1 costs 1/sigma² in either; for the pure filter it is Σ epsilon.
    """

    epsilon: float = field(converter=check_epsilon)
    delta: float = field(converter=_number)
    """0 for pure runs without thresholds only."""
    accountant: Accountant = "gdp"
    thresholds: bool = False
    """Whether partition selection may be used, which sets a share of delta aside."""
    training: bool = False
    """Whether networks may be trained, which sets a share of delta aside."""
    prior_delta: float = 0.0
    """Delta that an earlier release has spent on thresholds, set aside as well."""
    tail_share: float = 0.0
    """Share of delta set aside for mechanisms that have a delta of their own."""

    def __attrs_post_init__(self) -> None:
        if self.accountant == "pure" and self.delta == 0 and not self.thresholds:
            return
        check_delta(self.delta)
        if self.accountant == "pure":
            return
        if self.conversion_delta <= 0:
            raise UsageError(
                f"the schema was bought at more delta than delta = {self.delta:.3g} leaves",
                mend=f"state a delta of at least {2 * self.prior_delta:.3g}",
            )

    @property
    def effective_epsilon(self) -> float:
        """The epsilon that the noise is calibrated to; above `NOISELESS` nothing would be gained from noise
        on counts. What the pure filter adds up is exact at any size.
        """
        if self.accountant == "pure":
            return self.epsilon
        return min(self.epsilon, NOISELESS)

    @property
    def threshold_delta(self) -> float:
        """Delta set aside for partition selection and for mechanisms with a delta of their own; in a pure run
        without thresholds, all that mechanisms may use.
        """
        if self.accountant == "pure":
            return self.delta * (PURE_THRESHOLD_SHARE if self.thresholds else 1 - NUMERIC_SHARE)
        share = (THRESHOLD_SHARE if self.thresholds else 0.0) + self.tail_share
        return share * self.delta + self.prior_delta

    @property
    def training_delta(self) -> float:
        """Delta set aside for trained networks; the pure filter admits none."""
        if not self.training or self.accountant == "pure":
            return 0.0
        least, most = (share * self.delta for share in TRAINING_SHARES)
        return max(least, min(most, TRAINING_DELTA))

    @property
    def outside_delta(self) -> float:
        """Delta set aside for all that converting the composed cost does not cover."""
        return self.threshold_delta + self.training_delta

    @property
    def conversion_delta(self) -> float:
        """Delta left for turning the composed cost into epsilon; sums of epsilons need none."""
        if self.accountant == "pure":
            return 0.0
        return self.delta * (1 - NUMERIC_SHARE) - self.outside_delta

    @property
    def exact(self) -> bool:
        """Whether epsilons are added up and nothing but thresholds may take delta: no table of noise, and no
        draw at a delta.
        """
        return self.accountant == "pure" and (self.thresholds or self.delta == 0)

    @property
    def spend(self) -> float:
        """The total that mechanisms may spend."""
        return self.spend_for(self.effective_epsilon)

    def spend_for(self, epsilon: float) -> float:
        """The spend that is worth `epsilon` at the delta left for conversion. Of epsilons there is room for
        the rounding of sums below what was asked, in other currencies above.
        """
        if self.accountant == "pure":
            return epsilon / ROUNDING
        if self.accountant == "gdp":
            return gdp.mu(epsilon, self.conversion_delta) ** 2
        return 2 * zcdp.rho(epsilon, self.conversion_delta)

    def epsilon_of(self, spend: float) -> float:
        """The epsilon of a spend at the delta left for conversion."""
        return worth(spend, delta=self.conversion_delta, accountant=self.accountant)


def worth(spend: float, *, delta: float, accountant: str) -> float:
    """The epsilon of a spend in an accountant's currency, at `delta`; the pure filter's are epsilons."""
    if accountant == "pure":
        return spend
    if accountant == "gdp":
        return gdp.epsilon(math.sqrt(spend), delta)
    return zcdp.epsilon(spend / 2, delta)


def check_scale(budget: Budget, unit: PrivacyUnit) -> None:
    """UsageError when the noise that `unit` needs at this budget is beyond what a run can divide and draw."""
    if budget.accountant == "pure":
        beyond = unit.table_l1(unit.neighbours) > budget.spend * WIDEST
    else:
        beyond = unit.table_l2_squared(unit.neighbours) > budget.spend * WIDEST**2
    if beyond:
        raise UsageError(
            f"epsilon = {budget.epsilon:g} is too small where up to {unit.at_most} rows of a person are kept",
            mend="keep fewer rows of each person, or ask for a larger epsilon",
        )


@define(kw_only=True)
class Part:
    """A disjoint part of the rows, and what its rows may still see."""

    share: float
    """Probability that a row falls into it."""
    limit: float
    """Spend that its rows may see in all, charges for all rows included."""
    spent: float = 0.0
    """Charges for this part alone."""


@define(kw_only=True)
class PrivacyFilter:
    """Running totals against a Budget, under one neighbouring relation."""

    budget: Budget
    relation: Relation
    limit: float
    spent: float = 0.0
    delta_spent: float = 0.0
    distance: float = 0.0
    parts: dict[str, Part] = field(factory=dict)
    """Disjoint parts of the rows by name; empty until the rows are divided."""

    @classmethod
    def open(cls, budget: Budget, relation: Relation) -> PrivacyFilter:
        """A filter with nothing spent."""
        return cls(budget=budget, relation=relation, limit=budget.spend)

    @property
    def bound(self) -> Limit:
        """What can never be exceeded, whatever is asked."""
        return Limit(
            accountant=self.budget.accountant,
            spend=max(map(self.most, [self.limit, *(part.limit for part in self.parts.values())])),
            delta=self.budget.outside_delta * ROUNDING,
            exact=self.budget.exact,
            parts=tuple((name, part.share, self.most(part.limit)) for name, part in self.parts.items()),
            common=self.spent * ROUNDING if self.parts else 0.0,
        )

    def most(self, limit: float) -> float:
        """A limit of all rows or of a part, with room for the rounding of sums; never more than an epsilon
        that was asked for.
        """
        asked = self.is_pure and limit == self.limit
        return self.budget.effective_epsilon if asked else limit * ROUNDING

    @property
    def left(self) -> float:
        """Spend that is still free for all rows; nothing once they are divided."""
        return 0.0 if self.parts else max(0.0, self.limit - self.spent)

    def left_in(self, part: str) -> float:
        """Spend that is still free for one part of the rows."""
        held = self.parts[part]
        return max(0.0, held.limit - self.spent - held.spent)

    def divide(self, shares: Mapping[str, float], limits: Mapping[str, float]) -> None:
        """From now on charges are for one part of the rows each; see `sfumato.privacy.division`."""
        self.parts = {name: Part(share=share, limit=limits[name]) for name, share in shares.items()}

    @property
    def delta_left(self) -> float:
        """Delta that partition selection may still use."""
        return max(0.0, self.budget.threshold_delta - self.delta_spent)

    def price(self, price: Price) -> float:
        """Spend of a price in this filter's currency; infinite where it has none."""
        if self.budget.accountant == "pure":
            return price.own
        return price.mu2 if self.budget.accountant == "gdp" else 2 * price.rho

    def selection_epsilon(self, spend: float) -> float:
        """Range of an exponential mechanism that costs `spend` (the inverse of `price`)."""
        if self.budget.accountant == "pure":
            return spend
        if self.budget.accountant == "gdp":
            return gdp.bounded_range_of_mu(math.sqrt(spend))
        return math.sqrt(4 * spend)

    def admit(self, cost: Cost) -> None:
        """Add `cost`, or raise Overdraft and leave the totals as they were."""
        price = cost.under(self.relation)
        if price.shape == "revealed":
            # Its owner gives up the guarantee: nothing stands in the way, and nothing is left afterwards.
            self.spent = math.inf
            return
        part = self.parts.get(cost.part)
        if (part is None) == bool(self.parts):
            raise ValueError("once the rows are divided, every charge is for one of the parts")
        limit = self.limit if part is None else part.limit
        if math.isinf(self.price(price)):
            raise Overdraft("a mechanism has no finite price with the accountant of this run")
        spent = self.spent + self.price(price) + (0.0 if part is None else part.spent)
        delta = self.delta_spent + price.delta
        distance = self.distance + cost.distance
        numeric = numeric_delta(distance, self.budget.effective_epsilon)
        if not (
            spent <= self.most(limit)
            and delta <= self.budget.outside_delta * ROUNDING
            and distance <= DISTANCE_AT_MOST
            and numeric <= NUMERIC_SHARE * self.budget.delta
            and not (self.budget.exact and (distance or (price.shape == "draws" and price.delta)))
        ):
            raise Overdraft(
                f"a mechanism asks for {self.price(price):.3g} of the privacy budget, "
                f"{self.left if part is None else self.left_in(cost.part):.3g} is left"
            )
        if part is None:
            self.spent = spent
        else:
            part.spent += self.price(price)
        self.delta_spent, self.distance = delta, distance

    @property
    def is_pure(self) -> bool:
        """Whether epsilons are added up, so that nothing is admitted but what has one of its own."""
        return self.budget.accountant == "pure"


def numeric_delta(distance: float, epsilon: float) -> float:
    """Delta that covers drawing from tables at total variation `distance` of the ideal law.

    P'(S) ≤ P(S) + d ≤ e^ε Q(S) + δ + d ≤ e^ε Q'(S) + δ + (1 + e^ε) d.
    """
    return distance * (1 + math.exp(min(epsilon, 700.0)))

"""What the charges of a ledger add up to, in the words that are printed.

Where the schedule was fixed beforehand, so that the sum of the charges is a public number, it is
converted by Gaussian DP, zCDP and privacy-loss distributions, or epsilons and deltas are added up where every
mechanism has its own, each of them valid, and the smallest epsilon is reported. Where the rows were divided,
this is done for each part, and the parts are put together.

Where later charges depend on earlier answers the sum is random, and what is proven is the filter's
limit, in the filter's own currency (Smith, Thakurta 2022; Feldman, Zrnic 2021). Then the limit is
converted. For the relation that the filter did not watch: under add-remove every price is at most that
under replace, and under replace mu² and rho are at most four times, threshold deltas at most twice
those under add-remove (a table of counts moves by √2 times the L2 distance, a choice by twice the
range, and mu(2 range) ≤ 2 mu(range)); so a second filter with four times the limit would never have
stopped the run. Where epsilons are added up, the limit is not converted, so that delta is 0, or what
thresholds or draws take; where thresholds alone may take it, epsilons and deltas under replace are at most
twice those under add-remove, and so is the limit. Where prices are not so, or networks were trained,
replacing is removing and adding the whole run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from sfumato.privacy import gdp, zcdp
from sfumato.privacy.cost import Cost, Price, Shape
from sfumato.privacy.division import mixture_epsilon
from sfumato.privacy.filter import DISTANCE_AT_MOST, ROUNDING, numeric_delta, worth
from sfumato.privacy.ledger import Ledger, Limit, seen
from sfumato.privacy.unit import RELATIONS, Relation

if TYPE_CHECKING:
    from sfumato.privacy.subsampled import Schedule

DEFAULT_DELTA = 1e-9
MODEL = "The released model and any data sampled from it"


def default_delta(rows_at_most: int | None) -> float:
    """1e-9, or 1/(100 N) when the schema states a public bound N on the rows. Never from the private
    count.
    """
    return DEFAULT_DELTA if rows_at_most is None else min(0.5, 0.01 / max(1, rows_at_most))


def bounds(ledger: Ledger, *, delta: float, relation: Relation, pld: bool = True) -> dict[str, float]:
    """Valid epsilons at `delta` by accountant; infinity where nothing can be proven."""
    prices = [entry.cost.under(relation) for entry in ledger]
    if any(price.shape == "revealed" for price in prices):
        return {"none": math.inf}
    if not any(price.mu2 for price in prices):
        return {"gdp": 0.0}
    if ledger.adaptive:
        return _at_limit(ledger, delta=delta, relation=relation)
    groups = _groups(ledger, relation)
    distance = sum(entry.cost.distance for entry in ledger)

    def settle(convert: Callable[[_Seen, float], float], *besides: Shape) -> float:
        # What is proven without the delta of some shapes has it for the conversion.
        outside = sum(price.delta for price in prices if price.shape not in besides)

        def whole(rest: float) -> float:
            return _whole([(share, convert(held, rest)) for share, held in groups], relation)

        return _settled(whole, delta - outside, distance)

    # The delta of draws is what their own epsilon is stated at; mu, rho and their pairs hold without it. That
    # of a training belongs to its mu alone.
    found = {
        "gdp": settle(lambda held, rest: gdp.epsilon(math.sqrt(held.mu2), rest), "draws"),
        "zcdp": settle(lambda held, rest: zcdp.epsilon(held.rho, rest), "draws", "subsampled"),
    }
    sums = _whole([(share, sum(price.own for price in held.prices)) for share, held in groups], relation)
    if _is_covered(sums, sum(price.delta for price in prices), distance=distance, delta=delta):
        found["pure"] = sums
    if any(held.trainings for _, held in groups):
        found["rdp"] = settle(_of_curves, "draws", "subsampled")
    if pld and any(price.shape in ("bounded-range", "pure", "draws", "subsampled") for price in prices):
        found["pld"] = settle(_of_pairs, "draws", "subsampled")
    return found


@frozen
class _Seen:
    """What the rows of one group see: prices, and of trainings the schedules too."""

    prices: tuple[Price, ...]
    trainings: tuple[Schedule, ...]

    @classmethod
    def by(cls, ledger: Ledger, part: str, relation: Relation) -> _Seen:
        """What the rows of a part see; where there are no parts, "" is all rows."""
        held = [(entry.cost.under(relation), entry.parameters) for entry in seen(ledger, part)]
        prices = tuple(price for price, _ in held)
        trained = [parameters for price, parameters in held if price.shape == "subsampled"]
        if not trained:
            return cls(prices, ())
        from sfumato.privacy.mechanisms.training import schedule_of

        at_most = ledger.unit["at_most"]
        return cls(prices, tuple(schedule_of(parameters, at_most, relation) for parameters in trained))

    @property
    def mu2(self) -> float:
        return sum(price.mu2 for price in self.prices)

    @property
    def rho(self) -> float:
        return sum(price.rho for price in self.prices)

    @property
    def untrained(self) -> _Seen:
        """All of it but the trainings."""
        return _Seen(tuple(price for price in self.prices if price.shape != "subsampled"), ())


def _groups(ledger: Ledger, relation: Relation) -> list[tuple[float, _Seen]]:
    """Rows that see the same: their probability, and what they see."""
    if ledger.limit is None or not ledger.limit.parts:
        return [(1.0, _Seen.by(ledger, "", relation))]
    return [(share, _Seen.by(ledger, part, relation)) for part, share, _ in ledger.limit.groups]


def _whole(groups: list[tuple[float, float]], relation: Relation) -> float:
    """Epsilon of all rows, from probabilities and epsilons of `_groups`: their mixture under add-remove, the
    largest under replace (`sfumato.privacy.division`).
    """
    if len(groups) > 1 and relation == "add-remove":
        return mixture_epsilon(groups)
    return max(epsilon for _, epsilon in groups)


def _is_covered(epsilon: float, outside: float, *, distance: float, delta: float) -> bool:
    """Whether a sum of epsilons is a number, and `delta` covers the deltas and the noise tables beside it."""
    numeric = numeric_delta(distance, epsilon) if distance else 0.0
    return math.isfinite(epsilon) and outside + numeric <= delta * ROUNDING


def _at_limit(ledger: Ledger, *, delta: float, relation: Relation) -> dict[str, float]:
    """What the filter's limit proves, whatever the charges add up to."""
    limit = ledger.limit
    if limit is None:
        return {"none": math.inf}
    wider = ledger.unit["neighbours"] == "add-remove" and relation == "replace"
    if wider and not all(_wider_is_enough(entry.cost, limit) for entry in ledger):
        found = _twice(lambda part: _at_limit(ledger, delta=part, relation="add-remove"), delta)
        return {limit.accountant: found}
    accountant, distance = limit.accountant, 0.0 if limit.exact else DISTANCE_AT_MOST
    pure = accountant == "pure"
    times, outside = (2 if pure else 4, 2 * limit.delta) if wider else (1, limit.delta)
    groups = [(share, times * spend) for _, share, spend in limit.groups]
    if pure:
        sums = _whole(groups, relation)
        return {accountant: sums if _is_covered(sums, outside, distance=distance, delta=delta) else math.inf}

    def whole(rest: float) -> float:
        return _whole([(p, worth(spend, delta=rest, accountant=accountant)) for p, spend in groups], relation)

    return {accountant: _settled(whole, delta - outside, distance)}


def _wider_is_enough(cost: Cost, limit: Limit) -> bool:
    """Whether a price under replace is within four times mu² and rho, or twice epsilon, and twice delta of
    that under add-remove. Of epsilons at a delta of their own this is not known beforehand. For a training it
    depends on the noise that the run came to, so it is not relied upon.
    """
    one, other, slack = cost.add_remove, cost.replace, 1 + 1e-9
    if one.shape == "subsampled" or other.delta > 2 * one.delta * slack:
        return False
    if limit.accountant == "pure":
        return limit.exact and other.own <= 2 * one.own * slack
    return other.mu2 <= 4 * one.mu2 * slack and other.rho <= 4 * one.rho * slack


def _twice(at: Callable[[float], dict[str, float]], delta: float) -> float:
    """Epsilon for replacing a unit, which is removing one and adding another: (2e, (1 + exp(e)) d) where
    either is (e, d).
    """
    part = delta / 2
    for _ in range(60):
        epsilon = min(at(part).values())
        if math.isinf(epsilon):
            return math.inf
        times = 1 + math.exp(min(epsilon, 700.0))
        if part * times <= delta * ROUNDING:
            return 2 * epsilon
        # A smaller part has a larger epsilon, but for epsilons that are added up.
        part = min(0.95 * part, delta / times)
    return math.inf


def _settled(convert: Callable[[float], float], delta: float, distance: float) -> float:
    """Epsilon from `delta`, of which a part covers the distance of the noise tables to the ideal law:
    that part depends on epsilon, and few rounds from below are enough.
    """
    slack = 0.0
    for _ in range(3):
        if delta - slack <= 0:
            return math.inf
        epsilon = convert(delta - slack)
        fresh = numeric_delta(distance, epsilon)
        if fresh <= slack:
            return epsilon
        slack = 2 * fresh
    return math.inf


def _of_curves(held: _Seen, delta: float) -> float:
    """Epsilon by Rényi divergences; those of what is no training are its rho times the order."""
    from sfumato.privacy.subsampled import ORDERS, epsilon_of_renyi, renyi

    curve = sum(map(renyi, held.trainings), held.untrained.rho * np.array(ORDERS))
    return epsilon_of_renyi(curve, delta)[0]


def _of_pairs(held: _Seen, delta: float) -> float:
    """Epsilon of a schedule by privacy-loss distributions; beside trainings, all others are taken as
    Gaussians.
    """
    if held.trainings:
        from sfumato.privacy.subsampled import epsilon

        return epsilon(held.trainings, delta, mu=math.sqrt(held.untrained.mu2))
    ranges: dict[float, int] = {}
    pures: dict[float, int] = {}
    points: dict[tuple[float, float], int] = {}
    for price in held.prices:
        if price.shape == "bounded-range":
            ranges[price.epsilon] = ranges.get(price.epsilon, 0) + 1
        if price.shape == "pure":
            pures[price.epsilon] = pures.get(price.epsilon, 0) + 1
        if price.shape == "draws":
            points[price.each, price.mass] = points.get((price.each, price.mass), 0) + price.count
    mu = math.sqrt(sum(price.mu2 for price in held.prices if price.shape == "gaussian"))
    return _schedule(mu, tuple(ranges.items()), tuple(pures.items()), tuple(points.items()), delta)


@lru_cache(maxsize=256)
def _schedule(
    mu: float,
    bounded_range: tuple[tuple[float, int], ...],
    pure: tuple[tuple[float, int], ...],
    draws: tuple[tuple[tuple[float, float], int], ...],
    delta: float,
) -> float:
    """The same statement is asked for again and again, and takes half a second."""
    from sfumato.privacy.pld import epsilon_of_schedule
    from sfumato.privacy.three_points import epsilon_of_draws

    if not bounded_range and not pure and not draws:
        return gdp.epsilon(mu, delta)
    if mu == 0 and not bounded_range and not pure and len(draws) == 1:
        ((each, mass), count) = draws[0]
        return epsilon_of_draws(count, each=each, mass=mass, delta=delta)
    return epsilon_of_schedule(mu=mu, bounded_range=bounded_range, pure=pure, draws=draws, delta=delta)


def epsilon_of(ledger: Ledger, *, delta: float | None, relation: str | None, pld: bool = True) -> float:
    """Smallest proven epsilon; `relation` defaults to the ledger's own, `delta` to 1e-9."""
    chosen: Any = relation or ledger.unit.get("neighbours", "add-remove")
    if chosen not in RELATIONS:
        raise ValueError(f"relation must be one of {RELATIONS}")
    return min(
        bounds(ledger, delta=DEFAULT_DELTA if delta is None else delta, relation=chosen, pld=pld).values()
    )


@frozen(kw_only=True)
class Statement:
    """The guarantee of a release."""

    epsilon: float
    delta: float
    neighbours: Relation
    unit: str
    epsilon_add_remove: float
    epsilon_replace: float
    void: str = ""
    """Why nothing is guaranteed, when that is so."""
    leaks: tuple[str, ...] = ()
    """Facts that were read off the rows, for which the owner signed."""
    public_rows: bool = False
    """Whether the exact number of rows was used as a public number."""
    released: str = MODEL
    """What the guarantee is for, as the sentence begins."""

    def __str__(self) -> str:
        if self.void:
            return f"NO PRIVACY GUARANTEE (epsilon = infinity): {self.void}."
        pure = " (pure: delta is 0)" if self.delta == 0 else ""
        changing, other, other_epsilon = (
            ("adding or removing", "replacing", self.epsilon_replace)
            if self.neighbours == "add-remove"
            else ("replacing", "adding or removing", self.epsilon_add_remove)
        )
        return (
            f"{self.released} are ({self.epsilon:.6g}, {self.delta:.3g})-"
            f"differentially private{pure} for {changing} one unit: {self.unit}. "
            f"{'Categories' if self.public_rows else 'Row count, categories'}, ranges, "
            "types, missingness and structure are covered. "
            + ("The row count is public, which no exchange of units changes. " if self.public_rows else "")
            + "Column names, declared types, declared "
            "categories, ranges and rules, and all options are public inputs and are not covered. "
            + (
                f"For {other} one unit nothing is guaranteed."
                if math.isinf(other_epsilon)
                else f"For {other} one unit the parameters are ({other_epsilon:.6g}, {self.delta:.3g})."
            )
            + (f" NOT COVERED, since read off the rows: {', '.join(self.leaks)}." if self.leaks else "")
        )

    def state(self) -> dict[str, Any]:
        """JSON-able form; an infinite epsilon is the text "infinity"."""
        numbers = {
            "epsilon": self.epsilon,
            "epsilon_add_remove": self.epsilon_add_remove,
            "epsilon_replace": self.epsilon_replace,
        }
        return {
            **{key: "infinity" if math.isinf(value) else value for key, value in numbers.items()},
            "delta": self.delta,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "void": self.void,
            "leaks": list(self.leaks),
            "text": str(self),
        }


def statement_of(
    ledger: Ledger,
    *,
    delta: float,
    unit: str,
    void: str = "",
    leaks: tuple[str, ...] = (),
    released: str = MODEL,
) -> Statement:
    """Recompute the guarantee from the ledger alone, by Gaussian DP and zCDP (and PLD where it may be
    used). released: what it is for.
    """
    neighbours: Relation = ledger.unit["neighbours"]
    reasons = [entry.parameters["reason"] for entry in ledger if entry.mechanism == "reveal"]
    void = "; ".join([*([void] if void else []), *reasons])
    add_remove, replace = (
        math.inf if void else epsilon_of(ledger, delta=delta, relation=relation) for relation in RELATIONS
    )
    return Statement(
        epsilon=add_remove if neighbours == "add-remove" else replace,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        epsilon_add_remove=add_remove,
        epsilon_replace=replace,
        void=void,
        leaks=leaks,
        public_rows=any(entry.mechanism == "public_row_count" for entry in ledger),
        released=released,
    )

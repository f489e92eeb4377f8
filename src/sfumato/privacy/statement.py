"""What the charges of a ledger add up to, in the words that are printed.

Where the schedule was fixed beforehand, so that the sum of the charges is a public number, it is
converted by Gaussian DP, zCDP and privacy-loss distributions, each of them valid, and the smallest
epsilon is reported.

Where later charges depend on earlier answers the sum is random, and what is proven is the filter's
limit, in the filter's own currency (Smith, Thakurta 2022; Feldman, Zrnic 2021). Then the limit is
converted. For the relation that the filter did not watch: under add-remove every price is at most that
under replace, and under replace mu² and rho are at most four times, threshold deltas at most twice
those under add-remove, but for trained networks (a table of counts moves by √2 times the L2 distance, a
choice by twice the range, and mu(2 range) ≤ 2 mu(range)); so a second filter with four times the limit
would never have stopped the run. Where networks were trained, a replacement is taken as a removal and an
addition of the whole run: twice epsilon at (1 + e^epsilon) times delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen

from sfumato.privacy import gdp, zcdp
from sfumato.privacy.filter import DISTANCE_AT_MOST, numeric_delta
from sfumato.privacy.ledger import Entry, Ledger, total
from sfumato.privacy.unit import RELATIONS, Relation

DEFAULT_DELTA = 1e-9


def default_delta(rows_at_most: int | None) -> float:
    """1e-9, or 1/(100 N) when the schema states a public bound N on the rows. Never from the private
    count.
    """
    return DEFAULT_DELTA if rows_at_most is None else min(0.5, 0.01 / max(1, rows_at_most))


def bounds(ledger: Ledger, *, delta: float, relation: Relation, pld: bool = True) -> dict[str, float]:
    """Valid epsilons at `delta` by accountant; infinity where nothing can be proven."""
    price = total(ledger, relation)
    if price.shape == "revealed":
        return {"none": math.inf}
    if price.mu2 == 0:
        return {"gdp": 0.0}
    if ledger.adaptive:
        return _at_limit(ledger, delta=delta, relation=relation)
    distance = sum(entry.cost.distance for entry in ledger)

    def settle(convert: Any) -> float:
        return _settled(convert, delta - price.delta, distance)

    found = {
        "gdp": settle(lambda rest: gdp.epsilon(math.sqrt(price.mu2), rest)),
        "zcdp": settle(lambda rest: zcdp.epsilon(price.rho, rest)),
    }
    trained = [entry for entry in ledger if entry.cost.under(relation).shape == "subsampled"]
    if trained:
        return found | _with_trainings(ledger, trained, delta=delta, relation=relation, pld=pld)
    if pld and any(e.cost.under(relation).shape == "bounded-range" for e in ledger):
        prices = [entry.cost.under(relation) for entry in ledger]
        ranges: dict[float, int] = {}
        for item in prices:
            if item.shape == "bounded-range":
                ranges[item.epsilon] = ranges.get(item.epsilon, 0) + 1
        mu2 = sum(item.mu2 for item in prices if item.shape == "gaussian")
        found["pld"] = settle(lambda rest: _schedule(math.sqrt(mu2), tuple(ranges.items()), rest))
    return found


def _with_trainings(
    ledger: Ledger, trained: list[Entry], *, delta: float, relation: Relation, pld: bool
) -> dict[str, float]:
    """Epsilons by privacy-loss distributions and by Rényi divergences; all other mechanisms as Gaussians."""
    from sfumato.privacy import subsampled
    from sfumato.privacy.mechanisms.training import schedule_of

    at_most, distance = ledger.unit["at_most"], sum(entry.cost.distance for entry in ledger)
    schedules = tuple(schedule_of(entry.parameters, at_most, relation) for entry in trained)
    others = [entry.cost.under(relation) for entry in ledger if entry not in trained]
    mu2, rho = sum(price.mu2 for price in others), sum(price.rho for price in others)
    left = delta - sum(price.delta for price in others)
    orders = np.array(subsampled.ORDERS)
    curve = sum(map(subsampled.renyi, schedules), rho * orders)
    found = {"rdp": _settled(lambda rest: subsampled.epsilon_of_renyi(curve, rest)[0], left, distance)}
    if pld:
        mu = math.sqrt(mu2)
        found["pld"] = _settled(lambda rest: subsampled.epsilon(schedules, rest, mu=mu), left, distance)
    return found


def _at_limit(ledger: Ledger, *, delta: float, relation: Relation) -> dict[str, float]:
    """What the filter's limit proves, whatever the charges add up to."""
    limit = ledger.limit
    if limit is None:
        return {"none": math.inf}
    wider = ledger.unit["neighbours"] == "add-remove" and relation == "replace"
    if wider and any(entry.cost.add_remove.shape == "subsampled" for entry in ledger):
        return {limit.accountant: _twice(ledger, delta=delta)}
    spend, outside = (4 * limit.spend, 2 * limit.delta) if wider else (limit.spend, limit.delta)
    if limit.accountant == "gdp":
        found = _settled(lambda rest: gdp.epsilon(math.sqrt(spend), rest), delta - outside, DISTANCE_AT_MOST)
    else:
        found = _settled(lambda rest: zcdp.epsilon(spend / 2, rest), delta - outside, DISTANCE_AT_MOST)
    return {limit.accountant: found}


def _twice(ledger: Ledger, *, delta: float) -> float:
    """Epsilon at `delta` of a removal and an addition, from what is proven for one of them."""
    share = delta / 2
    for _ in range(60):
        epsilon = min(_at_limit(ledger, delta=share, relation="add-remove").values())
        if (1 + math.exp(min(epsilon, 700.0))) * share <= delta:
            return 2 * epsilon
        share = min(share / 2, delta / (1 + math.exp(min(1.01 * epsilon, 700.0))))
        if share < 1e-300:
            break
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


@lru_cache(maxsize=256)
def _schedule(mu: float, bounded_range: tuple[tuple[float, int], ...], delta: float) -> float:
    """The same statement is asked for again and again, and takes half a second."""
    from sfumato.privacy.pld import epsilon_of_schedule

    return epsilon_of_schedule(mu=mu, bounded_range=bounded_range, delta=delta)


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

    def __str__(self) -> str:
        if self.void:
            return f"NO PRIVACY GUARANTEE (epsilon = infinity): {self.void}."
        changing, other, other_epsilon = (
            ("adding or removing", "replacing", self.epsilon_replace)
            if self.neighbours == "add-remove"
            else ("replacing", "adding or removing", self.epsilon_add_remove)
        )
        return (
            f"The released model and any data sampled from it are ({self.epsilon:.6g}, {self.delta:.3g})-"
            f"differentially private for {changing} one unit: {self.unit}. Row count, categories, ranges, "
            "types, missingness and structure are covered. Column names, declared types, declared "
            "categories, ranges and rules, and all options are public inputs and are not covered. "
            f"For {other} one unit the parameters are ({other_epsilon:.6g}, {self.delta:.3g})."
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
    ledger: Ledger, *, delta: float, unit: str, void: str = "", leaks: tuple[str, ...] = ()
) -> Statement:
    """Recompute the guarantee from the ledger alone, by Gaussian DP and zCDP (and PLD where it may be
    used).
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
    )

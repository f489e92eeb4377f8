"""What the charges of a ledger add up to, in the words that are printed.

Where the schedule was fixed beforehand, so that the sum of the charges is a public number, it is
converted by Gaussian DP, zCDP and privacy-loss distributions, or epsilons and deltas are added up where every
mechanism has its own, each of them valid, and the smallest epsilon is reported.

Where later charges depend on earlier answers the sum is random, and what is proven is the filter's
limit, in the filter's own currency (Smith, Thakurta 2022; Feldman, Zrnic 2021). Then the limit is
converted. For the relation that the filter did not watch: under add-remove every price is at most that
under replace, and under replace mu² and rho are at most four times, threshold deltas at most twice
those under add-remove (a table of counts moves by √2 times the L2 distance, a choice by twice the
range, and mu(2 range) ≤ 2 mu(range)); so a second filter with four times the limit would never have
stopped the run.

The limit of a filter that adds up epsilons and deltas is not converted, so that delta is 0, or what
thresholds or draws take. Where thresholds alone may take delta, epsilons and deltas under replace are at most
twice those under add-remove; otherwise a replacement counts as a removal and an addition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from attrs import frozen

from sfumato.privacy import gdp, zcdp
from sfumato.privacy.filter import DISTANCE_AT_MOST, ROUNDING, numeric_delta
from sfumato.privacy.ledger import Ledger, Limit, total
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
    sums = _sums(ledger, delta=delta, relation=relation)
    distance = sum(entry.cost.distance for entry in ledger)
    prices = [entry.cost.under(relation) for entry in ledger]
    # The delta of draws is what their own epsilon is stated at; mu, rho and their pairs hold without it.
    outside = sum(item.delta for item in prices if item.shape != "draws")

    def settle(convert: Any) -> float:
        return _settled(convert, delta - outside, distance)

    found = {
        "gdp": settle(lambda rest: gdp.epsilon(math.sqrt(price.mu2), rest)),
        "zcdp": settle(lambda rest: zcdp.epsilon(price.rho, rest)),
    }
    if math.isfinite(sums):
        found["pure"] = sums
    if pld and any(item.shape in ("bounded-range", "pure", "draws") for item in prices):
        ranges: dict[float, int] = {}
        pures: dict[float, int] = {}
        points: dict[tuple[float, float], int] = {}
        for item in prices:
            if item.shape == "bounded-range":
                ranges[item.epsilon] = ranges.get(item.epsilon, 0) + 1
            if item.shape == "pure":
                pures[item.epsilon] = pures.get(item.epsilon, 0) + 1
            if item.shape == "draws":
                points[item.each, item.mass] = points.get((item.each, item.mass), 0) + item.count
        mu2 = sum(item.mu2 for item in prices if item.shape == "gaussian")
        found["pld"] = settle(
            lambda rest: _schedule(
                math.sqrt(mu2), tuple(ranges.items()), tuple(pures.items()), tuple(points.items()), rest
            )
        )
    return found


def _sums(ledger: Ledger, *, delta: float, relation: Relation) -> float:
    """Σ epsilon, where Σ delta is within `delta` and every charge has an epsilon; else infinity."""
    prices = [entry.cost.under(relation) for entry in ledger]
    epsilon = sum(price.own for price in prices)
    outside, distance = sum(price.delta for price in prices), sum(entry.cost.distance for entry in ledger)
    numeric = numeric_delta(distance, epsilon) if distance else 0.0
    return epsilon if outside + numeric <= delta * ROUNDING else math.inf


def _at_limit(ledger: Ledger, *, delta: float, relation: Relation) -> dict[str, float]:
    """What the filter's limit proves, whatever the charges add up to."""
    limit = ledger.limit
    if limit is None:
        return {"none": math.inf}
    wider = ledger.unit["neighbours"] == "add-remove" and relation == "replace"
    if limit.accountant == "pure":
        return {"pure": _sums_at_limit(limit, delta=delta, wider=wider)}
    spend, outside = (4 * limit.spend, 2 * limit.delta) if wider else (limit.spend, limit.delta)
    if limit.accountant == "gdp":
        found = _settled(lambda rest: gdp.epsilon(math.sqrt(spend), rest), delta - outside, DISTANCE_AT_MOST)
    else:
        found = _settled(lambda rest: zcdp.epsilon(spend / 2, rest), delta - outside, DISTANCE_AT_MOST)
    return {limit.accountant: found}


def _sums_at_limit(limit: Limit, *, delta: float, wider: bool) -> float:
    """What a filter of epsilons and deltas proves."""
    spend, outside = limit.spend, limit.delta
    if wider:
        # A removal and an addition; or else a second filter with twice the limit.
        outside *= 2.0 if limit.exact else 1 + math.exp(min(spend, 700.0))
        spend *= 2
    numeric = 0.0 if limit.exact else numeric_delta(DISTANCE_AT_MOST, spend)
    return spend if outside + numeric <= delta * ROUNDING else math.inf


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
            f"The released model and any data sampled from it are ({self.epsilon:.6g}, {self.delta:.3g})-"
            f"differentially private{pure} for {changing} one unit: {self.unit}. "
            f"{'Categories' if self.public_rows else 'Row count, categories'}, ranges, "
            "types, missingness and structure are covered. "
            + ("The row count is public, which no exchange of units changes. " if self.public_rows else "")
            + "Column names, declared types, declared "
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
        public_rows=any(entry.mechanism == "public_row_count" for entry in ledger),
    )

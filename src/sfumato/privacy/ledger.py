"""The append-only record of every read of private rows.

Each entry holds what was asked (mechanism and public parameters), why, and what it costs, and the hash
of the entry before it, so that nothing can be taken out or changed without the chain breaking. It holds
no durations, hosts, paths or hashes of the input.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field, frozen

from sfumato.errors import ModelFormatError
from sfumato.privacy.cost import Cost, Price

GENESIS = "0" * 64


@frozen(kw_only=True)
class Entry:
    """One charge."""

    number: int
    mechanism: str
    purpose: str
    parameters: dict[str, Any]
    cost: Cost
    previous: str
    hash: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        text = json.dumps(self._body(), sort_keys=True, ensure_ascii=True, allow_nan=False)
        object.__setattr__(self, "hash", hashlib.sha256(text.encode()).hexdigest())

    def _body(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "mechanism": self.mechanism,
            "purpose": self.purpose,
            "parameters": self.parameters,
            "cost": _cost_state(self.cost),
            "previous": self.previous,
        }

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        return {**self._body(), "hash": self.hash}


@frozen(kw_only=True)
class Limit:
    """What the filter of a run never lets pass: the bound that holds for adaptively chosen charges."""

    accountant: str
    spend: float
    """Σ mu² (gdp), 2 Σ rho (zcdp) or Σ epsilon (pure), under the relation of the unit."""
    delta: float
    """Delta that mechanisms may take."""
    exact: bool = False
    """Whether, where epsilons are added up, noise must be exact and thresholds alone take delta."""
    parts: tuple[tuple[str, float, float], ...] = field(
        default=(), converter=lambda parts: tuple((str(n), float(p), float(s)) for n, p, s in parts)
    )
    """Disjoint parts of the rows: name, probability that a row falls into it, spend that its rows may see
    (with what reads all rows). `spend` is the largest of them."""
    common: float = 0.0
    """Spend of what reads all rows, where there are parts: nothing else of the kind may follow."""

    @property
    def groups(self) -> tuple[tuple[str, float, float], ...]:
        """Rows that may see the same, as in `parts`: those, and under the name "" what belongs to none."""
        rest = max(0.0, 1 - sum(share for _, share, _ in self.parts))
        return (*self.parts, ("", rest, self.common if self.parts else self.spend))

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        facts: dict[str, Any] = {"accountant": self.accountant, "spend": self.spend, "delta": self.delta}
        if self.exact:
            facts |= {"exact": True}
        if self.parts:
            facts |= {"parts": [list(part) for part in self.parts], "common": self.common}
        return facts


@define
class Ledger:
    """All charges of one run, in order. Iterable."""

    unit: dict[str, Any] = field(factory=dict)
    """The privacy unit, in public form."""
    adaptive: bool = False
    """Whether noise scales were chosen after looking at earlier answers; rules out PLD composition."""
    limit: Limit | None = None
    """The filter's limit; set by the curator."""
    entries: list[Entry] = field(factory=list)

    def append(self, *, mechanism: str, purpose: str, parameters: dict[str, Any], cost: Cost) -> Entry:
        """Write one charge."""
        entry = Entry(
            number=len(self.entries),
            mechanism=mechanism,
            purpose=purpose,
            parameters=parameters,
            cost=cost,
            previous=self.entries[-1].hash if self.entries else GENESIS,
        )
        self.entries.append(entry)
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "unit": self.unit,
            "adaptive": self.adaptive,
            "limit": None if self.limit is None else self.limit.state(),
            "entries": [entry.state() for entry in self.entries],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Ledger:
        """Read back `state`; ModelFormatError names the first entry whose chain is broken."""
        limit = None if state["limit"] is None else Limit(**state["limit"])
        ledger = cls(unit=dict(state["unit"]), adaptive=bool(state["adaptive"]), limit=limit)
        for number, item in enumerate(state["entries"]):
            entry = ledger.append(
                mechanism=item["mechanism"],
                purpose=item["purpose"],
                parameters=item["parameters"],
                cost=_cost_of(item["cost"]),
            )
            if (entry.hash, number, entry.previous) != (item["hash"], item["number"], item["previous"]):
                raise ModelFormatError(f"the ledger was altered: entry {number} does not match its hash")
        return ledger

    def epsilon(self, delta: float | None = None, *, relation: str | None = None) -> float:
        """Smallest epsilon that these charges prove at `delta` (see `sfumato.privacy.statement`)."""
        from sfumato.privacy.statement import epsilon_of

        return epsilon_of(self, delta=delta, relation=relation)


def total(entries: Iterable[Entry], relation: str) -> Price:
    """Sum of all prices under `relation`; of disjoint parts of the rows the dearest counts."""
    entries = list(entries)
    prices = [entry.cost.under(relation) for entry in entries]
    parts = sorted({"", *(entry.cost.part for entry in entries)})
    sums = [[entry.cost.under(relation) for entry in seen(entries, part)] for part in parts]
    return Price(
        shape="revealed" if any(price.shape == "revealed" for price in prices) else "gaussian",
        mu2=max(sum(price.mu2 for price in each) for each in sums),
        rho=max(sum(price.rho for price in each) for each in sums),
        delta=sum(price.delta for price in prices),
    )


def seen(entries: Iterable[Entry], part: str) -> list[Entry]:
    """What the rows of one part see: charges for that part, and those for all rows."""
    return [entry for entry in entries if entry.cost.part in ("", part)]


def _price_state(price: Price) -> dict[str, Any]:
    numbers = {"mu2": price.mu2, "rho": price.rho, "delta": price.delta, "epsilon": price.epsilon}
    state = {"shape": price.shape, **{k: "infinity" if math.isinf(v) else v for k, v in numbers.items()}}
    if price.shape == "draws":
        state |= {"count": price.count, "each": price.each, "mass": price.mass}
    return state


def _price_of(state: dict[str, Any]) -> Price:
    numbers = {k: float(v) for k, v in state.items() if k not in ("shape", "count")}
    return Price(shape=state["shape"], count=int(state.get("count", 0)), **numbers)


def _cost_state(cost: Cost) -> dict[str, Any]:
    return {
        "add-remove": _price_state(cost.add_remove),
        "replace": _price_state(cost.replace),
        "draws": cost.draws,
        "distance": cost.distance,
        **({"part": cost.part} if cost.part else {}),
    }


def _cost_of(state: dict[str, Any]) -> Cost:
    return Cost(
        add_remove=_price_of(state["add-remove"]),
        replace=_price_of(state["replace"]),
        draws=int(state["draws"]),
        distance=float(state["distance"]),
        part=str(state.get("part", "")),
    )

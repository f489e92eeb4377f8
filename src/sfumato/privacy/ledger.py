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

import attrs
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
    """Σ mu² (gdp) or 2 Σ rho (zcdp), under the relation of the unit."""
    delta: float
    """Delta that thresholds and trained networks may take."""


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
            "limit": None if self.limit is None else attrs.asdict(self.limit),
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
    """Sum of all prices under `relation`."""
    prices = [entry.cost.under(relation) for entry in entries]
    revealed = any(price.shape == "revealed" for price in prices)
    return Price(
        shape="revealed" if revealed else "gaussian",
        mu2=sum(price.mu2 for price in prices),
        rho=sum(price.rho for price in prices),
        delta=sum(price.delta for price in prices),
    )


def _price_state(price: Price) -> dict[str, Any]:
    numbers = {"mu2": price.mu2, "rho": price.rho, "delta": price.delta, "epsilon": price.epsilon}
    return {"shape": price.shape, **{k: "infinity" if math.isinf(v) else v for k, v in numbers.items()}}


def _price_of(state: dict[str, Any]) -> Price:
    numbers = {k: float(v) for k, v in state.items() if k != "shape"}
    return Price(shape=state["shape"], **numbers)


def _cost_state(cost: Cost) -> dict[str, Any]:
    return {
        "add-remove": _price_state(cost.add_remove),
        "replace": _price_state(cost.replace),
        "draws": cost.draws,
        "distance": cost.distance,
    }


def _cost_of(state: dict[str, Any]) -> Cost:
    return Cost(
        add_remove=_price_of(state["add-remove"]),
        replace=_price_of(state["replace"]),
        draws=int(state["draws"]),
        distance=float(state["distance"]),
    )

"""What a measure is, and what it found: a value, or why there is none.

A measure that could not be taken has no value. It is never a zero: "not applicable because …" says what the
tables lack, "failed because …" says what went wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

Cell = str | float | int | bool | None
Direction = Literal["lower", "higher", "nearer", "none"]
State = Literal["value", "not applicable", "failed"]

DIRECTIONS = ("lower", "higher", "nearer", "none")
STATES = ("value", "not applicable", "failed")
_ROUNDING = 1e-9


@frozen(kw_only=True)
class Measure:
    """What is measured, how to read it and where it comes from.

    `name`: unique, for programs ("marginals.tv2"). `title`: for people. `meaning`: one plain sentence that
    says what the number is. `low`, `high`: the range the value can have, infinite where it has no end.
    `direction`: whether a "lower" or a "higher" value is closer to the real rows, or the one "nearer" to
    `ideal`, or "none". `ideal`: what identical tables get. `source`: paper, theorem or textbook.
    """

    name: str
    title: str
    family: str
    meaning: str
    low: float = 0.0
    high: float = 1.0
    direction: Direction = "lower"
    ideal: float | None = 0.0
    source: str

    def __attrs_post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ValueError(f"measure {self.name!r}: {self.direction!r} is not one of {DIRECTIONS}")
        if not self.low <= self.high:
            raise ValueError(f"measure {self.name!r}: the range {self.low} to {self.high} is empty")
        if self.direction == "nearer" and self.ideal is None:
            raise ValueError(f"measure {self.name!r}: nearer to what?")

    def found(
        self,
        value: float,
        *,
        interval: Interval | None = None,
        details: Details | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """The outcome with a value; one that is not finite or out of range is "failed", never passed on."""
        value = float(value)
        if not math.isfinite(value):
            return self.failed("the result is not a finite number", details=details, facts=facts)
        if not self.low - _ROUNDING <= value <= self.high + _ROUNDING:
            reason = f"the result lies outside {self.low:g} to {self.high:g}"
            return self.failed(reason, details=details, facts=facts)
        value = min(max(value, self.low), self.high)
        return Outcome(
            measure=self, state="value", value=value, interval=interval, details=details, facts=facts or {}
        )

    def not_applicable(
        self, because: str, *, details: Details | None = None, facts: Mapping[str, Any] | None = None
    ) -> Outcome:
        """The outcome where the tables have nothing that this could measure."""
        return Outcome(
            measure=self, state="not applicable", reason=because, details=details, facts=facts or {}
        )

    def failed(
        self, because: str, *, details: Details | None = None, facts: Mapping[str, Any] | None = None
    ) -> Outcome:
        """The outcome where the measure should apply and could not be taken."""
        return Outcome(measure=self, state="failed", reason=because, details=details, facts=facts or {})


@frozen
class Interval:
    """Where the value would lie if the rows were drawn anew: `level` is the coverage, `method` how it was
    found.
    """

    low: float
    high: float
    level: float = field(default=0.95, kw_only=True)
    method: str = field(kw_only=True)


@frozen
class Details:
    """A small table behind a value, such as one row a column or a pair of columns; worst rows first.

    `header` names the places of each row. Cells are texts, numbers or None; texts may be labels of the
    private table and must be escaped where they are shown.
    """

    header: tuple[str, ...] = field(converter=tuple)
    rows: tuple[tuple[Cell, ...], ...] = field(
        converter=lambda rows: tuple(tuple(map(_plain, row)) for row in rows)
    )

    def __attrs_post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError("a row of details has not one cell a heading")

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return (dict(zip(self.header, row, strict=True)) for row in self.rows)

    def column(self, name: str) -> tuple[Cell, ...]:
        """All cells under one heading."""
        place = self.header.index(name)
        return tuple(row[place] for row in self.rows)


@frozen(kw_only=True)
class Outcome:
    """What one measure found.

    `state` "value" has a `value` (and perhaps an `interval`) and no `reason`; the other states have a
    `reason` that completes "not applicable because" or "failed because", and no value. `details`: values by
    column or pair. `facts`: what else a reader may want, JSON-able: rows used, error of sub-sampling, a
    baseline.
    """

    measure: Measure
    state: State
    value: float | None = None
    interval: Interval | None = None
    reason: str = ""
    details: Details | None = None
    facts: Mapping[str, Any] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if self.state not in STATES:
            raise ValueError(f"{self.state!r} is not one of {STATES}")
        if (self.state == "value") != (self.value is not None):
            raise ValueError("an outcome has a value exactly when its state says so")
        if (self.state == "value") == bool(self.reason):
            raise ValueError("an outcome has a reason exactly when it has no value")

    @property
    def name(self) -> str:
        """The name of the measure."""
        return self.measure.name

    @property
    def family(self) -> str:
        """The family of the measure."""
        return self.measure.family

    @property
    def status(self) -> str:
        """The state in words: "value", "not applicable because …" or "failed because …"."""
        return self.state if self.state == "value" else f"{self.state} because {self.reason}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; an end of a range that is infinite is None."""
        measure, interval, details = self.measure, self.interval, self.details
        return {
            "name": measure.name,
            "title": measure.title,
            "family": measure.family,
            "state": self.state,
            "value": self.value,
            "reason": self.reason or None,
            "interval": None
            if interval is None
            else {
                "low": interval.low,
                "high": interval.high,
                "level": interval.level,
                "method": interval.method,
            },
            "range": [_finite(measure.low), _finite(measure.high)],
            "direction": measure.direction,
            "ideal": measure.ideal,
            "meaning": measure.meaning,
            "source": measure.source,
            "facts": {key: _plain_tree(value) for key, value in self.facts.items()},
            "details": None
            if details is None
            else {"header": list(details.header), "rows": [list(row) for row in details.rows]},
        }


def worst_first(
    rows: Sequence[tuple[Cell, ...]], place: int, *, largest: bool = True
) -> list[tuple[Cell, ...]]:
    """Rows in the order of the number at `place`, worst first; rows without one come last."""
    known = [row for row in rows if isinstance(row[place], int | float)]
    rest = [row for row in rows if not isinstance(row[place], int | float)]
    return sorted(known, key=lambda row: float(row[place] or 0), reverse=largest) + rest


def _plain(value: Any) -> Cell:
    """Numbers as Python's; one that is not finite as None."""
    if value is None or isinstance(value, str | bool):
        return value
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain_tree(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain_tree(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_tree(each) for each in value]
    return _plain(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

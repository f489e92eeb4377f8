"""Rules that every row obeys: parsed, checked against the columns and kept with the schema."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from sfumato.domain.column import SOURCES, Column
from sfumato.domain.frozenmap import freeze, thaw
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import Measured
from sfumato.domain.shapes import is_text, show
from sfumato.errors import Fault

RULES = {
    "less_or_equal": "values do not fall from one column to the next",
    "less_than": "values rise from one column to the next",
    "fixed_combinations": "only listed combinations of values occur",
}
_OPTIONS = {"fixed_combinations": ("allowed",)}


@frozen
class Rule:
    """One rule over at least two columns; `allowed` lists the combinations of a fixed_combinations rule."""

    name: str
    columns: tuple[str, ...]
    allowed: tuple[tuple[str, ...], ...] | None = None
    source: str = "public"
    note: str = ""

    def facts(self) -> dict[str, Any]:
        """The rule as it stands in a schema file."""
        found: dict[str, Any] = {self.name: list(self.columns)}
        if self.allowed is not None:
            found["allowed"] = thaw(self.allowed)
        if self.source != "public":
            found["source"] = self.source
        return found | ({"note": self.note} if self.note else {})


def read_rule(where: str, facts: Any) -> Rule | list[Fault]:
    """The rule a table of a schema file states, or its faults."""
    if isinstance(facts, Rule):
        return facts
    if not isinstance(facts, Mapping):
        return [Fault(where, f"is {show(facts)}: expected a table")]
    known = "known: " + ", ".join(RULES)
    names = [key for key in facts if key in RULES]
    options = ["source", "note", *(option for name in names for option in _OPTIONS.get(name, ()))]
    faults = [
        Fault(f"{where}.{key}", "is not known here", _near(str(key), [*RULES, *options]) or known)
        for key in facts
        if key not in names and key not in options and not str(key).startswith("_")
    ]
    if len(names) != 1:
        found = f"names {len(names)} rules" if names else "names no rule"
        return [*faults, Fault(where, f"{found}: expected one", known)]
    columns = freeze(facts[names[0]])
    if not isinstance(columns, tuple) or not all(map(is_text, columns)) or len(columns) < 2:
        faults.append(Fault(f"{where}.{names[0]}", f"is {show(columns)}: expected two column names or more"))
    elif len(set(columns)) < len(columns):
        faults.append(Fault(f"{where}.{names[0]}", "names a column twice"))
    for key, shape in (("source", "one of " + ", ".join(SOURCES)), ("note", "a text")):
        value = facts.get(key, "public")
        if not is_text(value) or (key == "source" and value not in SOURCES):
            faults.append(Fault(f"{where}.{key}", f"is {show(value)}: expected {shape}"))
    allowed = facts.get("allowed")
    if allowed is not None:
        allowed = _texts(allowed)
        if allowed is None or not allowed or any(len(row) != len(columns) for row in allowed):
            faults.append(
                Fault(f"{where}.allowed", "expected a list of lists, each with one text for each column")
            )
        elif len(set(allowed)) < len(allowed):
            faults.append(Fault(f"{where}.allowed", "lists a combination twice"))
    if faults:
        return faults
    return Rule(names[0], columns, allowed, facts.get("source", "public"), facts.get("note", ""))


def _texts(rows: Any) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(rows, list | tuple) or not all(isinstance(row, list | tuple) for row in rows):
        return None
    made = tuple(tuple(str(cell) if type(cell) is int else cell for cell in row) for row in rows)
    return made if all(is_text(cell) for row in made for cell in row) else None


def _near(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _has_order(facts: Column) -> bool:
    return isinstance(facts, Measured) or (isinstance(facts, Categorical) and facts.ordered)


def rule_faults(rule: Rule, where: str, columns: Mapping[str, Column]) -> Iterator[Fault]:
    """What a rule says that the columns contradict."""
    missing = [name for name in rule.columns if name not in columns]
    for name in missing:
        yield Fault(f"{where}.{rule.name}", f"column {name!r} is not declared", _near(name, list(columns)))
    if missing:
        return
    facts = [columns[name] for name in rule.columns]
    if rule.name in ("less_or_equal", "less_than"):
        flat = [each.name for each in facts if not _has_order(each)]
        for name in flat:
            yield Fault(f"{where}.{rule.name}", f"column {name!r} has no order")
        sorts = {"number" if each.kind in ("int", "float") else each.kind for each in facts}
        if not flat and len(sorts) > 1:
            yield Fault(f"{where}.{rule.name}", f"compares different kinds: {', '.join(sorted(sorts))}")
    for row in rule.allowed or ():
        for each, value in zip(facts, row, strict=True):
            known = each.values if isinstance(each, Categorical) else None
            if known is not None and value not in known:
                yield Fault(
                    f"{where}.allowed", f"{show(value)} is not a value of {each.name!r}", _near(value, known)
                )

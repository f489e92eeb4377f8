"""What is publicly known of one table, checked as a whole when it is made."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import field, frozen

from sfumato.domain.column import Column
from sfumato.domain.frozenmap import FrozenMap, freeze, thaw
from sfumato.domain.shapes import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Shape,
    fact,
    is_text,
    one_of,
    shape_faults,
    show,
    stated,
)
from sfumato.errors import Fault, SchemaError
from sfumato.schema.rules import Rule, rule_faults

if TYPE_CHECKING:
    import polars as pl

LONGEST_NAME = 256
MOST_ROWS = 1 << 63
NEIGHBOURS = ("add-remove", "replace")
UNDECLARED = ("error", "draft", "drop")


def _prices(value: Any) -> bool:
    return isinstance(value, FrozenMap) and all(
        is_text(key) and (is_text(price) or (NUMBER.test(price) and price >= 0))
        for key, price in value.items()
    )


BOUGHT = Shape("a table of numbers that are 0 or more", _prices, freeze)


@frozen
class Unit:
    """Whose presence is hidden: everybody with one value of `column`, with at most `at_most` rows each."""

    column: str = fact("", TEXT)
    at_most: int = fact(1, WHOLE)


class Row(NamedTuple):
    """One column of a schema, for display."""

    column: str
    type: str
    facts: str
    missing: str
    source: str
    note: str


@frozen
class Schema:
    """The public facts of a table. Made whole or not at all: `SchemaError` lists every fault.

    `neighbours`: what may differ between two tables that must look alike. `rows_at_most`: a public bound on
    the number of rows. `unit`: whose presence is hidden; None means a row. `undeclared`: what to do with a
    column of the table that the schema does not declare. `accept_leaks`: the owner signs for facts that were
    read off the rows. `bought`: what the facts of source "dp" have cost.
    """

    columns: tuple[Column, ...] = field(default=(), converter=lambda columns: tuple(columns))
    table: str = fact("", TEXT)
    neighbours: str = fact("add-remove", one_of(*NEIGHBOURS))
    rows_at_most: int | None = fact(None, WHOLE)
    unit: Unit | None = field(default=None, kw_only=True)
    undeclared: str = fact("error", one_of(*UNDECLARED))
    accept_leaks: bool = fact(False, FLAG)
    bought: Mapping[str, Any] | None = fact(None, BOUGHT)
    rules: tuple[Rule, ...] = field(default=(), kw_only=True, converter=lambda rules: tuple(rules))
    note: str = fact("", TEXT)

    def __attrs_post_init__(self) -> None:
        sound = not (faults := [*shape_faults(self), *self._unit_faults(), *self._column_faults()])
        if sound or all(isinstance(column, Column) for column in self.columns):
            faults += [*self._rule_faults(), *self._leaks()]
        if faults:
            raise SchemaError("the schema", faults)

    # asking -------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Declared columns, in order."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: str) -> Column:
        """The facts of one column; KeyError when it is not declared."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def check_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of a table that are not declared; SchemaError lists all that do not fit.

        A declared column that the table lacks is a fault; one that is not declared is a fault unless
        `undeclared` says otherwise.
        """
        missing = [name for name in self.names if name not in names]
        extra = [name for name in names if name not in self]
        faults = [
            Fault(
                f"columns.{name}",
                "is declared, but the table has no such column",
                _near(name, extra or names),
            )
            for name in missing
        ]
        if self.unit is not None and self.unit.column not in names:
            faults.append(
                Fault(
                    "unit.column",
                    f"the table has no column {self.unit.column!r}",
                    _near(self.unit.column, names),
                )
            )
        stray = [name for name in extra if self.unit is None or name != self.unit.column]
        if self.undeclared == "error":
            faults += [
                Fault(
                    f"columns.{name}",
                    "is in the table, but not declared",
                    _near(name, missing) or 'declare it, or state undeclared = "drop" or "draft"',
                )
                for name in stray
            ]
        if faults:
            raise SchemaError("the schema", faults)
        return tuple(extra)

    def check_storage(self, dtypes: Mapping[str, pl.DataType]) -> None:
        """SchemaError when a stored type cannot be read as the declared one, so that all would be missing."""
        faults = []
        for column in self.columns:
            dtype = dtypes.get(column.name)
            if dtype is not None and not column.always_null and not column.accepts(dtype):
                hint = ""
                if column.kind in ("date", "datetime") and dtype.is_numeric():
                    hint = 'declare how the digits are to be read, such as format = "%Y%m%d"'
                faults.append(
                    Fault(f"columns.{column.name}.type", f"{column.kind!r} cannot be read from {dtype}", hint)
                )
        if faults:
            raise SchemaError("the schema", faults)

    # writing ------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain values, in the shape of a schema file."""
        found = stated(self)
        if self.unit is not None:
            found["unit"] = {"column": self.unit.column, "at_most": self.unit.at_most}
        found["columns"] = {column.name: column.facts() for column in self.columns}
        if self.rules:
            found["rules"] = [rule.facts() for rule in self.rules]
        return found

    def to_toml(self) -> str:
        """The schema as a TOML file that reads back to an equal schema."""
        from sfumato.schema.write import to_toml

        return to_toml(self)

    def to_json(self) -> str:
        """The schema as JSON of the same shape."""
        import json

        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def show(self) -> list[Row]:
        """One row a column, for display."""
        rows = []
        for column in self.columns:
            facts = column.facts()
            hidden = ("type", "nullable", "always_null", "source", "note")
            text = ", ".join(f"{key} = {_brief(value)}" for key, value in facts.items() if key not in hidden)
            missing = "always" if column.always_null else "may be" if column.nullable else ""
            source = column.source if isinstance(column.source, str) else _brief(thaw(column.source))
            rows.append(Row(column.name, column.kind, text, missing, source, column.note))
        return rows

    # checking -----------------------------------------------------------------------------------

    def _unit_faults(self) -> Iterator[Fault]:
        if WHOLE.test(self.rows_at_most) and (self.rows_at_most or 0) < 1:
            yield Fault("rows_at_most", f"is {show(self.rows_at_most)}: expected 1 or more")
        if WHOLE.test(self.rows_at_most) and (self.rows_at_most or 0) >= MOST_ROWS:
            yield Fault("rows_at_most", f"is {show(self.rows_at_most)}: no table has so many rows")
        if self.unit is None:
            return
        if not isinstance(self.unit, Unit):
            yield Fault("unit", f"is {show(self.unit)}: expected a table with column and at_most")
            return
        yield from shape_faults(self.unit, "unit.")
        if self.unit.column == "":
            yield Fault("unit.column", "is missing", "name the column that tells persons apart")
        if WHOLE.test(self.unit.at_most) and self.unit.at_most < 1:
            yield Fault("unit.at_most", f"is {show(self.unit.at_most)}: expected 1 or more")

    def _column_faults(self) -> Iterator[Fault]:
        if not self.columns and self.undeclared != "draft":
            yield Fault("columns", "none is declared", 'declare them, or state undeclared = "draft"')
        seen: set[str] = set()
        for column in self.columns:
            if not isinstance(column, Column):
                yield Fault("columns", f"holds {show(column)}: expected facts of a column")
                continue
            if column.name in seen:
                yield Fault(f"columns.{column.name}", "is declared twice")
            seen.add(column.name)
            if not column.name.strip():
                yield Fault("columns", f"a column is called {show(column.name)}", "give it a name")
            elif len(column.name) > LONGEST_NAME or "\0" in column.name:
                yield Fault(
                    f"columns.{column.name[:40]}",
                    f"has a name of over {LONGEST_NAME} characters or with a NUL",
                )

    def _rule_faults(self) -> Iterator[Fault]:
        columns = {column.name: column for column in self.columns}
        for place, rule in enumerate(self.rules):
            yield from rule_faults(rule, f"rules[{place}]", columns)

    def _leaks(self) -> Iterator[Fault]:
        if not self.accept_leaks:
            for where in self.leaks():
                yield Fault(
                    where,
                    "was read off the private rows, so no guarantee would cover it",
                    "state it from public knowledge, buy it under privacy, "
                    "or sign for it with accept_leaks = true, which every report will show",
                )

    def leaks(self) -> tuple[str, ...]:
        """Paths of the facts that were read off the rows."""
        found = []
        for column in self.columns:
            if column.source == "leaks":
                found.append(f"columns.{column.name}")
            elif not isinstance(column.source, str):
                found += [
                    f"columns.{column.name}.{key}" for key, word in column.source.items() if word == "leaks"
                ]
        return (*found, *(f"rules[{i}]" for i, rule in enumerate(self.rules) if rule.source == "leaks"))


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_brief(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        head = ", ".join(str(item) for item in value[:6])
        return f"[{head}, … {len(value)} in all]" if len(value) > 6 else f"[{head}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _near(name: str, known: Sequence[str]) -> str:
    folded = {each.casefold().strip(): each for each in known}
    if name.casefold().strip() in folded:
        return f"did you mean {folded[name.casefold().strip()]!r}?"
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""

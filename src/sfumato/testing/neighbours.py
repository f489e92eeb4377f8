"""Pairs of neighbouring tables on which privacy bugs show: each is the worst case of some mistake."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from sfumato.privacy.unit import Relation

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]

COLUMNS: dict[str, dict[str, Any]] = {
    "city": {"type": "categorical", "values": ["north", "south", "east"]},
    "tag": {"type": "categorical", "open_set": True, "public_values": ["a"]},
    "age": {"type": "int", "min": 0, "max": 120},
    "amount": {
        "type": "float", "decimals": 2, "min": -1000, "max": 1000, "nullable": True,
        "special_codes": {"-99": "?"},
    },
    "day": {"type": "date", "min": "2000-01-01", "max": "2030-12-31"},
    "flag": {"type": "bool", "nullable": True},
    "fixed": {"type": "categorical", "values": ["k", "other"]},
}  # fmt: skip
"""The facts of the tables; persons are told apart by `who`."""

COMMON: Row = {
    "who": 1, "city": "north", "tag": "a", "age": 40, "amount": 10.5, "day": dt.date(2020, 1, 2),
    "flag": True, "fixed": "k",
}  # fmt: skip
UNIQUE: Row = {
    "who": 2, "city": "south", "tag": "zz", "age": 97, "amount": -3.25, "day": dt.date(2001, 12, 31),
    "flag": False, "fixed": "other",
}  # fmt: skip


@frozen(kw_only=True)
class Neighbours:
    """Two tables that differ in one unit."""

    name: str
    table: pl.DataFrame
    neighbour: pl.DataFrame
    relation: Relation = "add-remove"
    at_most: int | None = None
    """Rows of a person, when the unit is a person (column `who`); None: the unit is a row."""

    @property
    def schema(self) -> dict[str, Any]:
        """Everything that is public of the tables."""
        known = {"who": {"type": "id", "format": "sequence"}, **COLUMNS}
        return {"columns": {name: known[name] for name in self.table.columns}}

    @property
    def options(self) -> dict[str, Any]:
        """The unit, as options of `sfumato.fit`."""
        return {} if self.at_most is None else {"unit": ("who", self.at_most)}

    def only(self, *columns: str) -> Neighbours:
        """The same pair with some of the columns, and `who` where the unit is a person."""
        kept = [name for name in self.table.columns if name == "who" or name in columns]
        return evolve(self, table=self.table.select(kept), neighbour=self.neighbour.select(kept))

    def swapped(self) -> Neighbours:
        """The same pair the other way round."""
        return evolve(self, name=f"{self.name}, swapped", table=self.neighbour, neighbour=self.table)

    def as_text(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Both tables with cells of text, as they would stand in a file; missing cells are empty."""
        return _texts(self.table), _texts(self.neighbour)


def worst_neighbours() -> list[Neighbours]:
    """Pairs for rows and persons, under both relations."""
    mixed = [_varied(i) for i in range(40)]
    early, late = ({**COMMON, "day": dt.date(year, 1, 1)} for year in (1, 9999))
    rows = [
        _pair("a row unique in every column joins 100 equal ones", [COMMON] * 100, [UNIQUE]),
        _pair("the first row of all", [], [COMMON]),
        _pair("the only row is replaced", [], [COMMON], [UNIQUE]),
        _pair("a row is replaced by one unlike it", mixed, [COMMON], [UNIQUE]),
        _pair("very large numbers", mixed, [{**COMMON, "age": 2**62, "amount": 1e12}]),
        _pair("very small numbers", mixed, [{**COMMON, "age": -(2**62), "amount": -float("inf")}]),
        _pair("not a number", mixed, [{**COMMON, "amount": float("nan")}]),
        _pair("a category nobody else has", mixed, [{**COMMON, "tag": "never seen"}]),
        _pair("a value outside the closed list", mixed, [{**COMMON, "city": "west", "age": -5}]),
        _pair("a text too long to be a category", mixed, [{**COMMON, "tag": "x" * 300}]),
        _pair("the only row with missing cells", [COMMON] * 30, [{**dict.fromkeys(COMMON), "who": 3}]),
        _pair("missing cells become present", mixed, [dict.fromkeys(COMMON)], [COMMON]),
        _pair("a constant column is not constant any more", mixed, [{**COMMON, "fixed": "other"}]),
        _pair("a special code", mixed, [{**COMMON, "amount": -99.0}]),
        _pair("one more of many equal rows", [COMMON] * 60, [COMMON]),
        _pair("the best pair of columns changes", _balanced(), [{**COMMON, "city": "south", "flag": False}]),
        _pair("dates far away", mixed, [early], [late]),
    ]
    common, unique = {**COMMON, "who": 99}, {**UNIQUE, "who": 99}
    own_texts = [{**common, "tag": text} for text in "xyz"]
    different = [{**_varied(i), "who": 99} for i in range(3)]
    persons = [
        _pair("a person with all rows in one cell", mixed, [common] * 3, at_most=3),
        _pair("a person in as many cells as rows", mixed, different, at_most=3),
        _pair("a person replaced by another", mixed, [common] * 3, [unique] * 3, at_most=3),
        _pair("a person loses two of three rows", mixed, [unique] * 3, [unique], at_most=3),
        _pair("a person with texts nobody has", mixed, own_texts, at_most=3),
        _pair("a person with more rows than are kept", mixed, [unique] * 10, at_most=2),
        _pair("rows of nobody", mixed, [unique], [{**unique, "who": None}], at_most=1),
    ]
    return [*rows, *persons]


def _pair(
    name: str,
    shared: Sequence[Row],
    rows: Sequence[Row],
    others: Sequence[Row] | None = None,
    *,
    at_most: int | None = None,
) -> Neighbours:
    """`rows` join the shared ones; with `others` they are replaced by these."""
    persons = at_most is not None
    return Neighbours(
        name=name,
        table=_frame([*shared, *rows], persons=persons),
        neighbour=_frame([*shared, *(others or [])], persons=persons),
        relation="add-remove" if others is None else "replace",
        at_most=at_most,
    )


def _varied(i: int) -> Row:
    """Row number i of a table in which something goes on; persons have one row each."""
    return {
        "who": 1000 + i,
        "city": ("north", "south", "east")[i % 3],
        "tag": "abbcd"[i % 5],
        "age": 20 + 7 * i % 60,
        "amount": None if i % 11 == 0 else round(i * 1.37 - 20, 2),
        "day": dt.date(2010, 1, 1) + dt.timedelta(days=97 * i),
        "flag": (True, False, None)[i % 3],
        "fixed": "k",
    }


def _balanced() -> list[Row]:
    """Two pairs of columns are equally far from independent."""
    return [
        {**COMMON, "city": ("north", "south")[i % 2], "flag": bool(i % 2), "tag": "ab"[i // 2 % 2],
         "fixed": ("k", "other")[i // 2 % 2]}
        for i in range(20)
    ]  # fmt: skip


def _frame(rows: Sequence[Row], *, persons: bool) -> pl.DataFrame:
    import polars as pl

    types = {
        "who": pl.Int64(), "city": pl.String(), "tag": pl.String(), "age": pl.Int64(), "amount": pl.Float64(),
        "day": pl.Date(), "flag": pl.Boolean(), "fixed": pl.String(),
    }  # fmt: skip
    frame = pl.DataFrame({name: pl.Series([row[name] for row in rows], dtype=t) for name, t in types.items()})
    return frame if persons else frame.drop("who")


def _texts(frame: pl.DataFrame) -> dict[str, list[str]]:
    import polars as pl

    return {name: frame.get_column(name).cast(pl.String).fill_null("").to_list() for name in frame.columns}

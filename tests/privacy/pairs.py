"""Random neighbouring tables, and cells that readers choke on."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from attrs import frozen

from sfumato.privacy.unit import Relation
from sfumato.testing import worst_neighbours
from sfumato.testing.neighbours import COLUMNS

ODD_CELLS = (
    "", " ", "0", "-0", "+7", "07", "12", "-3.5", "1e5", "1E-400", "1e999", "inf", "-Infinity", "NaN",
    "nan", "NA", "null", "None", "9223372036854775807", "-9223372036854775809",
    "123456789012345678901234567890", "0x1F", "1_000", "1,5", "1.5.2", ".5", "5.", "١٢", "１２", "²",
    "2020-01-02", "2020-02-30", "2020/01/02", "02/01/2020", "31.12.1999", "2020-01-02T03:04:05",
    "2020-01-02 03:04:05Z", "2020-01-02 03:04", "20200102", "25:61", "true", "FALSE", "yes", "foo", "FOO",
    "é", "e\u0301", "\u202e", "\x1b[31m", "a,b", 'say "hi"', '""', "x" * 257, "\t", "line\nbreak", "=1+1",
)  # fmt: skip


@frozen(kw_only=True)
class Drawn:
    """Two tables that differ in one unit, and the options to fit them with."""

    table: Any
    neighbour: Any
    relation: Relation
    options: dict[str, Any]


def random_pair(seed: int) -> Drawn:
    """Two frames (or tables of text) that differ in one row, or in one person of at most 3 rows."""
    rng = np.random.default_rng(seed)
    persons = bool(rng.random() < 0.3)
    at_most = int(rng.integers(1, 4)) if persons else 1
    rows = _frame(rng, int(rng.choice([0, 1, 3, 10, 40, 80])))
    rows = rows.with_columns(who=pl.int_range(rows.height, dtype=pl.Int64) // at_most)
    out = _frame(rng, int(rng.integers(1, at_most + 1))).with_columns(who=pl.lit(-1, dtype=pl.Int64))
    into = _frame(rng, int(rng.integers(0, at_most + 1))).with_columns(who=pl.lit(-1, dtype=pl.Int64))
    relation: Relation = "replace" if rng.random() < 0.5 else "add-remove"
    place = int(rng.integers(rows.height + 1))
    before, after = rows.head(place), rows.slice(place)
    one = pl.concat([before, out, after])
    two = pl.concat([before, into, after]) if relation == "replace" else rows
    if not persons and relation == "replace":
        two = pl.concat([before, _frame(rng, 1).with_columns(who=pl.lit(-1, dtype=pl.Int64)), after])
    names = [name for name in COLUMNS if rng.random() < 0.7] or ["city"]
    keep = [*names, *(["who"] if persons else [])]
    one, two = one.select(keep), two.select(keep)
    if rng.random() < 0.5:
        one, two = two, one
    options: dict[str, Any] = {"unit": ("who", at_most)} if persons else {}
    options["neighbours"] = str(rng.choice(["add-remove", "replace"]))
    options["accountant"] = str(rng.choice(["gdp", "gdp", "zcdp"]))
    options["epsilon"] = float(rng.choice([0.3, 1.0, 8.0]))
    schema = _schema(rng, names, persons=persons)
    if schema is not None:
        options["schema"] = schema
    if rng.random() < 0.3:
        return Drawn(table=_texts(one), neighbour=_texts(two), relation=relation, options=options)
    return Drawn(table=one, neighbour=two, relation=relation, options=options)


def _schema(rng: np.random.Generator, names: list[str], *, persons: bool) -> dict[str, Any] | None:
    """All facts, none, or some of them."""
    kind = rng.integers(3)
    if kind == 0:
        return None
    columns: dict[str, Any] = {name: dict(COLUMNS[name]) for name in names}
    if persons:
        columns["who"] = {"type": "id", "format": "sequence"}
    if kind == 1:
        return {"columns": columns}
    columns = {name: facts for name, facts in columns.items() if rng.random() < 0.6}
    for facts in columns.values():
        if rng.random() < 0.5:
            facts.pop("min", None)
            facts.pop("max", None)
    return {"columns": columns, "undeclared": "draft"}


def _frame(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    def some(values: Any) -> list[Any]:
        drawn = [values[int(i)] for i in rng.integers(len(values), size=rows)]
        return [None if rng.random() < 0.1 else value for value in drawn]

    skew = rng.random(rows) ** 2
    return pl.DataFrame(
        {
            "city": pl.Series(some(["north", "south", "east", "west", ""]), dtype=pl.String),
            "tag": pl.Series(some(["a", "b", "b", "c", *ODD_CELLS]), dtype=pl.String),
            "age": pl.Series(some([0, 1, 40, 41, 120, -7, 2**62, -(2**63)]), dtype=pl.Int64),
            "amount": pl.Series(
                some([0.0, -99.0, 1.25, 1e3, -1e300, float("inf"), float("nan"), *skew[:9]]),
                dtype=pl.Float64,
            ),
            "day": pl.Series(some([-719162, 0, 11000, 18262, 22000, 2932896]), dtype=pl.Int32).cast(pl.Date),
            "flag": pl.Series(some([True, False]), dtype=pl.Boolean),
            "fixed": pl.Series(some(["k"] * 12 + ["other"]), dtype=pl.String),
        }
    )


def _texts(frame: pl.DataFrame) -> dict[str, list[str]]:
    return {name: frame.get_column(name).cast(pl.String).fill_null("").to_list() for name in frame.columns}


def worst(name: str) -> Any:
    """The pair of `worst_neighbours` whose name holds `name`."""
    (found,) = (pair for pair in worst_neighbours() if name in pair.name)
    return found

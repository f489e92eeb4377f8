"""Advice on a schema: what is legal, but may not be what its author wants."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from attrs import frozen

from sfumato.domain.codecs import FINEST, codec_for
from sfumato.domain.column import Column
from sfumato.domain.kinds import Categorical, Datetime, Float, Id, Int, Text
from sfumato.domain.kinds.real import EXACT
from sfumato.domain.measured import Measured
from sfumato.schema.schema import Schema

SMALL_KEY_SPACE = 100_000
MANY_VALUES = 1_000
HUGE = 10**9
SEVERITIES = ("warning", "advice", "info")


@frozen
class Note:
    """One remark: how much it matters ("warning", "advice", "info"), where, what, and what would mend it."""

    severity: str
    where: str
    what: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what}" + (f" ({self.mend})" if self.mend else "")


def lint(schema: Schema) -> tuple[Note, ...]:
    """Remarks on a schema, the weightiest first."""
    notes = [*_table_notes(schema)]
    for column in schema.columns:
        where = f"columns.{column.name}"
        notes += _common_notes(column, where)
        if isinstance(column, Measured) and column.modelled:
            notes += _measured_notes(column, where)
        elif isinstance(column, Categorical) and column.modelled:
            notes += _categorical_notes(column, where)
        elif isinstance(column, Id):
            notes += _id_notes(column, where)
    return tuple(sorted(notes, key=lambda note: SEVERITIES.index(note.severity)))


def _table_notes(schema: Schema) -> Iterator[Note]:
    if schema.accept_leaks:
        for where in schema.leaks():
            yield Note("warning", where, "was read off the private rows; no guarantee covers it")
    folded: dict[str, str] = {}
    for name in schema.names:
        twin = folded.setdefault(name.casefold(), name)
        if twin != name:
            yield Note("warning", f"columns.{name}", f"differs from {twin!r} only in case", "rename one")
        if name != name.strip():
            yield Note("advice", f"columns.{name}", "starts or ends with a blank")
    for place, rule in enumerate(schema.rules):
        yield Note("warning", f"rules[{place}]", f"{rule.name} is kept, but not enforced yet")
        if rule.name == "fixed_combinations" and rule.allowed is None:
            yield Note(
                "advice", f"rules[{place}]", "lists no combinations", "list what is public under allowed"
            )
    full = [column.name for column in schema.columns if column.modelled and not column.nullable]
    if full:
        more = f" and {len(full) - 5} more" if len(full) > 5 else ""
        yield Note(
            "info",
            "columns",
            f"cells of {', '.join(full[:5])}{more} will never be empty",
            "state nullable = true where cells may be missing",
        )
    if schema.rows_at_most is None:
        yield Note(
            "info",
            "rows_at_most",
            "is not stated, so delta defaults to 1e-9",
            "state a public bound on the rows",
        )


def _common_notes(column: Column, where: str) -> Iterator[Note]:
    if isinstance(column, Text):
        yield Note("info", where, "is free text and will be left out of the synthetic table")
        return
    if column.always_null and not column.nullable:
        yield Note("advice", where, "is always null", "state nullable = true as well")
    if column.constant is not None and not column.always_null:
        yield Note("info", where, "has one possible value, so it is written without being learned")
    if column.not_applicable_when is not None:
        yield Note("warning", f"{where}.not_applicable_when", "is kept, but not enforced yet")


def _measured_notes(column: Measured, where: str) -> Iterator[Note]:
    bounds = column.unit_bounds()
    if bounds is None:
        yield Note(
            "advice",
            where,
            "has no bounds, so they will be bought from the budget",
            "state min and max if they are public",
        )
    else:
        span = bounds[1] - bounds[0] + 1
        if span > HUGE:
            fewer = (
                "lower decimals"
                if isinstance(column, Float)
                else "narrow min and max, or use a coarser resolution"
            )
            yield Note("advice", where, f"spans {span:,} distinct values", fewer)
        if span > FINEST:
            yield Note(
                "info", where, f"spans {span:,} distinct values, so its cells will be learned from the budget"
            )
        inside = [
            key
            for key, unit in zip(column.special_codes, column.special_units, strict=True)
            if unit is not None and bounds[0] < unit < bounds[1]
        ]
        for key in inside:
            yield Note(
                "info",
                f"{where}.special_codes.{key}",
                "lies inside the bounds: no ordinary value will equal it",
            )
    if isinstance(column, Int) and bounds is not None and all(map(_looks_like_date, bounds)):
        yield Note(
            "warning", where, "looks like dates written YYYYMMDD", 'declare type = "date", format = "%Y%m%d"'
        )
    if isinstance(column, Float) and bounds is not None and max(map(abs, bounds)) > EXACT:
        yield Note(
            "warning", where, "has more digits than a float can hold, so the last are lost", "lower decimals"
        )
    if isinstance(column, Float) and column.decimals is None:
        yield Note(
            "advice", f"{where}.decimals", "is not stated, so values are rounded to 6", "state decimals"
        )
    if isinstance(column, Datetime) and column.timezone is None:
        yield Note(
            "advice",
            f"{where}.timezone",
            "is not stated, so local times are taken as they stand",
            "state a timezone",
        )


def _looks_like_date(number: int) -> bool:
    if not 19000101 <= number <= 21001231:
        return False
    try:
        dt.date(number // 10_000, number // 100 % 100, number % 100)
    except ValueError:
        return False
    return True


def _categorical_notes(column: Categorical, where: str) -> Iterator[Note]:
    if column.open_set and not column.public_values:
        yield Note(
            "advice",
            where,
            "is an open set with no public values, so all of them will be bought from the budget",
            "list those that are public under public_values",
        )
    if column.ordered and column.values is None:
        yield Note("warning", f"{where}.ordered", "needs values to be in order of", "list values in order")
    codec = codec_for(column)
    if codec is not None and codec.size > MANY_VALUES:
        yield Note(
            "advice", where, f"has {codec.size - 1:,} values: rare ones will drown in noise", "group them"
        )


def _id_notes(column: Id, where: str) -> Iterator[Note]:
    capacity = column.capacity()
    if column.unique and capacity is not None and capacity < SMALL_KEY_SPACE:
        yield Note(
            "advice",
            where,
            f"has only {capacity:,} keys: no more rows than that can be made",
            "widen the pattern",
        )

"""`sfumato plan`: what a run would cost and give, before any row is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from sfumato.cli.console import note, say, say_json, table, warn
from sfumato.cli.options import GUARANTEE, METHOD, Json, MethodOptions, Quiet, Rows

if TYPE_CHECKING:
    from sfumato.models.plan import Outcome, Plan


def _numbers(_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    """Numbers between commas."""
    found = []
    for token in tokens:
        for text in token.value.split(","):
            try:
                found.append(float(text))
            except ValueError:
                raise ValueError(f"{text!r} is not a number") from None
    return tuple(found)


def plan(
    *,
    schema: Annotated[Path, Parameter(metavar="FILE", group=METHOD)],
    rows: Rows = None,
    epsilon: Annotated[
        tuple[float, ...],
        Parameter(
            metavar="E,E,…", group=GUARANTEE, converter=_numbers, n_tokens=1, negative="", accepts_keys=False
        ),
    ] = (0.1, 1.0, 10.0),
    quiet: Quiet = False,
    json: Json = False,
    terms: MethodOptions | None = None,
) -> None:
    """Tell what a run would cost and give, from a schema and a number of rows. No table is read.

    For every epsilon: the error to expect, cells of the model, memory, seconds; and the smallest epsilon for
    5 % error. Error is the mean total variation distance over all pairs of columns between a table and as
    many synthetic rows. Predictions are meant to be right within a factor of 2.

    Example: sfumato plan --schema patients.toml --rows 50000 --epsilon 0.5,1,3

    Parameters
    ----------
    schema
        What is public about the table (TOML or JSON).
    rows
        About how many rows the table has. Default: what the schema states as rows_at_most.
    epsilon
        One or more, separated by commas.
    """
    from sfumato.api import plan as make

    keywords = (terms or MethodOptions()).keywords()
    found = make(schema, rows=rows, epsilon=epsilon, **keywords)
    if json:
        say_json(found.state())
        return
    columns = len(found.columns)
    note(
        f"{found.method} on {columns} columns and {found.rows:,} rows: delta {found.delta:.3g}, "
        f"protects {found.unit} ({found.neighbours})",
        quiet=quiet,
    )
    for text in _remarks(found):
        note(f"note: {text}", quiet=quiet)
    header = ("epsilon", "error", "one-way", "three-way", "cells", "memory", "seconds", "")
    say(table([_line(outcome) for outcome in found.outcomes], header=header))
    say(
        "error: mean total variation distance over all pairs of columns; the other two: over columns, triples"
    )
    say(found.verdict)
    for outcome in found.outcomes:
        for text in outcome.warnings:
            warn(f"epsilon {outcome.epsilon:g}: {text}")


def _line(outcome: Outcome) -> tuple[str, ...]:
    error = outcome.error
    return (
        f"{outcome.epsilon:g}",
        *(_percent(each) for each in (error.main, error.one_way, error.three_way)),
        f"{_rounded(outcome.cells):,}",
        f"{_rounded(outcome.expense.memory_mb):,} MB",
        f"{_rounded(outcome.expense.seconds):,}",
        "drowned in noise" if outcome.drowned else "",
    )


def _remarks(found: Plan) -> list[str]:
    """What was assumed, one line for columns of a kind."""
    alike: dict[str, list[str]] = {}
    for column in found.columns:
        if column.note:
            alike.setdefault(column.note, []).append(repr(column.name))
    return [*(f"{', '.join(names)}: {text}" for text, names in alike.items()), *found.notes]


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else f"{share:.2%}"


def _rounded(value: float) -> int:
    """Two digits that count."""
    if value < 10:
        return max(round(value), 1)
    digits = math.floor(math.log10(value)) - 1
    return round(value / 10**digits) * 10**digits

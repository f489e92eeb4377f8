"""Complete a schema and build the domain, asking the curator only for what is not stated.

The questions, in order, and the shares of the whole budget that each may take (what is not needed goes
to the generator):

    types        2 %   one vote a column that the schema does not declare
    bounds       4 %   numbers and dates without min and max
    categories   9 %   columns of text, declared open sets, and texts among numbers
    cells        6 %   numbers and dates with more than 256 possible values

Categories take up to four times as much from a table that is small for its budget: where a value must be that
of more than a tenth of the rows to be shown, by the number of rows that the votes tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

import attrs
import numpy as np
from attrs import frozen

from sfumato.discovery.grids import learn_bounds, learn_grids, with_bounds
from sfumato.discovery.votes import Ballot, Verdict, VoteEncoder, verdict
from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec, codec_for, grid_edges
from sfumato.domain.column import Column, kinds
from sfumato.domain.frozenmap import FrozenMap
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.kinds.date import Date
from sfumato.domain.kinds.datetime import Datetime
from sfumato.domain.kinds.duration import Duration
from sfumato.domain.kinds.integer import Int
from sfumato.domain.kinds.real import Float
from sfumato.domain.measured import Measured
from sfumato.domain.stored import Stored
from sfumato.privacy.curator import Category, Curator
from sfumato.schema import Schema

SHARES = {"types": 0.02, "bounds": 0.04, "categories": 0.09, "cells": 0.06}
CATEGORIES_AT_MOST = 10_000
FREQUENT = 0.1
"""Values of this share of the rows are to be found, …"""
MORE = 4.0
"""… for at most so many times the share of categories, …"""
HOPELESS = 0.5
"""… unless that too shows only those of more than this share of the rows."""
THRESHOLD = 6.0
"""What the threshold of a category is about, in noise scales."""
SPECIAL_TEXTS_AT_MOST = 20
CODES_AT_LEAST = 10
_BALLOTS: dict[str, Ballot] = {"untyped": "text", "string": "text", "float": "float"}


Grid = Callable[[Measured], tuple[int, ...]]
"""Edges of public cells of a number or date, from its facts with bounds."""


@frozen(kw_only=True)
class Domain:
    """A complete schema, a codec for each column that is modelled, and remarks for the user."""

    schema: Schema
    codecs: tuple[Codec, ...]
    notes: tuple[str, ...] = ()


def planned_shares(
    schema: Schema | None,
    stored: Sequence[Stored],
    *,
    cells: bool = True,
    shares: Mapping[str, float] = SHARES,
) -> dict[str, float]:
    """Which questions will be asked, as shares of the budget; from public facts alone.

    Without a declaration any column may turn out to be a number or a category, so those shares are
    planned whenever a column is undeclared; what is not used in the end goes to the generator. `cells`:
    whether cells of wide numbers are learned, which a method with a public grid does not need.
    """
    facts = [] if schema is None else list(schema.columns)
    undeclared = len(facts) < len(stored)
    needed = {
        "types": undeclared,
        "bounds": undeclared or any(_lacks_bounds(column) for column in facts),
        "categories": undeclared or any(_is_open(column) for column in facts),
        "cells": cells and (undeclared or any(_is_wide(column) for column in facts)),
    }
    return {name: shares[name] for name, asked in needed.items() if asked}


def discover(
    curator: Curator,
    schema: Schema,
    stored: Sequence[Stored],
    *,
    decimal: str = ".",
    shares: Mapping[str, float] = SHARES,
    grid: Grid | None = None,
) -> Domain:
    """Ask for what `schema` leaves open about the columns `stored`, in the order of the table above.

    A share of 0 for the cells leaves wide numbers without a codec. `grid` gives the cells of wide numbers
    from public facts, and nothing is asked about them then.
    """
    limit = curator.filter.limit
    notes: list[str] = []
    declared = {column.name: column for column in schema.columns}
    undeclared = [column for column in stored if column.name not in declared]
    mixed: dict[str, float] = {}
    rows = 0.0
    if undeclared:
        curator.ledger.adaptive = True
        found, rows = _vote(curator, undeclared, spend=shares["types"] * limit, decimal=decimal)
        for column, facts, held, remark in found:
            declared[column] = facts
            if held:
                mixed[column] = held
            if remark:
                notes.append(remark)

    unbounded = [facts for facts in declared.values() if _lacks_bounds(facts)]
    if unbounded:
        curator.ledger.adaptive = True
        for facts, (low, high) in zip(
            unbounded, learn_bounds(curator, unbounded, spend=shares["bounds"] * limit), strict=True
        ):
            declared[facts.name] = with_bounds(facts, low, high)

    values, remarks = _categories(curator, declared, mixed, spend=shares["categories"] * limit, rows=rows)
    notes += remarks

    wide = [facts for facts in declared.values() if _is_wide(facts) and shares["cells"] > 0]
    edges: Sequence[tuple[int, ...]] = []
    if wide and grid is None:
        edges = learn_grids(curator, wide, spend=shares["cells"] * limit)
    elif grid is not None:
        edges = [grid(facts) for facts in wide]
    grids = dict(zip([facts.name for facts in wide], edges, strict=True))

    codecs: list[Codec] = []
    for column in stored:
        facts = declared[column.name]
        if not facts.modelled:
            continue
        if isinstance(facts, Measured) and column.name in grids:
            codecs.append(GridCodec(facts, grids[column.name]))
        elif isinstance(facts, Categorical) and column.name in values:
            codecs.append(ValuesCodec(facts, values[column.name], other=True))
        elif isinstance(facts, Categorical) and facts.open_set:
            codecs.append(ValuesCodec(facts, facts.public_values, other=True))
            notes += _likeness(facts, facts.public_values)
        else:
            codec = codec_for(facts)
            if codec is not None:
                codecs.append(codec)
            elif shares["cells"] > 0:
                raise AssertionError(f"no codec for {facts}")
    complete = attrs.evolve(schema, columns=tuple(declared[column.name] for column in stored))
    return Domain(schema=complete, codecs=tuple(codecs), notes=tuple(notes))


def _vote(
    curator: Curator, columns: Sequence[Stored], *, spend: float, decimal: str
) -> tuple[list[tuple[str, Column, float, str]], float]:
    """Name, facts, rows if mixed, and remark of each column; and about how many rows there are."""
    encoders = [
        VoteEncoder(
            column=column.name,
            ballot=_BALLOTS.get(column.storage, "missing"),
            decimal=decimal,
        )
        for column in columns
    ]
    noisy = curator.measure(
        [(encoder,) for encoder in encoders], spend=spend, purpose="types and missing values"
    )
    found = []
    for column, votes in zip(columns, noisy.tables, strict=True):
        says = verdict(votes, noisy.sigma)
        if _BALLOTS.get(column.storage) != "text":
            # Of a typed column nobody votes for formats and texts: those classes hold noise alone.
            says = attrs.evolve(says, format=None, timezone=None, mixed=0.0, date_like=False)
        remark = ""
        kind = says.kind if _BALLOTS.get(column.storage) == "text" else column.storage
        facts = _facts(column, says, kind, decimal)
        if kind == "int" and says.date_like:
            remark = (
                f"{column.name!r} looks like dates written YYYYMMDD; declare "
                f'{{type = "date", format = "%Y%m%d"}} to have it treated so'
            )
        found.append((column.name, facts, says.mixed if kind in ("int", "float") else 0.0, remark))
    return found, float(np.median([votes.sum() for votes in noisy.tables]))


def _facts(column: Stored, says: Verdict, kind: str, decimal: str) -> Column:
    """What the votes say of one column, as facts."""
    name, nullable = column.name, says.nullable
    match kind:
        case "text" | "categorical":
            return Categorical(name, nullable=nullable, source="dp", open_set=True)
        case "float":
            return Float(name, nullable=nullable, source="dp", decimals=says.decimals, decimal=decimal)
        case "date":
            return Date(name, nullable=nullable, source="dp", format=says.format)
        case "datetime":
            zone = column.timezone or says.timezone
            return Datetime(name, nullable=nullable, source="dp", format=says.format, timezone=zone)
        case "duration" if says.format is not None:
            return Duration(name, nullable=nullable, source="dp", format=says.format)
        case _:
            return kinds[kind](name, nullable=nullable, source="dp")


def _categories(
    curator: Curator, declared: dict[str, Column], mixed: Mapping[str, float], *, spend: float, rows: float
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Values of open categories; texts among numbers become special codes of `declared`, in place.

    `mixed`: columns of numbers and texts, with their rows; those of codes become categories of `declared`.
    """
    open_sets = [facts.name for facts in declared.values() if _is_open(facts)]
    names = [*open_sets, *mixed]
    public = [tuple(getattr(declared[name], "public_values", ())) for name in names]
    if names and rows > 0:
        more = _more(float(curator.sigma_for(spend, tables=len(names))), rows)
        spend = max(spend, min(more * spend, curator.left / 2))
    selected = curator.categories(
        names,
        public_values=public,
        spend=spend,
        delta=curator.filter.delta_left,
        purpose="values of categories",
    )
    values: dict[str, tuple[str, ...]] = {}
    notes = []
    for name, category in zip(names, selected, strict=True):
        facts = declared[name]
        if name in mixed and _are_codes(facts, category, mixed[name]):
            facts = Categorical(name, nullable=facts.nullable, source="dp", open_set=True)
            declared[name] = facts
            notes.append(
                f"{name!r}: texts stand among numbers that recur, so all are taken as labels; "
                'declare {type = "float"} to have numbers'
            )
        if isinstance(facts, Categorical):
            found = [text for text in category.texts if text != facts.other_label]
            values[name] = tuple(sorted(found[:CATEGORIES_AT_MOST]))
            notes += _likeness(facts, category.texts)
            if not values[name]:
                notes.append(
                    f"{name!r}: no value is frequent enough to be shown, so every value becomes "
                    f"{facts.other_label!r}; if it holds numbers or dates state its type, such as "
                    'type = "float"; if it identifies people declare {type = "id", format = "sequence"} or '
                    '{type = "text", policy = "drop"}'
                )
        else:
            if not isinstance(facts, Int | Float):
                raise AssertionError(f"{name!r} has no numbers")
            texts = [text for text in category.texts if text and facts.unit_of(text) is None]
            codes = FrozenMap(dict.fromkeys(texts[:SPECIAL_TEXTS_AT_MOST], ""))
            declared[name] = attrs.evolve(facts, special_codes=codes)
    return values, notes


def _likeness(facts: Categorical, texts: Sequence[str]) -> list[str]:
    """What to know of a column with a value that is spelled like the label for all others."""
    ours = facts.other_label
    alike = [text for text in texts if text.casefold() == ours.casefold()]
    if ours in alike:
        return [
            f"{facts.name!r}: {ours!r} is a value of the table, and stands for all values that are not shown "
            "as well; to keep them apart state another other_label in a schema"
        ]
    return [
        f"{facts.name!r}: {text!r} is a value of the table; {ours!r} is not, and stands for all values that "
        "are not shown; state another other_label in a schema if that confuses"
        for text in alike
    ]


def _more(sigma: float, rows: float) -> float:
    """How many times its share the budget of categories is to be; post-processing of the votes."""
    threshold = THRESHOLD * sigma / rows
    if threshold > HOPELESS * MORE**0.5:
        return 1.0
    return min(max((threshold / FREQUENT) ** 2, 1.0), MORE)


def _are_codes(facts: Column, found: Category, rows: float) -> bool:
    """Whether numbers with decimals and texts in one column are labels, such as codes of diseases: most rows
    have one of the frequent values, which are many and mostly without decimals. Post-processing.
    """
    if not isinstance(facts, Float):
        return False
    whole = [text.lstrip("-").isdecimal() for text in found.texts]
    return len(whole) >= CODES_AT_LEAST and sum(whole) > 0.5 * len(whole) and found.counts.sum() > 0.5 * rows


def _is_open(facts: Column) -> bool:
    """Whether values are to be looked for: not where an earlier draft has bought them."""
    drafted = facts.source == "dp" and bool(getattr(facts, "public_values", ()))
    return facts.modelled and bool(getattr(facts, "open_set", False)) and not drafted


def _lacks_bounds(facts: Column) -> TypeGuard[Measured]:
    return isinstance(facts, Measured) and facts.modelled and facts.unit_bounds() is None


def _is_wide(facts: Column) -> TypeGuard[Measured]:
    return (
        isinstance(facts, Measured)
        and facts.modelled
        and facts.unit_bounds() is not None
        and grid_edges(facts) is None
    )

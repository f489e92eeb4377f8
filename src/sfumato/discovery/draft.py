"""Draft a schema file for a table: from its head alone (free), or with facts bought under differential
privacy.

A bought draft carries its price. Whoever fits with it has that price charged first, so that the stated
epsilon covers the draft too. It also names the line of the ledger file where it was charged, if one was, so
that the ledger does not count it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from sfumato.discovery.discover import SHARES, Domain, discover
from sfumato.domain.codecs import ValuesCodec
from sfumato.domain.column import Column
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.stored import Stored
from sfumato.errors import UsageError
from sfumato.privacy.filter import Budget
from sfumato.privacy.ledger import total
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.secure_random import is_secure
from sfumato.privacy.statement import default_delta
from sfumato.privacy.unit import PrivacyUnit
from sfumato.schema import Draft, Schema, draft_public
from sfumato.tables.dialect import CsvDialect


def draft_schema(
    table: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    dialect: CsvDialect | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Schema | Draft, tuple[str, ...]]:
    """A schema for `table`, and remarks.

    Without `epsilon` only public facts are used: column names, and the types of typed sources; what is
    left open shows as a question in the file. With `epsilon`, types, bounds and categories are learned
    under (epsilon, delta)-DP.
    """
    private = PrivateTable.open(table, dialect=dialect)
    stored = private.columns
    if epsilon is None:
        return draft_public([(each.name, _word(each)) for each in stored]), ()
    unit = PrivacyUnit()
    found_delta = default_delta(None) if delta is None else delta
    budget = Budget(epsilon=epsilon, delta=found_delta, thresholds=True)
    if (ledger is None) != (dataset is None):
        raise UsageError("a persistent ledger needs both its file and the name of the data set")
    if not is_secure():
        raise UsageError("a schema file has no place to say that its noise came from a fixed seed")
    private.check_rows()
    paid = {}
    if ledger is not None and dataset is not None:
        from sfumato.privacy.dataset_ledger import DatasetLedger

        paid["run"] = DatasetLedger(ledger).charge(dataset, budget, unit=unit, what="draft schema")
    curator = private.curator(unit=unit, budget=budget, progress=progress)
    charges = curator.ledger
    # The whole budget goes to the three questions whose answers a schema can hold.
    asked = {name: share for name, share in SHARES.items() if name != "cells"}
    shares = {name: share / sum(asked.values()) for name, share in asked.items()}
    domain = discover(
        curator,
        Schema(undeclared="draft"),
        stored,
        decimal=dialect.decimal if dialect else ".",
        shares={**shares, "cells": 0.0},
    )
    price, replace = total(charges, "add-remove"), total(charges, "replace")
    bought = {
        "epsilon": charges.epsilon(found_delta),
        "delta": found_delta,
        "mu2": price.mu2,
        "mu2_replace": replace.mu2,
        "delta_spent": price.delta,
        "delta_spent_replace": replace.delta,
        **paid,
    }
    columns = tuple(_with_values(column, domain) for column in domain.schema.columns)
    return attrs.evolve(domain.schema, columns=columns, bought=bought, undeclared="error"), domain.notes


def _with_values(column: Column, domain: Domain) -> Column:
    """An open category with the values that were found for it."""
    found = [c.values for c in domain.codecs if c.column == column.name and isinstance(c, ValuesCodec)]
    if not (isinstance(column, Categorical) and column.open_set and found):
        return column
    values = tuple(value for value in found[0] if value not in ("", column.other_label))
    return attrs.evolve(column, public_values=values)


def _word(stored: Stored) -> str:
    """How a stored type is called in a draft."""
    if stored.timezone:
        return f"datetime, time_zone={stored.timezone!r}"
    return "text" if stored.storage == "untyped" else stored.storage

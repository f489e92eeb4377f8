"""A guarded table: its name, columns and types are public; its rows can only be reached through a Curator.

Nothing outside `privacy/` and `tables/` imports what reads rows; everybody else holds a PrivateTable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domain.stored import NARROW, Stored
from sfumato.privacy.curator import Curator
from sfumato.privacy.division import Division
from sfumato.privacy.filter import Budget, PrivacyFilter
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.unit import PrivacyUnit
from sfumato.tables.counting import BlockCounter
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.limit import keep_at_most
from sfumato.tables.source import open_source

if TYPE_CHECKING:
    import polars as pl

    from sfumato.schema import Schema


class PrivateTable:
    """An opened table. Made by `PrivateTable.open`."""

    def __init__(self, source: Any) -> None:
        self.label: str = source.label
        self.columns: tuple[Stored, ...] = tuple(
            Stored(
                name=each.name,
                storage=_storage(source, each.storage),
                timezone=getattr(each.dtype, "time_zone", None),
                dtype=str(each.dtype) if str(each.dtype) in NARROW else "",
            )
            for each in source.columns
        )
        self.notes: tuple[str, ...] = source.notes
        self.restore: Callable[[pl.DataFrame], Any] = source.restore
        self._untyped = source.kind == "csv"
        self._dtypes = {each.name: each.dtype for each in source.columns}
        self.__source = source

    @classmethod
    def open(
        cls, table: Any, *, dialect: CsvDialect | None = None, allow_empty: bool = False
    ) -> PrivateTable:
        """Look at the head of `table`; InputError if it is not a table that can be used."""
        return cls(open_source(table, dialect=dialect, allow_empty=allow_empty))

    def check_types(self, schema: Schema) -> None:
        """SchemaError when a declared type cannot be read from the stored one."""
        if not self._untyped:
            schema.check_storage(self._dtypes)

    def as_stored(self, schema: Schema) -> Schema:
        """`schema` with every column of a typed table told how it is stored, so that values leave so."""
        if self._untyped:
            return schema
        columns = [
            column.stored_as(self._dtypes[column.name]) if column.name in self._dtypes else column
            for column in schema.columns
        ]
        return attrs.evolve(schema, columns=tuple(columns))

    def check_rows(self) -> None:
        """InputError for rows that cannot be read: ragged, undecodable, damaged.

        One pass, before anything is charged, so that no charge is lost on a file that is not a table.
        Tables in memory need none.
        """
        check = getattr(self.__source, "check_rows", None)
        if check is not None:
            check()

    def curator(
        self,
        *,
        unit: PrivacyUnit,
        budget: Budget,
        progress: Callable[[str], None] | None = None,
    ) -> Curator:
        """A curator over the rows, cut to `unit.at_most` rows a person, with an empty ledger."""
        source = self.__source
        limiter = None if unit.column is None else keep_at_most(source, unit.column, unit.at_most)

        def divide(shares: Mapping[str, float]) -> dict[str, BlockCounter]:
            division = Division(source, shares, limiter=limiter)
            return {name: BlockCounter(source, limiter=division.part(name)) for name in shares}

        return Curator(
            BlockCounter(source, limiter=limiter),
            unit=unit,
            budget=PrivacyFilter.open(budget, unit.neighbours),
            ledger=Ledger(unit=unit.describe()),
            progress=progress,
            divide=divide,
        )

    def __reduce__(self) -> str:
        raise TypeError("a guarded table holds private rows and cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"PrivateTable({self.label!r}, {len(self.columns)} columns)"


def _storage(source: Any, word: str) -> str:
    """A file of text has no types: its columns are told apart from typed columns that hold text."""
    return "untyped" if source.kind == "csv" else word

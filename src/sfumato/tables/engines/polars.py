"""polars frames. A lazy frame is collected once, so that every pass sees the same rows in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import polars as pl
from attrs import define, frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.frames import READ_FAILURES, flat_columns, frame_blocks
from sfumato.tables.restore import cast_like, without_labels
from sfumato.tables.source import SourceColumn, engines


@define(slots=False, eq=False, repr=False)
class PolarsSource:
    """A polars DataFrame or LazyFrame."""

    _table: pl.DataFrame | pl.LazyFrame
    _schema: pl.Schema
    label: str
    columns: tuple[SourceColumn, ...]
    notes: tuple[str, ...]

    kind = "polars"

    @cached_property
    def _rows(self) -> pl.DataFrame:
        if isinstance(self._table, pl.DataFrame):
            return self._table
        try:
            return self._table.collect(engine="streaming")
        except READ_FAILURES:
            raise InputError(f"{self.label}: the lazy frame cannot be computed") from None

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`."""
        return frame_blocks(self._rows, columns)

    @property
    def restore(self) -> PolarsRestore:
        return PolarsRestore(without_labels(self._schema), isinstance(self._table, pl.LazyFrame))


@frozen
class PolarsRestore:
    """Gives a frame, lazy when the source is, in the source's column types."""

    _schema: dict[str, pl.DataType]
    _lazy: bool

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
        typed = cast_like(frame, self._schema)
        return typed.lazy() if self._lazy else typed


class PolarsEngine:
    """Opens polars frames."""

    def claims(self, table: object) -> bool:
        return isinstance(table, pl.DataFrame | pl.LazyFrame)

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> PolarsSource:
        label = label or "data frame"
        try:
            schema = table.collect_schema()
        except READ_FAILURES:
            raise InputError(f"{label}: the lazy frame cannot be computed") from None
        columns, notes = flat_columns(schema, label, mend="rename the columns of the frame")
        source = PolarsSource(table, schema, label, columns, notes)
        if not allow_empty and not source._rows.height:
            raise InputError(f"{label} has no rows")
        return source


engines.register("polars")(PolarsEngine())

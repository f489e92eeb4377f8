"""pyarrow tables and record batches (pyarrow is touched only when the caller hands one in)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from attrs import define, frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.frames import READ_FAILURES, flat_columns, frame_blocks, refuse_nested
from sfumato.tables.names import check_names
from sfumato.tables.restore import ANYTHING, series_like, without_labels
from sfumato.tables.source import SourceColumn, engines, zone_name

if TYPE_CHECKING:
    import pyarrow as pa

_MEND = "rename the columns of the table"


@define(slots=False, eq=False, repr=False)
class ArrowSource:
    """An Arrow table or record batch."""

    _table: pa.Table | pa.RecordBatch
    _rows: pl.DataFrame
    label: str
    columns: tuple[SourceColumn, ...]
    notes: tuple[str, ...]

    kind = "arrow"

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`."""
        return frame_blocks(self._rows, columns)

    @property
    def restore(self) -> ArrowRestore:
        import pyarrow as pa

        kinds = {field.name: field.type for field in self._table.schema}
        return ArrowRestore(without_labels(self._rows.schema), kinds, isinstance(self._table, pa.RecordBatch))


@frozen
class ArrowRestore:
    """Gives a table (or record batch) whose fields have the source's types where those hold the values."""

    _schema: dict[str, pl.DataType]
    _kinds: dict[str, Any]
    _batch: bool

    def __call__(self, frame: pl.DataFrame) -> pa.Table | pa.RecordBatch:
        import pyarrow as pa

        arrays = {}
        for name in frame.columns:
            series = frame.get_column(name)
            known = name in self._kinds
            arrays[name] = (
                _typed(series, self._schema[name], self._kinds[name]) if known else series.to_arrow()
            )
        if self._batch:
            return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
        return pa.table(arrays)


def _typed(series: pl.Series, dtype: pl.DataType, kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        array = series.cast(pl.String).to_arrow().dictionary_encode()
    else:
        array = series_like(series, dtype).to_arrow()
    try:
        return array.cast(kind)
    except ANYTHING:  # whatever a type refuses: the rows are paid for
        return array


class ArrowEngine:
    """Opens pyarrow tables."""

    def claims(self, table: object) -> bool:
        pa = sys.modules.get("pyarrow")
        return pa is not None and isinstance(table, pa.Table | pa.RecordBatch)

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> ArrowSource:
        label = label or "Arrow table"
        check_names(table.schema.names, label, mend=_MEND)
        import pyarrow as pa

        refuse_nested(
            {f.name: str(f.type) for f in table.schema if pa.types.is_nested(f.type) or _binary(f.type)},
            label,
        )
        try:
            readable = [field.with_type(readable_type(field.type)) for field in table.schema]
            rows = pl.from_arrow(table.cast(pa.schema(readable)))
        except READ_FAILURES:
            raise InputError(f"{label}: a column has a type that cannot be read") from None
        assert isinstance(rows, pl.DataFrame)
        columns, notes = flat_columns(rows.schema, label, mend=_MEND)
        if not allow_empty and not rows.height:
            raise InputError(f"{label} has no rows")
        return ArrowSource(table, rows, label, columns, notes)


def readable_type(kind: Any) -> Any:
    """The type as which polars reads a column: instants of a zone without a name are read in UTC."""
    import pyarrow as pa

    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.timestamp(kind.unit, zone_name(kind.tz)) if zoned else kind


def _binary(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


engines.register("arrow")(ArrowEngine())

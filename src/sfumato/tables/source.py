"""What a table is to sfumato: named columns of a known type, and rows that come in blocks.

A source knows its columns from the header or the type of its container, never from the rows, and can be
read any number of times; every pass gives the same rows in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from attrs import field, frozen

from sfumato.errors import InputError
from sfumato.registry import Registry
from sfumato.tables.dialect import CsvDialect

if TYPE_CHECKING:
    import polars as pl


@frozen
class SourceColumn:
    """One column: its name, the polars type of its blocks, and what its container calls it.

    `storage` is one of string, int, float, bool, date, datetime, duration, categorical. Labels of a
    categorical column come as String blocks: which labels the container lists is not a public fact.
    """

    name: str
    dtype: pl.DataType
    storage: str = field(kw_only=True)


class Source(Protocol):
    """A table that can be read again and again, block by block."""

    @property
    def kind(self) -> str: ...

    @property
    def label(self) -> str:
        """What messages call it: the file name, or "data frame"."""
        ...

    @property
    def columns(self) -> tuple[SourceColumn, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the curator about names and types; nothing about rows."""
        ...

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """All rows in order, in blocks of bounded memory; `columns` (at least one) picks and orders.

        Raises InputError when the rows cannot be read or changed since the source was opened.
        """
        ...

    @property
    def restore(self) -> Callable[[pl.DataFrame], Any]:
        """Turns a frame of synthetic rows into the caller's own kind of table, in its column types.

        A column whose values its type cannot hold keeps a type that can. Files give back the frame.
        The function knows column types only: no row can be reached from it, so a model may keep it.
        """
        ...


class TableEngine(Protocol):
    """One kind of table: says whether an object is of its kind, and opens it."""

    def claims(self, table: object) -> bool: ...

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> Source: ...


engines: Registry[TableEngine] = Registry("table engine", "sfumato.tables.engines")


def open_source(
    table: object, *, dialect: CsvDialect | None = None, label: str | None = None, allow_empty: bool = False
) -> Source:
    """Open a file path, a data frame, an Arrow table or a dict of arrays as a table.

    dialect: spelling of a delimited text file. label: what messages call the table.
    allow_empty: let a table without rows through.

    Raises InputError (HeaderError for names) when it is not a table that can be used.
    """
    if hasattr(type(table), "blocks") and hasattr(type(table), "restore"):
        return cast(Source, table)
    for name in engines:
        if engines[name].claims(table):
            opened = engines[name]
            return opened.open(table, dialect=dialect or CsvDialect(), label=label, allow_empty=allow_empty)
    raise InputError(
        f"an object of type {type(table).__name__} is not a table sfumato can read",
        mend="give a path to a CSV or Parquet file, a pandas, polars or Arrow table, or a dict of arrays",
    )


def storage_word(dtype: pl.DataType) -> str | None:
    """The storage of a polars type in one word; None for types that hold more than one value a cell."""
    import polars as pl

    if isinstance(dtype, pl.Categorical | pl.Enum):
        return "categorical"
    if isinstance(dtype, pl.Decimal):
        return "float" if dtype.scale else "int"
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    words = {pl.Boolean: "bool", pl.Date: "date", pl.Datetime: "datetime", pl.Duration: "duration"}
    for kind, word in words.items():
        if dtype == kind:
            return word
    return "string" if dtype in (pl.String, pl.Time, pl.Null) else None


def block_dtype(dtype: pl.DataType) -> pl.DataType:
    """The type in which a column of type `dtype` comes in blocks.

    Labels, and numbers that fit neither int64 nor float64, come as text, which is exact.
    """
    import polars as pl

    texts = (pl.Categorical, pl.Enum, pl.Decimal, pl.Int128, pl.UInt128, pl.Time, pl.Null)
    if isinstance(dtype, texts):
        return pl.String()
    return pl.Float32() if dtype == pl.Float16 else dtype


def zone_name(zone: object) -> str:
    """The name of a time zone in blocks: UTC for a fixed offset, or whatever else has no name for polars."""
    import polars as pl

    name = str(zone)
    try:
        pl.Series([0], dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(name)
    except pl.exceptions.PolarsError:
        return "UTC"
    return name

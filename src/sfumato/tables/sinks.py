"""Synthetic rows out: CSV, TSV or Parquet, streamed, in one file that appears whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import io
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl
from polars.io.plugins import register_io_source

from sfumato.errors import OutputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.output import atomic_file, check_output, table_suffix

_FORMULA = r"^[=+\-@\t\r]"
_PLAIN_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
_ROW_GROUP = 1 << 18


def write_table(
    frames: Iterable[pl.DataFrame],
    path: str | os.PathLike[str],
    *,
    dialect: CsvDialect | None = None,
    csv_safe: bool = False,
    force: bool = False,
) -> Path:
    """Write frames of one schema (at least one, which may be empty) as one file; the kind by its extension.

    dialect: spelling of delimited text; column names are written byte for byte, missing values as empty
    fields. csv_safe: put a ' before texts that a spreadsheet would run as a formula (numbers excepted).
    force: replace an existing file.

    Raises OutputError when it cannot be written; then, and on any other exception, no file is left.
    """
    suffix = table_suffix(path)
    target = check_output(path, force=force)
    with atomic_file(target, force=force) as stream:
        rows = iter(frames)
        first = next(rows, None)
        if first is None:
            raise ValueError("no frame was given to write")
        everything = _alike(first, rows)
        if suffix in (".parquet", ".pq"):
            _write_parquet(everything, first.schema, stream)
        else:
            dialect = dialect or CsvDialect()
            with _packed(stream, packed=suffix.endswith(".gz")) as out:
                _write_csv(everything, out, dialect, dialect.delimiter_for(target.name), csv_safe=csv_safe)
    return target


def _alike(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    for frame in rest:
        if frame.schema != first.schema:
            raise ValueError("the frames to write have different columns")
        yield frame


def _write_parquet(frames: Iterator[pl.DataFrame], schema: pl.Schema, stream: BinaryIO) -> None:
    failure: list[BaseException] = []

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except BaseException as error:
            failure.append(error)
            raise

    try:
        register_io_source(read, schema=schema, validate_schema=True).sink_parquet(
            stream, compression="lz4", row_group_size=_ROW_GROUP, statistics=False, engine="streaming"
        )
    except BaseException as error:
        if failure:
            raise failure[0] from None
        if isinstance(error, pl.exceptions.PolarsError):
            raise OutputError("the Parquet file cannot be written") from None
        raise


@contextmanager
def _packed(stream: BinaryIO, *, packed: bool) -> Generator[BinaryIO, None, None]:
    if not packed:
        yield stream
        return
    with gzip.GzipFile(filename="", fileobj=stream, mode="wb", compresslevel=6, mtime=0) as out:
        yield cast(BinaryIO, out)


def _write_csv(
    frames: Iterator[pl.DataFrame], stream: BinaryIO, dialect: CsvDialect, delimiter: str, *, csv_safe: bool
) -> None:
    encode = _encoder(dialect.encoding)
    header = True
    for frame in frames:
        spelled = _spelled(frame, csv_safe=csv_safe)
        if dialect.quote is None:
            _check_unquoted(spelled, delimiter)
        text = io.BytesIO()
        spelled.write_csv(
            text,
            include_header=header,
            separator=delimiter,
            quote_char=dialect.quote or '"',
            quote_style="never" if dialect.quote is None else "necessary",
            decimal_comma=dialect.decimal == ",",
        )
        header = False
        stream.write(encode(text.getbuffer()))
    stream.write(encode(b"", final=True))


def _spelled(frame: pl.DataFrame, *, csv_safe: bool) -> pl.DataFrame:
    """The frame with what CSV cannot spell turned into text."""
    changed = []
    for name, dtype in frame.schema.items():
        column = pl.col(name)
        text = dtype == pl.String
        if dtype in (pl.Categorical, pl.Enum):
            column, text = column.cast(pl.String), True
        elif dtype == pl.Duration:
            column = column.dt.to_string("iso")
        if text and csv_safe:
            risky = column.str.contains(_FORMULA) & ~column.str.contains(_PLAIN_NUMBER)
            column = pl.when(risky).then(pl.lit("'") + column).otherwise(column)
        if frame.width == 1:  # a blank line could be taken for no row
            column = (column if text else column.cast(pl.String)).fill_null("")
        changed.append(column.alias(name))
    return frame.with_columns(changed)


def _check_unquoted(frame: pl.DataFrame, delimiter: str) -> None:
    for name, dtype in frame.schema.items():
        texts = (
            pl.concat([pl.Series([name]), frame.get_column(name).rename("")])
            if dtype == pl.String
            else pl.Series([name])
        )
        if texts.str.contains(f"[\\r\\n\\x{{{ord(delimiter):x}}}]").any():
            raise OutputError(
                f"column {name!r} holds delimiters or line breaks, which cannot be written without quotes",
                mend="write with quotes, or with another delimiter",
            )


def _encoder(encoding: str) -> Callable[..., bytes | memoryview]:
    if codecs.lookup(encoding).name == "utf-8":
        return lambda text, *, final=False: text
    encoder = codecs.getincrementalencoder(encoding)("strict")

    def encode(text: memoryview | bytes, *, final: bool = False) -> bytes:
        try:
            return encoder.encode(bytes(text).decode("utf-8"), final=final)
        except UnicodeEncodeError:
            raise OutputError(
                f"a character of the table does not exist in {encoding}", mend="write it as utf-8"
            ) from None

    return encode

"""Parquet files: flat columns, read slice by slice.

Column types come from the schema in the footer. Statistics and dictionary pages are not looked at: they
are facts about rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl
from attrs import frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.files import PARQUET_SUFFIXES, InputFile, input_file
from sfumato.tables.frames import READ_FAILURES, as_blocks, block_rows, flat_columns
from sfumato.tables.restore import unchanged
from sfumato.tables.source import SourceColumn, engines

# A block may be larger than one of a frame in memory: each one costs a look at the footer.
_CELLS = 1 << 23


@frozen
class ParquetSource:
    """A Parquet file."""

    file: InputFile
    columns: tuple[SourceColumn, ...]
    notes: tuple[str, ...] = ()

    kind = "parquet"

    @property
    def label(self) -> str:
        return self.file.label

    @property
    def restore(self) -> Callable[[pl.DataFrame], pl.DataFrame]:
        return unchanged

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`; only the pages a block needs are unpacked, however large the row groups."""
        wanted = list(columns if columns is not None else (column.name for column in self.columns))
        self.file.check()
        with _reading(self.file):
            rows = _scan(self.file).select(pl.col(name) for name in wanted)
            height = rows.select(pl.len()).collect().item()
            step = block_rows(len(wanted), cells=_CELLS)
            for start in range(0, height, step):
                yield as_blocks(rows.slice(start, step).collect())
        self.file.check()

    def check_rows(self) -> None:
        """Unpack every page once, so that damage shows before anything is charged."""
        self.file.check()
        with _reading(self.file):
            _scan(self.file).select(pl.all().null_count()).collect(engine="streaming")
        self.file.check()


def _scan(file: InputFile) -> pl.LazyFrame:
    return pl.scan_parquet(file.path, use_statistics=False, glob=False, hive_partitioning=False, cache=False)


@contextmanager
def _reading(file: InputFile) -> Generator[None, None, None]:
    """Turn the reader's failures, which may quote internals, into InputError."""
    try:
        yield
    except READ_FAILURES:
        raise InputError(
            f"{file.label} cannot be read: its Parquet data are damaged, encrypted or of an unknown kind",
            mend="write the file again",
        ) from None


class ParquetEngine:
    """Opens .parquet files."""

    def claims(self, table: object) -> bool:
        return isinstance(table, str | os.PathLike) and os.fspath(table).lower().endswith(PARQUET_SUFFIXES)

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> ParquetSource:
        """Read the footer; raises InputError or HeaderError."""
        file = input_file(table, label)
        head, tail = _ends(file)
        if b"PARE" in (head, tail):
            raise InputError(f"{file.label} is encrypted", mend="save it without encryption, in a safe place")
        if head != b"PAR1":
            raise InputError(f"{file.label} is not a Parquet file, though its name says so")
        if tail != b"PAR1" or file.size < 12:
            raise InputError(
                f"{file.label} is cut short: its Parquet footer is missing", mend="copy it again"
            )
        try:
            schema = dict(_scan(file).collect_schema())
        except pl.exceptions.DuplicateError:
            raise InputError(f"{file.label}: two columns have the same name", mend="rename one") from None
        except READ_FAILURES:
            raise InputError(f"{file.label} cannot be read: its Parquet footer is damaged") from None
        columns, notes = flat_columns(schema, file.label, mend="rename the columns when writing the file")
        source = ParquetSource(file, columns, notes)
        if not allow_empty:
            with _reading(file):
                empty = not _scan(file).select(pl.len()).collect().item()
            if empty:
                raise InputError(f"{file.label} has no rows")
        return source


def _ends(file: InputFile) -> tuple[bytes, bytes]:
    with file.open() as stream:
        head = stream.read(4)
        stream.seek(max(file.size - 4, 0))
        return head, stream.read(4)


engines.register("parquet")(ParquetEngine())

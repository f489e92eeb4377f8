"""Delimited text files: read strictly, all cells as text, in blocks of whole records.

Nothing is inferred from rows: every column is String; only the empty field and the texts the dialect
names are missing. Array operations find the records and check them; polars takes the cells apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from attrs import field, frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.encoding import byte_order_mark, check_utf8, utf8_blocks
from sfumato.tables.files import PARQUET_SUFFIXES, InputFile, foreign_kind, input_file, magic_kind
from sfumato.tables.names import check_names, looks_like_data, same_but_for_case
from sfumato.tables.records import Marks, Records, cut, find_records, split_record, strip_blanks
from sfumato.tables.restore import unchanged
from sfumato.tables.source import SourceColumn, engines

LONGEST_RECORD = 128 << 20
_RENAME = "give other names with --names"
_USUAL = {";": "';'", "\t": "tab", "|": "'|'", ",": "','"}
"""Marks between fields that a file may have, and how --delimiter spells them."""


@frozen
class _Block:
    """Whole records: their UTF-8 bytes, what was found about them, the number of their first line."""

    buffer: bytes
    records: Records
    line: int


@frozen
class CsvSource:
    """A delimited text file; `chunk` is how many bytes are read at a time."""

    file: InputFile
    dialect: CsvDialect
    marks: Marks
    gzipped: bool
    names: tuple[str, ...]
    has_header: bool
    allow_empty: bool
    notes: tuple[str, ...] = ()
    chunk: int = field(default=16 << 20, kw_only=True)

    kind = "csv"

    @property
    def label(self) -> str:
        return self.file.label

    @property
    def columns(self) -> tuple[SourceColumn, ...]:
        return tuple(SourceColumn(name, pl.String(), storage="string") for name in self.names)

    @property
    def restore(self) -> Callable[[pl.DataFrame], pl.DataFrame]:
        return unchanged

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`: one block for about `chunk` bytes of text."""
        wanted = list(self.names if columns is None else columns)
        places = [self.names.index(name) for name in wanted]
        for block, good in self._good_rows():
            text = cut(block.buffer, block.records, ~good)
            frame = self._parse(text, places, int(np.count_nonzero(good)), quoted=block.records.quoted)
            frame.columns = wanted
            yield frame

    def check_rows(self) -> None:
        """Raise the InputError that `blocks` would, without taking the rows apart."""
        for _ in self._good_rows():
            pass

    def _good_rows(self) -> Iterator[tuple[_Block, np.ndarray]]:
        """Blocks of records, each with the mask of those that are rows of the table (one at least)."""
        self.file.check()
        header_ahead, rows = self.has_header, 0
        for block in _record_blocks(
            self.file, self.dialect, self.marks, gzipped=self.gzipped, chunk=self.chunk
        ):
            fields = block.records.fields
            skip = fields == 0 if len(self.names) > 1 else np.zeros(fields.size, bool)
            if header_ahead:
                present = np.flatnonzero(fields)
                header_ahead = not present.size
                skip[: present[0] + 1 if present.size else None] = True
            good = ~skip & ((fields == len(self.names)) | (fields == 0))
            if self.dialect.bad_rows == "error" and not (good | skip).all():
                raise self._ragged(block, np.flatnonzero(~skip))
            if good.any():
                rows += int(np.count_nonzero(good))
                yield block, good
        self.file.check()
        if not rows and not self.allow_empty:
            raise InputError(f"{self.label} has a header but no usable rows")

    def _ragged(self, block: _Block, rows: np.ndarray) -> InputError:
        fields = block.records.fields[rows]
        first = int(np.argmax((fields != len(self.names)) & (fields > 0)))
        line = block.line + block.buffer.count(b"\n", 0, int(block.records.starts[rows[first]]))
        everywhere = fields.size > 1 and bool((fields == fields[first]).all())
        counts = f"{_count(int(fields[first]))} where the header has {_count(len(self.names))}"
        return InputError(
            f"{self.label}, line {line}: {counts}",
            mend="every row read so far is like that: does the header lack a name, say of an index column?"
            if everywhere
            else "mend the row, or leave such rows out: --bad-rows drop",
        )

    def _parse(self, text: bytes, places: list[int], height: int, *, quoted: bool) -> pl.DataFrame:
        try:
            frame = pl.read_csv(
                text,
                has_header=False,
                schema={f"column_{i}": pl.String for i in range(1, len(self.names) + 1)},
                columns=places,
                separator=chr(self.marks.delimiter),
                quote_char=self.dialect.quote,
                null_values=list(self.dialect.null) or None,
                raise_if_empty=False,
            )
        except pl.exceptions.PolarsError:  # its message may quote the text
            raise RuntimeError("the parser refuses what the record scan accepted") from None
        if frame.height != height:
            raise RuntimeError("the record scan and the parser count different rows")
        if quoted and self.dialect.quote is not None and self.dialect.quote.encode() * 2 in text:
            # An empty quoted field is missing too, and so may be a text with trimmed blanks.
            frame = frame.with_columns(pl.when(pl.all() != "").then(pl.all()))
        return frame.select(f"column_{place + 1}" for place in places)


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"


def _record_blocks(
    file: InputFile, dialect: CsvDialect, marks: Marks, *, gzipped: bool, chunk: int
) -> Iterator[_Block]:
    """The whole file in blocks of whole records."""
    with file.open(gzipped=gzipped) as stream:
        encoding, skipped = byte_order_mark(stream.read(4), dialect.encoding, file.label)
        stream.seek(skipped)
        rest, line = b"", 1
        pieces: list[bytes] = []
        for raw, final in _with_last(utf8_blocks(stream, encoding, file.label, chunk)):
            pieces.append(raw)
            if not final and sum(map(len, pieces)) < len(rest):
                continue  # a long record: look again only when there is as much new text as old
            buffer = rest + b"".join(pieces)
            pieces = []
            if final and not buffer.endswith(b"\n"):
                buffer += b"\n"
            held = b""
            if dialect.trim:
                body = buffer.rstrip(b" \t")  # whether blanks at the cut end a field is not known yet
                held = buffer[len(body) :]
                buffer = strip_blanks(body, marks)
            records = find_records(buffer, marks, label=file.label, first_line=line, final=final)
            if records.stop:
                check_utf8(buffer[: records.stop], encoding, file.label, line)
                yield _Block(buffer, records, line)
            rest = buffer[records.stop :] + held
            line += records.lines
            if len(rest) > LONGEST_RECORD:
                raise InputError(
                    f"{file.label}, line {line}: a row is longer than {LONGEST_RECORD >> 20} MiB",
                    mend="is a quote left open? if quotes have no meaning in this file: --quote none",
                )


def _with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each block, and whether it is the last."""
    held = b""
    for block in blocks:
        if held:
            yield held, False
        held = block
    if held:
        yield held, True


class CsvEngine:
    """Opens delimited text files: .csv, .tsv, .txt, … also with .gz."""

    def claims(self, table: object) -> bool:
        return isinstance(table, str | os.PathLike) and not os.fspath(table).lower().endswith(
            PARQUET_SUFFIXES
        )

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> CsvSource:
        """Read the header (and look for a first row); raises InputError or HeaderError."""
        file = input_file(table, label)
        if what := foreign_kind(file.path):
            raise InputError(f"{file.label} is {what}, not delimited text or Parquet")
        gzipped = file.path.suffix.lower() == ".gz"
        what = magic_kind(file.head())
        if gzipped != (what == "gzip"):
            raise InputError(
                f"{file.label} is not gzip data" if gzipped else f"{file.label} holds gzip data",
                mend="the name of a compressed file ends in .gz, that of a plain one does not",
            )
        if what and not gzipped:
            raise InputError(f"{file.label} holds {what}, not delimited text")
        marks = Marks.of(dialect.delimiter_for(file.path.name), dialect.quote)
        header, second = _first_records(file, dialect, marks, gzipped=gzipped)
        if header is None:
            raise InputError(f"{file.label} has no header and no rows")
        names = _names(header, dialect, marks, file.label, tsv=dialect.delimiter_for(file.path.name) == "\t")
        has_header = dialect.header != "no"
        if not allow_empty and has_header and not second:
            raise InputError(f"{file.label} has a header but no rows")
        notes = tuple(same_but_for_case(names))
        return CsvSource(file, dialect, marks, gzipped, names, has_header, allow_empty, notes)


def _first_records(
    file: InputFile, dialect: CsvDialect, marks: Marks, *, gzipped: bool
) -> tuple[bytes | None, bool]:
    """The first record that is not blank, and whether any other record follows."""
    first: bytes | None = None
    alone = False
    for block in _record_blocks(file, dialect, marks, gzipped=gzipped, chunk=1 << 18):
        records = block.records
        # In a file of one column a blank line is a row, but not before the header.
        for index in range(len(records.starts)):
            start, end = int(records.starts[index]), int(records.ends[index])
            if first is not None:
                if records.fields[index] or alone:
                    return first, True
            elif records.fields[index]:
                first, alone = block.buffer[start:end], records.fields[index] == 1
    return first, False


def _check_delimiter(header: bytes, marks: Marks, label: str) -> None:
    """InputError when the names of a single column are several names with another delimiter."""
    counts = {
        word: len(split_record(header, Marks(ord(mark), marks.quote)))
        for mark, word in _USUAL.items()
        if ord(mark) != marks.delimiter
    }
    word = max(counts, key=lambda each: counts[each])
    if counts[word] > 1:
        raise InputError(
            f"{label}: the header has one name with the delimiter {chr(marks.delimiter)!r}, and "
            f"{counts[word]} with {word}",
            mend=f"if that separates the fields: --delimiter {word}; if there is one column: --header",
        )


def _names(header: bytes, dialect: CsvDialect, marks: Marks, label: str, *, tsv: bool) -> tuple[str, ...]:
    first = split_record(header, marks)
    if len(first) == 1 and dialect.delimiter is None:
        for mark, word in _USUAL.items():
            if mark in first[0] and mark != chr(marks.delimiter):
                expected = "tab" if tsv else repr(chr(marks.delimiter))
                raise InputError(
                    f"{label}: the first line has no {expected} but a {word}",
                    mend=f"if that separates the fields: --delimiter {word}",
                )
    if dialect.header == "auto" and looks_like_data(first):
        raise InputError(
            f"{label}: the first row looks like data, not like column names",
            mend="say --no-header and give --names, or --header if these are the names",
        )
    if len(first) == 1 and dialect.header == "auto" and dialect.names is None:
        _check_delimiter(header, marks, label)
    if dialect.names is not None and len(dialect.names) != len(first):
        raise InputError(
            f"{label}: {len(dialect.names)} names are given, but the first row has {_count(len(first))}"
        )
    if dialect.names is not None:
        names = dialect.names
    elif dialect.header == "no":
        names = tuple(f"column_{i}" for i in range(1, len(first) + 1))
    else:
        names = tuple(first)
    return check_names(names, label, mend=_RENAME)


engines.register("csv")(CsvEngine())

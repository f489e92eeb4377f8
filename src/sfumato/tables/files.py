"""Input files: regular, readable, of the kind their name says, and the same in every pass."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from attrs import frozen

from sfumato.errors import InputError

PARQUET_SUFFIXES = (".parquet", ".parq", ".pq")
_FOREIGN_SUFFIXES = {
    ".xlsx": "a spreadsheet", ".xls": "a spreadsheet", ".ods": "a spreadsheet", ".json": "JSON",
    ".jsonl": "JSON", ".ndjson": "JSON", ".feather": "an Arrow file", ".arrow": "an Arrow file",
    ".ipc": "an Arrow file", ".avro": "Avro", ".orc": "ORC", ".zip": "an archive", ".tar": "an archive",
    ".pkl": "a pickle", ".pickle": "a pickle", ".dta": "a Stata file", ".sav": "an SPSS file",
    ".sas7bdat": "a SAS file", ".rds": "an R file", ".rda": "an R file", ".sqlite": "a database",
    ".db": "a database", ".duckdb": "a database", ".npz": "an archive", ".npy": "an array file",
}  # fmt: skip
_MAGIC = {
    b"PAR1": "Parquet", b"PARE": "encrypted Parquet", b"\x1f\x8b": "gzip", b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "a zip archive or spreadsheet", b"\xfd7zXZ": "xz",
    b"ARROW1": "an Arrow file", b"SQLite format 3": "a database", b"\xd0\xcf\x11\xe0": "a spreadsheet",
    b"%PDF": "PDF",
}  # fmt: skip


@frozen
class InputFile:
    """A regular file as it was when it was opened first."""

    path: Path
    label: str
    size: int
    modified: int
    inode: tuple[int, int]

    def check(self) -> None:
        """Raise InputError when the file is not the one that was opened first."""
        try:
            now = _stamp(self.path)
        except OSError:
            raise InputError(f"{self.label} cannot be read any more") from None
        if now != (self.size, self.modified, self.inode):
            raise InputError(
                f"{self.label} changed while it was being read", mend="run again when the file is complete"
            )

    def head(self, count: int = 16) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(count)

    @contextmanager
    def open(self, *, gzipped: bool = False) -> Generator[BinaryIO, None, None]:
        """The bytes, unpacked when `gzipped`; failures to read become InputError."""
        try:
            with self.path.open("rb") as raw:
                yield cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb")) if gzipped else raw
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(
                f"{self.label} is damaged: its gzip data are incomplete or wrong", mend="copy it again"
            ) from None
        except OSError as error:
            raise InputError(f"{self.label} cannot be read: {error.strerror or 'read error'}") from None


def _stamp(path: Path) -> tuple[int, int, tuple[int, int]]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns, (facts.st_dev, facts.st_ino)


def input_file(table: str | os.PathLike[str], label: str | None) -> InputFile:
    """The regular, readable, non-empty file at a path; InputError says what it is instead."""
    path = Path(table)
    label = label or path.name or str(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a valid path"
        raise InputError(f"{str(path)!r} cannot be read: {why}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{str(path)!r} is a directory", mend="give one CSV or Parquet file")
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{str(path)!r} is not a regular file", mend="the table is read more than once: save it as a file"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{str(path)!r} cannot be read: permission denied")
    size, modified, inode = _stamp(path)
    if not size:
        raise InputError(f"{label} is empty")
    return InputFile(path, label, size, modified, inode)


def foreign_kind(path: Path) -> str | None:
    """What a file is by its extension when it is neither delimited text nor Parquet."""
    return _FOREIGN_SUFFIXES.get(path.suffix.lower())


def magic_kind(head: bytes) -> str | None:
    """What a file is by its first bytes when it is not text."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)

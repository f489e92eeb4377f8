"""Output files appear whole or not at all, and never in place of something that was not meant.

The bytes go to a temporary file in the same directory, are flushed to disk, and take their name in one
step. Symbolic links are never followed and an existing file is replaced only when that was asked for.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import OutputError

TABLE_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")


def table_suffix(path: str | os.PathLike[str]) -> str:
    """The known ending of a table's path; OutputError when it has none."""
    name = Path(path).name.lower()
    for suffix in TABLE_SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return suffix
    raise OutputError(
        f"the kind of the output file {Path(path).name!r} is not known",
        mend=f"end its name in one of {', '.join(TABLE_SUFFIXES)}",
    )


def check_output(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """The path, when a file may be written there; nothing is created.

    Raises OutputError for a missing or read-only directory, a symbolic link, anything but a regular
    file, and an existing file without `force`.
    """
    target = Path(path)
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {str(target)!r}: {_reason(error)}") from None
    if mode is not None:
        if stat.S_ISLNK(mode):
            raise OutputError(f"{str(target)!r} is a symbolic link", mend="give the path of a file")
        if not stat.S_ISREG(mode):
            raise OutputError(f"{str(target)!r} exists and is not a regular file")
        if not force:
            raise OutputError(
                f"{str(target)!r} exists",
                mend="choose another name, or say --force (in Python: force=True) to replace it",
            )
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(f"there is no directory {str(folder)!r}", mend="create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write to the directory {str(folder)!r}: permission denied")
    return target


@contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, force: bool = False, mode: int = 0o666
) -> Generator[BinaryIO, None, None]:
    """A binary file to write to, which becomes `path` when the block ends without an exception.

    `mode` are its permissions, less the umask. Raises OutputError when it cannot be written.
    """
    target = check_output(path, force=force)
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")
    try:
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), mode)
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _take_name(part, check_output(target, force=force), force=force)
        _sync_folder(target.parent)
    except OSError as error:
        raise OutputError(f"cannot write {str(target)!r}: {_reason(error)}") from None
    finally:
        part.unlink(missing_ok=True)


def _take_name(part: Path, target: Path, *, force: bool) -> None:
    if force:
        part.replace(target)
        return
    try:
        os.link(part, target, follow_symlinks=False)  # unlike rename, never replaces
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        part.rename(target)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or "not a valid path").lower()

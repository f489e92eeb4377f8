"""Where files may go: no output in the place of an input, no two outputs in one place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.errors import OutputError


def check_places(*, read: Mapping[str, Path | None], write: Mapping[str, Path | None]) -> None:
    """OutputError when a file to write is one that is read, or is written twice, however it is spelled.

    Keys say what a file is, as messages call it ("the private table", "--output").
    """
    taken = [(what, path) for what, path in read.items() if path is not None]
    for what, path in write.items():
        if path is None:
            continue
        for other, place in taken:
            if _same(path, place):
                raise OutputError(
                    f"{what} {str(path)!r} is the same file as {other}", mend="write to another file"
                )
        taken.append((what, path))


def _same(one: Path, other: Path) -> bool:
    try:
        if one.exists() and other.exists():
            return one.samefile(other)
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError, ValueError):
        return one == other

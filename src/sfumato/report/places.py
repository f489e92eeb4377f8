"""Where an internal page may be written: not beside what is going to be released."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfumato.errors import OutputError

MARK = b'<meta name="sfumato-report" content="publishable">'
PAGES_AT_MOST = 200


def check_not_released(path: str | Path, *, synthetic: object = None, private: Iterable[object] = ()) -> None:
    """OutputError when the folder of `path` is that of a release.

    It is when it holds a model file or a publishable page of ours, or the synthetic table that is
    evaluated, unless the real rows (`private`) lie there too: then it is a folder that nobody publishes.
    """
    folder = Path(path).absolute().parent
    held = _held(folder)
    if held is None and _in(folder, synthetic) and not any(_in(folder, table) for table in private):
        held = "the synthetic rows"
    if held is not None:
        raise OutputError(
            f"the folder of {str(path)!r} holds {held}: an internal report contains private data and must "
            "not be released with it",
            mend="write it to another folder, or say --force (in Python: force=True)",
        )


def _held(folder: Path) -> str | None:
    try:
        names = sorted(folder.iterdir())
    except OSError:
        return None
    for each in names:
        if each.suffix == ".sfumato":
            return f"a model ({each.name})"
    pages = [each for each in names if each.suffix in (".html", ".htm")]
    for each in pages[:PAGES_AT_MOST]:
        try:
            with each.open("rb") as stream:
                if MARK in stream.read(2048):
                    return f"a publishable report ({each.name})"
        except OSError:
            continue
    return None


def _in(folder: Path, table: object) -> bool:
    if not isinstance(table, str | Path):
        return False
    try:
        return Path(table).absolute().parent.resolve() == folder.resolve()
    except (OSError, RuntimeError, ValueError):
        return False

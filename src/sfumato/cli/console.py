"""What the command line prints: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from json import dumps
from typing import Any

from sfumato.visible import visible


def say(text: str) -> None:
    """A line of the result."""
    sys.stdout.write(visible(text) + "\n")


def note(text: str, *, quiet: bool = False) -> None:
    """A line beside the result."""
    if not quiet:
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()


def warn(text: str) -> None:
    """A line that --quiet does not silence."""
    note(f"WARNING: {text}")


def say_error(text: str, *, code: int, json: bool) -> None:
    """The one message of a run that failed: a text, or one JSON object on one line. `code`: its exit code."""
    if json:
        note(dumps({"error": text, "exit_code": code}, ensure_ascii=True))
    else:
        note(f"error: {text}")


def say_json(facts: Any) -> None:
    """One JSON object for machines."""
    sys.stdout.write(dumps(facts, ensure_ascii=True, allow_nan=False) + "\n")


def table(rows: list[tuple[str, ...]], *, header: tuple[str, ...] | None = None) -> str:
    """Plain aligned columns."""
    lines = [header, *rows] if header else rows
    if not lines:
        return ""
    shown = [tuple(visible(cell) for cell in line) for line in lines]
    widths = [max(len(line[i]) for line in shown) for i in range(len(shown[0]))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in shown
    )


class Progress:
    """Steps of a run on a terminal; silent elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()

    def __call__(self, step: str) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[2K  {visible(step)} …")
            sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

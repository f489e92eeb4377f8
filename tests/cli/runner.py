"""Runs the command line in this process, and says what it left behind."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from attrs import frozen

from sfumato.cli import main

CANARY = "XQ7CANARY"
"""A value that is planted in inputs and must not come out in a message."""


@frozen
class Ran:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str

    @property
    def printed(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        """Standard output, which must be exactly one JSON object."""
        assert self.out.count("\n") == 1 and self.out.endswith("\n"), self.out
        return json.loads(self.out, parse_constant=lambda word: pytest_fail(f"{word} in JSON"))


def pytest_fail(text: str) -> Any:
    raise AssertionError(text)


def sfumato(*words: Any) -> Ran:
    """`sfumato WORD…`, as typed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    ran = Ran(code, out.getvalue(), err.getvalue())
    assert "Traceback" not in ran.printed and "a fault in sfumato" not in ran.printed, ran.printed
    return ran


def charged(ledger: Path) -> int:
    """Runs that were charged in a ledger file."""
    if not ledger.exists():
        return 0
    return sum(json.loads(line)["kind"] == "run" for line in ledger.read_text().splitlines())


def left_behind(folder: Path) -> set[str]:
    """Names of all files in `folder`, half-written ones among them."""
    return {path.name for path in folder.iterdir()}

"""`sfumato verify`: check a model file without the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import say, say_json


def verify(model: Path, /, *, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Recompute epsilon from the ledger and rebuild MODEL from its released answers; exit code 3 if
    anything differs.

    Parameters
    ----------
    model
        A model file.
    json
        Print one JSON object.
    """
    from sfumato.api import verify as check

    found = check(model)
    if json:
        say_json(
            {"verified": True, "epsilon": found.epsilon, "delta": found.delta, "checks": list(found.checks)}
        )
        return
    for line in found.checks:
        say(f"ok  {line}")

"""`sfumato verify`: check a model file without the data."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import say, say_json
from sfumato.cli.options import Json, Quiet


def verify(model: Path, /, *, quiet: Quiet = False, json: Json = False) -> None:
    """Check a MODEL file without the data; exit code 3 if anything differs.

    Recomputes epsilon from the ledger of charges and rebuilds the model from its released answers alone:
    what comes out the same cannot depend on the private rows in any other way.

    Example: sfumato verify patients.sfumato

    Parameters
    ----------
    model
        A model file.
    """
    from sfumato.api import verify as check

    found = check(model)
    if json:
        say_json(
            {"verified": True, "epsilon": found.epsilon, "delta": found.delta, "checks": list(found.checks)}
        )
        return
    for line in () if quiet else found.checks:
        say(f"ok  {line}")

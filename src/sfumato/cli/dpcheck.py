"""`sfumato dpcheck`: `assert-dp` against the epsilon that the model itself was asked for."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import say, say_json
from sfumato.cli.options import FromModel, Json, Quiet, ShortModel, model_of


def dpcheck(
    model: Path | None = None,
    /,
    *,
    from_model: FromModel = None,
    short: ShortModel = None,
    epsilon: float | None = None,
    tolerance: float = 0.0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fail (exit code 3) unless a MODEL file verifies and keeps to the epsilon that was asked for.

    The whole budget is checked: types, bounds, margins and training. Needs no data.

    Example: sfumato dpcheck patients.sfumato

    Parameters
    ----------
    model
        A model file.
    epsilon
        A bound on epsilon. Default: what the model was asked for.
    tolerance
        Relative slack: epsilon may be up to the bound times (1 + tolerance).
    """
    from sfumato.api import assert_dp, load_to_check

    fitted = load_to_check(model_of(model, from_model, short, "dpcheck"))
    bound = float(fitted.request["epsilon"]) if epsilon is None else epsilon
    found = assert_dp(fitted, epsilon=bound, tolerance=tolerance)
    if json:
        say_json(
            {"holds": True, "epsilon": found.epsilon, "delta": found.delta, "checks": list(found.checks)}
        )
        return
    if not quiet:
        for check in found.checks:
            say(f"ok  {check}")

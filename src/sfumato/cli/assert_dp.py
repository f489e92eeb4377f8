"""`sfumato assert-dp`: fail unless a model file keeps to a budget."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import say, say_json
from sfumato.cli.options import Json


def assert_dp(model: Path, /, *, epsilon: float, tolerance: float = 0.0, json: Json = False) -> None:
    """Fail (exit code 3) unless a MODEL file verifies and its epsilon is within a bound.

    Made for scripts and continuous integration. Needs no data.

    Example: sfumato assert-dp patients.sfumato --epsilon 1

    Parameters
    ----------
    model
        A model file.
    epsilon
        The bound on epsilon, at the delta that the model states.
    tolerance
        Relative slack: epsilon may be up to the bound times (1 + tolerance).
    """
    from sfumato.api import assert_dp as check

    found = check(model, epsilon=epsilon, tolerance=tolerance)
    if json:
        say_json({"holds": True, "epsilon": found.epsilon, "delta": found.delta, "bound": epsilon})
        return
    say(f"ok  ({found.epsilon:.6g}, {found.delta:.3g})-differentially private")

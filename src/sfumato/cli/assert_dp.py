"""`sfumato assert-dp`: fail unless a model file keeps to a budget."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import say, say_json
from sfumato.cli.options import Json, Quiet


def assert_dp(
    model: Path,
    /,
    *,
    epsilon: float,
    delta: float | None = None,
    tolerance: float = 0.0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fail (exit code 3) unless a MODEL file verifies and its epsilon, and delta if asked, are within bounds.

    Made for scripts and continuous integration. Needs no data.

    Example: sfumato assert-dp patients.sfumato --epsilon 1

    Parameters
    ----------
    model
        A model file.
    epsilon
        The bound on epsilon, at the delta that the model states.
    delta
        A bound on that delta. Default: any.
    tolerance
        Relative slack: epsilon may be up to the bound times (1 + tolerance).
    """
    from sfumato.api import assert_dp as check

    found = check(model, epsilon=epsilon, delta=delta, tolerance=tolerance)
    if json:
        say_json(
            {
                "holds": True,
                "epsilon": found.epsilon,
                "delta": found.delta,
                "bound": epsilon,
                "delta_bound": delta,
            }
        )
        return
    if not quiet:
        say(f"ok  ({found.epsilon:.6g}, {found.delta:.3g})-differentially private")

"""`sfumato assert-dp`: fail unless a model file keeps to a budget."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import say


def assert_dp(model: Path, /, *, epsilon: float | None = None, tolerance: float = 0.0) -> None:
    """Verify MODEL and that its epsilon is at most EPSILON (1 + TOLERANCE); exit code 3 otherwise.

    Parameters
    ----------
    model
        A model file.
    epsilon
        The bound; default: only verify.
    tolerance
        Relative slack.
    """
    from sfumato.api import assert_dp as check

    found = check(model, epsilon=epsilon, tolerance=tolerance)
    say(f"ok  ({found.epsilon:.6g}, {found.delta:.3g})-differentially private")

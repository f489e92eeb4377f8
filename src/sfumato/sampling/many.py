"""What many draws by reveal-or-obscure cost together."""

from __future__ import annotations

from sfumato.errors import UsageError
from sfumato.privacy.pld import epsilon_of_schedule
from sfumato.privacy.three_points import epsilon_of_draws as _exact
from sfumato.privacy.three_points import pseudo_count_mass


def epsilon_of_draws(
    count: int, *, epsilon: float, n: int, k: int, delta: float, grid: float | None = None
) -> float:
    """Smallest epsilon at `delta` of `count` draws, each by ROO at `epsilon` from n records over k symbols.

    The dominating pair of a draw is tight, and its composition is worked out on its own lattice of losses. grid:
    instead, losses are rounded to a grid of that width, pessimistically; for comparison with such figures.
    """
    if count < 1 or n < 1 or k < 1 or not 0 < delta < 1 or not 0 < epsilon <= 1000:
        raise UsageError("counts are at least 1, epsilon above 0, and delta between 0 and 1")
    mass = pseudo_count_mass(epsilon, symbols=k, rows=n)
    if grid is None:
        return _exact(count, each=epsilon, mass=mass, delta=delta)
    return epsilon_of_schedule(delta=delta, draws=[((epsilon, mass), count)], interval=grid)

"""What many draws cost together."""

from __future__ import annotations

import math

from sfumato.errors import UsageError
from sfumato.privacy.mechanisms.draws import AT_ONCE, SAMPLERS
from sfumato.privacy.three_points import epsilon_of_draws as _exact
from sfumato.privacy.three_points import pair_mass
from sfumato.sampling.step_distance import step_distance


def epsilon_of_draws(
    count: int,
    *,
    epsilon: float,
    n: int,
    k: int,
    delta: float,
    sampler: str = "roo",
    grid: float | None = None,
) -> float:
    """Smallest epsilon at `delta` of `count` draws, each by `sampler` at `epsilon` from n public records over
    k symbols. delta = 0: their sum. UsageError for samplers all of whose draws share one epsilon.

    The dominating pair of a draw is tight for ROO, and its composition is worked out on its own lattice of
    losses. grid: instead, losses are rounded up to a grid of that width, as general accountants do; for
    comparison with them.
    """
    if count < 1 or n < 1 or k < 1 or not 0 <= delta < 1 or not 0 < epsilon <= 1000:
        raise UsageError("counts are at least 1, epsilon above 0, and delta at least 0 and below 1")
    if sampler not in SAMPLERS:
        raise UsageError(f"there is no sampler {sampler!r}", mend=f"known: {', '.join(SAMPLERS)}")
    if sampler in AT_ONCE:
        raise UsageError(f"all draws by {sampler} share one epsilon, whatever their number")
    if grid is not None and sampler != "roo":
        raise UsageError("a grid of losses is there for roo alone")
    if grid is not None:
        return _on_grid(count, epsilon=epsilon, n=n, k=k, delta=delta, grid=grid)
    mass = pair_mass(epsilon, step_distance(sampler, symbols=k, rows=n, epsilon=epsilon))
    return _exact(count, each=epsilon, mass=mass, delta=delta)


def _on_grid(count: int, *, epsilon: float, n: int, k: int, delta: float, grid: float) -> float:
    from dp_accounting.pld import privacy_loss_distribution

    a = 1 / (math.exp(epsilon) - 1)
    total = n + k * a
    low, high, rest = (math.log(w / total) for w in (a, a + 1, total - 2 * a - 1))
    pair = privacy_loss_distribution.from_two_probability_mass_functions(
        {0: low, 1: high, 2: rest},
        {0: high, 1: low, 2: rest},
        value_discretization_interval=grid,
        pessimistic_estimate=True,
    )
    return float(pair.self_compose(count).get_epsilon_for_delta(delta))

"""A mixture of normal distributions on a line, by variational inference; of weighted places, not of rows.

Blei, Jordan 2006, "Variational inference for Dirichlet process mixtures": weights are broken off a stick with
Beta(1, α) pieces, so that components that are not needed die out. Means and variances have the conjugate
normal-gamma prior (Bishop 2006, section 10.2), which is weak: worth one place, at the mean of all, with their
variance. A place may stand for an interval with a variance of its own, as a cell of a histogram does; then
expectations over the interval are taken. Deterministic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

Floats = npt.NDArray[np.float64]

CONCENTRATION = 0.001
"""α of the stick."""
NEEDED = 0.005
"""Weight below which a component is left out."""
ROUNDS = 200
CLOSE = 1e-3
"""Rounds end when no weight of a component moves more than this: later ones let components overlap, and then
the mode says less of where a number is."""


@frozen(kw_only=True, eq=False)
class NormalMixture:
    """Shares, means and standard deviations of the components, the largest share first."""

    shares: Floats
    means: Floats
    deviations: Floats

    def members(self, places: Floats) -> Floats:
        """Probability of each component at each place, (places, components)."""
        apart = (places[:, None] - self.means) / self.deviations
        logs = np.log(self.shares / self.deviations) - apart**2 / 2
        chance = np.exp(logs - logs.max(1, keepdims=True))
        return chance / chance.sum(1, keepdims=True)


def variational_mixture(
    places: Floats, counts: Floats, *, spreads: Floats, at_most: int, floor: float
) -> NormalMixture:
    """The mixture of at most so many components that describes `counts` rows at `places`.

    spreads: variance within each place. floor: least standard deviation. Counts are nonnegative; where all
    are 0, the places count equally.
    """
    from scipy.special import digamma

    counts = counts if counts.sum() > 0 else np.ones(places.size)
    held = counts > 0
    places, counts, spreads = places[held], counts[held], spreads[held]
    rows = float(counts.sum())
    middle = float(counts @ places) / rows
    whole = max(float(counts @ ((places - middle) ** 2 + spreads)) / rows, floor**2)
    chance = _nearest(places, counts, min(at_most, places.size))
    share = centre = variance = weights = np.zeros(0)
    for _ in range(ROUNDS):
        # Larger components break off first, which is where the bound is highest.
        chance = chance[:, np.argsort(-(counts @ chance), kind="stable")]
        own = counts[:, None] * chance
        mass = own.sum(0) + 1e-10
        mean = own.T @ places / mass
        inner = (own.T @ spreads + (own * (places[:, None] - mean) ** 2).sum(0)) / mass
        precision = 1.0 + mass
        centre = (middle + mass * mean) / precision
        freedom = 1.0 + mass
        variance = (whole + mass * inner + mass / precision * (mean - middle) ** 2) / freedom
        variance = np.maximum(variance, floor**2)
        rest = np.append(np.cumsum(mass[::-1])[-2::-1], 0.0) if mass.size > 1 else np.zeros(1)
        first, second = 1.0 + mass, CONCENTRATION + rest
        taken = first / (first + second)
        share = taken * np.append(1.0, np.cumprod(1 - taken)[:-1])
        if weights.size == share.size and np.abs(weights - share).max() < CLOSE:
            break
        weights = share
        both = digamma(first + second)
        stick = digamma(first) - both + np.append(0.0, np.cumsum(digamma(second) - both)[:-1])
        scatter = ((places[:, None] - centre) ** 2 + spreads[:, None]) / variance
        logs = stick + (digamma(freedom / 2) - np.log(freedom * variance / 2)) / 2
        logs = logs - (scatter + 1 / precision) / 2
        chance = np.exp(logs - logs.max(1, keepdims=True))
        chance /= chance.sum(1, keepdims=True)
    kept = share > NEEDED
    kept[np.argmax(share)] = True
    return NormalMixture(
        shares=share[kept] / share[kept].sum(), means=centre[kept], deviations=np.sqrt(variance[kept])
    )


def _nearest(places: Floats, counts: Floats, components: int) -> Floats:
    """Members of the nearest of so many centres, which start at quantiles (k-means)."""
    ends = np.cumsum(counts)
    levels = (np.arange(components) + 0.5) / components * ends[-1]
    centres = np.unique(places[np.searchsorted(ends, levels)])
    if centres.size < components:  # a place that holds several quantiles: the others spread out
        spread = places[np.linspace(0, places.size - 1, components).astype(int)]
        centres = np.unique(np.concatenate([centres, spread]))[: 2 * components]
        centres = centres[np.linspace(0, centres.size - 1, components).astype(int)]
    for _ in range(50):
        near = np.abs(places[:, None] - centres).argmin(1)
        mass = np.bincount(near, counts, minlength=components)
        moved = np.where(
            mass > 0,
            np.bincount(near, counts * places, minlength=components) / np.maximum(mass, 1e-12),
            centres,
        )
        if np.array_equal(moved, centres):
            break
        centres = moved
    return np.eye(components)[np.abs(places[:, None] - centres).argmin(1)]

"""What one mechanism costs, in every currency that the accountants use."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from attrs import frozen

from sfumato.privacy import gdp
from sfumato.privacy.three_points import epsilon_of_draws

Shape = Literal["gaussian", "bounded-range", "pure", "draws", "subsampled", "none", "revealed"]


@frozen(kw_only=True)
class Price:
    """Cost of one mechanism under one neighbouring relation.

    `mu2` is the square of the Gaussian-DP parameter, `rho` the zCDP parameter, `delta` what is added
    outside of both (thresholds, and what the price of a training in mu leaves out). `shape` names the
    dominating pair for privacy-loss distributions: a Gaussian with `mu2`, a bounded-range pair with range
    `epsilon`, randomised response with `epsilon` ("pure"), for draws `count` three-point pairs of (`each`,
    `mass`) (see `sfumato.privacy.three_points`), or many subsampled Gaussians, whose numbers stand in the
    ledger. `epsilon` holds together with `delta`, where there is one: for a bounded-range pair without any
    delta, for draws at theirs.
    """

    shape: Shape
    mu2: float = 0.0
    rho: float = 0.0
    delta: float = 0.0
    epsilon: float = 0.0
    count: int = 0
    each: float = 0.0
    mass: float = 0.0

    @property
    def own(self) -> float:
        """Epsilon at `delta`, for adding up epsilons and deltas; infinite where no such number is known."""
        if self.shape in ("bounded-range", "pure", "draws", "none"):
            return self.epsilon
        return 0.0 if self.shape == "gaussian" and self.mu2 == 0 else math.inf


@frozen(kw_only=True)
class Cost:
    """Prices under both relations, and the number of draws of noise."""

    add_remove: Price
    replace: Price
    draws: int = 0
    distance: float = 0.0
    """Total variation distance of the noise as drawn to the ideal law, summed over the draws."""
    part: str = ""
    """Disjoint part of the rows that is read; empty: all rows. See `sfumato.privacy.division`."""

    def under(self, relation: str) -> Price:
        """The price under `relation`."""
        return self.add_remove if relation == "add-remove" else self.replace


def gaussian(l2_squared: float | Fraction, sigma: Fraction, *, delta: float = 0.0) -> Price:
    """A (rounded) Gaussian of scale `sigma` on integer queries at squared L2 distance `l2_squared`.

    mu = L2 / sigma (Dong, Roth, Su 2022, Theorem 2.7), rho = mu²/2 (Bun, Steinke 2016, Proposition 1.6);
    rounding is post-processing because the queries are integers.
    """
    mu2 = float(l2_squared / sigma**2)
    return Price(shape="gaussian", mu2=mu2, rho=mu2 / 2, delta=delta)


def bounded_range(epsilon: float) -> Price:
    """An exponential mechanism whose log-probability ratios span at most `epsilon`.

    rho = epsilon²/8 (Cesar, Rogers 2021, Corollary 1); the Gaussian-DP parameter is
    2 Φ⁻¹(e^{ε/2} / (1 + e^{ε/2})), proved in docs/methods/gdp-accounting.md.
    """
    return Price(
        shape="bounded-range", mu2=gdp.mu_of_bounded_range(epsilon) ** 2, rho=epsilon**2 / 8, epsilon=epsilon
    )


def pure(epsilon: Fraction) -> Price:
    """A mechanism whose log-probability ratios are at most `epsilon` either way, up to a delta of its own.

    rho = epsilon²/2 (Bun, Steinke 2016, Proposition 1.4); mu = 2 Φ⁻¹(e^ε / (1 + e^ε)), that of randomised
    response (Dong, Roth, Su 2022). `epsilon` is rounded up.
    """
    rounded = float(epsilon)
    if Fraction(rounded) < epsilon:
        rounded = math.nextafter(rounded, math.inf)
    return Price(shape="pure", mu2=gdp.mu_of_pure(rounded) ** 2, rho=rounded**2 / 2, epsilon=rounded)


def draws(count: int, *, each: float, mass: float, delta: float = 0.0) -> Price:
    """`count` draws that are `each`-DP one by one, dominated by three-point pairs of probability `mass`.

    epsilon is theirs at `delta` (`sfumato.privacy.three_points`). The Gaussian-DP parameter of a draw: the
    trade-off curve of its pair is linear between two inner corners that mirror each other, (p, 1 - pR) and (1
    - pR, p), and a Gaussian's curve is convex, so it lies below where it does at one corner: mu = Φ⁻¹(1-p) -
    Φ⁻¹(1-pR). A Gaussian dominates the Rényi divergences as well, so rho = mu²/2 (Dong, Roth, Su 2022; Bun,
    Steinke 2016).
    """
    mu2 = count * gdp.mu_of_three_points(each, mass) ** 2
    return Price(
        shape="draws",
        mu2=mu2,
        rho=mu2 / 2,
        delta=delta,
        epsilon=epsilon_of_draws(count, each=each, mass=mass, delta=delta),
        count=count,
        each=each,
        mass=mass,
    )


def repeated(price: Price, times: int) -> Price:
    """The price of `times` mechanisms of one price, chosen one after the other.

    Ranges of log-probability ratios add up, and so do mu², rho and delta.
    """
    return Price(
        shape=price.shape,
        mu2=times * price.mu2,
        rho=times * price.rho,
        delta=times * price.delta,
        epsilon=times * price.epsilon,
    )

"""N records, each the first candidate that passes: the price of the whole release.

g is the passing mass, seeds times probability to pass. A release has the law P ∝ S p q(c) over D and P' ∝
(S+1) p q(c+1) over D'. Where the new seed has all its mass on one y of class (c, S), this is a pair of coins,

    s = S q(c) / g,   s' = (S+1) q(c+1) / (g + d),   d = (S+1) q(c+1) - S q(c)     (y or not y).

**Theorem.** For every pair of tables with passing mass at least g, the pair (P', P) is a post-processing of
(i) a label whose log-probability ratios span at most log(1 + D/g), D the largest possible d, and (ii) given
the label, a coin of some class at passing mass exactly g. Proof in docs/methods/plausible-deniability.md.

So N records cost at most N labels, priced as exponential mechanisms, plus the N-fold composition of the upper
envelope of the hockey-stick curves of all coins. The envelope is a maximum of straight lines in e^x; it is
composed as a privacy-loss distribution, and the result is bounded by a Gaussian of parameter mu plus a
constant delta.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.privacy import gdp
from sfumato.privacy.plausible.theorem import passing_mass_sensitivity
from sfumato.privacy.plausible.threshold import pass_probability

Floats = npt.NDArray[np.float64]

LEAST_TAIL = 1e-13
"""Convolutions are not trusted below this delta."""
_FFT = 1e-14
_SAFE = 1 + 1e-6


LARGEST_CLASS = 40_000
"""Classes of more seeds are not looked at one by one, which bounds k and 1/epsilon0."""


@frozen(kw_only=True)
class Coins:
    """Pairs of coins of all classes that matter, for passing mass g."""

    count: Floats
    s: Floats
    t: Floats
    """s' of the module's docstring."""
    high: Floats
    """An upper bound of s' for all S between the ends, as a multiple of its chord."""

    @classmethod
    def of(cls, k: int, gamma: float, epsilon0: float, mass: float, cap: int | None = None) -> Coins:
        """Classes with both extreme S, those up to the c beyond which q is 1 and curves only fall.

        A class cannot hold more than the passing mass: S q(c) ≤ g, where the coin becomes the same on both
        sides.
        """
        last = k + math.ceil(46 / epsilon0)
        if last > LARGEST_CLASS:
            raise ValueError(f"k + 46/epsilon0 must be at most {LARGEST_CLASS}")
        c = np.arange(0, last + 1, dtype=np.float64)
        most = math.inf if cap is None else cap
        now = pass_probability(np.minimum(c, most), k, epsilon0)
        then = pass_probability(np.minimum(c + 1, most), k, epsilon0)
        # f(S) = s' is concave: it exceeds its chord by at most width² max|f''| / 8.
        bulge = ((gamma - 1 / gamma) * c) ** 2 * then * (mass + now) * (then - now) / (4 * mass**3)
        found = []
        for total in (c / gamma, c * gamma):
            held = np.minimum(total, mass / np.maximum(now, 1e-290))
            more = (held + 1) * then
            found.append((held * now / mass, more / (mass + more - held * now)))
        least = np.minimum(found[0][1], found[1][1])
        factor = 1 + bulge / np.maximum(least, 1e-300)
        s, t = (np.concatenate([one, other]) for one, other in zip(*found, strict=True))
        return cls(
            count=np.concatenate([c, c]), s=s, t=t, high=np.minimum(t * np.concatenate([factor, factor]), 1.0)
        )

    def lines(self, *, added: bool) -> tuple[Floats, Floats]:
        """(a, b) of the lines a - b e^x whose maximum is the envelope: of (P', P) when a seed is added."""
        s, t, high = self.s, self.t, self.high
        one, other = (high, s) if added else (s, t)
        left, right = (1 - t, 1 - s) if added else (1 - s, np.maximum(1 - high, 0.0))
        return np.concatenate([[0.0, 1.0], one, left]), np.concatenate([[0.0, 1.0], other, right])


def upper_envelope(a: Floats, b: Floats, at: Floats) -> Floats:
    """max_i a_i - b_i t at each t ≥ 0, by the upper hull of the lines."""
    order = np.lexsort((a, -b))
    slopes, heights = (-b[order]).tolist(), a[order].tolist()
    hull: list[int] = []
    starts: list[float] = []
    for i, (slope, height) in enumerate(zip(slopes, heights, strict=True)):
        start = -math.inf
        while hull:
            top = hull[-1]
            if slope == slopes[top]:
                # Sorted by height: the later one is the higher.
                hull.pop()
                starts.pop()
                continue
            start = (heights[top] - height) / (slope - slopes[top])
            if start > starts[-1]:
                break
            hull.pop()
            starts.pop()
        hull.append(i)
        starts.append(start if len(hull) > 1 else -math.inf)
    kept = np.array(hull)
    place = np.searchsorted(np.array(starts), at, side="right") - 1
    line = kept[np.maximum(place, 0)]
    return np.maximum(np.array(heights)[line] + np.array(slopes)[line] * at, 0.0)


@frozen(kw_only=True)
class SafeRelease:
    """`records` records from seeds with passing mass of at least `mass`, for adding or removing one seed."""

    k: int
    gamma: float
    epsilon0: float
    records: int
    mass: float
    cap: int | None = None
    """Counts of plausible seeds are cut at this."""

    @property
    def label_range(self) -> float:
        """Span of the log-probability ratios of a label."""
        return math.log1p(passing_mass_sensitivity(self.k, self.gamma, self.epsilon0) / self.mass)

    def profile(self) -> tuple[Floats, Floats]:
        """Epsilons, and the smallest delta at each of them that holds for the coins of all records both
        ways.
        """
        return _profile(self.k, self.gamma, self.epsilon0, self.records, self.mass, self.cap)

    def mu(self, tail: float) -> float:
        """mu such that the whole release is dominated by Gaussian DP of mu plus a delta of `tail`."""
        if tail < LEAST_TAIL:
            return math.inf
        epsilons, deltas = self.profile()
        needed = deltas - tail
        # A step of the grid is bounded by its right end.
        held = needed[:-1] > 0
        coins = float(_mu_through(epsilons[1:][held], needed[:-1][held]).max(initial=0.0)) * _SAFE
        if needed[-1] > 0:
            return math.inf
        return math.sqrt(coins**2 + self.records * gdp.mu_of_bounded_range(self.label_range) ** 2)

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon of the whole release at `delta` that is proven here."""
        if delta < 2 * LEAST_TAIL:
            return math.inf
        label = self.label_range
        pure = math.sqrt(self.records) * gdp.mu_of_bounded_range(label)
        epsilons, deltas = self.profile()
        best = math.inf
        for share in (0.02, 0.1, 0.5):
            rest = gdp.epsilon(pure, share * delta)
            inside = np.flatnonzero(deltas <= (1 - share) * delta)
            if inside.size:
                best = min(best, float(epsilons[inside[0]]) + rest)
        return best


@lru_cache(maxsize=64)
def _profile(
    k: int, gamma: float, epsilon0: float, records: int, mass: float, cap: int | None
) -> tuple[Floats, Floats]:
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    coins = Coins.of(k, gamma, epsilon0, mass, cap)
    top = epsilon0 + math.log1p(gamma) + 0.01
    # A loss that falls between two points of the grid adds up to step·|loss| of variance, and most losses are
    # as small as a label's: over all records that should be little beside the result.
    rough = renyi_epsilon(k, gamma, epsilon0, records=records, mass=mass, delta=1e-9)
    drift = records * math.log1p(passing_mass_sensitivity(k, gamma, epsilon0) / mass)
    step = float(np.clip((0.01 * rough) ** 2 / drift, 1e-5, min(2e-3, 0.1 * epsilon0)))
    index = np.arange(-math.ceil(0.3 / step), math.ceil(top / step) + 1)
    pmfs = []
    for added in (True, False):
        deltas = upper_envelope(*coins.lines(added=added), np.exp(index * step))
        deltas = np.minimum(np.maximum.accumulate(deltas[::-1])[::-1], 1.0)
        pmfs.append(pld_pmf.create_pmf_pessimistic_connect_dots(step, index, deltas))
    whole = privacy_loss_distribution.PrivacyLossDistribution(*pmfs)
    if records > 1:
        whole = whole.self_compose(records)
    largest = _largest_loss(whole)
    epsilons = np.linspace(0.0, max(largest, step), 3000)
    deltas = np.asarray(whole.get_delta_for_epsilon(epsilons.tolist()), dtype=np.float64) + _FFT
    return epsilons, deltas


def _largest_loss(whole: Any) -> float:
    """An epsilon at which delta is as small as it becomes, up to what convolutions can tell."""
    for power in range(24):
        epsilon = float(whole.get_epsilon_for_delta(LEAST_TAIL * 2.0**power / 4))
        if math.isfinite(epsilon):
            return epsilon
    return 0.0


def _mu_through(epsilons: Floats, deltas: Floats) -> Floats:
    """mu whose Gaussian profile passes through each (epsilon, delta)."""
    from scipy.special import log_ndtr

    def reached(mu: Floats) -> npt.NDArray[np.bool_]:
        one, other = log_ndtr(-epsilons / mu + mu / 2), epsilons + log_ndtr(-epsilons / mu - mu / 2)
        gap = -np.expm1(np.minimum(other - one, 0.0))
        return one + np.log(np.maximum(gap, 1e-300)) >= np.log(deltas)

    low, high = np.full(epsilons.shape, 1e-8), np.full(epsilons.shape, 1.0)
    for _ in range(60):
        short = ~reached(high)
        if not short.any():
            break
        high = np.where(short, 2 * high, high)
    for _ in range(50):
        middle = np.sqrt(low * high)
        enough = reached(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def renyi_epsilon(k: int, gamma: float, epsilon0: float, *, records: int, mass: float, delta: float) -> float:
    """A quick upper estimate of `SafeRelease.epsilon`, by Rényi divergences; labels are left out."""
    coins = Coins.of(k, gamma, epsilon0, mass)
    never = coins.s == 0
    rest = delta - records * float(coins.t[never].max(initial=0.0))
    if rest <= 0:
        return math.inf
    thin = np.unique(
        np.concatenate([np.arange(0, k + 10), np.linspace(0, coins.count.max(), 400).astype(int)])
    )
    if thin.size > 1500:
        near = np.arange(max(0, k - 300), k + 300)
        thin = np.unique(np.concatenate([np.linspace(0, coins.count.max(), 900).astype(int), near]))
    chosen = np.concatenate([thin, thin + coins.s.size // 2])
    chosen = chosen[(chosen < coins.s.size)]
    chosen = chosen[(coins.s[chosen] > 0) & (coins.s[chosen] < 1)]
    s, t = coins.s[chosen], np.minimum(coins.t[chosen], 1 - 1e-16)
    up, down = np.log(t / s), np.log1p(-t) - np.log1p(-s)
    best = math.inf
    for order in np.concatenate([1 + np.geomspace(0.02, 30, 16), np.geomspace(40, 4000, 10)]):
        with np.errstate(over="ignore"):
            # log(1 + x), x = E exp((order - 1) loss) - 1 with a common shift taken out.
            forward = t * np.expm1((order - 1) * up) + (1 - t) * np.expm1((order - 1) * down)
            back = s * np.expm1(-(order - 1) * up) + (1 - s) * np.expm1(-(order - 1) * down)
            worst = float(np.log1p(np.maximum(forward, back)).max()) / (order - 1)
        # Canonne, Kamath, Steinke 2020, proposition 12.
        found = (
            records * worst + math.log((order - 1) / order) - (math.log(rest) + math.log(order)) / (order - 1)
        )
        best = min(best, found)
    return max(best, 0.0)


def epsilon_of_fixed_class(
    k: int,
    gamma: float,
    epsilon0: float,
    *,
    records: int,
    mass: float,
    delta: float,
    count: int | None = None,
) -> float:
    """Largest epsilon over classes of the exact N-fold release when all records that tell anything are of one
    class: a lower bound on the true cost, which `SafeRelease.epsilon` bounds from above.

    count: seeds that the class holds; None: the dearest of all classes, which holds k - 1 seeds for large N.
    """
    coins = Coins.of(k, gamma, epsilon0, mass)
    if count is not None:
        of_class = np.flatnonzero(coins.count == count).tolist()
        return max(
            (_binomial_epsilon(float(coins.s[i]), float(coins.t[i]), records, delta, 0.0) for i in of_class),
            default=0.0,
        )
    score = np.where(coins.s > 0, (coins.t - coins.s) ** 2 / np.maximum(coins.s, 1e-300), 0.0)
    half = coins.s.size // 2
    first = np.argsort(-score)[:40]
    even = np.concatenate([np.linspace(0, half - 1, 160), half + np.linspace(0, half - 1, 160)]).astype(int)
    best = 0.0
    for i in np.unique(np.concatenate([first, even])).tolist():
        best = max(best, _binomial_epsilon(float(coins.s[i]), float(coins.t[i]), records, delta, best))
    return best


def _binomial_epsilon(s: float, t: float, records: int, delta: float, least: float) -> float:
    """Smallest epsilon ≥ `least` at which `records` coins (t, s) have delta, both ways."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    if s <= 0:
        # Seen at all, it tells everything.
        return math.inf if -math.expm1(records * math.log1p(-t)) > delta else 0.0
    if t >= 1:
        return 0.0
    up, down = math.log(t / s), math.log1p(-t) - math.log1p(-s)
    most = max(s, t)
    high = int(min(records, records * most + 40 * math.sqrt(records * most + 1) + 60))
    heads = np.arange(0, high + 1)
    loss = heads * up + (records - heads) * down
    one, other = binom.pmf(heads, records, t), binom.pmf(heads, records, s)

    def excess(epsilon: float) -> float:
        added = np.where(loss > epsilon, -one * np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0).sum()
        removed = np.where(-loss > epsilon, -other * np.expm1(np.minimum(epsilon + loss, 0.0)), 0.0).sum()
        return float(max(added, removed)) - delta

    if excess(least) <= 0:
        return 0.0
    end = max(1.0, 2 * least)
    while excess(end) > 0:
        end *= 2
    found: Any = brentq(excess, least, end, xtol=1e-5)
    return float(found)

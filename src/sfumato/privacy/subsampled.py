"""What many noisy sums over random batches cost: the Poisson-subsampled Gaussian, composed.

One step adds up the contributions of the rows in a batch, which each row enters with probability q by a
coin of its own, and adds N(0, σ²) where a contribution has L2 norm at most 1. A unit has up to m
contributions.

add-remove   The dominating pair is Σ_k Binomial(m, q)(k) N(k, σ²) against N(0, σ²), in both directions (for
             m = 1 Zhu, Dong, Wang 2022, Theorem 11; for larger m Charles et al. 2024, "Fine-tuning large
             language models with user-level differential privacy", Theorem 1).
exchange     Contributions a become contributions b. Split the noise into two halves of variance σ²/2, and let
             one half carry a or nothing, the other nothing or b: the step is the sum of the two, so it is
             post-processing of one removal and one addition at σ/√2. For q = 1 this is the shift by 2,
             exactly.

Composition over the steps of a schedule that is fixed when it starts:

privacy loss    distributions, discretised pessimistically by dp_accounting and convolved (`epsilon`)
Rényi           the curve of Mironov, Talwar, Zhang 2019 times the number of steps; where m > 1 the shift is
                taken as m whenever any contribution is in the batch, which the mixture is post-processing
of (`renyi`) Gaussian DP     the smallest mu such that the whole training is dominated by "with probability
                d everything, else mu-GDP", so that H(ε) ≤ (1-d) H_mu(ε) + d for all ε: then mu² and d add
                up with all other mechanisms, also where those are chosen adaptively (`mu_squared`)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

Floats = npt.NDArray[np.float64]

ORDERS = (
    *(1 + i / 10 for i in range(1, 230)), *range(24, 64), *range(64, 257, 4), 320, 384, 512, 768, 1024,
)  # fmt: skip
"""Rényi orders that are tried."""
_ROUNDING = 1e-12
"""Mass that convolutions by FFT may be off by."""
SMALLEST_DELTA = 4e-12
"""Below it the price of a training is that without subsampling."""
_SAFE = 1e-9


@frozen(kw_only=True)
class Schedule:
    """A training, as accountants see it: `steps` noisy sums at one noise multiplier and one rate."""

    noise: float
    """Noise scale over the largest norm of one contribution (σ)."""
    rate: float = field()
    """Probability that a contribution is in a batch (q)."""
    steps: int
    at_most: int = 1
    """Contributions of a unit (m)."""
    exchange: bool = False
    """Whether contributions are exchanged, not added or removed."""

    @rate.validator
    def _check(self, _: object, rate: float) -> None:
        if not 0 < rate <= 1 or self.noise <= 0:
            raise ValueError("a rate lies in (0, 1], and noise above 0")

    @property
    def half(self) -> Schedule:
        """One side of an exchange, as removal or addition."""
        return Schedule(
            noise=self.noise / math.sqrt(2), rate=self.rate, steps=self.steps, at_most=self.at_most
        )

    @property
    def unsampled_mu_squared(self) -> float:
        """mu² if every contribution were in every batch."""
        return (2 if self.exchange else 1) ** 2 * self.at_most**2 * self.steps / self.noise**2

    @property
    def limit_mu_squared(self) -> float:
        """mu² by the central limit theorem, for first guesses (Bu, Dong, Long, Su 2020)."""
        if self.exchange:
            return 2 * self.half.limit_mu_squared
        rate = 1 - (1 - self.rate) ** self.at_most
        step = rate**2 * math.expm1(min((self.at_most / self.noise) ** 2, 700.0))
        return min(step * self.steps, self.unsampled_mu_squared)


def epsilon(
    schedules: Sequence[Schedule], delta: float, *, mu: float = 0.0, interval: float | None = None
) -> float:
    """Epsilon at `delta` of schedules fixed beforehand, and a Gaussian mechanism `mu`, by privacy-loss
    distributions; infinite where delta is below 1e-11.

    interval: cells of the grid of losses; a wider one costs time and tightness, not soundness.
    """
    if delta < 10 * _ROUNDING:
        return math.inf
    guess = math.sqrt(mu**2 + sum(each.limit_mu_squared for each in schedules))
    if guess == 0:
        return 0.0
    interval = interval or _interval(schedules, guess)
    parts = [_losses(each, interval) for each in schedules]
    if mu > 0:
        from dp_accounting.pld import privacy_loss_distribution

        gauss = privacy_loss_distribution.from_gaussian_mechanism(
            1 / mu, value_discretization_interval=interval
        )
        parts.append((gauss._pmf_remove.to_dense_pmf(), gauss._pmf_add.to_dense_pmf()))
    one, two = _composed(parts)
    return max(float(each.get_epsilon_for_delta(delta - _ROUNDING)) for each in (one, two)) * (1 + _SAFE)


def mu_squared(schedule: Schedule, delta: float) -> float:
    """Smallest mu², rounded up, such that the training is mu-GDP but for `delta`."""
    return _mu_squared(schedule, delta)


@lru_cache(maxsize=512)
def _mu_squared(schedule: Schedule, delta: float) -> float:
    whole = schedule.unsampled_mu_squared * (1 + _SAFE)
    if delta < SMALLEST_DELTA or schedule.rate == 1:
        return whole
    guess = math.sqrt(schedule.limit_mu_squared)
    interval = _interval([schedule], guess)
    at, profile = _profile(*_losses(schedule, interval))
    kept = np.flatnonzero(profile > delta)
    if not kept.size or kept[-1] + 1 >= at.size:
        return whole
    # Between two points of the grid the profile is at most its value at the left one.
    needed, at = profile[kept], at[kept + 1]
    low, high = 0.5 * guess, 2 * guess
    while not _dominated(needed, at, high, delta):
        low, high = high, 2 * high
        if high**2 > whole:
            return whole
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if _dominated(needed, at, middle, delta):
            high = middle
        else:
            low = middle
    return min(high**2 * (1 + _SAFE), whole)


def _profile(*losses: Any) -> tuple[Floats, Floats]:
    """Losses 0, h, 2h, … and the larger one of the divergences there, rounded up."""
    size = max(each._lower_loss + each.size for each in losses)
    at, interval = np.arange(max(size, 2)), losses[0]._discretization
    found = np.zeros(at.size)
    for each in losses:
        loss = np.arange(each._lower_loss, each._lower_loss + each.size)
        mass = np.zeros(at.size)
        mass[loss[loss > 0]] = each._probs[loss > 0]
        # Σ (1 - e^{ε - l}) p_l over losses l above ε.
        above = np.append(np.cumsum(mass[::-1])[::-1][1:], 0.0)
        shrunk = np.append(np.cumsum((mass * np.exp(-at * interval))[::-1])[::-1][1:], 0.0)
        grown = np.exp(np.minimum(at * interval, 700.0))
        found = np.maximum(found, each._infinity_mass + above - grown * shrunk)
    return at * interval, found + _ROUNDING


def _dominated(needed: Floats, at: Floats, mu: float, delta: float) -> bool:
    from scipy.special import ndtr

    gauss = ndtr(mu / 2 - at / mu) - np.exp(np.minimum(at, 700.0)) * ndtr(-mu / 2 - at / mu)
    return bool((needed <= (1 - delta) * np.maximum(gauss - 1e-13, 0) + delta).all())


def _interval(schedules: Sequence[Schedule], guess: float) -> float:
    """Cells of the grid of losses: some twenty in the deviation of one step."""
    steps = max((each.steps for each in schedules), default=1)
    return min(guess, 1.0) / max(1_500, 15 * math.sqrt(steps))


def _losses(schedule: Schedule, interval: float) -> tuple[Any, Any]:
    """Distributions of the loss of a whole training, in both directions."""
    if schedule.exchange:
        remove, add = _losses(schedule.half, interval)
        both = remove.compose(add)
        return both, both
    return _cached(schedule, interval)


@lru_cache(maxsize=64)
def _cached(schedule: Schedule, interval: float) -> tuple[Any, Any]:
    one, two = _step(schedule, interval)
    with np.errstate(all="ignore"):
        first, second = (each.self_compose(schedule.steps).to_dense_pmf() for each in (one, two))
    return first, second


def _step(schedule: Schedule, interval: float) -> tuple[Any, Any]:
    """Losses of one step: a mixture of N(k, σ²) with weights p_k against N(0, σ²), and the other way round.

    The likelihood ratio L(x) = Σ p_k e^{(2kx - k²)/(2σ²)} rises in x. With L(x) = e^ε, respectively e^-ε,

        H(ε) = Σ_{k>0} p_k Φ((k-x)/σ) - (e^ε - p_0) Φ(-x/σ),
        H(ε) = (1 - e^ε p_0) Φ(x/σ) - e^ε Σ_{k>0} p_k Φ((x-k)/σ)      the other way round.
    """
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap as connect
    from scipy.special import ndtr

    m, q, sigma = schedule.at_most, schedule.rate, schedule.noise
    shift = np.arange(m + 1)
    chance = np.array([math.comb(m, k) * q**k * (1 - q) ** (m - k) for k in shift.tolist()])
    some = float(-np.expm1(m * np.log1p(-q))) if q < 1 else 1.0  # 1 - p_0
    top, low = (float(_log_ratio(np.array([x]), chance, sigma)[0]) for x in (m + 9 * sigma, -9 * sigma))
    ends = (math.floor(low / interval), math.ceil(top / interval))
    found = []
    for sign, first, last in ((1, *ends), (-1, -ends[1], -ends[0])):
        at = np.arange(first, last + 1) * interval
        with np.errstate(all="ignore"):
            excess = np.expm1(sign * at) + some
            x = _where_ratio_is(np.asarray(sign * at, dtype=np.float64), excess, chance, sigma)
            grown = np.exp(at)
            tails = sum(chance[k] * ndtr(sign * (k - x) / sigma) for k in range(1, m + 1))
            if sign > 0:
                value = np.where(excess > 0, tails - excess * ndtr(-x / sigma), -np.expm1(at))
            else:
                rest = some - (1 - some) * np.expm1(at)
                value = np.where(excess > 0, rest * ndtr(x / sigma) - grown * tails, 0.0)
        value = np.minimum.accumulate(np.clip(np.nan_to_num(value), 0.0, 1.0))
        found.append(connect(interval, first, last, value))
    return found[0], found[1]


def _log_ratio(x: Floats, chance: Floats, sigma: float) -> Floats:
    shift = np.arange(chance.size)
    with np.errstate(divide="ignore"):
        logs = np.log(chance)[:, None] + (2 * shift[:, None] * x - shift[:, None] ** 2) / (2 * sigma**2)
    most = logs.max(0)
    return most + np.log(np.exp(logs - most).sum(0))


def _where_ratio_is(log_ratio: Floats, excess: Floats, chance: Floats, sigma: float) -> Floats:
    """x with L(x) = e^log_ratio, -∞ where there is none; `excess` is e^log_ratio - p_0."""
    if chance.size == 2:
        return np.where(excess > 0, sigma**2 * np.log(np.maximum(excess, 0) / chance[1]) + 0.5, -np.inf)
    low = np.full(log_ratio.size, -40.0 * sigma)
    high = np.full(log_ratio.size, chance.size + 40.0 * sigma)
    for _ in range(64):
        middle = (low + high) / 2
        below = _log_ratio(middle, chance, sigma) < log_ratio
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(excess > 0, high, -np.inf)


def _composed(parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    one, two = parts[0]
    for first, second in parts[1:]:
        one, two = one.compose(first), two.compose(second)
    return one, two


# ---- Rényi ------------------------------------------------------------------------------------------------


def renyi(schedule: Schedule, orders: Sequence[float] = ORDERS) -> Floats:
    """Rényi divergences of the whole training at each order."""
    if schedule.exchange:
        return 2 * renyi(schedule.half, orders)
    rate = -math.expm1(schedule.at_most * math.log1p(-schedule.rate)) if schedule.rate < 1 else 1.0
    return schedule.steps * np.array([_renyi(rate, schedule.noise / schedule.at_most, a) for a in orders])


def epsilon_of_renyi(
    curve: npt.ArrayLike, delta: float, *, orders: Sequence[float] = ORDERS, classic: bool = False
) -> tuple[float, float]:
    """Epsilon at `delta` of a curve, and the order that gives it.

    Conversion of Canonne, Kamath, Steinke 2020, Proposition 12; `classic`: of Mironov 2017, Proposition 3.
    """
    order, divergence = np.asarray(orders, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    if classic:
        found = divergence - math.log(delta) / (order - 1)
    else:
        found = divergence + np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)
    best = int(np.argmin(found))
    return max(0.0, float(found[best])) * (1 + _SAFE), float(order[best])


@lru_cache(maxsize=1 << 14)
def _renyi(rate: float, noise: float, order: float) -> float:
    """One step (Mironov, Talwar, Zhang 2019, section 3.3)."""
    if rate == 1:
        return order / (2 * noise**2)
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    if float(order).is_integer():
        a = int(order)
        terms = [
            _log_binomial(a, k) + k * log_rate + (a - k) * log_rest + (k * k - k) / (2 * noise**2)
            for k in range(a + 1)
        ]
        return max(0.0, _log_sum(terms)) / (a - 1)
    # The series loses some digits.
    return max(0.0, _fractional(log_rate, log_rest, noise, order)) / (order - 1) * (1 + 1e-6)


def _fractional(log_rate: float, log_rest: float, noise: float, order: float) -> float:
    """log of the moment for an order that is no whole number: two series with alternating tails."""
    from scipy.special import binom, log_ndtr

    edge = noise**2 * (log_rest - log_rate) + 0.5
    plus: list[float] = []
    minus: list[float] = []
    for i in range(10_000):
        coefficient = float(binom(order, i))
        if coefficient == 0:
            break
        size, j = math.log(abs(coefficient)), order - i
        lower = size + i * log_rate + j * log_rest + (i * i - i) / (2 * noise**2)
        upper = size + j * log_rate + i * log_rest + (j * j - j) / (2 * noise**2)
        lower += float(log_ndtr((edge - i) / noise))
        upper += float(log_ndtr((j - edge) / noise))
        (plus if coefficient > 0 else minus).extend((lower, upper))
        if max(lower, upper) < -30 and i > order:
            break
    positive, negative = _log_sum(plus), _log_sum(minus) if minus else -math.inf
    return positive + math.log1p(-math.exp(negative - positive))


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_sum(terms: Sequence[float]) -> float:
    most = max(terms)
    return most + math.log(math.fsum(math.exp(term - most) for term in terms))


# ---- how much noise ---------------------------------------------------------------------------------------


def smallest_noise(spend: float, schedule: Schedule, delta: float) -> float:
    """A noise multiplier at which the training costs at most `spend` as mu² besides `delta`, the smallest but
    for 0.1 %; that of `schedule` itself does not matter.
    """
    from attrs import evolve

    def price(noise: float) -> float:
        return mu_squared(evolve(schedule, noise=noise), delta)

    low, high = 1e-3, 1e9
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        if evolve(schedule, noise=middle).limit_mu_squared > spend:
            low = middle
        else:
            high = middle
    # Secants in logarithms, towards a price a little below what may be spent.
    noise, enough, slope, before = high, math.inf, -2.5, (0.0, 0.0)
    for _ in range(10):
        excess = math.log(price(noise) / spend) + 1e-3
        if excess <= 1e-3:
            enough = min(enough, noise)
        if -2e-3 < excess <= 1e-3:
            break
        if before[0] and abs(before[0] - math.log(noise)) > 1e-6:
            slope = min(-0.3, (excess - before[1]) / (math.log(noise) - before[0]))
        before = (math.log(noise), excess)
        noise *= math.exp(max(-0.7, min(0.7, -excess / slope)))
    while math.isinf(enough):
        noise *= 1.02
        enough = noise if price(noise) <= spend else enough
    return enough

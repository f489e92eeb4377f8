"""Epsilon of a schedule that was fixed before the data was seen, by composing privacy-loss distributions.

Each mechanism has a dominating pair: a Gaussian; for an exponential mechanism with log-probability ratios
spanning ε, the envelope over all two-point pairs with losses t and t-ε (Dong, Durfee, Rogers 2020); for a
pure mechanism, randomised response. The privacy profile of the envelope is

    H(e) = (e^{ε/2} - e^{e/2})² / (e^ε - 1)        for 0 ≤ e ≤ ε,
    H(e) = 1 - e^e + e^e H(-e)                     for e < 0,

(the best t is (ε + e)/2; the second line holds for every pair that is closed under exchange). dp_accounting
discretises them pessimistically ("connect the dots", Doroshenko et al. 2022) and convolves. Not valid for
mechanisms chosen after looking at answers: use `gdp` for those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.privacy import gdp

FLOOR = 1e-11
"""Convolution by FFT is good to well under 1e-12 of mass: below this delta no answer is given."""
_ROUNDING = 1e-12
_CELLS = 20_000
"""Grid cells between loss 0 and the epsilon to be found."""
_MANY = 24
_GRID = 0.0198
_FINEST = 24
"""A mechanism with fewer grid cells to its own epsilon is entered as the Gaussian that dominates it."""


def epsilon_of_schedule(
    *,
    delta: float,
    mu: float = 0.0,
    bounded_range: Sequence[tuple[float, int]] = (),
    pure: Sequence[tuple[float, int]] = (),
    draws: Sequence[tuple[tuple[float, float], int]] = (),
) -> float:
    """Epsilon at `delta` of Gaussians with total `mu`, of groups (epsilon, count) of the other two kinds, and
    of groups ((each, mass), count) of three-point pairs (see `sfumato.privacy.three_points`).

    The order does not matter, the parameters must have been fixed beforehand. Returns an upper bound,
    infinity when delta < 1e-11.
    """
    if delta < FLOOR or any(each > 700 for (each, _), _ in draws):
        return math.inf
    everything = mu**2
    everything += sum(count * gdp.mu_of_bounded_range(epsilon) ** 2 for epsilon, count in bounded_range)
    everything += sum(count * gdp.mu_of_pure(epsilon) ** 2 for epsilon, count in pure)
    everything += sum(count * gdp.mu_of_three_points(*pair) ** 2 for pair, count in draws)
    target = gdp.epsilon(math.sqrt(everything), delta)
    if target == 0 or math.isinf(target):
        return target
    interval = target / _CELLS
    parts = []
    mu2 = mu**2
    for groups, dominating, price in (
        (bounded_range, _bounded_range, gdp.mu_of_bounded_range),
        (pure, _pure, gdp.mu_of_pure),
    ):
        for epsilon, count in _few(groups):
            if epsilon < _FINEST * interval:
                mu2 += count * price(epsilon) ** 2
            elif count:
                parts.append(dominating(epsilon, interval).self_compose(count))
    for (each, mass), count in draws:
        if each < _FINEST * interval:
            mu2 += count * gdp.mu_of_three_points(each, mass) ** 2
        else:
            parts.append(_three_points(each, mass, interval).self_compose(count))
    if mu2:
        parts.append(_gaussian(math.sqrt(mu2), interval))
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return float(total.get_epsilon_for_delta(delta - _ROUNDING)) * (1 + 1e-9)


def _few(groups: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """The groups, their epsilons rounded up by at most 2 % onto a common grid when there are many of them."""
    if len(groups) <= _MANY:
        return list(groups)
    merged: dict[float, int] = {}
    for epsilon, count in groups:
        if epsilon > 0:
            rounded = math.exp(math.ceil(math.log(epsilon) / _GRID + 1e-9) * _GRID)
            merged[rounded] = merged.get(rounded, 0) + count
    return list(merged.items())


def _gaussian(mu: float, interval: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval)


def _pure(epsilon: float, interval: float) -> Any:
    from dp_accounting.pld import common, privacy_loss_distribution

    return privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=interval
    )


def _three_points(each: float, mass: float, interval: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    above = mass * math.exp(each)
    logs = [math.log(mass), math.log(above)]
    rest = [math.log1p(-mass - above)] if mass + above < 1 else []
    return privacy_loss_distribution.from_two_probability_mass_functions(
        dict(enumerate([logs[0], logs[1], *rest])),
        dict(enumerate([logs[1], logs[0], *rest])),
        value_discretization_interval=interval,
        pessimistic_estimate=True,
    )


def _bounded_range(epsilon: float, interval: float) -> Any:
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    cells = math.ceil(epsilon / interval)
    index = np.arange(-cells, cells + 1)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(interval, index, _profile(epsilon, index * interval))
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _profile(epsilon: float, at: Any) -> Any:
    """Largest hockey-stick divergence of order e^at over all pairs whose losses span at most epsilon."""
    size = np.minimum(np.abs(at), epsilon)
    # e^{-ε} is taken out of numerator and denominator, for large epsilon.
    above = np.expm1((size - epsilon) / 2) ** 2 / -math.expm1(-epsilon)
    return np.where(at >= 0, above, -np.expm1(-np.abs(at)) + np.exp(-np.abs(at)) * above)

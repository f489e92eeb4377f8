"""Epsilon of fixed schedules by privacy-loss distributions, against closed forms and enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from sfumato.privacy import gdp, pld, zcdp


def brute_delta(pairs: list[tuple[float, float, int]], mu: float, epsilon: float) -> float:
    """Delta of independent two-point pairs (epsilon, t, count), and a Gaussian when mu > 0, by
    enumeration.
    """
    from scipy.special import ndtr
    from scipy.stats import binom

    losses, masses = np.zeros(1), np.ones(1)
    for size, t, count in pairs:
        p = (math.exp(size) - math.exp(t)) / math.expm1(size)
        first = np.arange(count + 1)
        losses = (losses[:, None] + first * t + (count - first) * (t - size)).ravel()
        masses = (masses[:, None] * binom.pmf(first, count, p)).ravel()
    gap = epsilon - losses
    if mu:
        each = ndtr(-gap / mu + mu / 2) - np.exp(gap) * ndtr(-gap / mu - mu / 2)
    else:
        each = -np.expm1(np.minimum(gap, 0.0))
    return float((masses * each).sum())


SCHEDULES = [(0.5, 5, 0.0), (0.1, 50, 0.2), (1e-4, 40, 2e-4), (8.0, 3, 4.0)]
"""Range of the selections, their number, and mu of the Gaussians beside them."""


def check_schedules(epsilon_of: Callable[..., float]) -> None:
    """No member of the bounded-range family may exceed delta at the epsilon stated."""
    for size, count, mu in SCHEDULES:
        stated = epsilon_of(delta=1e-6, mu=mu, bounded_range=[(size, count)])
        for share in (0.3, 0.5, 0.7):
            assert brute_delta([(size, share * size, count)], mu, stated) <= 1e-6
        mixed = [(size, 0.4 * size, count // 2), (size, 0.6 * size, count - count // 2)]
        assert brute_delta(mixed, mu, stated) <= 1e-6


def test_schedules_cover_all_extreme_pairs() -> None:
    check_schedules(pld.epsilon_of_schedule)


@pytest.mark.parametrize("mu", [1e-5, 0.1, 1.0, 8.0])
def test_a_gaussian_schedule_agrees_with_the_closed_form(mu: float) -> None:
    exact = gdp.epsilon(mu, 1e-6)
    assert exact * (1 - 1e-9) <= pld.epsilon_of_schedule(delta=1e-6, mu=mu) <= exact * (1 + 1e-3)


def test_a_single_selection_agrees_with_the_closed_form() -> None:
    """H(e) = (e^{ε/2} - e^{e/2})² / (e^ε - 1), solved for e, and the search over t behind it."""
    size, delta = 2.0, 1e-3
    exact = 2 * math.log(math.exp(size / 2) - math.sqrt(delta * math.expm1(size)))
    assert exact <= pld.epsilon_of_schedule(delta=delta, bounded_range=[(size, 1)]) <= exact * (1 + 1e-3)
    at = np.linspace(-3, 3, 61)
    t = np.linspace(0, size, 4001)
    p = (math.exp(size) - np.exp(t)) / math.expm1(size)
    first = p * np.maximum(0, -np.expm1(at[:, None] - t))
    second = (1 - p) * np.maximum(0, -np.expm1(at[:, None] - t + size))
    np.testing.assert_allclose(pld._profile(size, at), (first + second).max(axis=1), atol=1e-6)


def test_pure_schedules() -> None:
    assert pld.epsilon_of_schedule(delta=1e-6, pure=[(0.1, 1)]) == pytest.approx(0.1, rel=1e-3)
    twenty = pld.epsilon_of_schedule(delta=1e-6, pure=[(0.1, 20)])
    assert 1.7 < twenty < 1.80 < zcdp.epsilon(20 * zcdp.rho_of_pure(0.1), 1e-6)


def test_schedule_extremes() -> None:
    assert pld.epsilon_of_schedule(delta=1e-6) == 0
    assert pld.epsilon_of_schedule(delta=1e-12, mu=1.0) == math.inf
    assert pld.epsilon_of_schedule(delta=1e-6, mu=math.inf) == math.inf
    # Selections too small for the grid count as Gaussians.
    tiny = pld.epsilon_of_schedule(delta=1e-6, mu=1.0, bounded_range=[(1e-4, 10**6)])
    assert tiny == pytest.approx(
        gdp.epsilon(math.hypot(1.0, gdp.mu_of_bounded_range(1e-4) * 1000), 1e-6), rel=1e-4
    )


def test_many_different_selections_are_merged_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [(0.1 + i / 300, 1) for i in range(30)]
    merged = pld.epsilon_of_schedule(delta=1e-6, mu=0.5, bounded_range=groups)
    monkeypatch.setattr(pld, "_MANY", 30)
    apart = pld.epsilon_of_schedule(delta=1e-6, mu=0.5, bounded_range=groups)
    assert apart <= merged <= 1.03 * apart


def test_a_schedule_that_forgets_charges_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        check_schedules(
            lambda *, delta, mu, bounded_range: pld.epsilon_of_schedule(
                delta=delta, mu=mu, bounded_range=[(size, count - 1) for size, count in bounded_range]
            )
        )
    monkeypatch.setattr(pld, "_profile", lambda epsilon, at: np.maximum(0, -np.expm1(at - epsilon / 2)))
    with pytest.raises(AssertionError):
        check_schedules(pld.epsilon_of_schedule)

"""What trainings cost: published tables, other accountants, and bounds that must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from attrs import evolve
from scipy.integrate import quad
from scipy.stats import binom, norm

from sfumato.privacy import gdp
from sfumato.privacy.subsampled import (
    ORDERS,
    Schedule,
    epsilon,
    epsilon_of_renyi,
    mu_squared,
    renyi,
    smallest_noise,
)

ADULT, MIMIC, MIMIC_DELTA = 32_561, 27_912, 1.2871523e-5
TABLE = [
    # noise of both phases, steps of the first; epsilon by the old conversion, the new one, and loss distributions
    (5.0, 8.0, 10_000, 0.3503, 0.2649, 0.2407),
    (4.6, 8.0, 10_000, 0.3601, 0.2728, 0.2479),
    (2.5, 7.5, 10_000, 0.5084, 0.3944, 0.3586),
    (1.5, 3.5, 10_000, 1.0062, 0.8158, 0.7447),
    (2.5, 7.5, 20_000, 0.6481, 0.5111, 0.4657),
]
ALONE = [(3.5, 10_000, 0.64815), (2.3, 10_000, 1.02611), (1.3, 20_000, 2.98706), (1.3, 1_000, 0.85378)]
PHASES = [
    # noise, batch, steps of one phase on Adult; epsilon by the old conversion at 1e-5 and 5e-6, loss distributions
    (5.0, 64, 10_000, 0.192, 0.198, 0.126),
    (4.6, 64, 10_000, 0.210, 0.216, 0.138),
    (2.5, 64, 10_000, 0.400, 0.412, 0.277),
    (1.5, 64, 10_000, 0.747, 0.773, 0.527),
    (8.0, 128, 15_000, 0.292, 0.301, 0.198),
    (7.5, 128, 15_000, 0.312, 0.322, 0.212),
    (3.5, 128, 15_000, 0.688, 0.708, 0.496),
]
TOTALS = [(3.5, 0.833, 0.668, 0.646), (2.3, 1.320, 1.089, 1.021), (1.3, 2.695, 2.315, 2.140)]


def phases(first: float, second: float, steps: int) -> list[Schedule]:
    return [
        Schedule(noise=first, rate=64 / ADULT, steps=steps), Schedule(noise=second, rate=128 / ADULT, steps=15_000)
    ]  # fmt: skip


@pytest.mark.parametrize("first, second, steps, old, new, losses", TABLE)
def test_the_table_of_both_phases(first, second, steps, old, new, losses):
    both = phases(first, second, steps)
    curve = sum(map(renyi, both))
    assert epsilon_of_renyi(curve, 1e-5, classic=True)[0] == pytest.approx(old, abs=2e-3)
    assert epsilon_of_renyi(curve, 1e-5)[0] == pytest.approx(new, abs=2e-3)
    # The published column has cells of 1e-4; finer ones give a little less.
    assert epsilon(both, 1e-5, interval=1e-4) == pytest.approx(losses, abs=1e-4)
    assert abs(epsilon(both, 1e-5) - losses) < 2e-3


@pytest.mark.parametrize("noise, batch, steps, old, half, losses", PHASES)
def test_the_table_of_each_phase(noise, batch, steps, old, half, losses):
    schedule = Schedule(noise=noise, rate=batch / ADULT, steps=steps)
    for delta, wanted in ((1e-5, old), (5e-6, half)):
        assert epsilon_of_renyi(renyi(schedule), delta, classic=True)[0] == pytest.approx(wanted, abs=2e-3)
    assert epsilon([schedule], 1e-5, interval=1e-4) == pytest.approx(losses, abs=2e-3)
    # The order by which one account is better than the next.
    assert epsilon([schedule], 1e-5) < epsilon_of_renyi(renyi(schedule), 1e-5)[0] < old + 2e-3


@pytest.mark.parametrize("noise, steps, want", ALONE)
def test_one_phase_on_wide_binary_rows(noise, steps, want):
    curve = renyi(Schedule(noise=noise, rate=128 / MIMIC, steps=steps))
    assert epsilon_of_renyi(curve, MIMIC_DELTA, classic=True)[0] == pytest.approx(want, abs=1e-3)


@pytest.mark.parametrize("noise, old, new, losses", TOTALS)
def test_both_phases_on_wide_binary_rows(noise, old, new, losses):
    both = [Schedule(noise=noise, rate=b / MIMIC, steps=10_000) for b in (100, 128)]
    curve = sum(map(renyi, both))
    assert epsilon_of_renyi(curve, 1e-5, classic=True)[0] == pytest.approx(old, abs=1e-3)
    assert epsilon_of_renyi(curve, 1e-5)[0] == pytest.approx(new, abs=1e-3)
    # That column has cells of 1e-3, which cost up to 6 %.
    assert epsilon(both, 1e-5, interval=1e-3) == pytest.approx(losses, abs=1e-3)
    assert epsilon(both, 1e-5) <= losses


def test_added_curves_beat_added_epsilons():
    both = phases(4.6, 8.0, 10_000)
    apart = sum(epsilon_of_renyi(renyi(each), 5e-6, classic=True)[0] for each in both)
    assert epsilon_of_renyi(sum(map(renyi, both)), 1e-5, classic=True)[0] < 0.75 * apart


@pytest.mark.parametrize("rate, noise", [(0.002, 4.6), (0.05, 1.5), (1.0, 4.0)])
def test_another_accountant_agrees(rate, noise):
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), 200
    )
    schedule = Schedule(noise=noise, rate=rate, steps=200)
    losses = PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(1e-6)
    assert epsilon([schedule], 1e-6, interval=1e-3) == pytest.approx(losses, rel=1e-5)


@pytest.mark.parametrize("rate, noise", [(0.002, 4.6), (0.01, 1.0), (0.3, 0.7), (0.5, 3.0)])
@pytest.mark.parametrize("order", [1.1, 1.5, 2.0, 2.3, 4.0, 5.7])
def test_renyi_divergences_are_the_integrals_that_define_them(rate, noise, order):
    def integrand(x):
        mixture = 1 - rate + rate * np.exp((2 * x - 1) / (2 * noise**2))
        return norm.pdf(x, scale=noise) * mixture**order

    value, _ = quad(integrand, -12 * noise, 12 * noise + order, limit=400, points=[0, order / 2, order])
    (found,) = renyi(Schedule(noise=noise, rate=rate, steps=1), [order])
    assert found == pytest.approx(np.log(value) / (order - 1), rel=1e-5, abs=1e-12)
    assert len(ORDERS) == len(set(ORDERS)) and min(ORDERS) > 1


def test_exchanged_contributions_without_sampling_are_a_shift_by_two():
    exchanged = Schedule(noise=8.0, rate=1.0, steps=9, exchange=True)
    assert epsilon([exchanged], 1e-6) == pytest.approx(gdp.epsilon(2 * 3 / 8, 1e-6), rel=1e-4)
    assert mu_squared(exchanged, 1e-8) == pytest.approx((2 * 3 / 8) ** 2, rel=1e-6)


def test_exchange_costs_more_than_removal_and_about_as_much_as_two():
    one = Schedule(noise=2.0, rate=0.01, steps=500)
    exchanged, removed = epsilon([evolve(one, exchange=True)], 1e-5), epsilon([one], 1e-5)
    assert 1.5 * removed < exchanged < 3 * removed


def test_another_accountant_agrees_on_persons():
    from dp_accounting.pld import privacy_loss_distribution as pld

    noise, rate, m = 6.0, 0.02, 3
    chances = binom.pmf(range(m + 1), m, rate)
    step = pld.from_mixture_gaussian_mechanism(
        noise, range(m + 1), chances / chances.sum(), value_discretization_interval=2e-3
    )
    wanted = step.self_compose(50).get_epsilon_for_delta(1e-6)
    found = epsilon([Schedule(noise=noise, rate=rate, steps=50, at_most=m)], 1e-6, interval=2e-3)
    assert found == pytest.approx(wanted, rel=1e-4)


def test_persons_with_several_rows():
    """Binomial shifts: between one contribution of norm 1 and one of norm 3, always and at once."""
    one, three = (Schedule(noise=4.0, rate=0.01, steps=500, at_most=m) for m in (1, 3))
    together = Schedule(noise=4 / 3, rate=1 - 0.99**3, steps=500)
    assert epsilon([one], 1e-5) < epsilon([three], 1e-5) < epsilon([together], 1e-5)
    assert epsilon([three], 1e-5) <= epsilon_of_renyi(renyi(three), 1e-5)[0]
    assert epsilon([three], 1e-5) > 2 * epsilon([one], 1e-5)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(noise=1.0, rate=0.01, steps=300),
        Schedule(noise=0.7, rate=0.004, steps=1_000),
        Schedule(noise=3.0, rate=0.05, steps=100, exchange=True),
        Schedule(noise=5.0, rate=0.02, steps=100, at_most=4),
    ],
)
def test_the_price_in_gaussian_privacy_dominates_at_every_delta(schedule):
    kept = 1e-7
    mu = math.sqrt(mu_squared(schedule, kept))
    for delta in np.geomspace(2e-7, 0.2, 13):
        claimed = gdp.epsilon(mu, (delta - kept) / (1 - kept))
        exact = epsilon([schedule], delta)
        assert exact <= claimed * (1 + 1e-6) + 1e-6, delta
    assert mu**2 < schedule.unsampled_mu_squared


def test_the_price_is_close_to_what_losses_tell():
    both = phases(2.5, 7.5, 10_000)
    mu2 = sum(mu_squared(each, 2e-7) for each in both)
    assert gdp.epsilon(math.sqrt(mu2), 1e-5 - 4e-7) < 1.01 * epsilon(both, 1e-5)


def test_noise_is_enough_and_not_more():
    schedule = Schedule(noise=1.0, rate=0.01, steps=200)
    noise = smallest_noise(0.05, schedule, 1e-8)
    assert 0.995 * 0.05 < mu_squared(evolve(schedule, noise=noise), 1e-8) <= 0.05


def test_tiny_deltas_are_priced_without_sampling():
    schedule = Schedule(noise=1.0, rate=0.01, steps=200)
    assert mu_squared(schedule, 1e-13) == pytest.approx(200, rel=1e-6)
    assert epsilon([schedule], 1e-14) == math.inf


@pytest.mark.parametrize("facts", [{"rate": 0.0}, {"rate": 1.5}, {"noise": 0.0}])
def test_schedules_that_are_none(facts):
    with pytest.raises(ValueError):
        Schedule(**({"noise": 1.0, "rate": 0.1, "steps": 1} | facts))

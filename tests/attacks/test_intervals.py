"""Intervals and ceilings against other implementations, exact formulas and their own promise."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.attacks.people import population

import sfumato as sf
from sfumato.attacks import intervals
from sfumato.attacks.ceiling import Guarantee
from sfumato.errors import UsageError


@pytest.mark.parametrize(("hits", "tries"), [(0, 10), (3, 10), (10, 10), (1, 2000), (50, 1000)])
def test_shares_are_those_of_scipy(hits, tries):
    found = stats.binomtest(hits, tries)
    for ours, method in ((intervals.share(hits, tries), "exact"), (intervals.wilson(hits, tries), "wilson")):
        theirs = found.proportion_ci(0.95, method=method)
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_a_difference_of_shares_is_the_published_example():
    # Newcombe 1998, table II, method 10: 56/70 - 48/80, and the extreme 10/10 - 0/10.
    assert intervals.difference((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert intervals.difference((10, 10), (0, 10)) == pytest.approx((0.6075, 1.0), abs=5e-4)
    assert intervals.difference((0, 10), (0, 10))[0] < 0 < intervals.difference((0, 10), (0, 10))[1]


def test_an_area_counts_pairs_and_halves_ties():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 5, 40).astype(float), rng.integers(0, 5, 30).astype(float)
    brute = np.mean([(a > b) + (a == b) / 2 for a in one for b in other])
    assert intervals.area(one, other) == pytest.approx(brute, abs=1e-12)


def test_intervals_of_an_area_cover():
    # 400 draws at a coverage of at least 93 %: fewer than 340 hits have a chance below 1e-7.
    rng, truth, hits = np.random.default_rng(1), stats.norm.cdf(1 / math.sqrt(2)), 0
    for _ in range(400):
        value = intervals.area(rng.normal(1, 1, 60), rng.normal(0, 1, 80))
        low, high = intervals.area_ends(value, 60, 80)
        assert 0 <= low <= value <= high <= 1
        hits += low <= truth <= high
    assert hits >= 340
    assert intervals.area_ends(1.0, 50, 50)[0] < 1 and intervals.area_ends(0.5, 50, 50)[0] < 0.5


def test_ceilings_are_those_of_the_definition():
    for epsilon in (0.1, 1.0, 5.0):
        pure = Guarantee(epsilon)
        assert pure.area() == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), abs=1e-5)
        # Randomised response attains both sides of the bound.
        p = 1 / (1 + math.exp(epsilon))
        assert pure.at_most(p) == pytest.approx(1 - p)
        assert pure.at_most(1e-4) == pytest.approx(1e-4 * math.exp(epsilon))
    assert Guarantee(1.0, 0.01).at_most(0.0) == pytest.approx(0.01)
    gaussian = Guarantee(50.0, 0.0, mu=1.0)
    assert gaussian.area() == pytest.approx(stats.norm.cdf(1 / math.sqrt(2)), abs=1e-5)
    assert Guarantee(math.inf).area() == 1.0 and Guarantee(math.inf).at_most(0.0) == 1.0
    for wrong in ((-1.0, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.0, -0.1)):
        with pytest.raises(UsageError):
            Guarantee(*wrong)


def test_a_model_states_a_sharper_ceiling_than_its_epsilon():
    model = sf.fit(population(300, 0), epsilon=1.0, method="independent")
    stated = Guarantee.of(model)
    assert stated.holds and stated.area() < Guarantee(model.statement.epsilon, model.statement.delta).area()
    loose = sf.fit(population(300, 0), epsilon=1.0, method="independent", insecure_noise_seed=1)
    assert not Guarantee.of(loose).holds

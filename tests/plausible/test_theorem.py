"""Theorem 1, its better delta, and passing, on all tables and neighbours of toy models, in exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.plausible.toy import cases, divergence, law, q

from sfumato.privacy.plausible import (
    RandomThreshold,
    after_passing,
    best_theorem_1,
    exact_delta,
    improved_delta,
    pass_probability,
    passing_mass_sensitivity,
    theorem_1,
)


@pytest.fixture(scope="module")
def laws():
    """(n, k, gamma, e^epsilon0, law over n seeds, law over n + 1 seeds) of every case."""
    return [
        (len(seeds), k, gamma, base, law(seeds, model, k, gamma, base), law(more, model, k, gamma, base))
        for seeds, more, model, k, gamma, base in cases()
    ]


def test_theorem_1_and_its_better_delta_hold_everywhere(laws):
    """With a factor and a delta that are exact rationals: e^epsilon0 (1 + gamma/t) and e^-epsilon0(k-t) / 2(n+1)."""
    assert len(laws) > 2000
    closest = Fraction(0)
    for n, k, gamma, base, one, other in laws:
        for t in range(1, k):
            factor, delta = base * (1 + gamma / t), base ** -(k - t)
            better = delta / (2 * (n + 1))
            worst = max(divergence(one, other, factor), divergence(other, one, factor))
            assert worst <= better <= delta
            closest = max(closest, worst / better)
            # The functions say the same in floating point.
            epsilon, published = theorem_1(k, float(gamma), math.log(base), t)
            assert epsilon == pytest.approx(math.log(factor)) and published == pytest.approx(float(delta))
            assert improved_delta(k, math.log(base), t, n) == pytest.approx(float(better))
    # Not by a wide margin: the enumeration can tell a wrong factor.
    assert closest > Fraction(1, 10)


def test_the_exact_delta_bounds_all_and_is_attained(laws):
    tight = 0.0
    for n, k, gamma, base, one, other in laws:
        epsilon = math.log(base) + 0.05
        bound = exact_delta(epsilon, k, float(gamma), math.log(base), n)
        worst = float(divergence(other, one, Fraction(math.exp(epsilon))))
        assert worst <= bound * (1 + 1e-9) + 1e-15
        tight = max(tight, worst / bound if bound else 0.0)
    assert tight > 0.999


def test_a_delta_below_the_better_one_fails(laws):
    """Divided by 40 (n + 1) instead of 2 (n + 1) it is no bound any more."""
    broken = [
        1
        for n, k, gamma, base, one, other in laws
        for t in range(1, k)
        if divergence(other, one, base * (1 + gamma / t)) > base ** -(k - t) / (40 * (n + 1))
    ]
    assert broken


def test_records_that_passed(laws):
    """Candidates until one passes: its law is the release law divided by the passing probability."""
    checked = 0
    for n, k, gamma, base, one, other in laws:
        passing = min(sum(one), sum(other))
        for t in range(1, k):
            factor, delta = base * (1 + gamma / t), base ** -(k - t) / (2 * (n + 1))
            if delta >= passing:
                continue
            epsilon, after = after_passing(math.log(factor), float(delta), n=n, passing=float(passing))
            first = [tuple(mass / sum(each) for mass in each) for each in (one, other)]
            factor = Fraction(math.exp(epsilon) * (1 + 1e-12))
            assert max(divergence(*first, factor), divergence(*first[::-1], factor)) <= Fraction(after)
            checked += 1
    assert checked > 1000


def test_counts_of_rejected_candidates_must_not_be_published():
    """200 equal records and one unlike them: nothing is ever rejected, then 1 in 201 is."""
    base, k = Fraction(3), 50
    model = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]
    one, other = (law(seeds, model, k, Fraction(4), base) for seeds in ((0,) * 200, (0,) * 200 + (1,)))
    rejected = [1 - sum(each) for each in (one, other)]
    delta = improved_delta(k, math.log(base), 20, 200)
    assert rejected[0] < Fraction(1, 10**60) and delta < 1e-15
    assert rejected[1] == pytest.approx(1 / 201, rel=1e-9)
    # No factor that a guarantee would have covers it: its delta would have to be 1 / (n + 1).
    assert rejected[1] - 1000 * rejected[0] > Fraction(1, 202)
    # The released records alone are fine.
    epsilon = Fraction(math.exp(theorem_1(k, 4, math.log(base), 20)[0]))
    assert max(divergence(one, other, epsilon), divergence(other, one, epsilon)) <= delta


def test_the_passing_mass_moves_by_no_more_than_stated(laws):
    largest = 0.0
    for n, k, gamma, base, one, other in laws:
        moved = (n + 1) * sum(other) - n * sum(one)
        bound = passing_mass_sensitivity(k, float(gamma), math.log(base))
        assert 0 <= moved <= Fraction(bound)
        largest = max(largest, float(moved) / bound)
    assert largest > 0.5


def test_the_pass_probability_is_the_one_of_the_threshold_as_drawn():
    k, epsilon0 = 7, Fraction(1, 2)
    counts = np.arange(0, 16)
    law_ = pass_probability(counts, k, float(epsilon0))
    assert law_ == pytest.approx([float(q(int(c), k, Fraction(math.exp(0.5)))) for c in counts])
    draws = 200_000
    passed = RandomThreshold(k, epsilon0).passed(np.repeat(counts, draws)).reshape(-1, draws).mean(axis=1)
    deviations = np.abs(passed - law_) / np.sqrt(law_ * (1 - law_) / draws)
    # 16 looks, each wrong with probability 3e-8.
    assert deviations.max() < 5.5


def test_the_example_of_the_paper():
    epsilon, delta = theorem_1(50, 4, 1.0, 20)
    assert (epsilon, delta) == pytest.approx((1.1823, 9.358e-14), rel=1e-4)
    assert improved_delta(50, 1.0, 20, 735_000) == pytest.approx(6.366e-20, rel=1e-3)
    assert exact_delta(epsilon, 50, 4, 1.0, 735_000) == pytest.approx(1.71e-21, rel=1e-2)
    found = best_theorem_1(50, 4, 1.0, delta=6.4e-20, n=735_000)
    assert found is not None and found[2] == 20 and found[1] <= 6.4e-20
    assert best_theorem_1(5, 4, 0.1, delta=1e-9, n=100) is None

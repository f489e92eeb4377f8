"""Mechanisms over seeds: the law of what is released, and what is charged."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import hypergeom
from tests.plausible.networks import SIZES, chance, every_record, network, seeds

from sfumato.domain.codecs import GridCodec
from sfumato.domain.column import read_column
from sfumato.privacy import gdp
from sfumato.privacy.mechanisms.base import Answer
from sfumato.privacy.mechanisms.noisy_entropies import NoisyEntropies
from sfumato.privacy.mechanisms.plausible_release import (
    PassingMass,
    PlausibleRelease,
    Synthesis,
    coupling_bound,
    least_mean,
)
from sfumato.privacy.mechanisms.seed_histogram import SeedHistogram
from sfumato.privacy.plausible.candidates import among_checked, uniform_below
from sfumato.privacy.plausible.threshold import pass_probability
from sfumato.privacy.unit import PrivacyUnit

CODECS = tuple(
    GridCodec(read_column(f"c{i}", {"type": "int", "min": 0, "max": size - 2}), tuple(range(size)))
    for i, size in enumerate(SIZES)
)
"""One code is missing, so a grid of size - 1 cells has `size` codes."""
UNIT = PrivacyUnit()


class Rows:
    def __init__(self, records):
        self.held = records

    def records(self, encoders):
        return self.held[:, [int(encoder.column[1:]) for encoder in encoders]].astype(np.int32)

    def cells(self, encoders):
        return np.unique(self.records(encoders).astype(np.int64), axis=0, return_counts=True)

    def marginals(self, cliques):
        found = []
        for clique in cliques:
            table = np.zeros([each.size for each in clique], dtype=np.int64)
            np.add.at(table, tuple(self.held[:, int(each.column[1:])] for each in clique), 1)
            found.append(table)
        return found


def synthesis(**changed):
    given = {"encoders": CODECS, "network": network(), "omegas": (2, 3), "k": 8, "gamma": 2.0}
    return Synthesis(**{**given, "epsilon0": Fraction(1, 2), **changed})


def release_law(held, table):
    """Law of a released record and the passing mass, by brute force over seeds and records."""
    records = every_record()
    chances = np.array([[chance(held.network, y, d, held.omegas) for d in table] for y in records])
    with np.errstate(divide="ignore"):
        kinds = np.floor(-np.log(chances) / math.log(held.gamma) + 1e-12)
    mass = np.zeros(len(records))
    for y in range(len(records)):
        for kind in np.unique(kinds[y][np.isfinite(kinds[y])]):
            members = kinds[y] == kind
            count = members.sum()
            passed = (
                pass_probability(count, held.k, float(held.epsilon0)) if held.epsilon0 else count >= held.k
            )
            mass[y] += chances[y][members].sum() * passed
    return mass, mass.sum()


@pytest.mark.parametrize(
    "changed", [{}, {"omegas": (3,)}, {"omegas": (1, 2, 3, 4, 5)}, {"epsilon0": None, "k": 2}], ids=str
)
def test_released_records_follow_the_law_of_the_mechanism(changed):
    held, table = synthesis(**changed), seeds(60, 3)
    mass, whole = release_law(held, table)
    release = PlausibleRelease(synthesis=held, records=60_000, mass=10.0, tail=1e-10, doubt=1e-10)
    answer = release.noisy(release.exact(Rows(table)))
    assert release.fits(answer)
    counts = np.bincount(np.ravel_multi_index(answer.arrays[0].T, SIZES), minlength=len(mass))
    law = mass / whole
    assert not counts[law == 0].any()
    kept = law > 0
    statistic = ((counts[kept] - law[kept] * 60_000) ** 2 / (law[kept] * 60_000)).sum()
    assert statistic < kept.sum() + 8 * math.sqrt(2 * kept.sum())


def test_the_passing_mass_is_n_times_p():
    held, table = synthesis(), seeds(400, 3)
    _, whole = release_law(held, table)
    asked = PassingMass(synthesis=held, sigma=Fraction(1, 2), doubt=1e-6)
    counts = [int(asked.noisy(asked.exact(Rows(table))).arrays[0][0]) for _ in range(40)]
    assert abs(np.mean(counts) - whole) < 7 * math.sqrt(400 / 4 / 40)
    # The certificate lies below, nearly always.
    assert all(asked.certified(count, 1e-6) <= whole for count in counts)
    empty = asked.noisy(asked.exact(Rows(seeds(0))))
    assert asked.fits(empty) and abs(int(empty.arrays[0][0])) < 10


def test_one_seed_more_moves_the_passing_count_by_no_more_than_is_charged():
    """The worst case: a class of k - 1 seeds which the new seed joins; counts of two coupled tables."""
    k, epsilon0 = 200, 0.05
    held = synthesis(k=k, epsilon0=Fraction(1, 20), omegas=(3,))
    moved = PassingMass.moved(held, 1e-9)
    q = pass_probability(np.array([k - 1, k, k + 1]), k, epsilon0)
    expected = k * (q[1] - q[0]) + q[1]
    assert expected < moved < 4 * expected + 60
    rng = np.random.default_rng(0)
    uniform = rng.random((20_000, k - 1))
    joined = ((uniform < q[1]) & (uniform >= q[0])).sum(axis=1) + 1
    assert joined.max() <= moved


def test_chernoff_bounds():
    from scipy.stats import poisson

    for mean in (0.5, 5.0, 80.0):
        assert poisson.sf(coupling_bound(mean, 1e-6) - 1, mean) <= 1e-6
    for count in (30, 1000):
        low = least_mean(count, 1e-6)
        assert poisson.sf(count - 1, low) <= 1e-6 < poisson.sf(count - 1, low + 0.25 * (count - low) + 3)
    assert least_mean(-3, 0.1) == 0


def test_only_so_many_seeds_are_looked_at():
    counts = np.full(40_000, 12)
    found = np.bincount(among_checked(counts, 40, 10), minlength=13)
    law = hypergeom.pmf(np.arange(13), 40, 12, 10)
    kept = law > 1e-6
    assert ((found[kept] - law[kept] * 4e4) ** 2 / (law[kept] * 4e4)).sum() < 11 + 8 * math.sqrt(22)
    drawn = np.bincount(uniform_below(7, 70_000), minlength=7)
    assert ((drawn - 1e4) ** 2 / 1e4).sum() < 6 + 8 * math.sqrt(12)


def test_prices():
    held = synthesis(k=100, epsilon0=Fraction(1, 5))
    release = PlausibleRelease(synthesis=held, records=50, mass=20_000.0, tail=1e-11, doubt=1e-11)
    cost = release.cost(UNIT)
    assert cost.add_remove.delta == pytest.approx(2e-11)
    assert gdp.epsilon(math.sqrt(cost.add_remove.mu2), 1e-9) == pytest.approx(
        release.release.epsilon(1e-9), rel=0.3
    )
    assert cost.replace.mu2 > 4 * cost.add_remove.mu2 and cost.replace.delta > 2 * cost.add_remove.delta
    # One omega: gamma does not matter, and it is cheaper.
    fixed = PlausibleRelease(
        synthesis=synthesis(k=100, epsilon0=Fraction(1, 5), omegas=(3,), gamma=50.0),
        records=50, mass=20_000.0, tail=1e-11, doubt=1e-11,
    )  # fmt: skip
    assert fixed.price().mu2 < release.price().mu2
    # Stopping early leaves theorem 1 for each record, which is dearer.
    checked = PlausibleRelease(
        synthesis=synthesis(k=100, epsilon0=Fraction(1, 5), max_check_plausible=1000),
        records=50, mass=20_000.0, tail=1e-11, doubt=1e-11,
    )  # fmt: skip
    assert checked.price().mu2 > 3 * release.price().mu2
    plain = PlausibleRelease(synthesis=synthesis(epsilon0=None), records=5, mass=1.0, tail=0.0, doubt=0.0)
    assert plain.cost(UNIT).add_remove.shape == "revealed"
    with pytest.raises(ValueError, match="one record"):
        release.cost(PrivacyUnit(column="who", at_most=2))


def test_answers_of_another_form_are_refused():
    held = synthesis()
    release = PlausibleRelease(synthesis=held, records=2, mass=10.0, tail=1e-11, doubt=1e-11)
    good = np.zeros((2, 5), dtype=np.int64)
    assert release.fits(Answer(arrays=(good,)))
    for bad in (good[:1], good - 1, good + 9):
        assert not release.fits(Answer(arrays=(bad,)))
    asked = SeedHistogram(encoders=CODECS[:2], sigma=Fraction(2), threshold=10)
    answer = asked.noisy(asked.exact(Rows(seeds(500))))
    assert asked.fits(answer) and (answer.arrays[1] >= 10).all()
    table, counts = answer.arrays
    assert not asked.fits(Answer(arrays=(table[::-1].copy(), counts[::-1].copy())))
    assert not asked.fits(Answer(arrays=(table, counts - 1000)))


def test_entropies_are_those_of_the_tables():
    asked = NoisyEntropies(columns=CODECS, buckets=CODECS, least=100, sigma=Fraction(1))
    exact = asked.exact(Rows(seeds(400)))
    assert exact.shape == (30,) and asked.fits(asked.noisy(exact))
    share = np.bincount(seeds(400)[:, 0]) / 400
    assert exact[0] / 2**26 == pytest.approx(-(share @ np.log2(share)), abs=1e-6)
    cost = asked.cost(UNIT)
    assert cost.add_remove.mu2 == cost.replace.mu2 == pytest.approx(NoisyEntropies.distance2(5, 100, UNIT))

"""Published and derived figures, to the digits given; closed forms in every direction."""

import math
from itertools import combinations

import numpy as np
import pytest

from sfumato import sampling
from sfumato.errors import UsageError
from sfumato.privacy.three_points import (
    epsilon_of_draws,
    pair_mass,
)
from sfumato.privacy.unit import PrivacyUnit
from sfumato.sampling.choice import remarks
from sfumato.sampling.step_distance import step_distance

Q = {  # k = 9, n = 1000: q_m by epsilon, and the first m with q = 0
    0.01: ({0: .472437, 1: .472389, 2: .472294, 5: .471722, 10: .469816, 15: .466710, 20: .462387, 50: .408282,
            100: .110955}, 107),
    0.05: ({0: .149325, 1: .148949, 2: .148210, 5: .143955, 10: .130743, 20: .084947, 50: 0, 100: 0}, 33),
    0.1: ({0: .078829, 1: .078033, 2: .076509, 5: .068139, 10: .044138, 15: .010709, 20: 0, 50: 0, 100: 0}, 17),
    0.25: ({0: .030714, 1: .028767, 2: .025281, 5: .008398, 10: 0}, 7),
    0.5: ({0: .013684, 1: .010159, 2: .004452, 5: 0}, 3),
    1.0: ({0: .005210, 1: 0}, 1),
    2.0: ({0: .001407, 1: 0}, 1),
    3.0: ({0: .000471, 1: 0}, 1),
}  # fmt: skip
DRAWS = {  # epsilon at delta = 1e-6 of N draws from n = 1000, k = 9, on a grid of losses of width 1e-3
    1.0: {1: .999, 10: 1.994, 100: 3.969, 1000: 9.778, 10_000: 33.35},
    0.5: {1: .500, 10: .999, 100: 2.308, 1000: 5.764, 10_000: 20.01},
    0.1: {1: .101, 10: .294, 100: .682, 1000: 2.006, 10_000: 7.121},
}  # fmt: skip


def mass_at(epsilon, k, n, sampler="roo"):
    """Probability of the dominating pair of a draw."""
    return pair_mass(epsilon, step_distance(sampler, symbols=k, rows=n, epsilon=epsilon))


def digits(value, given):
    """Whether `value`, rounded to as many decimals as `given` has, is `given`."""
    decimals = len(str(given).partition(".")[2])
    return round(value, decimals) == given


@pytest.mark.parametrize("epsilon", Q)
def test_the_table_of_obscuring(epsilon):
    given, first = Q[epsilon]
    table = sampling.q_table(1000, 9, epsilon)
    assert len(table) == 112
    assert {m: round(float(table[m]), 6) for m in given} == given
    assert next(m for m, q in enumerate(table) if q == 0) == first


@pytest.mark.parametrize(("epsilon", "error"), [(0.25, 1.0e-3), (0.1, 6.7e-3), (0.05, 0.026)])
def test_the_table_is_near_its_limit_of_many_records(epsilon, error):
    a = 1 / math.expm1(epsilon)
    table = sampling.q_table(1000, 9, epsilon)
    limit = [max(0.0, a * (2 - math.exp(-epsilon * m)) - m) for m in range(len(table))]
    far = max(abs(float(q) - 9 * p / (1000 + 9 * p)) for q, p in zip(table, limit, strict=True))
    assert far == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize("epsilon", DRAWS)
def test_many_draws(epsilon):
    for count, given in DRAWS[epsilon].items():
        found = sampling.epsilon_of_draws(count, epsilon=epsilon, n=1000, k=9, delta=1e-6, grid=1e-3)
        assert digits(found, given), (count, found)
        exact = sampling.epsilon_of_draws(count, epsilon=epsilon, n=1000, k=9, delta=1e-6)
        assert 0.97 * found <= exact <= found * (1 + 2e-3) and exact <= count * epsilon


@pytest.mark.parametrize(("count", "epsilon", "k", "n"), [(3, 0.5, 3, 4), (5, 1.0, 4, 2), (4, 0.2, 2, 9)])
def test_composed_pairs_agree_with_all_outcomes(count, epsilon, k, n):
    """δ of the composed pair, from all 3^N outcomes."""
    from itertools import product

    mass = mass_at(epsilon, k, n)
    low, high = mass, mass * math.exp(epsilon)
    upper, lower = (high, low, 1 - low - high), (low, high, 1 - low - high)
    for delta in (1e-2, 1e-4, 1e-6):
        found = epsilon_of_draws(count, each=epsilon, mass=mass, delta=delta)

        def exact(at):
            pairs = [
                (math.prod(upper[i] for i in said), math.prod(lower[i] for i in said))
                for said in product(range(3), repeat=count)
            ]
            return sum(max(0.0, p - math.exp(at) * q) for p, q in pairs)

        assert exact(found) <= delta * (1 + 1e-6)
        if found > 0 and found < count * epsilon * (1 - 1e-6):
            assert exact(found * (1 - 1e-4)) > delta


def test_composed_pairs_agree_with_a_general_accountant():
    from dp_accounting.pld import privacy_loss_distribution as pld

    for epsilon, count in ((0.5, 300), (0.1, 2000)):
        mass = mass_at(epsilon, 9, 1000)
        low, high = math.log(mass), math.log(mass) + epsilon
        rest = math.log1p(-math.exp(low) - math.exp(high))
        pair = pld.from_two_probability_mass_functions(
            {0: low, 1: high, 2: rest}, {0: high, 1: low, 2: rest}, value_discretization_interval=1e-4,
            pessimistic_estimate=True,
        )  # fmt: skip
        other = pair.self_compose(count).get_epsilon_for_delta(1e-6)
        found = epsilon_of_draws(count, each=epsilon, mass=mass, delta=1e-6)
        assert other * (1 - 2e-3) <= found <= other * (1 + 1e-6)


@pytest.mark.parametrize("sampler", ["roo", "ds-roo", "floor", "geo", "local-minimax"])
def test_the_pair_dominates_all_neighbours(sampler):
    """H_t of every two neighbours is at most that of the pair; for ROO it is equal somewhere, so the pair is tight."""
    from tests.sampling.test_laws import LAWS

    from sfumato.sampling import probabilities
    from sfumato.sampling.enumeration import neighbours, vectors

    for epsilon in (0.3, 1.0, 2.0):
        for n, k in ((5, 3), (4, 2), (3, 4), (9, 3), (0, 3)):
            for relation, rows in (("replace", n), ("add-remove", None)):
                law = LAWS[sampler](sampling.ratio_below(epsilon), rows)
                mass = mass_at(epsilon, k, rows, sampler)
                reached = 0.0
                for counts in vectors(n, k):
                    one = [float(p) for p in probabilities(law, counts)]
                    for other in neighbours(counts, relation):
                        two = [float(p) for p in probabilities(law, other)]
                        for t in np.linspace(0, epsilon, 6):
                            pair = max(0.0, mass * (math.exp(epsilon) - math.exp(t)))
                            for p, q in ((one, two), (two, one)):
                                h = sum(max(0.0, a - math.exp(t) * b) for a, b in zip(p, q, strict=True))
                                assert h <= pair * (1 + 1e-6) + 1e-12, (
                                    epsilon,
                                    n,
                                    k,
                                    relation,
                                    counts,
                                    other,
                                )
                                reached = max(reached, h / pair if t < epsilon and pair else 0.0)
                if sampler == "roo" and relation == "replace" and n:
                    assert reached > 1 - 1e-6


def test_the_budget_of_many_draws_is_used_up():
    for sampler in ("roo", "ds-roo", "floor", "geo", "local-minimax"):
        for n, delta in ((1000, 1e-9), (None, 1e-9), (1000, 0.0)):
            choice = sampling.choose(sampler, n=n, k=9, epsilon=1.0, m=50, delta=delta)
            mass = mass_at(choice.each, 9, n, sampler)
            total = epsilon_of_draws(50, each=choice.each, mass=mass, delta=choice.delta)
            assert 0.99 <= total <= 1.0 and choice.each >= 0.0199
            if delta and n and sampler != "local-minimax":
                assert choice.each > 0.04, "draws are composed by the distance that a record can make"


# closed forms


def test_every_direction_of_the_closed_forms():
    for epsilon, n, k in ((0.5, 1000, 9), (2.0, 20, 3), (0.01, 10**6, 10**12)):
        q = sampling.q(epsilon, n, k)
        assert q == pytest.approx(k / (k + n * (math.exp(epsilon) - 1)))
        assert sampling.epsilon(q, n, k) == pytest.approx(epsilon, rel=1e-5)
        alpha = sampling.alpha(epsilon, n, k)
        assert alpha == pytest.approx(q * (1 - 1 / k))
        assert sampling.q_of_alpha(alpha, k) == pytest.approx(q)
        assert sampling.epsilon_of_alpha(alpha, n, k) == pytest.approx(epsilon, rel=1e-5)
        if k < 10**6:
            assert sampling.alphabet(alpha, epsilon, n) == pytest.approx(k)
            full = {"q": q, "epsilon": epsilon, "alpha": alpha, "n": n, "k": k}
            for known in combinations(full, 3):
                if set(known) == {"q", "alpha", "k"}:
                    continue
                found = sampling.solve(**{name: full[name] for name in known})
                assert {name: getattr(found, name) for name in full} == pytest.approx(full, rel=1e-6), known


def test_sample_sizes_are_the_smallest():
    for alpha, epsilon, k in ((0.01, 1.0, 9), (0.1, 0.1, 2), (0.3, 3.0, 50), (0.05, 0.01, 1000)):
        n = sampling.sample_size(alpha, epsilon, k)
        exact = (k * (1 - alpha) - 1) / (alpha * (math.exp(epsilon) - 1))
        assert n == math.ceil(exact)
        assert sampling.alpha(epsilon, n, k) <= alpha < sampling.alpha(epsilon, n - 1, k) if n > 1 else True
    assert sampling.sample_size(0.5, 1.0, 2) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"q": 0.1},
        {"q": 0.1, "alpha": 0.05, "k": 2},
        {"q": 1.5, "n": 10, "k": 3},
        {"alpha": 0.9, "n": 5, "k": 2},
    ],
)
def test_what_has_no_solution_is_refused(wrong):
    with pytest.raises(UsageError):
        sampling.solve(**wrong)


# distances


def mean_distance(law, shares, *, rows=1000, tables=400):
    from sfumato.sampling.tally import Histogram

    rng = np.random.default_rng(2)
    far = []
    for counts in rng.multinomial(rows, shares, size=tables):
        tally = Histogram.of(counts).tally
        weights = law.weights(tally)
        whole = sum(w * size for w, size in zip(weights, tally.sizes, strict=True))
        law_of = {value: w / whole for value, w in zip(tally.values, weights, strict=True)}
        far.append(sum(abs(law_of[int(c)] - c / rows) for c in counts) / 2)
    return float(np.mean(far))


def test_geo_beats_ds_roo_five_times_on_skewed_data():
    ratio = sampling.ratio_below(0.1)
    shares = 0.5 ** np.arange(9)
    shares /= shares.sum()
    ours = mean_distance(sampling.Geo(ratio=ratio, rows=1000), shares)
    theirs = mean_distance(sampling.DsRoo(ratio=ratio, rows=1000), shares)
    assert ours == pytest.approx(0.0046, abs=2e-4) and theirs == pytest.approx(0.0415, abs=6e-4)
    assert theirs >= 5 * ours
    assert mean_distance(sampling.Floor(ratio=ratio, rows=1000), shares) == pytest.approx(0.0135, abs=5e-4)
    assert mean_distance(sampling.Roo(ratio=ratio), shares) == pytest.approx(0.0429, abs=3e-4)


@pytest.mark.parametrize("sampler", ["roo", "ds-roo", "floor", "geo", "local-minimax"])
def test_bounds_on_the_distance_hold_and_are_reached(sampler):
    from fractions import Fraction

    from tests.sampling.test_laws import LAWS

    from sfumato.sampling import probabilities
    from sfumato.sampling.enumeration import vectors
    from sfumato.sampling.geo import growth

    for n, k in ((6, 3), (20, 4), (12, 2), (3, 5)):
        for epsilon in (0.1, 0.7, 2.0):
            bound = sampling.distance_bound(sampler, n=n, k=k, epsilon=epsilon)
            far = []
            for counts in vectors(n, k):
                law = probabilities(LAWS[sampler](sampling.ratio_below(epsilon), n), counts)
                far.append(sum(abs(p - Fraction(c, n)) for p, c in zip(law, counts, strict=True)) / 2)
            assert float(max(far)) <= bound * (1 + 1e-9)
            if n * (growth(sampling.ratio_below(epsilon), n) - 1) >= 1 + 1 / n or sampler in (
                "roo",
                "ds-roo",
            ):
                assert float(max(far)) >= bound * (1 - 1e-9)


def test_auto_chooses_by_public_numbers():
    assert sampling.choose("auto", n=1000, k=9, epsilon=0.1).sampler == "geo"
    small = sampling.choose("auto", n=20, k=4, epsilon=0.095)
    assert small.sampler in ("roo", "ds-roo") and "geo" in small.why
    many = sampling.choose("auto", n=1000, k=9, epsilon=8.0, m=100)
    assert many.sampler == "subrr" and many.each == 8.0
    for n in (None, 1000):
        assert sampling.choose("auto", n=n, k=10**30, epsilon=1.0).sampler == "roo"
    assert sampling.choose("auto", n=None, k=9, epsilon=0.1).sampler == "geo"
    with pytest.raises(UsageError, match="known: auto, roo"):
        sampling.choose("best", n=10, k=3, epsilon=1.0)


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize(("n", "k"), [(300, 4), (40, 12), (5000, 30)])
def test_a_noisy_histogram_is_as_near_as_its_bound_says(n, k, relation):
    """Mean distance over its noise, on a point mass and on even tables. False alarms below 1e-8."""
    from sfumato.sampling import laplace
    from sfumato.sampling.tally import Histogram

    epsilon = 0.5
    bound = sampling.distance_bound("laplace-euclid", n=n, k=k, epsilon=epsilon, relation=relation)
    scale = laplace.scale_of(epsilon, replace=relation == "replace")
    for counts in (np.r_[n, np.zeros(k - 1, np.int64)], np.bincount(np.arange(n) % k)):
        far = []
        for _ in range(300):
            noisy = laplace.noisy_counts(Histogram.of(counts), scale)
            rows = n if relation == "replace" else None
            law = laplace.weights(noisy, rows=rows, projection="laplace-euclid")
            far.append(np.abs(law / law.sum() - counts / n).sum() / 2)
        assert np.mean(far) <= bound + 6 * np.std(far) / 17 and np.mean(far) > 0.05 * bound


def test_auto_takes_one_histogram_for_many_draws():
    for n in (1000, None):
        assert sampling.choose("auto", n=n, k=9, epsilon=1.0, m=200).sampler == "laplace-euclid"
        assert sampling.choose("auto", n=n, k=9, epsilon=1.0, m=200, delta=1e-9).sampler == "laplace-euclid"
        assert sampling.choose("auto", n=n, k=9, epsilon=1.0).sampler in ("geo", "floor")
        # Too many cells for noise on each of them.
        assert sampling.choose("auto", n=n, k=10**12, epsilon=1.0, m=200).sampler != "laplace-euclid"
    # A public number of rows makes SubRR comparable where the exact one is private.
    assert sampling.choose("auto", n=None, k=9, epsilon=8.0, m=100, filled=1000).sampler == "subrr"
    assert sampling.choose("auto", n=None, k=9, epsilon=8.0, m=100).sampler == "laplace-euclid"


def test_remarks_of_a_plan_are_right():
    """Each remark is one of two bounds, and is made where that is the smaller one alone."""
    for n, k, epsilon, m in ((1000, 9, 1.0, 100), (1000, 9, 6.0, 100), (50, 400, 0.5, 3), (20, 4, 1.0, 30)):
        for unit in (PrivacyUnit(), PrivacyUnit(neighbours="replace")):
            relation = unit.neighbours
            given = {"n": n, "k": k, "m": m}
            rows = n if unit.keeps_rows else None
            each = sampling.choose("roo", n=rows, k=k, epsilon=epsilon, m=m, unit=unit).each
            own = sampling.distance_bound("roo", n=n, k=k, epsilon=each)
            said = "\n".join(remarks(epsilon=epsilon, delta=0.0, unit=unit, **given))
            for name, words in (("subrr", "SubRR"), ("laplace-euclid", "a noisy histogram")):
                bound = sampling.distance_bound(name, epsilon=epsilon, relation=relation, **given)
                cheaper = bound < own and (name != "subrr" or m <= n)
                assert (words in said) == cheaper, (n, k, epsilon, m, relation, name)
                if cheaper:
                    assert f"within {bound:.3g} of the rows" in said and f"within {own:.3g}" in said
            assert ("a draw is uniform" in said) == (own > 0.5)
    assert remarks(n=1000, k=1, epsilon=1.0, delta=0.0, m=5) == []

"""Networks: the law that records are drawn from, the index of seeds against brute force, structure, parameters."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from tests.plausible.networks import PARENTS, SIZES, chance, every_record, network, seeds

from sfumato.bayesian_network import (
    TOTAL,
    Dag,
    Network,
    PlausibleSeeds,
    integer_weights,
    learn_structure,
    merit,
)
from sfumato.bayesian_network.information import (
    FRACTION_BITS,
    ROUNDING,
    denoised,
    entropy,
    fixed_point_entropy,
    mutual_information,
    published_sensitivity,
    sensitivity,
    symmetrical_uncertainty,
)
from sfumato.bayesian_network.parameters import conditional
from sfumato.bayesian_network.sampling import resample, sample, sample_where, words_of

OMEGAS = [(3,), (5,), (1,), (1, 2, 3, 4, 5), (2, 4), (3, 4, 5)]


# ---- drawing ----------------------------------------------------------------------------------------


def joint(net):
    records = every_record()
    logs = sum(net.log_conditional(i, records) for i in range(len(SIZES)))
    return records, np.exp(logs)


def test_the_joint_law_sums_to_one_and_is_what_is_drawn():
    net = network()
    records, law = joint(net)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    drawn = sample(net, 200_000, words_of(np.random.default_rng(3)))
    index = np.ravel_multi_index(drawn.T, SIZES)
    counts = np.bincount(index, minlength=len(records))
    assert not counts[law == 0].any()
    held = law > 0
    statistic = ((counts[held] - law[held] * drawn.shape[0]) ** 2 / (law[held] * drawn.shape[0])).sum()
    degrees = held.sum() - 1
    assert statistic < degrees + 8 * math.sqrt(2 * degrees)


@pytest.mark.parametrize("word", [0, 1, TOTAL // 3, TOTAL - 1])
def test_a_word_stands_for_the_outcome_whose_weights_hold_it(word):
    net = network()
    for i in range(len(SIZES)):
        for row, weights in enumerate(net.tables[i]):
            at = int(np.searchsorted(np.cumsum(weights), word, side="right"))
            code = net.outcome(
                i, np.array([row]), np.array([word], dtype=np.uint32), lambda n: np.zeros(n, dtype=np.uint32)
            )
            assert net.groups[i][code[0]] == at and weights[at] > 0


def test_what_is_kept_stays_and_tails_are_logarithms_of_the_rest():
    net, table = network(), seeds(500)
    keep = np.random.default_rng(0).integers(1, 6, 500)
    records, tails, first = resample(net, table, keep, words_of(np.random.default_rng(1)))
    order = net.dag.order
    assert first == keep.min()
    for record, seed, kept, tail in zip(records, table, keep, tails, strict=True):
        assert all(record[i] == seed[i] for i in order[:kept])
        for place in range(first, len(order) + 1):
            value = sum(net.log_conditional(i, record[None])[0] for i in order[place:])
            assert tail[place - first] == pytest.approx(value) or value == -math.inf == tail[place - first]


def test_conditioned_records_follow_the_conditional_law():
    net = network(4)
    records, law = joint(net)
    allowed = {4: np.array([True, False, True]), 0: np.array([False, True, True])}
    fits = np.logical_and.reduce([mask[records[:, i]] for i, mask in allowed.items()])
    expected = np.where(fits, law, 0) / law[fits].sum()
    drawn = sample_where(net, 100_000, np.random.default_rng(7), allowed)
    assert len(drawn) == 100_000
    counts = np.bincount(np.ravel_multi_index(drawn.T, SIZES), minlength=len(records))
    assert not counts[expected == 0].any()
    held = expected > 0
    statistic = ((counts[held] - expected[held] * 1e5) ** 2 / (expected[held] * 1e5)).sum()
    assert statistic < held.sum() + 8 * math.sqrt(2 * held.sum())
    with pytest.raises(ValueError):
        sample_where(net, 10, np.random.default_rng(0), {1: np.array([False, False])})


def test_a_network_survives_its_state_and_a_wrong_one_is_refused():
    net = network()
    again = Network.from_state(5, net.state())
    assert all(np.array_equal(again.state()[name], array) for name, array in net.state().items())
    broken = {**net.state(), "table/0": net.tables[0] + 1}
    with pytest.raises(ValueError, match="add up"):
        Network.from_state(5, broken)
    with pytest.raises(ValueError, match="parent"):
        Network.from_state(5, {**net.state(), "order": np.array(net.dag.order[::-1])})


def test_integer_weights_are_exact_and_keep_what_is_possible():
    weights = integer_weights([[0.5, 1e-30, 0.0, 0.5], [1, 2, 3, 4]])
    assert (weights.sum(axis=1) == TOTAL).all()
    assert weights[0, 1] == 1 and weights[0, 2] == 0
    assert weights[1] == pytest.approx(np.array([1, 2, 3, 4]) / 10 * TOTAL, abs=2)


# ---- counting seeds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("omegas", OMEGAS, ids=str)
@pytest.mark.parametrize("gamma", [1.3, 4.0])
def test_counters_equal_brute_force(omegas, gamma):
    """For every candidate: probabilities of all seeds one by one, their classes, and the number in the own class."""
    net, table = network(2), seeds(120, 5)
    index = PlausibleSeeds(net, table, omegas)
    rng = np.random.default_rng(8)
    chosen = rng.integers(0, len(table), 25)
    keep = rng.choice(np.array(index.keeps), 25)
    records, tails, first = resample(net, table[chosen], keep, words_of(rng))
    counts = index.plausible(records, chosen, keep, tails, first, gamma)
    logs, (sharing, common) = index.log_probabilities(tails, first), index.sharing(records, chosen, keep)
    for place, record in enumerate(records):
        chances = np.array([chance(net, record, seed, omegas) for seed in table])
        own = chances[chosen[place]]
        assert own > 0
        assert math.exp(logs[place, common[place] - index.lengths[0]]) == pytest.approx(own, rel=1e-9)
        kinds = np.full(len(table), -1)
        kinds[chances > 0] = np.floor(-np.log(chances[chances > 0]) / math.log(gamma) + 1e-12)
        assert counts[place] == (kinds == kinds[chosen[place]]).sum()
        # The counters themselves.
        for column, length in enumerate(index.lengths):
            prefix = list(net.dag.order[:length])
            assert sharing[place, column] == (table[:, prefix] == record[prefix]).all(axis=1).sum()


def test_with_one_omega_all_plausible_seeds_are_equally_probable():
    net, table = network(), seeds(400)
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 400, 30)
    index = PlausibleSeeds(net, table, (3,))
    records, tails, first = resample(net, table[chosen], np.full(30, 2), words_of(rng))
    loose, tight = (
        index.plausible(records, chosen, np.full(30, 2), tails, first, g) for g in (1.001, 1000.0)
    )
    assert (loose == tight).all()
    for record, count in zip(records, loose, strict=True):
        chances = {round(chance(net, record, seed, (3,)), 12) for seed in table} - {0.0}
        assert len(chances) == 1 and count == sum(chance(net, record, seed, (3,)) > 0 for seed in table)


def test_no_seed_at_all_and_bad_omegas():
    index = PlausibleSeeds(network(), seeds(0), (2, 3))
    assert len(index.seeds) == 0
    for omegas in ((), (0,), (6,), (2, 2)):
        with pytest.raises(ValueError):
            PlausibleSeeds(network(), seeds(5), omegas)


# ---- entropies --------------------------------------------------------------------------------------


def partitions(n, largest=None):
    if n == 0:
        yield ()
        return
    for first in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def test_the_sensitivity_of_entropy_is_exact_and_half_of_the_published_bound():
    for n in range(1, 15):
        exchanged = added = 0.0
        for counts in partitions(n):
            held = entropy(counts)
            for i in range(len(counts) + 1):
                more = [*counts, 0]
                more[i] += 1
                added = max(added, abs(entropy(more) - held))
                for j in range(len(counts)):
                    moved = list(more)
                    moved[j] -= 1
                    exchanged = max(exchanged, abs(entropy(moved) - held))
        assert added == pytest.approx(sensitivity(n + 1), abs=1e-12)
        assert exchanged == pytest.approx(sensitivity(n), abs=1e-12)
    assert sensitivity(280_000) == pytest.approx(6.978e-5, rel=1e-3)
    assert published_sensitivity(280_000) == pytest.approx(1.4155e-4, rel=1e-3)


@pytest.mark.parametrize("least", [2, 5, 9])
def test_what_is_released_of_an_entropy_moves_by_no_more_for_any_number_of_rows(least):
    """As integers, below and above the public number of rows, under both relations."""
    limit = math.ceil(sensitivity(least) * 2**FRACTION_BITS) + ROUNDING
    furthest = 0
    for n in range(0, 14):
        for counts in partitions(n):
            held = fixed_point_entropy(np.array(counts, dtype=np.int64), least)
            for i in range(len(counts) + 1):
                more = np.array([*counts, 0])
                more[i] += 1
                found = [fixed_point_entropy(more, least)]
                for j in range(len(counts)):
                    moved = more.copy()
                    moved[j] -= 1
                    found.append(fixed_point_entropy(moved, least))
                furthest = max(furthest, *(abs(each - held) for each in found))
    assert 0.9 * limit < furthest <= limit


def test_uncertainty_and_tables_of_noise():
    table = np.array([[30.0, 0.0], [0.0, 70.0]])
    one, two = entropy(table.sum(axis=1)), entropy(table.sum(axis=0))
    assert symmetrical_uncertainty(one, two, entropy(table)) == pytest.approx(1)
    assert symmetrical_uncertainty(0.0, 0.0, 0.0) == 0.0
    assert mutual_information(table) == pytest.approx(one)
    rng = np.random.default_rng(1)
    independent = np.outer([100, 200, 300], [1, 2, 3]).astype(float)
    shares = [np.array([1, 2, 3]) / 6] * 2
    noise = rng.normal(0, 40, (3, 3))
    assert (
        mutual_information(denoised(independent + noise, sigma=40, rows=shares[0], columns=shares[1])) < 1e-3
    )
    strong = np.diag([2000.0, 2000, 2000])
    even = np.full(3, 1 / 3)
    assert mutual_information(denoised(strong + noise, sigma=40, rows=even, columns=even)) > 1.3


# ---- structure and parameters -----------------------------------------------------------------------


def test_merit_is_equation_4():
    relevance, between = np.array([0.0, 0.3, 0.2]), np.array([[0, 0, 0], [0, 1, 0.5], [0, 0.5, 1]])
    assert merit(relevance, between, []) == 0
    assert merit(relevance, between, [1]) == pytest.approx(0.3)
    assert merit(relevance, between, [1, 2]) == pytest.approx(0.5 / math.sqrt(2 + 2 * 0.5))


@pytest.mark.parametrize("seed", range(12))
def test_structures_are_acyclic_within_cost_and_cannot_be_improved(seed):
    rng = np.random.default_rng(seed)
    count = 6
    half = rng.random((count, count)) ** 2
    relevance, between = half, (half + half.T) / 2
    buckets, limits = rng.integers(2, 6, count).tolist(), rng.integers(1, 40, count).astype(float).tolist()
    dag = learn_structure(relevance, between, buckets=buckets, configurations=limits)
    place = {i: number for number, i in enumerate(dag.order)}
    assert sorted(place) == list(range(count))
    for i, parents in enumerate(dag.parents):
        assert all(place[j] < place[i] for j in parents)
        assert math.prod(buckets[j] for j in parents) <= max(limits[i], 1)
        for j in set(range(count)) - {i, *parents}:
            wider = [list(each) for each in dag.parents]
            wider[i].append(j)
            fits = math.prod(buckets[other] for other in wider[i]) <= limits[i]
            better = (
                merit(relevance[i], between, wider[i]) > merit(relevance[i], between, list(parents)) + 1e-9
            )
            if fits and better:
                with pytest.raises(ValueError, match="cycle"):
                    Dag.of(wider)
    assert (
        learn_structure(relevance, between, buckets=buckets, configurations=limits, parents_at_most=0).parents
        == ((),) * count
    )


def test_orders_put_parents_first():
    # Of attributes that may come next, the one with fewest codes does.
    assert Dag.of([(), (), (0,), ()], [9, 4, 2, 7]).order == (1, 3, 0, 2)
    assert Dag.of([(), (), (1,), ()], [5, 5, 2, 7]).order == (1, 2, 0, 3)
    assert Dag.of(PARENTS).order.index(4) > max(Dag.of(PARENTS).order.index(j) for j in (1, 3))
    for parents in itertools.product([(), (1,)], [(), (0,)]):
        if parents == ((1,), (0,)):
            with pytest.raises(ValueError):
                Dag.of(parents)
        else:
            Dag.of(parents)


def test_parameters_without_noise_are_posterior_means():
    counts = np.array([[8, 2, 0], [0, 0, 0]])
    allowed = np.array([True, True, True])
    found = conditional(counts, sigma=0.0, prior=1.0, allowed=allowed)
    assert found[0] == pytest.approx((np.array([8, 2, 0]) + 1 / 3) / 11)
    assert found[1] == pytest.approx(np.full(3, 1 / 3))


def test_parameters_of_noise_fall_back_on_the_whole_column():
    rng = np.random.default_rng(2)
    allowed = np.array([True, True, True, False])
    truth = np.array([0.7, 0.2, 0.1, 0.0])
    counts = np.rint(np.vstack([5000 * truth, *[0 * truth] * 20]) + rng.normal(0, 30, (21, 4)))
    found = conditional(counts, sigma=30.0, prior=1.0, allowed=allowed)
    assert found.sum(axis=1) == pytest.approx(np.ones(21)) and (found[:, 3] == 0).all() and (found >= 0).all()
    assert np.abs(found[0] - truth).sum() / 2 < 0.05
    assert np.abs(found[1:].mean(axis=0) - truth).sum() / 2 < 0.25


def test_prefixes_far_from_every_seed_are_counted_as_none():
    net, table = network(), np.zeros((10, 5), dtype=np.int64)
    index = PlausibleSeeds(net, table, (1, 2, 3, 4, 5))
    records = np.full((1, 5), 1)
    sharing, common = index.sharing(records, np.array([0]), np.array([0]))
    assert sharing[0].tolist() == [10, 0, 0, 0, 0] and common[0] == 0
    assert Counter(map(tuple, table.tolist())) == {(0, 0, 0, 0, 0): 10}

"""Samples: exact counts where they are promised, right frequencies everywhere.

The statistical tests reject a correct sampler with probability below 1e-6 each; their seeds are fixed.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sfumato.graphical import GraphicalModel, Measurement, fit
from sfumato.graphical.sampling import _shuffled, _there_and_back

ALARM = 1e-7


def _count(sample, sizes, clique):
    table = np.zeros([sizes[a] for a in clique], dtype=np.int64)
    np.add.at(table, tuple(sample[a] for a in clique), 1)
    return table


def _star(seed=0) -> GraphicalModel:
    """Attributes 1, 2 and 3 hang from 0, as does 4 from 3; 5 is alone."""
    rng = np.random.default_rng(seed)
    sizes = (3, 4, 4, 2, 3, 5)
    known = [
        Measurement(c, rng.exponential(10, [sizes[a] for a in c]) ** 1.5, 0.1)
        for c in [(0, 1), (0, 2), (0, 3), (3, 4), (5,)]
    ]
    return fit(sizes, known, total=1000)


@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_counts_are_within_one_row_of_their_expectation(rows, seed):
    model = _star(seed % 5)
    tree = model.tree
    sample = model.sample(rows, np.random.default_rng(seed))
    assert [column.shape for column in sample] == [(rows,)] * 6
    for clique, separator in zip(tree.cliques, tree.separators, strict=True):
        gone = tuple(i for i, a in enumerate(clique) if a not in separator)
        expected = model.marginal(clique) / model.total
        shares = expected / expected.sum(axis=gone, keepdims=True)
        found = _count(sample, model.sizes, clique)
        assert (np.abs(found - shares * found.sum(axis=gone, keepdims=True)) < 1).all()
        assert (np.abs(found - rows * expected) < 3).all()


@pytest.mark.parametrize("sizes", [(5,), (2, 2, 2), (3, 4, 5), (2, 300)])
def test_from_one_cell_to_the_next_one_code_moves_by_one(sizes):
    cells = np.array(_there_and_back(sizes), dtype=np.int64)
    assert {tuple(cell) for cell in cells.T.tolist()} == set(np.ndindex(*sizes))
    assert (np.abs(np.diff(cells, axis=1)).sum(axis=0) == 1).all()


@given(st.integers(1, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_impossible_rows_do_not_occur(rows, seed):
    rng = np.random.default_rng(seed)
    zeros = [((0, 1), rng.random((4, 4)) < 0.5), ((1, 2), rng.random((4, 4)) < 0.5)]
    try:
        model = fit((4, 4, 4), [Measurement((0, 2), rng.exponential(10, (4, 4)), 1.0)], total=50, zeros=zeros)
    except ValueError:
        return
    sample = model.sample(rows, rng)
    for clique, mask in zeros:
        assert _count(sample, model.sizes, clique)[mask].sum() == 0


def test_each_row_follows_the_model_and_order_means_nothing(joint_of):
    model, rng = _star(1), np.random.default_rng(11)
    calls, rows = 4000, 3
    drawn = np.array([model.sample(rows, rng) for _ in range(calls)])  # calls, attributes, rows
    expected = calls * joint_of(model).sum(axis=(3, 5))
    for row in range(rows):
        found = _count(drawn[:, :, row].T, model.sizes, (0, 1, 2, 4))
        # Rare cells are taken together, so that the statistic is close to chi-squared.
        often = expected >= 8
        left, right = found[often], expected[often]
        left, right = np.append(left, found[~often].sum()), np.append(right, expected[~often].sum())
        statistic = ((left - right) ** 2 / right).sum()
        assert statistic < chi2.isf(ALARM, left.size - 1), f"row {row} (false alarm {ALARM})"
    # Rows may be swapped: (first, last) is as likely as (last, first).
    pair = _count([drawn[:, 5, 0], drawn[:, 5, 2]], (5, 5), (0, 1))
    upper = np.triu_indices(5, 1)
    statistic = ((pair - pair.T)[upper] ** 2 / np.maximum((pair + pair.T)[upper], 1)).sum()
    assert statistic < chi2.isf(ALARM, 10)


def test_siblings_are_independent_given_their_parent():
    """Children of one clique are put in fresh random orders: no dependence creeps in between them."""
    model, rng = _star(2), np.random.default_rng(12)
    sample = model.sample(200_000, rng)
    for one, two in [(1, 2), (1, 3), (2, 4), (1, 5), (4, 5)]:
        given_parent = _count(sample, model.sizes, (0, one, two)).astype(float)
        if 5 in (one, two) or 4 in (one, two):
            given_parent = given_parent.sum(axis=0, keepdims=True)
            expected = model.marginal((one, two))[None] * (200_000 / model.total)
        else:
            rows, columns = given_parent.sum(axis=2, keepdims=True), given_parent.sum(axis=1, keepdims=True)
            expected = rows * columns / given_parent.sum(axis=(1, 2), keepdims=True)
        statistic = ((given_parent - expected) ** 2 / np.maximum(expected, 1e-9)).sum()
        assert statistic < chi2.isf(ALARM, expected.size), f"attributes {one}, {two} (false alarm {ALARM})"


def test_neighbouring_rows_are_unrelated():
    sample = _star(3).sample(100_000, np.random.default_rng(13))
    for column in sample:
        centred = column - column.mean()
        correlation = (centred[1:] * centred[:-1]).mean() / centred.var()
        assert abs(correlation) < 5.4 / np.sqrt(100_000)  # two-sided normal tail 7e-8


def test_the_generator_decides():
    model = _star()
    one, two, three = (model.sample(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(map(np.array_equal, one, two))
    assert not all(map(np.array_equal, one, three))


def test_types_are_the_smallest_unsigned():
    sizes = (1, 2, 256, 257, 65_536, 65_537)
    sample = fit(sizes, [], total=10).sample(7, np.random.default_rng(0))
    assert [column.dtype.name for column in sample] == [
        "uint8",
        "uint8",
        "uint8",
        "uint16",
        "uint16",
        "uint32",
    ]
    assert (sample[0] == 0).all()
    assert all(column.shape == (0,) for column in fit(sizes, [], total=1).sample(0, np.random.default_rng(0)))


@pytest.mark.parametrize("states", [1, 3, 2**20, 2**45])
def test_shuffling_groups_and_keeps_every_row(states):
    rng = np.random.default_rng(4)
    state = rng.integers(0, states, 5000) if states > 1 else None
    order = _shuffled(state, states, 5000, rng)
    assert np.array_equal(np.sort(order), np.arange(5000))
    assert state is None or (np.diff(state[order]) >= 0).all()
    assert not np.array_equal(order, np.sort(order))

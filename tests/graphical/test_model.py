"""Models answer as the whole joint table would."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graphical import GraphicalModel, Measurement, fit


@st.composite
def models(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=6)))
    clique = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3).map(lambda s: tuple(sorted(s)))
    cliques = draw(st.lists(clique, max_size=7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    known = [Measurement(c, rng.exponential(10, [sizes[a] for a in c]), 0.5) for c in cliques]
    zeros = []
    if cliques and draw(st.booleans()):
        mask = rng.random([sizes[a] for a in cliques[0]]) < 0.3
        if not mask.all():
            zeros = [(cliques[0], mask)]
    return fit(sizes, known, total=500, zeros=zeros, sweeps=8)


@given(models())
@settings(max_examples=60, deadline=None)
def test_marginals_inside_and_across_cliques(joint_of, project, model):
    table = 500 * joint_of(model)
    for length in range(len(model.sizes) + 1):
        for clique in combinations(range(len(model.sizes)), length):
            np.testing.assert_allclose(model.marginal(clique), project(table, clique), atol=1e-8)
    backwards = tuple(reversed(range(len(model.sizes))))
    np.testing.assert_allclose(model.marginal(backwards), table.transpose(backwards), atol=1e-8)


@given(models())
@settings(max_examples=40, deadline=None)
def test_log_probability(joint_of, model):
    table = joint_of(model)
    logs = model.log_probability([codes.reshape(-1) for codes in np.indices(model.sizes)])
    np.testing.assert_allclose(np.exp(logs).reshape(model.sizes), table, atol=1e-12)
    assert np.array_equal(logs.reshape(model.sizes) == -np.inf, table == 0)


@given(models(), st.data())
@settings(max_examples=60, deadline=None)
def test_condition(joint_of, model, data):
    attributes = data.draw(st.sets(st.integers(0, len(model.sizes) - 1), max_size=3))
    table = joint_of(model)
    allowed = {}
    for attribute in sorted(attributes):
        size = model.sizes[attribute]
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        allowed[attribute] = mask
        table = table * mask.reshape([-1 if a == attribute else 1 for a in range(len(model.sizes))])
    if not table.any():
        with pytest.raises(ValueError, match="no row"):
            model.condition(allowed)
        return
    part = model.condition(allowed)
    np.testing.assert_allclose(part.total, 500 * table.sum(), rtol=1e-9)
    np.testing.assert_allclose(joint_of(part), table / table.sum(), atol=1e-9)
    for attribute, mask in allowed.items():
        assert mask[part.sample(50, np.random.default_rng(0))[attribute]].all()


@given(models())
@settings(max_examples=40, deadline=None)
def test_arrays_restore_the_model_bit_for_bit(model):
    saved = model.arrays()
    again = GraphicalModel.from_arrays(model.sizes, saved)
    assert again.tree == model.tree and again.total == model.total
    assert all(np.array_equal(saved[name], array) for name, array in again.arrays().items())
    one, two = (m.sample(100, np.random.default_rng(5)) for m in (model, again))
    assert all(map(np.array_equal, one, two))


def _chain() -> GraphicalModel:
    rng = np.random.default_rng(0)
    return fit(
        [4] * 5, [Measurement((a, a + 1), rng.exponential(10, (4, 4)), 0.5) for a in range(4)], total=160
    )


def _spoiled(name, change):
    saved = {key: array.copy() for key, array in _chain().arrays().items()}
    saved[name] = change(saved[name])
    return saved


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("total", lambda a: -a, "total"),
        ("total", lambda a: a * np.nan, "total"),
        ("beliefs", lambda a: a[:-1], "must be 64 float64"),
        ("beliefs", lambda a: a.astype(np.float32), "must be 64 float64"),
        ("beliefs", lambda a: -a, "not negative"),
        ("beliefs", lambda a: a * np.inf, "finite"),
        ("beliefs", lambda a: a * 2, "do not agree"),
        ("beliefs", lambda a: a[::-1].copy(), "do not agree"),
        ("clique_parents", lambda a: a[::-1].copy(), "out of order"),
        ("clique_parents", lambda a: np.full_like(a, -1), "junction tree"),
        ("clique_lengths", lambda a: a + 1, "do not add up"),
        ("clique_attributes", lambda a: a + 1, "does not exist"),
        ("clique_attributes", lambda a: np.minimum(a, 3), "out of order"),
    ],
)
def test_spoiled_arrays_are_refused(name, change, says):
    with pytest.raises(ValueError, match=says):
        GraphicalModel.from_arrays([4] * 5, _spoiled(name, change))


def test_arrays_of_another_table_are_refused():
    saved = _chain().arrays()
    for sizes in ([4] * 6, [4, 4, 4, 4, 3]):
        with pytest.raises(ValueError, match="model"):
            GraphicalModel.from_arrays(sizes, saved)
    del saved["total"]
    with pytest.raises(ValueError, match="lacks the array 'total'"):
        GraphicalModel.from_arrays([4] * 5, saved)


def test_a_marginal_that_needs_too_much_is_refused():
    model = _chain()
    assert model.marginal((0, 4), max_cells=16 * 4).sum() == pytest.approx(160)
    with pytest.raises(ValueError, match=r"marginal of \(0, 2, 4\) needs 64 cells at once, more than 63"):
        model.marginal((0, 2, 4), max_cells=63)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda m: m.marginal((0, 0)), "distinct"),
        (lambda m: m.marginal((5,)), "distinct"),
        (lambda m: m.condition({5: np.ones(4, dtype=bool)}), "names attribute 5"),
        (lambda m: m.condition({0: np.ones(4)}), "4 booleans"),
        (lambda m: m.condition({0: np.zeros(4, dtype=bool)}), "no row"),
        (lambda m: m.log_probability([[0]]), "codes for 1"),
        (lambda m: m.log_probability([[0], [0], [0], [0], [4]]), "outside 0..3"),
        (lambda m: m.log_probability([[0], [0], [0], [0], [0.5]]), "whole numbers"),
        (lambda m: m.sample(-1, np.random.default_rng(0)), "negative"),
    ],
)
def test_faults_are_named(ask, says):
    with pytest.raises(ValueError, match=says):
        ask(_chain())


def test_a_model_cannot_be_changed():
    model = _chain()
    table = model.marginal((0, 1))
    table[:] = 0
    model.arrays()["beliefs"][:] = 0
    assert model.marginal((0, 1)).sum() == pytest.approx(160)

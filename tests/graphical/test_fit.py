"""Fits: exact when the measurements are, valid whatever they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graphical import Measurement, fit
from sfumato.graphical.pooling import pool

METHODS = ("pis", "mirror-descent")


@st.composite
def cliques_of(draw, attributes):
    clique = st.sets(st.integers(0, attributes - 1), min_size=1, max_size=3).map(lambda s: tuple(sorted(s)))
    return draw(st.lists(clique, max_size=6))


@st.composite
def shapes(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    return sizes, draw(cliques_of(len(sizes))), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


@given(shapes())
@settings(max_examples=40, deadline=None)
def test_exact_measurements_of_a_tree_are_met(project, shape):
    sizes, cliques, rng = shape
    table = 1000 * rng.dirichlet(np.ones(np.prod(sizes))).reshape(sizes)
    known = [Measurement(c, project(table, c), 1e-6) for c in cliques]
    model = fit(sizes, known, total=1000, sweeps=300)
    for m in known:
        np.testing.assert_allclose(model.marginal(m.clique), m.values, atol=1e-2)
    assert model.total == 1000


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_margins_and_the_interaction_are_the_whole_table(project, seed):
    rng = np.random.default_rng(seed)
    table = 1000 * rng.dirichlet(np.full(6, 2.0)).reshape(2, 3)
    ones = [Measurement((a,), project(table, (a,)), 1e-6) for a in (0, 1)]
    # Means along the axes are noise in an interaction, and change nothing.
    apart = Measurement((0, 1), table + rng.normal(0, 50, (2, 1)), 1e-6, interaction=True)
    model = fit((2, 3), [*ones, apart], total=1000, sweeps=300)
    np.testing.assert_allclose(model.marginal((0, 1)), table, atol=1e-2)
    with pytest.raises(ValueError, match=r"interaction of \(0, 1\) needs a measurement that holds \(1,\)"):
        fit((2, 3), [ones[0], apart], total=1000)


def test_an_interaction_and_a_table_are_averaged_by_their_noise():
    sizes, values = (2, 2), np.array([[10.0, -10.0], [-10.0, 10.0]])
    possible = {(0, 1): np.ones(sizes, dtype=bool)}
    table = Measurement((0, 1), np.full(sizes, 100.0), 2.0)
    apart = Measurement((0, 1), values, 1.0, interaction=True)
    (target,) = pool(sizes, [table, apart], 400.0, possible)
    np.testing.assert_allclose(target.values * 400.0, 100.0 + 0.8 * values)
    assert target.sigma == pytest.approx((1 / 4 + 1) ** -0.5)


def _noisy(rng, sizes, clique, total):
    shape = [sizes[a] for a in clique]
    kind = rng.integers(5)
    values = (
        np.zeros(shape),
        -1e3 * rng.random(shape),
        rng.normal(0, 1, shape) * total,
        total * rng.dirichlet(np.full(np.prod(shape), 0.2)).reshape(shape),
        np.eye(1, np.prod(shape), rng.integers(np.prod(shape))).reshape(shape) * total,
    )[kind]
    sigma = rng.choice([1e-300, 1e-9, 1e-3, 1.0, 100.0, 1e9, 1e300])
    return Measurement(clique, values, 10.0 ** rng.uniform(-9, 9, shape) if rng.random() < 0.3 else sigma)


@pytest.mark.parametrize("method", METHODS)
@given(shapes(), st.sampled_from([-5.0, 0.0, 0.3, 1.0, 100.0, 1e6, 1e13]), st.data())
@settings(max_examples=60, deadline=None)
def test_any_measurements_make_a_model_and_zeros_stay(method, joint_of, shape, total, data):
    sizes, cliques, rng = shape
    known = [_noisy(rng, sizes, c, abs(total)) for c in cliques]
    zeros = [(c, rng.random([sizes[a] for a in c]) < 0.3) for c in data.draw(cliques_of(len(sizes)))[:2]]
    possible = np.ones(sizes, dtype=bool)
    for clique, mask in zeros:
        possible &= ~mask.reshape([size if a in clique else 1 for a, size in enumerate(sizes)])
    if not possible.any():
        with pytest.raises(ValueError, match="no combination"):
            fit(sizes, known, total=total, zeros=zeros, method=method)
        return
    model = fit(sizes, known, total=total, zeros=zeros, method=method, sweeps=10)
    table = joint_of(model)
    assert model.total == max(total, 1.0)
    assert abs(table.sum() - 1) < 1e-9
    assert (table[~possible] == 0).all() and (table >= 0).all()
    for clique, mask in zeros:
        assert (model.marginal(clique)[mask] == 0).all()
    assert np.isfinite(model.log_probability(model.sample(20, rng))).all()


@pytest.mark.parametrize("sigma", [1.0, 10.0, 50.0, 200.0])
def test_both_methods_find_the_least_squares(project, sigma):
    rng = np.random.default_rng(3)
    sizes = (3, 4, 2, 5)
    table = 5000 * rng.dirichlet(np.full(120, 0.5)).reshape(sizes)
    known = [
        Measurement(c, project(table, c) + rng.normal(0, sigma, [sizes[a] for a in c]), sigma)
        for c in [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3), (0,)]
    ]

    def error(model):
        return sum(np.sum(((model.marginal(m.clique) - m.values) / m.sigma) ** 2) / 2 for m in known)

    least = error(fit(sizes, known, total=5000, method="mirror-descent", sweeps=3000))
    close = error(fit(sizes, known, total=5000, strength=100, sweeps=300))
    early = error(fit(sizes, known, total=5000))
    assert least <= close * 1.001 <= least * 1.01
    assert close <= early * 1.001 <= least * 1.5


@given(shapes())
@settings(max_examples=40, deadline=None)
def test_pooled_targets_agree_and_keep_the_objective(project, shape):
    sizes, cliques, rng = shape
    known = [
        Measurement(c, rng.normal(10, 5, [sizes[a] for a in c]), float(rng.uniform(0.5, 3))) for c in cliques
    ]
    targets = pool(sizes, known, 60.0, {c: np.ones([sizes[a] for a in c], dtype=bool) for c in cliques})
    for one in targets:
        assert abs(one.values.sum() - 1) < 1e-9
        for other in targets:
            shared = sorted(set(one.clique) & set(other.clique))
            ours, theirs = (
                t.values.sum(axis=tuple(i for i, a in enumerate(t.clique) if a not in shared))
                for t in (one, other)
            )
            np.testing.assert_allclose(ours, theirs, atol=1e-9)

    def gap(table):
        measured = sum(np.sum(((project(table, m.clique) - m.values) / m.sigma) ** 2) for m in known)
        pooled = sum(np.sum(((project(table, t.clique) - 60 * t.values) / t.sigma) ** 2) for t in targets)
        return measured - pooled

    tables = 60 * rng.dirichlet(np.ones(np.prod(sizes)), size=3).reshape(3, *sizes)
    gaps = [gap(table) for table in tables]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-6, atol=1e-6 * max(1.0, *map(abs, gaps)))


@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_measured_is_the_base(method):
    known = [Measurement((0,), [30.0, 70.0], 1e-3)]
    model = fit((2, 3, 2, 1), known, total=100, method=method)
    np.testing.assert_allclose(model.marginal((1, 2)), 100 / 6)
    np.testing.assert_allclose(model.marginal((0,)), [30, 70], atol=0.1)
    model = fit((2, 3, 2, 1), known, total=100, base={1: [0.0, 1.0, 3.0]}, method=method)
    np.testing.assert_allclose(model.marginal((1,)), [0, 25, 75], atol=1e-4)
    np.testing.assert_allclose(model.marginal((0, 3)), [[30], [70]], atol=0.1)


def test_the_base_fills_what_noise_leaves_open():
    """Under heavy noise on the pair, the model keeps to the independent distribution of good 1-ways."""
    one, two = np.array([10.0, 90.0]), np.array([80.0, 15.0, 5.0])
    known = [
        Measurement((0,), one, 0.1),
        Measurement((1,), two, 0.1),
        Measurement((0, 1), np.zeros((2, 3)), 1e6),
    ]
    model = fit((2, 3), known, total=100)
    np.testing.assert_allclose(model.marginal((0, 1)), np.outer(one, two) / 100, rtol=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_sigma_by_cell_says_what_to_trust(method):
    values, sigma = np.array([50.0, 30.0, 400.0, -300.0]), np.array([0.01, 0.01, 1e4, 1e4])
    model = fit((4,), [Measurement((0,), values, sigma)], total=100, method=method)
    np.testing.assert_allclose(model.marginal((0,))[:2], [50, 30], atol=1.0)


def test_measuring_twice_is_averaging():
    one, two = Measurement((0,), [10.0, 90.0], 1.0), Measurement((0,), [40.0, 60.0], 2.0)
    model = fit((2,), [one, two], total=100)
    np.testing.assert_allclose(model.marginal((0,)), [16, 84], atol=0.5)


def test_the_same_call_gives_the_same_model():
    rng = np.random.default_rng(0)
    known = [Measurement((a, a + 1), rng.normal(10, 5, (3, 3)), 5.0) for a in range(4)]
    first, second = (fit([3] * 5, known, total=90).arrays() for _ in range(2))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_too_large_a_tree_is_refused_before_it_is_made():
    known = [Measurement((a, b), np.ones((1000, 1000)), 1.0) for a, b in [(0, 1), (1, 2), (0, 2)]]
    with pytest.raises(ValueError, match=r"1000000000 cells, more than the 2000000 .*\(0, 1, 2\)"):
        fit((1000, 1000, 1000), known, total=1)
    with pytest.raises(ValueError, match=r"4 cells, more than the 3 allowed"):
        fit((2, 2), [], total=1, max_cells=3)
    fit((2, 2), [], total=1, max_cells=4)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Measurement((1, 0), np.ones((2, 2)), 1.0), "strictly increasing"),
        (lambda: Measurement((), 3.0, 1.0), "strictly increasing"),
        (lambda: Measurement((-1, 0), np.ones((2, 2)), 1.0), "strictly increasing"),
        (lambda: Measurement((0,), np.ones((2, 2)), 1.0), "2 axes"),
        (lambda: Measurement((0,), [1.0, np.nan], 1.0), "not finite"),
        (lambda: Measurement((0,), [1.0, 1e16], 1.0), "beyond"),
        (lambda: Measurement((0,), [1.0, 2.0], 0.0), "above 0"),
        (lambda: Measurement((0,), [1.0, 2.0], np.nan), "above 0"),
        (lambda: Measurement((0,), [1.0, 2.0], [1.0, 2.0, 3.0]), "sigma has shape"),
        (lambda: fit((3,), [Measurement((0,), [1.0, 2.0], 1.0)], total=1), "the sizes say"),
        (lambda: fit((2,), [Measurement((1,), [1.0, 2.0], 1.0)], total=1), "names attribute 1"),
        (lambda: fit((2,), [], total=np.nan), "total must be finite"),
        (lambda: fit((2,), [], total=1, method="em"), "no method 'em'"),  # pyrefly: ignore
        (lambda: fit((2,), [], total=1, sweeps=0), "at least 1"),
        (lambda: fit((2,), [], total=1, strength=0.0), "above 0"),
        (lambda: fit((2,), [], total=1, base=[[1.0, 2.0, 3.0]]), "base of attribute 0"),
        (lambda: fit((2,), [], total=1, base={1: [1.0]}), "base names attribute 1"),
        (lambda: fit((2,), [], total=1, zeros=[((0,), np.array([0, 1]))]), "must be boolean"),
        (lambda: fit((2,), [], total=1, zeros=[((0,), np.array([True, True]))]), "no combination"),
    ],
)
def test_faults_are_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()

"""Trees are junction trees, and their size is known without building them."""

from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.graphical import CellCounter, Measurement, cells, fit, junction_tree


@st.composite
def graphs(draw, most=8, least_size=1):
    sizes = draw(st.lists(st.integers(least_size, 5), min_size=1, max_size=most))
    clique = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3).map(lambda s: tuple(sorted(s)))
    return sizes, draw(st.lists(clique, max_size=10))


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_it_is_a_junction_tree(graph):
    sizes, cliques = graph
    tree = junction_tree(sizes, cliques)
    for clique in cliques:
        home = tree.home(clique)
        assert home is not None and set(clique) <= set(tree.cliques[home])
    seen: set[int] = set()
    for index, (clique, parent) in enumerate(zip(tree.cliques, tree.parents, strict=True)):
        assert parent < index
        shared = set(clique) & set(tree.cliques[parent]) if parent >= 0 else set()
        assert set(tree.separators[index]) == shared == seen & set(clique)
        assert not any(set(clique) <= set(other) for other in tree.cliques[:index])
        seen |= set(clique)
    assert seen == set(range(len(sizes)))
    assert tree.home(range(len(sizes))) == (0 if len(tree.cliques) == 1 else None)


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_cells_are_what_a_fit_allocates_and_what_a_counter_foretells(graph):
    sizes, cliques = graph
    counter = CellCounter(sizes)
    for at, clique in enumerate(cliques):
        foretold = counter.with_clique(clique)
        assert foretold == cells(sizes, cliques[: at + 1])
        assert not counter.fits(clique, foretold - 1) and counter.fits(clique, 10**9)
        quick = CellCounter(sizes, cliques[:at])
        assert quick.add_within(clique, 10**9) and quick.cells >= foretold
        counter.add(clique)
        assert counter.cells == foretold
    known = [Measurement(clique, np.ones([sizes[a] for a in clique]), 1.0) for clique in cliques]
    model = fit(sizes, known, total=10, sweeps=1)
    assert cells(sizes, cliques) == counter.cells == model.cells == model.arrays()["beliefs"].size


def _fewest(sizes, cliques):
    """The best over all elimination orders."""
    best = None
    for order in permutations(range(len(sizes))):
        near = {a: set() for a in order}
        for clique in cliques:
            for a in clique:
                near[a] |= set(clique) - {a}
        made: list[set[int]] = []
        for a in order:
            made.append(near[a] | {a})
            for b in near[a]:
                near[b] = (near[b] | near[a]) - {a, b}
        largest = [c for i, c in enumerate(made) if not any(c <= d for j, d in enumerate(made) if j != i)]
        total = sum(prod(sizes[a] for a in clique) for clique in largest)
        best = total if best is None else min(best, total)
    return best


@given(graphs(most=5, least_size=2))
@settings(max_examples=60, deadline=None)
def test_small_trees_are_nearly_as_small_as_can_be(graph):
    sizes, cliques = graph
    fewest = _fewest(sizes, cliques)
    assert fewest <= cells(sizes, cliques) <= 1.5 * fewest


def test_known_sizes():
    ring = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert cells([2, 10, 2, 10], ring) == 2 * 40
    grid = [(3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)]
    grid += [(a, a + 3) for a in range(6)]
    assert cells([2] * 9, grid) == 4 * 8 + 2 * 16  # the four corners, then a wheel of five
    chain = [(a, a + 1) for a in range(999)]
    assert cells([7] * 1000, chain) == 999 * 49
    assert cells([10**6] * 4, [(0, 1, 2, 3)]) == 10**24


def test_a_wide_tree_grows_and_closes():
    rng = np.random.default_rng(1)
    counter = CellCounter([3] * 1000)
    for attribute in range(1, 1000):
        counter.add((int(rng.integers(attribute)), attribute))
    assert counter.cells == 999 * 9
    assert counter.with_clique((0, 999)) >= counter.cells


@pytest.mark.parametrize(
    ("sizes", "cliques", "says"), [([2, 0], [], "size 0"), ([2, 2], [(0, 2)], "names attribute 2")]
)
def test_faults_are_named(sizes, cliques, says):
    for ask in (cells, junction_tree, CellCounter):
        with pytest.raises(ValueError, match=says):
            ask(sizes, cliques)

"""Pairs in common tables: every pair is measured once, and a table is taken only where it is worth it."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sfumato.synthesizers.packing import WORTH, pack


def test_three_columns_of_two_values_are_measured_together():
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert pack(pairs, [2, 2, 2]) == {(0, 1, 2): tuple(pairs)}
    assert pack(pairs, [2, 2, 9]) == {pair: (pair,) for pair in pairs}
    assert pack(pairs[:2], [2, 2, 2]) == {pair: (pair,) for pair in pairs[:2]}, "two pairs alone are worth 1"


@given(st.data())
def test_every_pair_is_measured_once(data):
    sizes = data.draw(st.lists(st.integers(2, 5), min_size=3, max_size=7))
    pairs = data.draw(
        st.lists(st.sampled_from(list(combinations(range(len(sizes)), 2))), unique=True, min_size=1)
    )
    tables = pack(pairs, sizes)
    assert sorted(pair for held in tables.values() for pair in held) == sorted(pairs)
    for clique, held in tables.items():
        worth = 0.0
        for pair in held:
            assert set(pair) <= set(clique)
            left_out = 1
            for column in set(clique) - set(pair):
                left_out *= sizes[column]
            worth += 1 / left_out
        assert len(clique) == 2 or worth >= WORTH - 1e-9

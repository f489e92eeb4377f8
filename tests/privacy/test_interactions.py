"""Distances of interactions by enumeration over all neighbours, and what they say beside margins."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.privacy.mechanisms.interactions import centred, squared_distance
from sfumato.privacy.unit import PrivacyUnit

SHAPES = [(2,), (3,), (1, 2), (2, 2), (2, 3), (3, 4), (2, 2, 2), (2, 3, 2)]


def contributions(shape: tuple[int, ...], at_most: int) -> list[np.ndarray]:
    """What 0 to `at_most` rows of one unit add to a table."""
    found = []
    for rows in range(at_most + 1):
        for cells in combinations_with_replacement(list(product(*map(range, shape))), rows):
            table = np.zeros(shape, dtype=np.int64)
            for cell in cells:
                table[cell] += 1
            found.append(table)
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("at_most", [1, 2])
def test_the_distance_is_that_of_the_worst_neighbours(shape, at_most):
    unit = PrivacyUnit(column="person", at_most=at_most)
    moves = [centred(table).ravel() for table in contributions(shape, at_most)]
    alone = max(int(move @ move) for move in moves)
    assert alone == squared_distance(shape, unit, "add-remove")
    apart = max(int((a - b) @ (a - b)) for a in moves for b in moves)
    stated = squared_distance(shape, unit, "replace")
    assert apart <= stated
    assert apart == stated or 1 in shape, "no more than the worst costs"


@given(st.data())
def test_margins_and_interactions_make_up_the_table(data):
    shape = data.draw(st.sampled_from(SHAPES))
    size = prod(shape)
    table = np.array(data.draw(st.lists(st.integers(0, 99), min_size=size, max_size=size))).reshape(shape)
    whole = centred(table)
    for axis in range(table.ndim):
        assert not whole.sum(axis=axis).any()
    if len(shape) == 2:
        margins = table.sum(axis=1, keepdims=True) * shape[0] + table.sum(axis=0, keepdims=True) * shape[1]
        assert (whole + margins - table.sum() == table.size * table).all()

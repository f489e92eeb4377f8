"""Rows from a model: systematic allocation along the junction tree.

Cliques are drawn parents first. The rows that share a state of the separator form a group of m rows; the
conditional distribution P(rest | state) is given to a group by systematic sampling with one uniform
offset v,

    count of cell j = floor(m F(j) + v) - floor(m F(j - 1) + v),       F cumulative, v uniform on [0, 1),

so every count is within one of its expectation and has exactly that mean. Cells are taken there and back
again along each attribute, so that neighbours differ in one code: stretches of cells are nearly exact, and
marginals are unions of fewer stretches than in the order of counting. Which row of the group gets which cell
is a fresh random order for every clique. That order and the grouping are one sort of 64-bit words that hold,
high bits to low, the state, random bits and the row number.

Source: systematic resampling, Kitagawa (1996); Madow and Madow (1944).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from attrs import frozen

from sfumato.graphical.junction_tree import JunctionTree
from sfumato.graphical.layout import Floats, axes

RANDOM_BITS = 6
"""Fewest random bits in a sort key; rows of equal bits come in the order of a random affine map."""


def code_type(size: int) -> np.dtype:
    """The smallest unsigned type for codes 0..size-1."""
    return np.min_scalar_type(max(size - 1, 0))


@frozen(eq=False)
class _Draw:
    """How to draw the attributes that one clique adds."""

    given: tuple[int, ...]
    fresh: tuple[int, ...]
    cumulative: Floats
    """Conditional distribution function: one row per separator state, ending in 1."""
    codes: tuple[np.ndarray, ...]
    """For each fresh attribute, its code in every cell of a row of `cumulative`."""


@frozen(eq=False)
class Plan:
    """Everything about a model that drawing needs, worked out once."""

    sizes: tuple[int, ...]
    draws: tuple[_Draw, ...]

    @classmethod
    def of(cls, tree: JunctionTree, beliefs: Sequence[Floats]) -> Plan:
        """The plan of the model with these calibrated `beliefs`."""
        draws = []
        for clique, separator, belief in zip(tree.cliques, tree.separators, beliefs, strict=True):
            draws.append(_draw(tree.sizes, clique, separator, belief))
        return cls(tree.sizes, tuple(draw for draw in draws if draw.fresh))

    def sample(self, rows: int, rng: np.random.Generator) -> list[np.ndarray]:
        """`rows` rows, as one array of codes per attribute."""
        columns = [np.zeros(rows, dtype=code_type(size)) for size in self.sizes]
        if rows == 0:
            return columns
        for draw in self.draws:
            states = draw.cumulative.shape[0]
            state = _states(columns, self.sizes, draw.given, states)
            sizes = np.bincount(state, minlength=states) if state is not None else np.array([rows])
            cells, counts = _allocate(draw.cumulative, sizes, rng)
            order = _shuffled(state, states, rows, rng)
            for attribute, codes in zip(draw.fresh, draw.codes, strict=True):
                columns[attribute][order] = np.repeat(codes[cells], counts)
        return columns


def draw_within(states: np.ndarray, cumulative: Floats, rng: np.random.Generator) -> np.ndarray:
    """A cell for every row, from the conditional distribution of the row's state.

    `states` (rows,): unsigned codes; `cumulative` (states, cells): conditional distribution functions,
    each row ending in
    1. Systematic within each state, like the rows of a model.
    """
    kinds, cells = cumulative.shape
    sizes = np.bincount(states, minlength=kinds)
    chosen, counts = _allocate(cumulative, sizes, rng)
    drawn = np.empty(states.size, dtype=code_type(cells))
    drawn[_shuffled(states, kinds, states.size, rng)] = np.repeat(chosen.astype(drawn.dtype), counts)
    return drawn


def _draw(sizes: tuple[int, ...], clique: Sequence[int], separator: Sequence[int], belief: Floats) -> _Draw:
    order = axes(sizes, clique)
    given = axes(sizes, separator)
    fresh = tuple(attribute for attribute in order if attribute not in given)
    shape = [sizes[attribute] for attribute in order]
    moved = belief.reshape(shape).transpose([order.index(attribute) for attribute in (*given, *fresh)])
    rest = [sizes[attribute] for attribute in fresh]
    codes = _there_and_back(rest)
    moved = moved.reshape(prod(sizes[attribute] for attribute in given), -1)
    if len(rest) > 1:
        moved = moved[:, np.ravel_multi_index(codes, rest)]
    cumulative = moved.cumsum(axis=1)
    mass = cumulative[:, -1:]
    # A state without mass never occurs; any row ending in 1 will do.
    np.divide(cumulative, mass, out=cumulative, where=mass > 0.0)
    cumulative[mass[:, 0] <= 0.0] = 1.0
    return _Draw(given, fresh, cumulative, codes)


def _there_and_back(sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """The codes of all cells, an array per attribute; from one cell to the next one code moves by one.

    A reflected Gray code in mixed radix (Knuth, The Art of Computer Programming 4A, 7.2.1.1).
    """
    codes: list[np.ndarray] = []
    cells = 1
    for size in sizes:
        codes = [np.repeat(code, size) for code in codes]
        there = np.arange(size, dtype=code_type(size))
        run = np.concatenate([there, there[::-1]])
        codes.append(np.resize(run, cells * size))
        cells *= size
    return tuple(codes)


def _states(
    columns: Sequence[np.ndarray], sizes: Sequence[int], given: Sequence[int], states: int
) -> np.ndarray | None:
    """The separator state of every row; None when there is only one."""
    if not given:
        return None
    state = columns[given[0]]
    if len(given) > 1:
        state = state.astype(code_type(states))
        for attribute in given[1:]:
            state *= state.dtype.type(sizes[attribute])
            state += columns[attribute]
    return state


def _allocate(
    cumulative: Floats, sizes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cells (numbered within their state) and how many rows each gets, state after state; no zero counts."""
    reached = cumulative * sizes[:, None]
    reached += rng.random(sizes.size)[:, None]
    upto = reached.astype(np.int64)
    np.minimum(upto, sizes[:, None], out=upto)
    upto[:, -1] = sizes
    counts = upto
    counts[:, 1:] -= upto[:, :-1].copy()
    flat = counts.reshape(-1)
    taken = np.flatnonzero(flat)
    return taken % cumulative.shape[1], flat[taken]


def _shuffled(state: np.ndarray | None, states: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers grouped by state, in random order within each group."""
    bits = max(rows - 1, 1).bit_length()
    taken = bits + (states - 1).bit_length()
    kind = np.uint32 if taken + RANDOM_BITS <= 32 else np.uint64
    free = np.iinfo(kind).bits - taken
    if free < RANDOM_BITS:
        random = rng.integers(0, 2**64, size=rows, dtype=np.uint64)
        return np.lexsort((random,) if state is None else (random, state))
    # One number to sort: the state, random bits, the row. Rows are numbered anew by a random affine map,
    # so that those with the same random bits are in no order of theirs either.
    factor, shift = (int(rng.integers(0, 2**bits)) for _ in range(2))
    factor |= 1
    mask, row_mask = kind(2 ** (bits + free) - 2**bits), kind(2**bits - 1)
    key = np.arange(rows, dtype=kind)
    key *= kind(factor)
    key += kind(shift)
    key &= row_mask
    random = rng.integers(0, np.iinfo(kind).max, size=rows, dtype=kind, endpoint=True)
    random &= mask
    key |= random
    if state is not None:
        high = state.astype(kind)
        high <<= kind(bits + free)
        key |= high
    key.sort()
    key -= kind(shift)
    key *= kind(pow(factor, -1, 2**bits))
    key &= row_mask
    return key

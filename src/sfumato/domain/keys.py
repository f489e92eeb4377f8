"""Distinct texts of a pattern, by their place in the run: nothing has to be remembered to avoid repeats.

Place i of a run goes through a keyed permutation of 0 … capacity-1 (a Feistel network on two halves of
nearly equal size, walking on while it is outside; Black and Rogaway 2002) and the result is the number of
a text of the automaton. So any stretch of a run can be made alone, on any machine, from the key.

More texts than 2**62 do not fit a machine word. There the first letters are drawn by hash until at most
2**62 texts are left, and the number picks among those; paths with fewer than 2**40 texts behind them are
not taken, so that at least 2**40 keys are distinct by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.patterns import Automaton, Edge, automaton
from sfumato.errors import KeySpaceError

if TYPE_CHECKING:
    import polars as pl

Words = npt.NDArray[np.uint64]

WORD = 1 << 62
FEW = 1 << 40
ROUNDS = 8
BLOCK = 1 << 15
"""Rows made at a time, so that they stay in the cache."""

GOLDEN = 0x9E3779B97F4A7C15


def mix(words: Words, key: int) -> Words:
    """A keyed hash of 64-bit words (the finish of splitmix64). Not for privacy: ids hold no data."""
    mixed = words + np.uint64(key & (2**64 - 1))
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def permute(places: Words, capacity: int, keys: tuple[int, ...]) -> Words:
    """A keyed permutation of 0 … capacity-1 (at most 2**62) applied to `places`."""
    if capacity == 1:
        return places
    high = _ceil_sqrt(capacity)
    low = -(-capacity // high)
    moved = _feistel(places, high, low, keys)
    while len(outside := np.flatnonzero(moved >= np.uint64(capacity))):
        moved[outside] = _feistel(moved[outside], high, low, keys)
    return moved


def _feistel(places: Words, high: int, low: int, keys: tuple[int, ...]) -> Words:
    tall, short = np.uint64(high), np.uint64(low)
    left, right = np.divmod(places, short)
    for turn, key in enumerate(keys[:ROUNDS]):
        if turn % 2:
            right = (right + mix(left, key) % short) % short
        else:
            left = (left + mix(right, key) % tall) % tall
    return left * short + right


def _ceil_sqrt(number: int) -> int:
    import math

    root = math.isqrt(number)
    return root if root * root == number else root + 1


@frozen(slots=False)
class Keys:
    """The ids of one run: `at(start, rows)` gives any stretch of them, always the same."""

    column: str
    pattern: str = field(kw_only=True)
    unique: bool = field(kw_only=True)
    seeds: tuple[int, ...] = field(kw_only=True)

    @classmethod
    def draw(cls, column: str, *, pattern: str, unique: bool, rng: np.random.Generator) -> Keys:
        """The ids of a run, their key drawn from `rng`."""
        seeds = rng.integers(0, 2**63, size=ROUNDS + 4, dtype=np.int64)
        return cls(column, pattern=pattern, unique=unique, seeds=tuple(int(seed) for seed in seeds))

    @cached_property
    def _walk(self) -> Walk:
        return Walk(automaton(self.pattern), seeds=self.seeds[ROUNDS:])

    def at(self, start: int, rows: int) -> pl.Series:
        """Ids number `start` … `start + rows - 1` of the run; KeySpaceError when there are not so many."""
        room = self._walk.room
        if self.unique and start + rows > room:
            raise KeySpaceError(
                f"column {self.column!r} has {room:,} possible ids, too few for {start + rows:,} rows",
                mend="ask for fewer rows, widen the pattern, or declare unique = false",
            )
        import polars as pl

        stops = [*range(start, start + rows, BLOCK), start + rows]
        parts = [self._block(a, b) for a, b in pairwise(stops)]
        return pl.concat([pl.Series(self.column, [], dtype=pl.String), *parts])

    def _block(self, start: int, stop: int) -> pl.Series:
        places = np.arange(start, stop, dtype=np.uint64)
        room = self._walk.room
        if self.unique:
            numbers = permute(places, room, self.seeds)
        else:
            numbers = mix(mix(places, self.seeds[0]), self.seeds[1]) % np.uint64(room)
        return _strings(self.column, self._walk.letters(places, numbers))


Rows = npt.NDArray[np.int64] | slice
Letters = npt.NDArray[np.unsignedinteger[Any]]
Step = tuple[Edge, Rows, npt.NDArray[np.int64], Words]
ALL = slice(None)


@frozen(slots=False)
class Walk:
    """From numbers below `room` to texts of an automaton, one letter after the other, many rows at once."""

    machine: Automaton
    seeds: tuple[int, ...] = field(kw_only=True)

    @cached_property
    def room(self) -> int:
        """How many distinct texts the numbers can reach: all of them, or at least 2**40."""
        counts = self.machine.counts
        if counts[0] <= WORD:
            return counts[0]
        seen, stack, least = {0}, [0], WORD
        while stack:
            for edge in self._open(stack.pop()):
                if counts[edge.to] <= WORD:
                    least = min(least, counts[edge.to])
                elif edge.to not in seen:
                    seen.add(edge.to)
                    stack.append(edge.to)
        return least

    def _open(self, state: int) -> list[Edge]:
        """The steps taken from a state with more than 2**62 texts behind it."""
        return [edge for edge in self.machine.edges[state] if self.machine.counts[edge.to] >= FEW]

    def letters(self, places: Words, numbers: Words) -> list[Letters]:
        """The letters of each text, place by place; 0 after its end."""
        numbers = numbers.copy()
        noise = mix(places, self.seeds[0])
        found: list[Letters] = []
        groups: dict[int, Rows] = {0: ALL}
        while groups:
            column = np.zeros(len(places), dtype=self._dtype)
            after: dict[int, list[Rows]] = {}
            for state, rows in groups.items():
                if self.machine.counts[state] > WORD:
                    step = self._draw(state, numbers[rows], noise[rows], len(found))
                else:
                    step = self._pick(state, numbers[rows])
                for edge, chosen, letter, rest in step:
                    these = _within(rows, chosen)
                    column[these] = np.array(edge.letters, dtype=self._dtype)[letter]
                    numbers[these] = rest
                    after.setdefault(edge.to, []).append(these)
            groups = {state: _together(parts) for state, parts in after.items()}
            if groups:
                found.append(column)
        return found

    @cached_property
    def _dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint8 if max(self.machine.letters) < 128 else np.uint32

    def _pick(self, state: int, numbers: Words) -> Iterator[Step]:
        """The step that each number stands for, and its rank among the texts behind that step."""
        start = int(self.machine.ends[state])
        edges = self.machine.edges[state]
        for edge in edges:
            behind = self.machine.counts[edge.to]
            chosen: Rows = ALL
            rank = numbers
            if len(edges) > 1 or start:
                rank = numbers - np.uint64(start)  # below `start` it wraps around, and so is above the size
                chosen = np.flatnonzero(rank < np.uint64(len(edge.letters) * behind))
                rank = rank[chosen]
            if len(edge.letters) == 1:
                yield edge, chosen, np.zeros(len(rank), dtype=np.int64), rank
            else:
                letter = rank // np.uint64(behind)
                yield edge, chosen, letter.astype(np.int64), rank - letter * np.uint64(behind)
            start += len(edge.letters) * behind

    def _draw(self, state: int, numbers: Words, noise: Words, depth: int) -> Iterator[Step]:
        """A step drawn by hash, edges weighted by the texts behind them; the numbers stay for later."""
        edges = self._open(state)
        noise = mix(noise, self.seeds[1] + depth * GOLDEN)
        option = np.zeros(len(noise), dtype=np.int64)
        if len(edges) > 1:
            sizes = [len(edge.letters) * self.machine.counts[edge.to] for edge in edges]
            ends = np.cumsum([size / sum(sizes) for size in sizes])
            spot = mix(noise, self.seeds[2]).astype(np.float64) / 2.0**64
            option = np.minimum(np.searchsorted(ends, spot, side="right"), len(edges) - 1)
        for number, edge in enumerate(edges):
            chosen: Rows = ALL if len(edges) == 1 else np.flatnonzero(option == number)
            letter = (noise[chosen] % np.uint64(len(edge.letters))).astype(np.int64)
            yield edge, chosen, letter, self._enter(edge.to, numbers[chosen], noise[chosen])

    def _enter(self, state: int, numbers: Words, noise: Words) -> Words:
        """Numbers below `room`, spread over the texts behind a state once a machine word can count them."""
        count = self.machine.counts[state]
        spread = count // self.room
        if count > WORD or spread == 1:
            return numbers
        return numbers * np.uint64(spread) + mix(noise, self.seeds[3]) % np.uint64(spread)


def _within(rows: Rows, chosen: Rows) -> Rows:
    if isinstance(rows, slice):
        return chosen
    return rows if isinstance(chosen, slice) else rows[chosen]


def _together(parts: list[Rows]) -> Rows:
    if any(isinstance(part, slice) for part in parts):
        return ALL
    arrays = [part for part in parts if not isinstance(part, slice)]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _strings(name: str, letters: list[Letters]) -> pl.Series:
    import polars as pl

    table = np.ascontiguousarray(np.stack(letters, axis=1))
    if table.dtype == np.uint8:
        texts = table.view(f"S{table.shape[1]}").reshape(-1)
        return pl.Series(name, texts, dtype=pl.Binary).cast(pl.String)
    return pl.Series(name, table.view(f"U{table.shape[1]}").reshape(-1), dtype=pl.String)

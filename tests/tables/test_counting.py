"""Counts are exact whatever the blocks, the memory and the order of the questions."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InputError, JobError
from sfumato.tables.codes import CHUNK
from sfumato.tables.counting import BlockCounter
from sfumato.tables.cover import SMALL, cover
from sfumato.tables.limit import keep_at_most
from sfumato.tables.source import open_source


class Sliced:
    """A source whose blocks have the given heights."""

    kind, label, notes = "test", "test table", ()

    def __init__(self, frame, heights):
        self.frame, self.heights, self.asked = frame, heights, []
        self.columns = open_source(frame).columns

    def blocks(self, columns=None):
        self.asked.append(columns)
        start, heights = 0, itertools.cycle(self.heights)
        while start < self.frame.height:
            step = next(heights)
            yield self.frame.slice(start, step).select(columns)
            start += step

    def restore(self, frame):
        return frame


def brute_force(frame, clique):
    table = np.zeros([encoder.size for encoder in clique], np.int64)
    for row in zip(*(encoder.encode(frame[encoder.column]) for encoder in clique), strict=True):
        table[row] += 1
    return table if clique else np.array(frame.height)


NAMES = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)


def numbers(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: rng.integers(0, 1000, rows) for name in "abcd"})


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 300),
    heights=st.lists(st.integers(1, 90), min_size=1, max_size=4),
    sizes=st.lists(st.sampled_from([1, 2, 3, 7, 60, 300]), min_size=4, max_size=4),
    questions=st.lists(
        st.lists(st.lists(st.sampled_from("abcd"), max_size=3, unique=True), max_size=5),
        min_size=1,
        max_size=3,
    ),
    keep_bytes=st.sampled_from([0, CHUNK, 3 * CHUNK, 1 << 30]),
    table_bytes=st.sampled_from([1 << 28, 1 << 30]),
)
def test_counts_equal_brute_force(remainder, rows, heights, sizes, questions, keep_bytes, table_bytes):
    frame = numbers(rows)
    encoders = {name: remainder(name, size) for name, size in zip("abcd", sizes, strict=True)}
    counter = BlockCounter(Sliced(frame, heights), keep_bytes=keep_bytes, table_bytes=table_bytes)
    for question in questions:
        cliques = [tuple(encoders[name] for name in clique) for clique in question]
        for found, clique in zip(counter.marginals(cliques), cliques, strict=True):
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, brute_force(frame, clique), strict=True)


def test_blocks_across_chunk_borders(remainder):
    frame = numbers(2 * CHUNK + 1234)
    cliques = [(remainder("a", 5), remainder("b", 300)), (remainder("b", 300), remainder("c", 400)), ()]
    expected = [brute_force(frame, clique) for clique in cliques]
    for heights in ([CHUNK], [CHUNK - 1], [100_000], [3 * CHUNK], [1000, 77_777]):
        source = Sliced(frame, heights)
        counter = BlockCounter(source)
        for _ in range(2):
            for found, table in zip(counter.marginals(cliques), expected, strict=True):
                np.testing.assert_array_equal(found, table)
        assert len(source.asked) == 1  # the second time all codes were kept


def test_one_pass_reads_each_needed_column_once(remainder):
    source = Sliced(numbers(100), [30])
    counter = BlockCounter(source)
    a, b, finer = remainder("a", 5), remainder("b", 7), remainder("a", 50)
    counter.marginals([(a,), (b, a)])
    counter.marginals([(finer, b), (a, finer)])
    assert source.asked == [["a", "b"], ["a"]]


def test_what_does_not_fit_is_read_again_and_what_is_unused_makes_room(remainder):
    frame = numbers(1000)
    source = Sliced(frame, [100])
    counter = BlockCounter(source, keep_bytes=2 * CHUNK)
    a, b, c = (remainder(name, 9) for name in "abc")
    counter.marginals([(a, b)])
    counter.marginals([(a, b)])
    counter.marginals([(a, c)])
    counter.marginals([(a, c)])
    np.testing.assert_array_equal(counter.marginals([(a, b, c)])[0], brute_force(frame, (a, b, c)))
    assert source.asked == [["a", "b"], ["c"], ["b"]]


def test_tables_beyond_memory_are_refused_before_reading(remainder):
    source = Sliced(numbers(10), [10])
    counter = BlockCounter(source, table_bytes=8 * 1000)
    with pytest.raises(JobError, match=r"'a', 'b'.*1020 cells"):
        counter.marginals([(remainder("a", 34), remainder("b", 30))])
    assert source.asked == []
    many = [(remainder("a", 20), remainder("b", 30)), (remainder("c", 20), remainder("d", 30))]
    for found, clique in zip(counter.marginals(many), many, strict=True):
        np.testing.assert_array_equal(found, brute_force(source.frame, clique))
    assert len(source.asked) == 2


def test_a_source_that_changes_between_passes_is_noticed(remainder):
    source = Sliced(numbers(100), [30])
    counter = BlockCounter(source)
    counter.marginals([(remainder("a", 5),)])
    source.frame = numbers(101)
    with pytest.raises(InputError, match="changed while"):
        counter.marginals([(remainder("a", 5), remainder("b", 5))])
    counter = BlockCounter(source, limiter=keep_at_most(source, "a", 2))
    source.frame = numbers(99)
    with pytest.raises(InputError, match="changed while"):
        counter.marginals([(remainder("a", 5),)])


def test_very_many_columns_of_one_value(remainder):
    frame = pl.DataFrame({f"x{i}": [i] * 50 for i in range(90)})
    ones = [remainder(name, 1) for name in frame.columns]
    for table in BlockCounter(Sliced(frame, [20])).marginals(list(itertools.pairwise(ones))):
        assert table.tolist() == [[50]]


def test_all_pairs_at_once_are_the_tables_of_pairs(remainder):
    frame = numbers(3000)
    encoders = [remainder("a", 3), remainder("b", 1), remainder("c", 7), remainder("a", 2)]
    counter = BlockCounter(Sliced(frame, [900]))
    found = counter.pair_tables(encoders)
    ends = np.cumsum([encoder.size for encoder in encoders])
    blocks = [slice(end - encoder.size, end) for encoder, end in zip(encoders, ends, strict=True)]
    for (one, i), (two, j) in itertools.permutations(list(zip(encoders, blocks, strict=True)), 2):
        np.testing.assert_array_equal(found[i, j], brute_force(frame, (one, two)))
    with pytest.raises(JobError, match="more than memory"):
        BlockCounter(Sliced(frame, [900]), table_bytes=1000).pair_tables(encoders)


def test_codes_of_the_widest_types(remainder):
    frame = numbers(50)
    one, wide, wider = remainder("a", 1), remainder("b", 1 << 16), remainder("c", 300_000)
    cliques = [(one, wide), (wide, one), (wider,), (one, wider)]
    for found, clique in zip(BlockCounter(Sliced(frame, [20])).marginals(cliques), cliques, strict=True):
        np.testing.assert_array_equal(found, brute_force(frame, clique))


def test_encoders_are_held_to_their_range(remainder):
    wild = type("Wild", (), {"column": "a", "size": 3, "encode": lambda _, series: series.to_numpy()})()
    with pytest.raises(RuntimeError, match="outside its range"):
        BlockCounter(Sliced(numbers(100), [30])).marginals([(wild,)])


def test_value_counts_leave_out_missing_and_long_texts():
    long = "é" * 257
    frame = pl.DataFrame(
        {
            "t": ["b", None, "a", long, "b", long[1:]],
            "n": [1, 2, None, 1, 1, 1],
            "f": [0.5, float("nan"), None, 1, 1, 1],
            "d": pl.Series([1, 1, None, 2, 2, 2]).cast(pl.Duration("ms")),
        }
    )
    for heights in ([1], [4], [6]):
        counter = BlockCounter(Sliced(frame, heights))
        texts, whole, real, waits = counter.value_counts(["t", "n", "f", "d"])
        assert list(texts.items()) == [("a", 1), ("b", 2), (long[1:], 1)]
        assert whole == {"1": 4, "2": 1}
        assert real == {"0.5": 1, "1.0": 3}
        assert waits == {"PT0.001S": 2, "PT0.002S": 3}
        assert counter.value_counts(["t"], max_length=1) == [{"a": 1, "b": 2}]
    assert counter.value_counts([]) == []


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=8),
    cliques=st.lists(st.frozensets(st.integers(0, 7), max_size=4), max_size=40),
)
def test_a_cover_holds_every_clique_in_small_sets(sizes, cliques):
    size_of = dict(enumerate(sizes))
    cliques = [frozenset(clique & size_of.keys()) for clique in cliques]
    covered = cover(cliques, size_of)
    assert covered.keys() == set(cliques)
    largest = {}
    for clique, members in covered.items():
        assert clique <= members
        cells = int(np.prod([size_of[member] for member in clique]))
        largest[members] = max(largest.get(members, SMALL), cells)
    for members, bound in largest.items():
        assert np.prod([size_of[member] for member in members]) <= bound
    assert len(largest) <= len(covered)


def test_a_cover_of_all_pairs_of_small_columns_is_one_table():
    sizes = dict.fromkeys(range(12), 2)
    pairs = [frozenset(pair) for pair in itertools.combinations(sizes, 2)]
    assert set(cover(pairs, sizes).values()) == {frozenset(sizes)}

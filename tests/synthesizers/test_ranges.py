"""Tables of ranges and what is made of them."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.synthesizers.ranges import Ranges, number_of_ranges, spread, summed


def test_ranges_hold_about_as_many_rows_each():
    counts = np.array([5.0, 5, 0, 10, 500, 10, 5, 5])
    ranges = Ranges.of_counts(counts, 4, ordered=True)
    assert ranges.of.tolist() == [0, 0, 0, 0, 1, 2, 2, 2], "a spike stands alone"
    assert np.bincount(ranges.of, weights=ranges.shares) == pytest.approx(1, abs=1e-6)
    common = Ranges.of_counts(np.array([1.0, 90, 2, 80, 3]), 3, ordered=False)
    assert common.of[1] != common.of[3] and common.of[0] == common.of[2] == common.of[4]
    assert (number_of_ranges(10.0, 100.0), number_of_ranges(1e9, 1.0)) == (2, 12)


def test_what_is_spread_sums_to_what_was_measured():
    rng = np.random.default_rng(0)
    ranges = [Ranges.of_counts(rng.random(size) * 100, 3, ordered=True) for size in (9, 7)]
    table = rng.random((ranges[0].size, ranges[1].size)) * 50
    made = spread((0, 1), table, 2.0, ranges, distance=100.0)
    assert made.values.shape == made.sigma.shape == (9, 7)
    np.testing.assert_allclose(summed(made.values, ranges), table)
    fine = rng.random((9, 7))
    expected = [[fine[np.ix_(ranges[0].of == i, ranges[1].of == j)].sum() for j in range(table.shape[1])]
                for i in range(table.shape[0])]  # fmt: skip
    np.testing.assert_allclose(summed(fine, ranges), expected)


def test_a_strong_relation_of_two_numbers_survives_a_small_budget():
    rng = np.random.default_rng(1)
    a = rng.normal(500, 150, 6_000).clip(0, 999)
    b = (a + rng.normal(0, 40, a.size)).clip(0, 999)
    frame = pl.DataFrame(
        {"a": a.astype(int), "b": b.astype(int)} | {f"c{i}": rng.integers(0, 9, a.size) for i in range(8)}
    )
    columns = {name: {"type": "int", "min": 0, "max": 999 if name in "ab" else 8} for name in frame.columns}
    model = sf.fit(frame, epsilon=1, schema={"columns": columns}, insecure_noise_seed=3)
    made = model.sample(6_000, seed=1)
    assert np.corrcoef(made["a"], made["b"])[0, 1] > 0.4


def test_ranges_are_spread_as_later_counts_say():
    ranges = Ranges.of_counts(np.array([10.0, 0, 10, 20]), 2, ordered=True)
    later = ranges.shared_by(np.array([5.0, 5, 10, 20]))
    assert np.array_equal(later.of, ranges.of)
    assert later.shares == pytest.approx([0.25, 0.25, 0.5, 1.0])

"""Blocked distances against all pairs at once."""

import numpy as np
import polars as pl
import pytest
from tests.attacks.people import population, uniform

from sfumato.attacks import distances
from sfumato.attacks.distances import Near, scan, squared_distances
from sfumato.attacks.space import Space
from sfumato.attacks.suite.attributes import closest_without
from sfumato.evaluation.gather import pair_tables


@pytest.fixture(scope="module")
def pair():
    table = population(500, 1)
    table = table.with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("pay")).alias("pay")
    )
    return pair_tables(table, uniform(population(400, 2), seed=3), holdout=population(300, 4))


def brute(space, one, other, places=None):
    """The definition, record by record."""
    found = np.zeros((space.pair.rows(one), space.pair.rows(other)))
    for i, column in enumerate(space.pair.columns):
        if places is not None and i not in places:
            continue
        a, b = column.codes(one), column.codes(other)
        if not column.is_number:
            found += a[:, None] != b[None, :]
            continue
        x, y = (space.placed(i, column.values(side)).astype(float) for side in (one, other))
        missing = np.isnan(column.values(one))[:, None] != np.isnan(column.values(other))[None, :]
        found += (x[:, None] - y[None, :]) ** 2 + missing
    return found


def test_distances_are_those_of_the_definition(pair, monkeypatch):
    monkeypatch.setattr(distances, "QUERIES", 37)
    monkeypatch.setattr(distances, "CANDIDATES", 61)
    space = Space.of(pair)
    one, other = space.points("real"), space.points("synthetic")
    truth = brute(space, "real", "synthetic")
    np.testing.assert_allclose(squared_distances(one, other), truth, atol=1e-4)
    near = scan(one, other, nearest=3, widths=(0.3, 2.0))
    np.testing.assert_allclose(near.squared, np.sort(truth, axis=1)[:, :3], atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(truth, near.places, 1), near.squared, atol=1e-4)
    for i, width in enumerate((0.3, 2.0)):
        sums = np.exp(-truth / (2 * width**2)).sum(axis=1)
        known = sums > 1e-200
        np.testing.assert_allclose(near.sums[i][known], np.log(sums[known]), atol=2e-3)
    for column in range(len(pair.columns)):
        rest = [i for i in range(len(pair.columns)) if i != column]
        part = brute(space, "real", "synthetic", rest)
        guess = closest_without(one, other, [column])[0]
        np.testing.assert_allclose(part[np.arange(len(guess)), guess], part.min(axis=1), atol=1e-4)


def test_two_halves_are_the_whole(pair):
    space = Space.of(pair)
    one, other = space.points("real"), space.points("synthetic")
    whole = scan(one, other, nearest=2, widths=(0.5,))
    halves = [
        scan(one, other.take(part), nearest=2, widths=(0.5,)) for part in (slice(0, 150), slice(150, 400))
    ]
    joined: Near = halves[0].with_others(halves[1])
    np.testing.assert_array_equal(joined.squared, whole.squared)
    np.testing.assert_allclose(joined.sums, whole.sums, rtol=1e-5, atol=1e-5)
    assert joined.count == whole.count == 400


def test_a_tail_or_a_spike_does_not_decide_alone():
    table = population(2000, 5)
    pair = pair_tables(table, table, holdout=population(2000, 6))
    unit = dict(zip([column.name for column in pair.columns], Space.of(pair).unit, strict=True))
    assert 50 < unit["age"] < 90 and unit["gain"] > 1000

"""At most m rows of a person: the bound, the choice, and its permanence."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from sfumato.errors import InputError, UsageError
from sfumato.tables.counting import BlockCounter
from sfumato.tables.limit import keep_at_most
from sfumato.tables.source import open_source


def kept(limiter, step=7):
    masks = [limiter.mask(start, min(start + step, limiter.rows)) for start in range(0, limiter.rows, step)]
    return pl.concat(masks).to_numpy()


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("ids_at_once", [10, 1 << 20])
def test_each_person_keeps_as_many_rows_as_allowed(m, ids_at_once):
    ids = np.random.default_rng(1).integers(0, 60, 500).astype(str).astype(object)
    ids[::9] = None
    source = open_source(pl.DataFrame({"id": ids.tolist(), "v": range(500)}))
    limiter = keep_at_most(source, "id", m, ids_at_once=ids_at_once)
    mask = kept(limiter)
    assert not mask[::9].any()
    for person in set(ids[ids != None]):  # noqa: E711
        assert mask[ids == person].sum() == min(m, np.count_nonzero(ids == person))
    for step in (1, 8, 500):
        np.testing.assert_array_equal(kept(limiter, step), mask)


def test_ids_are_the_same_when_their_texts_are():
    source = open_source({"id": ["1", 1, "1.0", 1.0, "01", " 1", "", None, float("nan")]})
    mask = kept(keep_at_most(source, "id", 1))
    assert mask[:2].sum() == 1
    assert mask[2:4].sum() == 1
    assert mask[4:].tolist() == [True, True, True, False, False]


def test_the_choice_is_uniform_and_independent():
    rows, people, m, draws = 4, 50, 2, 60
    source = open_source(pl.DataFrame({"id": np.repeat(np.arange(people), rows)}))
    masks = np.array([kept(keep_at_most(source, "id", m), 1000) for _ in range(draws)])
    pairs = masks.reshape(draws * people, rows) @ (1 << np.arange(rows))
    found = np.bincount(pairs, minlength=16)[[3, 5, 6, 9, 10, 12]]  # the six pairs of four rows
    assert found.sum() == draws * people
    assert stats.chisquare(found).pvalue > 1e-9
    first = masks.reshape(draws, people, rows)[:, :, 0].sum(axis=1)
    assert stats.chi2.sf((first - people / 2).var() / (people / 4) * draws, draws) > 1e-9


def test_counts_see_only_the_rows_that_stay_and_always_the_same(remainder):
    ids = np.random.default_rng(2).integers(0, 40, 3000)
    frame = pl.DataFrame({"id": ids, "v": np.arange(3000), "w": np.arange(3000) * 7})
    source = open_source(frame)
    limiter = keep_at_most(source, "id", 3)
    chosen = frame.filter(pl.Series(kept(limiter)))
    cliques = [(), (remainder("id", 40),), (remainder("v", 50), remainder("w", 50))]
    expected = BlockCounter(open_source(chosen)).marginals(cliques)
    for keep_bytes in (0, 1 << 20):
        counter = BlockCounter(source, limiter=limiter, keep_bytes=keep_bytes)
        for _ in range(2):
            for found, table in zip(counter.marginals(cliques), expected, strict=True):
                np.testing.assert_array_equal(found, table)
        assert max(counter.value_counts(["id"])[0].values()) <= 3
    assert expected[1].max() <= 3


def test_faults():
    source = open_source({"id": ["a"], "v": ["b"]})
    with pytest.raises(UsageError, match="1 or more"):
        keep_at_most(source, "id", 0)
    with pytest.raises(InputError, match="no column 'person'"):
        keep_at_most(source, "person", 1)
    with pytest.raises(ValueError, match="another source"):
        BlockCounter(open_source({"id": ["a"]}), limiter=keep_at_most(source, "id", 1))

"""What is learned without a schema: types, decimals, bounds, cells, categories, missing values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.discovery.grids import CELLS_AT_MOST, _extent, public_edges, refine, within
from sfumato.discovery.votes import CLASSES, VoteEncoder, verdict
from sfumato.domain.kinds.date import Date
from sfumato.domain.kinds.integer import Int
from sfumato.models.learned import learned_bounds

ROWS = 6000


def _learned(columns: dict[str, list], tmp_path, **options) -> sf.Model:
    path = tmp_path / "table.csv"
    pl.DataFrame(columns, strict=False).write_csv(path)
    # A cell next to the bounds is taken in by noise alone in one column of twenty: the noise is fixed.
    return sf.fit(path, epsilon=10.0, method="independent", insecure_noise_seed=1, **options)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(5)
    spread = rng.integers(0, 365 * 3, ROWS)
    days = np.datetime64("2019-03-01") + spread
    texts = pl.Series(days.astype("datetime64[D]"))
    columns = {
        "age": rng.integers(18, 90, ROWS).tolist(),
        "price": [f"{v:.2f}" for v in rng.lognormal(3, 1, ROWS)],
        "born": texts.dt.strftime("%d/%m/%Y").to_list(),
        "seen": texts.cast(pl.Datetime).dt.strftime("%Y-%m-%d %H:%M").to_list(),
        "code": [f"{v:05d}" for v in rng.choice([1230, 501, 90210], ROWS)],
        "score": [str(v) if v >= 0 else "N" for v in rng.integers(-20, 100, ROWS)],
        "disease": rng.choice(["250", "250.01", "V45", "401", *map(str, range(410, 424))], ROWS).tolist(),
        "gap": [str(v) if v % 3 else None for v in rng.integers(0, 9, ROWS)],
        "key": [f"K{v:08d}" for v in range(ROWS)],
        "stamp": texts.dt.strftime("%Y%m%d").to_list(),
    }
    return _learned(columns, tmp_path_factory.mktemp("discovery"))


def test_types_bounds_and_missing_values_are_found(model):
    facts = {column.name: column for column in model.schema.columns}
    kinds = {name: column.kind for name, column in facts.items()}
    assert kinds == {
        "age": "int", "price": "float", "born": "date", "seen": "datetime", "code": "categorical",
        "score": "int", "disease": "categorical", "gap": "int", "key": "categorical", "stamp": "int",
    }  # fmt: skip
    assert (facts["age"].min, facts["age"].max) == (16, 127), "cells of the public grid, not the data's ends"
    assert facts["price"].decimals == 2
    assert facts["born"].format == "%d/%m/%Y"
    assert facts["seen"].format == "%Y-%m-%d %H:%M"
    assert tuple(facts["score"].special_codes) == ("N",)
    assert {name for name, column in facts.items() if column.nullable} == {"gap"}
    assert all(column.source == "dp" for column in facts.values())


def test_texts_keep_their_zeros_and_rare_ones_become_other(model):
    drawn = model.sample(2000, seed=1)
    assert set(drawn["code"]) == {"01230", "00501", "90210"} | ({"OTHER"} & set(drawn["code"]))
    assert set(drawn["key"]) == {"OTHER"}
    (note,) = [note for note in model.notes if "'key'" in note]
    assert "every value becomes 'OTHER'" in note and 'state its type, such as type = "float"' in note
    assert any("YYYYMMDD" in note for note in model.notes)


def test_codes_of_digits_stay_as_they_are_spelled(model):
    texts = set(model.sample(ROWS, seed=1)["disease"].cast(pl.String))
    assert (
        {"250", "250.01", "V45", "415"}
        <= texts
        <= {"OTHER", "250", "250.01", "V45", "401", *map(str, range(410, 424))}
    )


def test_a_spike_gets_a_cell_of_its_own(tmp_path):
    rng = np.random.default_rng(6)
    gain = np.where(rng.random(ROWS) < 0.9, 0, rng.integers(1000, 90_000, ROWS))
    model = _learned({"gain": gain.tolist()}, tmp_path)
    drawn = model.sample(ROWS, seed=1)["gain"].to_numpy()
    assert abs((drawn == 0).mean() - (gain == 0).mean()) < 0.01
    assert drawn.max() <= 131_071
    assert abs(np.median(drawn[drawn > 0]) - np.median(gain[gain > 0])) < 6000


def test_a_drowned_table_gives_rows_and_no_error(tmp_path):
    """Noise alone decides on types, so any type may come out; usually it is text, and everything OTHER."""
    path = tmp_path / "few.csv"
    pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]}).write_csv(path)
    for _ in range(5):
        model = sf.fit(path, epsilon=0.01)
        drawn = model.sample(5)
        assert drawn.columns == ["a", "b"] and drawn.height == 5
        for column in model.schema.columns:
            assert column.source == "dp"
            assert column.nullable or drawn[column.name].null_count() == 0
            if column.kind == "categorical":
                assert set(drawn[column.name].drop_nulls()) <= {"OTHER"}


def test_bounds_are_found_where_no_cell_stands_out_alone():
    counts = np.zeros(124, dtype=np.int64)
    assert _extent(counts, 1.0, rows=0) is None
    counts[70:74] = 40
    assert _extent(counts, 10.0, rows=160) == (70, 73), "4 noise scales each, 8 together"
    counts[70:74] = 15
    assert _extent(counts, 10.0, rows=60) is None
    counts[100] = 60
    assert _extent(counts, 10.0, rows=90) == (99, 101), "a single cell and its neighbours"
    counts[90:100] = 15
    assert _extent(counts, 10.0, rows=260)[0] < 97, "the number of rows says that there are more"


@given(st.lists(st.text(max_size=12) | st.none(), max_size=30), st.sampled_from([".", ","]))
def test_votes_are_cast_row_by_row(texts, decimal):
    encoder = VoteEncoder(column="x", ballot="text", decimal=decimal)
    whole = encoder.encode(pl.Series("x", texts, dtype=pl.String)).tolist()
    single = [int(encoder.encode(pl.Series("x", [t], dtype=pl.String))[0]) for t in texts]
    assert whole == single
    assert all(0 <= code < CLASSES for code in whole)


@pytest.mark.parametrize(
    ("texts", "kind", "decimals", "format"),
    [
        (["1", "-20", "300"], "int", 0, None),
        (["1", "2.5", "-3.25"], "float", 2, None),
        (["007", "012"], "text", 0, None),
        (["1e5", "2E-3"], "float", 9, None),
        (["2020-01-31"], "date", 0, "%Y-%m-%d"),
        (["12/31/2020", "01/02/2020"], "date", 0, "%m/%d/%Y"),
        (["2020-01-31T10:00:00Z"], "datetime", 0, "%Y-%m-%dT%H:%M:%SZ"),
        (["yes", "no"], "text", 0, None),
        (["1,000"], "text", 0, None),
    ],
)
def test_verdicts(texts, kind, decimals, format):
    encoder = VoteEncoder(column="x", ballot="text")
    votes = np.bincount(encoder.encode(pl.Series("x", texts * 50)), minlength=CLASSES).astype(np.int64)
    says = verdict(votes, sigma=1.0)
    assert (says.kind, says.decimals, says.format) == (kind, decimals, format)


@pytest.mark.parametrize(
    ("value", "places"), [(57.0, 0), (0.5, 1), (44.96661711, 8), (1e300, 0), (1 / 3, 9), (-7.25, 2)]
)
def test_decimals_of_stored_numbers(value, places):
    encoder = VoteEncoder(column="x", ballot="float")
    votes = np.bincount(encoder.encode(pl.Series("x", [value] * 9)), minlength=CLASSES).astype(np.int64)
    assert verdict(votes, sigma=0.1).decimals == places


def test_the_public_grid_is_public_and_closed():
    edges = public_edges(Int("x"))
    assert np.all(np.diff(edges) > 0)
    assert {0, 1, 2, 4, -1} <= set(edges.tolist())
    bounded = public_edges(Int("x", min=-5, max=1000))
    assert bounded[0] == -5
    assert bounded[-1] == 1001
    years = public_edges(Date("d"))
    assert 0 in years.tolist(), "1970-01-01 starts a year"


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.integers(2, 16))
def test_refining_only_adds_edges_and_is_bounded(counts, parts):
    edges = np.cumsum([0, *[1 + (c % 50) for c in counts]])
    crowded = np.where(np.arange(len(counts)) % 3, 100.0, 50.0)
    finer = refine(edges, np.array(counts, dtype=np.float64), crowded=crowded, parts=parts)
    assert set(edges.tolist()) <= set(finer.tolist())
    assert finer.size - 1 <= CELLS_AT_MOST
    for cell, count in enumerate(counts):
        inner = np.count_nonzero((finer > edges[cell]) & (finer < edges[cell + 1]))
        assert inner == (min(parts, edges[cell + 1] - edges[cell]) - 1 if count > crowded[cell] else 0)


def test_within_keeps_the_ends():
    assert within(np.array([0, 5, 10]), 3, 7).tolist() == [3, 5, 8]


def test_frequent_labels_of_a_small_table_are_found_at_a_small_budget(tmp_path):
    rng = np.random.default_rng(3)
    columns = {f"answer{i}": rng.choice(["yes", "no"], 7_000).tolist() for i in range(12)}
    path = tmp_path / "table.csv"
    pl.DataFrame(columns).write_csv(path)
    model = sf.fit(path, epsilon=0.1, method="independent", insecure_noise_seed=1)
    assert {frozenset(codec.values) for codec in model.codecs} == {frozenset({"yes", "no"})}


def test_a_value_that_is_spelled_like_other_is_told_apart(tmp_path):
    """Which of the two labels is ours, where both can stand in a column."""
    kinds = ["p", "q", "Other", "OTHER", "other"]
    frame = {"near": [kinds[i % 3] for i in range(ROWS)], "same": [kinds[i % 4] for i in range(ROWS)],
             "far": [kinds[i % 2] for i in range(ROWS)]}  # fmt: skip
    model = _learned(frame, tmp_path)
    near = [note for note in model.notes if note.startswith("'near'")]
    assert near == [
        "'near': 'Other' is a value of the table; 'OTHER' is not, and stands for all values that are not shown; "
        "state another other_label in a schema if that confuses"
    ]
    (same,) = [note for note in model.notes if note.startswith("'same'")]
    assert same.startswith("'same': 'OTHER' is a value of the table, and stands for all values that are not")
    assert not [note for note in model.notes if note.startswith("'far'")]

    column = {"type": "categorical", "open_set": True, "public_values": ["p", "other"], "other_label": "rest"}
    stated = {"columns": {"near": column}}
    assert not _learned({"near": frame["near"]}, tmp_path, schema=stated).notes


def test_bounds_that_were_learned_are_told(model):
    bounds = learned_bounds(model)
    assert bounds["age"] == (16, 127) and bounds["price"] == (
        model.schema["price"].min,
        model.schema["price"].max,
    )
    assert set(bounds) == {"age", "price", "born", "seen", "score", "gap", "stamp"}


def test_bounds_that_were_stated_are_not_told_as_learned(tmp_path):
    rows = {"a": list(range(100)) * 20, "b": list(range(100)) * 20}
    schema = {"columns": {"a": {"type": "int", "min": 0, "max": 99}, "b": {"type": "int", "min": 0}}}
    (found,) = learned_bounds(_learned(rows, tmp_path, schema=schema)).items()
    assert found[0] == "b" and found[1][0] == 0 and found[1][1] >= 99

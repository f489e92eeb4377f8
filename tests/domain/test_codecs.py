"""Codes and values: what is decoded encodes to where it came from, row by row, whatever the cells hold."""

import json

import attrs
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import codecs, grids, texts, typed

from sfumato.domain.codecs import GridCodec, ValuesCodec, codec_for, codec_from_state, grid_edges
from sfumato.domain.kinds import Bool, Categorical, Date, Datetime, Float, Int
from sfumato.domain.views import Coarse

RNG = np.random.default_rng


@given(codec=codecs(), repeats=st.sampled_from([1, 40]), seed=st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_what_is_decoded_encodes_to_its_code_in_both_forms(codec, repeats, seed):
    codes = np.tile(np.flatnonzero(codec.allowed), repeats).astype(np.uint32)
    for text in (False, True):
        values = codec.decode(codes, RNG(seed), text=text)
        assert values.name == codec.column and len(values) == len(codes)
        assert values.dtype == pl.String or not text
        found = codec.encode(values)
        assert found.dtype.kind == "u" and found.tolist() == codes.tolist(), values.to_list()
        assert (values.is_null().to_numpy() == (codes == 0)).all()


@given(codec=codecs(), first=texts | typed(), cut=st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_a_row_is_encoded_by_itself_and_nothing_raises(codec, first, cut):
    whole = codec.encode(first)
    assert len(whole) == len(first) and whole.max(initial=0) < codec.size
    parts = [codec.encode(first.head(cut)), codec.encode(first.slice(cut))]
    assert np.concatenate(parts).tolist() == whole.tolist()
    assert [codec.encode(first.slice(row, 1)).item() for row in range(len(first))] == whole.tolist()


@given(codec=codecs())
@settings(max_examples=50, deadline=None)
def test_a_codec_survives_json_and_says_what_its_codes_mean(codec):
    state = json.loads(json.dumps(codec.state()))
    again = codec_from_state(state)
    assert again == codec and hash(again) == hash(codec)
    assert len(codec.labels()) == codec.size == len(codec.allowed)


@given(codec=grids(), data=st.data())
@settings(max_examples=100, deadline=None)
def test_units_outside_the_grid_join_its_ends(codec, data):
    units = np.array(data.draw(st.lists(st.integers(-(1 << 62), 1 << 62), min_size=1)), dtype=np.int64)
    cells = codec.cell_of(units)
    inside = np.clip(units, codec.edges[0], codec.edges[-1] - 1)
    edges = [int(edge) for edge in codec.edges]
    for cell, unit in zip(cells.tolist(), inside.tolist(), strict=True):
        assert edges[cell] <= unit < edges[cell + 1]


def test_draws_are_uniform_in_a_cell_and_step_over_special_codes():
    facts = Int("x", min=0, max=9, special_codes={"3": "three", "7": "seven"})
    codec = GridCodec(facts, (0, 10))
    values = codec.decode(np.full(80_000, 3), RNG(1), text=False).to_numpy()
    counts = np.bincount(values, minlength=10)
    assert counts[3] == counts[7] == 0
    # 8 cells of 10,000 expected; 6 standard deviations of about 94 is a false alarm of 1e-8
    assert abs(counts[[0, 1, 2, 4, 5, 6, 8, 9]] - 10_000).max() < 6 * 94


def test_a_special_code_is_a_code_of_its_own_by_number_or_by_word():
    facts = Float("mm", decimals=1, min=0, max=1, special_codes={"0.0": "dry", "trace": "", "-9": "lost"})
    codec = codec_for(facts)
    cells = pl.Series(["0", "0.0", "-0", "0.04", "trace", "Trace", "-9.0", "0.1", None, "-8"])
    assert codec.encode(cells).tolist() == [1, 1, 1, 1, 2, 0, 3, 5, 0, 4]
    assert codec.encode(pl.Series([0.0, -9.0, 0.1])).tolist() == [1, 3, 5]
    assert codec.allowed.tolist()[:6] == [False, True, True, True, False, True]
    assert codec.decode(np.array([1, 2, 3, 5]), RNG(0), text=False).to_list() == ["0.0", "trace", "-9", "0.1"]


def test_a_special_code_may_stand_for_a_day_that_is_none():
    codes = {"99999999": "open", "0": "unknown", "20991231": "never"}
    facts = Date("d", format="%Y%m%d", min="20210101", max="20210104", special_codes=codes, storage="int")
    codec = codec_for(facts)
    for cells in (
        pl.Series(["99999999", "0", "20991231", "20210102", "20210230"]),
        pl.Series([99999999, 0, 20991231, 20210102, 20210230]),
    ):
        assert codec.encode(cells).tolist() == [1, 2, 3, 5, 0]
    found = codec.decode(np.array([1, 2, 3, 5, 0]), RNG(0), text=False)
    assert found.to_list() == [99999999, 0, 20991231, 20210102, None]
    assert attrs.evolve(facts, storage="").spelled_codes


def test_only_what_needs_no_data_has_a_codec():
    assert codec_for(Int("a", min=1, max=256)).size == 257
    assert codec_for(Int("a", min=0, max=1024)) is None and grid_edges(Int("a", min=0)) is None
    assert codec_for(Categorical("a", open_set=True, public_values=("x",))) is None
    assert codec_for(Categorical("a", values=("x",))) is None
    assert codec_for(Categorical("a", values=("x",), nullable=True)).size == 2
    assert codec_for(Float("a", min=0, max=1, nullable=True, always_null=True)) is None
    assert codec_for(Bool("a")).labels() == ["(missing)", "false", "true"]


def test_closed_sets_lose_the_unknown_and_open_sets_call_it_other():
    closed = codec_for(Categorical("a", values=("x", "y")))
    cells = pl.Series(["y", "z", None, "x", "x" * 300, "X"])
    assert closed.encode(cells).tolist() == [2, 0, 0, 1, 0, 0]
    facts = Categorical("a", open_set=True, public_values=("x", "y"), other_label="rest")
    opened = ValuesCodec(facts, facts.public_values, other=True)
    assert opened.encode(cells).tolist() == [2, 3, 0, 1, 3, 3]
    assert opened.decode(np.array([3, 1]), RNG(0), text=False).to_list() == ["rest", "x"]


def test_a_coarse_view_groups_codes():
    codec = codec_for(Int("a", min=0, max=3))
    view = Coarse(codec, (0, 1, 1, 2, 2))
    assert (view.size, view.column) == (3, "a")
    assert view.encode(pl.Series([0, 1, 2, 3, None])).tolist() == [1, 1, 2, 2, 0]
    assert view == Coarse(codec, [0, 1, 1, 2, 2]) and json.dumps(view.describe())
    for groups in ((0, 1), (0, 1, 1, 3, 3)):
        with pytest.raises(ValueError, match="group"):
            Coarse(codec, groups)


@pytest.mark.parametrize("edges", [(1,), (1, 1), (2, 1), (0, 1 << 63)])
def test_a_grid_needs_rising_edges(edges):
    with pytest.raises(ValueError, match="grid"):
        GridCodec(Int("a"), edges)


@pytest.mark.parametrize(
    "state", [{}, {"codec": "grid"}, {"codec": "values", "column": "a", "facts": {"type": "int"}}]
)
def test_what_is_no_codec_is_refused(state):
    with pytest.raises(ValueError, match="not the state"):
        codec_from_state(state)


def test_an_infinite_or_absent_bound_leaves_dates_in_the_calendar():
    everything = (-(1 << 62), 0, 1 << 62)
    for facts in (
        Date("d"),
        Datetime("d"),
        Datetime("d", timezone="Europe/Amsterdam"),
        Date("d", format="%d.%m.%y"),
    ):
        codec = GridCodec(facts, everything)
        for text in (False, True):
            values = codec.decode(np.array([1, 2] * 50), RNG(3), text=text)
            assert codec.encode(values).tolist() == [1, 2] * 50 or facts.format, facts

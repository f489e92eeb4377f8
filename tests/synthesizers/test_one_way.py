"""Steps that marginal-based methods share, and the two methods that are made of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sfumato as sf
from sfumato.domain.codecs import GridCodec, ValuesCodec
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.kinds.integer import Int
from sfumato.synthesizers.histogram import _posterior_mean, denoise, fade, support
from sfumato.synthesizers.label_counts import posterior_counts
from sfumato.synthesizers.marginal_generator import split_groups
from sfumato.synthesizers.one_way import (
    coarsen,
    expected_counts,
    pool_total,
    project_to_simplex,
    relative_noise,
)


@given(arrays(float, st.integers(1, 30), elements=st.floats(-1e6, 1e6)), st.floats(1, 1e6), st.data())
def test_projection_is_the_nearest_point(values, total, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size)))
    allowed[data.draw(st.integers(0, values.size - 1))] = True
    found = project_to_simplex(values, total, allowed)
    assert np.all(found >= 0)
    assert np.all(found[~allowed] == 0)
    assert found.sum() == pytest.approx(total)
    # Optimality: moving mass between allowed entries never helps.
    gradient = (found - values)[allowed]
    used = gradient[found[allowed] > 1e-9 * total]
    assert used.max() <= gradient.min() + 1e-6 * (1 + np.abs(values).max())


def test_denoising_keeps_spikes_and_averages_slopes():
    rng = np.random.default_rng(2)
    truth = 400 * np.exp(-(((np.arange(90) - 30) / 20) ** 2))
    truth[40] += 5000
    errors = []
    for _ in range(40):
        noisy = truth + rng.normal(0, 40, 90)
        found = denoise(noisy, np.ones(90), sigma=40.0, total=truth.sum())
        errors.append((np.abs(noisy - truth).sum(), np.abs(found - truth).sum()))
        assert abs(found[40] - truth[40]) < 250
        assert np.all(found >= 0) and found.sum() == pytest.approx(truth.sum())
    before, after = np.mean(errors, axis=0)
    assert after < 0.6 * before


def test_round_numbers_do_not_spill_over_to_their_neighbours():
    """Hours of work: a spike at every fifth number, and next to nothing between."""
    rng = np.random.default_rng(4)
    truth = np.where(np.arange(99) % 5 == 4, 800.0, 20.0)
    errors = []
    for _ in range(40):
        noisy = truth + rng.normal(0, 20, 99)
        found = denoise(noisy, np.ones(99), sigma=20.0, total=truth.sum())
        between = truth < 800
        errors.append([np.abs(each - truth)[between].sum() for each in (noisy, found)])
    before, after = np.mean(errors, axis=0)
    assert after < 0.75 * before


def test_many_values_tell_how_large_counts_usually_are():
    rng = np.random.default_rng(6)
    truth = np.concatenate([[9_000.0, 700, 300], rng.integers(5, 60, 40)])
    allowed, errors = np.ones(truth.size, dtype=bool), []
    for _ in range(40):
        noisy = truth + rng.normal(0, 40, truth.size)
        cut = project_to_simplex(noisy, truth.sum(), allowed)
        found = posterior_counts(noisy, sigma=40.0, total=truth.sum())
        assert np.all(found >= 0) and found.sum() == pytest.approx(truth.sum())
        errors.append([np.abs(each - truth).sum() for each in (cut, found)])
    before, after = np.mean(errors, axis=0)
    assert after < 0.7 * before


@given(
    arrays(float, st.integers(1, 40), elements=st.floats(-1e9, 1e9)), st.floats(0.01, 1e9), st.floats(1, 1e9)
)
def test_posterior_counts_are_counts(counts, sigma, total):
    found = posterior_counts(counts, sigma=sigma, total=total)
    assert np.all(found >= 0) and found.sum() == pytest.approx(total)


@pytest.mark.parametrize("expected", [1e-9, 0.01, 1.0, 40.0, 1e6])
@pytest.mark.parametrize("count", [-50.0, 0.0, 3.0, 90.0])
def test_a_tail_cell_gets_its_posterior_mean(count, expected):
    places = np.linspace(0, 200, 2_000_001)[1:] * min(1.0, 10 * expected)
    logs = -((places - count) ** 2) / 2 / 9**2 - places / expected
    chances = np.exp(logs - logs.max())
    assert _posterior_mean(count, expected, 9.0) == pytest.approx(places @ chances / chances.sum(), rel=1e-3)


def test_where_every_cell_differs_counts_stay_as_measured():
    rng = np.random.default_rng(5)
    truth = rng.permutation(np.arange(1, 65) * 100.0)
    noisy = truth + rng.normal(0, 10, 64)
    found = denoise(noisy, np.ones(64), sigma=10.0, total=truth.sum())
    assert np.abs(found - truth).sum() < 1.2 * np.abs(noisy - truth).sum()


def test_columns_with_many_codes_get_less_noise():
    labels = Categorical("c", values=("a", "b"))
    small, open_set = ValuesCodec(labels, ("a", "b")), ValuesCodec(labels, ("a", "b"), other=True)
    fine = GridCodec(Int("x", min=0, max=98), tuple(range(100)))
    learned = GridCodec(Int("y", min=0, max=9_999), (0, 10, 10_000))
    before = relative_noise((small, open_set, fine, learned), learned_sizes_are_public=False)
    assert before == (2, 1, 1, 1), "sizes that were learned fix no charge"
    after = relative_noise((small, open_set, fine, learned), learned_sizes_are_public=True)
    assert after == (2, 2, 1, 2)


@given(
    arrays(float, st.integers(1, 40), elements=st.floats(-1e4, 1e4)),
    st.floats(0.1, 1e3),
    st.floats(1, 1e6),
)
def test_denoised_counts_are_counts(counts, sigma, total):
    widths = 1.0 + np.arange(counts.size) ** 2
    found = denoise(counts, widths, sigma=sigma, total=total)
    assert found.shape == counts.shape and np.all(found >= 0) and found.sum() == pytest.approx(total)
    kept = support(counts, widths, sigma=sigma, total=total)
    assert 0 <= kept.start < kept.stop <= counts.size


def test_without_evidence_rows_are_spread_by_width():
    found = denoise(np.zeros(6), np.array([1.0, 2, 3, 4, 5, 5]), sigma=1e9, total=40.0)
    assert found == pytest.approx([2, 4, 6, 8, 10, 10])


@pytest.mark.parametrize(
    ("cells", "rows", "sigma", "share"),
    [(1000, 30.0, 40.0, 0.15), (4000, 100.0, 10.0, 0.02), (250, 30.0, 5.0, 0.02)],
)
def test_empty_ends_of_wide_bounds_stay_empty(cells, rows, sigma, share):
    """Ages up to 90 in cells up to 1,000: noise in the empty cells makes nobody old.

    The seed is fixed. Over many seeds a tenth of the rows lie beyond 150 in 9 % of the runs of the first case,
    where all ages together are six noise scales, and in less than 1 % of those of the others.
    """
    rng = np.random.default_rng(4)
    truth, widths = np.zeros(cells), np.ones(cells)
    truth[20:90] = rows
    far = []
    for _ in range(100):
        noisy = truth + rng.normal(0, sigma, cells)
        kept = support(noisy, widths, sigma=sigma, total=truth.sum())
        found = denoise(noisy[kept], widths[kept], sigma=sigma, total=truth.sum())
        far.append(found[max(0, 150 - kept.start) :].sum() / truth.sum())
    assert np.mean(np.array(far) > 0.1) <= share
    assert np.median(far) == 0


def test_ends_without_noise_are_exact():
    truth = np.zeros(1000)
    truth[20:90] = 30.0
    assert support(truth, np.ones(1000), sigma=1e-9, total=2100) == slice(20, 90)
    assert support(np.zeros(9), np.ones(9), sigma=1.0, total=9) == slice(0, 9)
    truth[900] = 30.0
    assert support(truth, np.ones(1000), sigma=1.0, total=2130) == slice(20, 901), (
        "a far value that is clearly there"
    )


def test_rows_that_are_seen_in_no_window_keep_their_place():
    """A third stands out in one cell; the others, spread widely, are known from the number of rows alone."""
    rng = np.random.default_rng(8)
    truth = np.concatenate([[0.0, 300.0], np.full(30, 20.0)])
    for _ in range(50):
        kept = support(truth + rng.normal(0, 50, 32), np.ones(32), sigma=50.0, total=900)
        assert kept.stop - kept.start >= 5


def test_a_tail_that_fades_goes_on_and_a_sharp_end_does_not():
    widths = np.array([1.0, 1, 2, 4, 8, 16, 32])
    found = np.array([50.0, 50, 90, 60, 0, 0, 0])
    counts = np.array([50.0, 50, 90, 60, 15, 0, 0])
    longer = fade(found, counts, widths, slice(0, 4), sigma=10.0)
    assert np.allclose(longer[:3], found[:3], rtol=0.07) and longer[6] == 0
    assert longer[3] == pytest.approx(60 - 10**2 / 30), "30 were expected, and it is far from zero"
    assert 10 < longer[4] < 15, "19 were expected and 15 counted"
    assert 0 < longer[5] < longer[4] / 3
    counts[4] = -5.0
    assert not fade(found, counts, widths, slice(0, 4), sigma=10.0)[4:].any(), "19 were expected"
    mirrored = fade(found[::-1], counts[::-1], widths[::-1], slice(3, 7), sigma=20.0)
    assert np.allclose(mirrored[::-1], fade(found, counts, widths, slice(0, 4), sigma=20.0))
    fine = np.ones(100)
    kept = np.where(np.arange(100) < 50, 9.0, 0.0)
    assert np.array_equal(fade(kept, kept, fine, slice(0, 50), sigma=5.0), kept), "cells are not coarse"


def test_wide_cells_of_a_tail_hold_what_a_power_law_says_unless_they_stand_out():
    """A power law: each doubling has a third of the rows of the one before, and noise as large as the tail."""
    widths = np.array([1.0, 1, 2, 4, 8, 16, 32])
    truth = 900.0 * np.array([3.0, 1, 1 / 3, 1 / 9, 1 / 27, 1 / 81, 1 / 243])
    noise, sigma = np.random.default_rng(3).normal(0, 10, (200, 7)), 10.0
    raw, better = np.abs(noise[:, -3:]), []
    for row in noise:
        found = np.maximum(truth + row, 0)
        better.append(np.abs(fade(found, truth + row, widths, slice(0, 7), sigma=sigma) - truth)[-3:])
    assert np.mean(better) < 0.8 * raw.mean()
    truth[-1] = 200.0
    far = fade(truth, truth, widths, slice(0, 7), sigma=sigma)
    assert far[-1] == 200.0, "rows that are clearly there"


def test_counts_of_a_column_keep_their_sum_and_their_zeros():
    facts = Int("x", min=0, max=49, special_codes={"0": "none", "-1": ""}, nullable=True)
    codec = GridCodec(facts, tuple(range(51)))
    noisy = np.full(codec.size, 20.0)
    noisy[0], noisy[1] = 3.0, 5000.0
    found = expected_counts(codec, noisy, sigma=5.0, total=6000.0)
    assert found.sum() == pytest.approx(6000) and np.all(found >= 0)
    assert found[0] == 0, "missing cells that are not seen"
    assert found[1] == pytest.approx(5000, abs=30) and np.all(found[~codec.allowed] == 0)
    noisy[12:] = -20.0
    found = expected_counts(codec, noisy, sigma=5.0, total=5200.0)
    assert np.all(found[codec.allowed][3:] > 0), "rows can be drawn given any value"
    assert found[15:].sum() < 1e-3
    values = ValuesCodec(Categorical("c", open_set=True, public_values=("a", "b")), ("a", "b"), other=True)
    found = expected_counts(values, np.array([9.0, 50, 40, 6]), sigma=5.0, total=100.0)
    assert found[0] == found[3] == 0 and found.sum() == pytest.approx(100)
    found = expected_counts(values, np.array([0.0, 50, 40, 30]), sigma=5.0, total=120.0)
    assert found[3] == pytest.approx(30)


def test_pooling_prefers_the_precise_estimate():
    assert pool_total(1000, 1.0, (np.array([2000.0]),), (100.0,)) == pytest.approx(1000, abs=1)
    assert pool_total(-50, 10.0, (), ()) == 1.0


def test_groups_of_ordered_and_unordered_codes():
    grid = GridCodec(Int("x", min=0, max=9, special_codes={"-1": ""}), tuple(range(11)))
    counts = np.array([5, 7, *[10.0] * 10])
    groups = coarsen(grid, counts, least=25.0)
    assert groups[:2].tolist() == [0, 1], "atoms stay alone"
    assert np.all(np.diff(groups[2:]) >= 0)
    assert np.bincount(groups, weights=counts)[2:].min() >= 25
    values = ValuesCodec(Categorical("c", values=("a", "b", "c", "d")), ("a", "b", "c", "d"))
    groups = coarsen(values, np.array([0.0, 100, 3, 100, 4]), least=10.0)
    assert groups[2] == groups[4]
    assert len(set(groups[[1, 2, 3]])) == 3
    assert set(groups) == set(range(groups.max() + 1))


def test_codes_inside_groups_get_their_share():
    rng = np.random.default_rng(3)
    groups = np.array([0, 1, 1, 1, 2, 2])
    weights = np.array([9.0, 1, 2, 1, 0, 5])
    drawn = rng.integers(0, 3, 40_000).astype(np.uint8)
    codes = split_groups(drawn, groups, weights, rng)
    assert np.array_equal(groups[codes], drawn)
    sizes, counts = np.bincount(drawn), np.bincount(codes, minlength=6)
    expected = np.array([sizes[0], *(sizes[1] * np.array([0.25, 0.5, 0.25])), 0, sizes[2]])
    assert np.all(np.abs(counts - expected) <= 1)


@pytest.fixture(scope="module")
def chain():
    """A chain a-b-c-d of strongly dependent columns, as a frame with its schema."""
    rng = np.random.default_rng(4)
    columns, value = {}, rng.integers(0, 5, 8000)
    for name in "abcd":
        columns[name] = value.astype(str)
        value = np.where(rng.random(8000) < 0.8, value, rng.integers(0, 5, 8000))
    values = [str(i) for i in range(5)]
    facts = {name: {"type": "categorical", "values": values} for name in columns}
    return pl.DataFrame(columns), {"columns": facts}


PAIRS = [("a", "b"), ("c", "d"), ("a", "d")]


def _pair_error(real: pl.DataFrame, made: pl.DataFrame, pair: tuple[str, str]) -> float:
    joint = [frame.group_by(pair).len().with_columns(pl.col("len") / frame.height) for frame in (real, made)]
    both = joint[0].join(joint[1], on=pair, how="full", coalesce=True).fill_null(0)
    return 0.5 * float((both["len"] - both["len_right"]).abs().sum())


def test_mst_finds_the_chain_and_independent_does_not(chain):
    frame, schema = chain
    errors = {}
    for method in ("mst", "independent"):
        made = sf.fit(frame, epsilon=3.0, method=method, schema=schema, insecure_noise_seed=1).sample(
            8000, seed=1
        )
        errors[method] = {
            pair: _pair_error(frame, made, pair) for pair in [("a", "b"), ("c", "d"), ("a", "d")]
        }
    assert max(errors["mst"].values()) < 0.06
    assert min(errors["independent"].values()) > 0.2


def test_rows_can_be_conditioned(chain):
    frame, schema = chain
    model = sf.fit(frame, epsilon=3.0, schema=schema, insecure_noise_seed=1)
    made = model.sample(4000, seed=2, where={"a": "3"})
    assert set(made["a"]) == {"3"}
    assert made.height == 4000
    share = (made["b"] == "3").mean()
    real = (frame.filter(pl.col("a") == "3")["b"] == "3").mean()
    assert abs(share - real) < 0.05


def test_a_seed_repeats_the_rows_whatever_the_chunks(chain):
    frame, schema = chain
    model = sf.fit(frame, epsilon=3.0, schema=schema)
    assert model.sample(300_000, seed=9).equals(model.sample(300_000, seed=9))
    assert not model.sample(50, seed=9).equals(model.sample(50, seed=10))


def test_error_falls_with_epsilon(chain):
    frame, schema = chain
    errors = [
        np.mean([_pair_error(frame, sf.fit(frame, epsilon=e, schema=schema, insecure_noise_seed=seed)
                             .sample(8000, seed=seed), ("a", "b")) for seed in range(3)])
        for e in (0.05, 0.5, 5.0)
    ]  # fmt: skip
    assert errors[0] > errors[1] > errors[2]


def test_a_column_whose_every_value_has_a_meaning_of_its_own():
    codec = GridCodec(Int("x", min=0, max=1, special_codes={"0": "no", "1": "yes"}), (0, 1, 2))
    found = expected_counts(codec, np.array([3.0, 60, 40, 0, 0]), sigma=2.0, total=100.0)
    assert found.sum() == pytest.approx(100) and found[1] > found[2] > 30


@pytest.mark.parametrize("method", ["adaptive", "mst", "aim", "independent", "dp-copula", "bayes-net"])
@pytest.mark.parametrize("nullable", [False, True])
def test_a_column_that_is_not_as_declared_is_warned_about(method, nullable, tmp_path):
    """By the released counts: every cell is a text where the schema has a number."""
    frame = pl.DataFrame({"age": [f"a{i % 9}" for i in range(4000)], "sex": ["F", "M"] * 2000})
    columns = {
        "age": {"type": "int", "min": 0, "max": 99, "nullable": nullable},
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
    with pytest.warns(sf.DataWarning) as told:
        model = sf.fit(frame, epsilon=4.0, method=method, schema={"columns": columns})
    (warning,) = told
    text = str(warning.message)
    assert text.startswith("'age': ") and "not as declared (int)" in text and "%" not in text
    assert ("nearly all" in text) == nullable and "mend its type or facts in the schema" in text
    assert warning.filename == __file__ and model.warnings == (text,) and model.notes == ()
    model.save(tmp_path / "m")
    assert sf.load(tmp_path / "m").warnings == (text,) and sf.verify(tmp_path / "m").epsilon <= 4.0


def test_columns_that_are_as_declared_or_nearly_so_are_not():
    """Half-filled columns are no fault where cells may be missing; a few strays are a remark."""
    rows = 4000
    frame = pl.DataFrame(
        {"half": [i if i % 2 else None for i in range(rows)], "some": [str(i % 9) for i in range(rows)]}
    )
    frame = frame.with_columns(some=pl.when(pl.int_range(rows) % 10 == 0).then(pl.lit("?")).otherwise("some"))
    columns = {
        "half": {"type": "int", "min": 0, "max": rows, "nullable": True},
        "some": {"type": "int", "min": 0, "max": 8},
    }
    model = sf.fit(frame, epsilon=4.0, method="independent", schema={"columns": columns})
    (note,) = model.notes
    assert model.warnings == () and note.startswith("'some': about 1") and "%" in note


def test_rows_made_at_once_are_warned_about_at_the_line_that_asks():
    frame = pl.DataFrame({"age": ["old"] * 2000, "sex": ["F", "M"] * 1000})
    columns = {
        "age": {"type": "int", "min": 0, "max": 99},
        "sex": {"type": "categorical", "values": ["F", "M"]},
    }
    with pytest.warns(sf.DataWarning, match="'age'") as told:
        sf.generate(frame, epsilon=4.0, method="independent", schema={"columns": columns})
    assert [each.filename for each in told] == [__file__]

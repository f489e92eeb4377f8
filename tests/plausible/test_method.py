"""The two methods as they are used: fit, verify, sample, save, inspect, plan; errors; replays on neighbours."""

import json
import math
import re
from html import escape

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import sfumato
from tests.shared_data import table

import sfumato as sf
from sfumato.errors import JobError, UsageError
from sfumato.models.guarantees import guarantees
from sfumato.privacy import gdp
from sfumato.report import publishable_html
from sfumato.synthesizers.plausible_deniability import enough_to_draw, omegas_of
from sfumato.testing import fit_exactly, record_replay, worst_neighbours

ROWS = 30_000
SCHEMA = {
    "columns": {
        "age": {"type": "int", "min": 0, "max": 59},
        "job": {"type": "categorical", "values": ["a", "b", "c", "d"]},
        "sex": {"type": "int", "min": 0, "max": 1},
        "home": {"type": "categorical", "values": ["x", "y", "z"], "nullable": True},
        "rich": {"type": "int", "min": 0, "max": 1},
    }
}
PAIRS = {pair.name: pair.only("city", "tag", "age") for pair in worst_neighbours()}
LARGE = {
    "structure": "tables", "records": 20, "k": 60, "epsilon0": 0.2, "omega": "2-5",
}  # fmt: skip


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    age = np.minimum(rng.gamma(4, 7, rows).astype(int), 59)
    job = np.where(rng.random(rows) < 0.8, age // 15, rng.integers(0, 4, rows))
    rich = (rng.random(rows) < 0.1 + 0.2 * job).astype(int)
    home = np.where(rng.random(rows) < 0.9, rich, 2)
    return pl.DataFrame(
        {
            "age": age,
            "job": [["a", "b", "c", "d"][i] for i in job],
            "sex": rng.integers(0, 2, rows),
            "home": [None if i == 2 else "xy"[i] for i in home],
            "rich": rich,
        }
    )


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def released(frame):
    return sf.fit(
        frame, epsilon=2.0, delta=1e-7, method="plausible-deniability", schema=SCHEMA, options=LARGE
    )


def far(one, other, columns):
    shares = [
        each.group_by(columns).len().with_columns(p=pl.col("len") / each.height) for each in (one, other)
    ]
    both = shares[0].join(shares[1], on=columns, how="full", nulls_equal=True, coalesce=True).fill_null(0)
    return float((both["p"] - both["p_right"]).abs().sum() / 2)


# ---- bayes-net --------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["tables", "entropies"])
def test_a_network_finds_what_depends_on_what(frame, structure):
    model = sf.fit(
        frame, epsilon=2.0, delta=1e-7, method="bayes-net", schema=SCHEMA, options={"structure": structure}
    )
    made = model.sample(seed=1)
    plain = sf.fit(
        frame, epsilon=2.0, delta=1e-7, method="bayes-net", schema=SCHEMA, options={"structure": "none"}
    ).sample(seed=1)
    pairs = [("age", "job"), ("job", "rich"), ("rich", "home")]
    good, poor = (np.mean([far(frame, each, list(pair)) for pair in pairs]) for each in (made, plain))
    assert good < 0.6 * poor
    assert max(far(frame, made, [name]) for name in frame.columns) < 0.08
    assert model.statement.epsilon <= 2.0
    assert sf.verify(model).epsilon == model.statement.epsilon


def test_parts_are_charged_and_the_mixture_is_stated(frame):
    model = sf.fit(
        frame, epsilon=1.0, delta=1e-7, method="bayes-net", schema=SCHEMA,
        options={"structure_share": 0.2, "weights": [0.5, 0.5]},
    )  # fmt: skip
    parts = {name: share for name, share, _ in model.ledger.limit.parts}
    assert parts == {"structure": 0.2, "parameters": 0.8}
    own = {
        name: sum(e.cost.add_remove.mu2 for e in model.ledger if e.cost.part in ("", name)) for name in parts
    }
    # What a small part sees may be worth more than epsilon, since few rows are in it.
    assert gdp.epsilon(math.sqrt(own["structure"]), 1e-7) > 1.3
    assert 0.9 < model.statement.epsilon <= 1.0
    assert sf.verify(model).epsilon <= 1.0


def test_conditions_are_drawn_from_the_network(frame):
    model = sf.fit(frame, epsilon=3.0, delta=1e-7, method="bayes-net", schema=SCHEMA)
    rich = model.sample(4000, seed=2, where={"rich": 1})
    assert rich["rich"].to_list() == [1] * 4000
    truth = frame.filter(pl.col("rich") == 1)
    assert far(truth, rich, ["home"]) < 0.06
    with pytest.raises(UsageError):
        model.sample(5, where={"rich": 7})


def test_stated_buckets_are_used():
    model = fit_exactly(
        people(4000), method="bayes-net", schema=SCHEMA, epsilon=3.0,
        options={"bucket_starts": {"age": [0, 15, 30, 45], "job": ["a", "c"]}},
    )  # fmt: skip
    buckets = model.generator.network.buckets
    assert buckets[0].tolist() == [0] + [1 + age // 15 for age in range(60)]
    assert buckets[1].tolist() == [0, 1, 1, 2, 2]


# ---- plausible deniability --------------------------------------------------------------------------


def test_a_release_is_its_records_and_no_more(released, frame):
    assert released.rows == 20
    whole = released.sample(seed=3)
    assert whole.height == 20 and whole.columns == frame.columns
    again = released.sample(20, seed=4)
    assert sorted(map(str, whole.rows())) == sorted(map(str, again.rows()))
    some = released.sample(10, seed=5)
    left = list(map(str, whole.rows()))
    for row in map(str, some.rows()):
        left.remove(row)
    rich = whole.filter(pl.col("rich") == 1).height
    assert released.sample(rich, where={"rich": 1}, seed=1).height == rich
    for rows, where in ((21, None), (rich + 1, {"rich": 1})):
        with pytest.raises(JobError, match="records"):
            released.sample(rows, where=where)


def test_a_release_is_saved_verified_and_asserted(released, tmp_path):
    path = tmp_path / "model"
    released.save(path)
    again = sf.load(path)
    assert sf.verify(again).epsilon == released.statement.epsilon <= 2.0
    sf.assert_dp(again, epsilon=2.0)
    names = [entry.mechanism for entry in again.ledger]
    assert names[-2:] == ["rounded_gaussian_passing_mass", "plausible_release"]
    assert again.ledger.entries[0].cost.part == "" and again.ledger.entries[-1].cost.part == "seeds"
    # Seeds are nowhere: all that the file holds about rows are noisy tables and the records.
    assert {key.split("/")[0] for key in again.generator.arrays()} == {"records"}


def test_both_guarantees_are_in_the_report(released, tmp_path):
    found = {each.what: each for each in guarantees(released.ledger, delta=1e-7)}
    assert set(found) == {"model", "plausible deniability", "per record", "release"}
    assert "(60, 2)-plausible" in found["plausible deniability"].text
    assert 0.2 < found["per record"].epsilon < found["release"].epsilon <= 2.0
    assert 0 < found["model"].epsilon <= 2.0
    # The network is made from 45 % of the rows.
    assert found["model"].epsilon == pytest.approx(math.log(1 + 0.45 * math.expm1(2.0)), rel=0.05)
    path = tmp_path / "model"
    released.save(path)
    shown = sfumato("inspect", path)
    assert shown.code == 0 and "plausible deniability" in shown.out and "per record" in shown.out
    assert "20 released records" in shown.out and "noisy" not in shown.out
    page = publishable_html(released)
    for each in found.values():
        assert escape(each.text, quote=False) in page, each.what
    assert "20 released records" in page and "a noisy number" not in page
    told = json.loads(sfumato("inspect", path, "--json").out)
    assert [each["what"] for each in told["guarantees"]] == list(found)


def test_an_altered_record_is_found(released, tmp_path):
    path = tmp_path / "model"
    released.save(path)
    model = sf.load(path)
    model.generator.records[0, 0] += 1
    with pytest.raises(sf.errors.GuaranteeError):
        sf.verify(model)


def test_a_histogram_of_seeds_gives_any_number_of_rows(frame):
    model = sf.fit(
        frame, epsilon=1.0, delta=1e-7, method="plausible-deniability", schema=SCHEMA,
        options={"seeds": "histogram", "omega": "3-4"},
    )  # fmt: skip
    assert abs(model.rows - ROWS) < 1000
    made = model.sample(40_000, seed=1)
    assert made.height == 40_000
    assert far(frame, made, ["job", "rich"]) < 0.1
    assert sf.verify(model).epsilon <= 1.0
    assert model.sample(50, where={"sex": 1}, seed=1)["sex"].to_list() == [1] * 50
    assert (model.generator.counts > 0).all() and len(model.generator.counts) > 1


def test_the_test_without_noise_guarantees_nothing(frame, tmp_path):
    model = sf.fit(
        frame, epsilon=1.0, method="plausible-deniability", schema=SCHEMA,
        options={"randomised": False, "k": 50, "records": 40},
    )  # fmt: skip
    assert model.statement.epsilon == math.inf and "randomised" in model.statement.void
    assert model.sample().height == 40
    with pytest.raises(sf.errors.GuaranteeError):
        sf.assert_dp(model, epsilon=100.0)
    (deniable,) = [e for e in guarantees(model.ledger, delta=1e-9) if e.what == "plausible deniability"]
    assert deniable.epsilon == math.inf and "not differentially private" in deniable.text
    model.save(tmp_path / "model")
    shown = sfumato("inspect", tmp_path / "model").out
    assert "infinite" in shown and "nan" not in shown
    page = publishable_html(model)
    assert "It is not differentially private" in page and "NOT PRIVATE" in page and "NaN" not in page


def test_too_few_rows_release_nothing_from_seeds():
    model = sf.fit(people(300), epsilon=1.0, method="plausible-deniability", schema=SCHEMA)
    assert any("no record comes from a seed" in note for note in model.notes)
    assert model.sample(500).height == 500 and sf.verify(model).epsilon <= 1.0
    assert "plausible_release" not in [entry.mechanism for entry in model.ledger]


def test_more_records_than_the_budget_holds_are_fewer(frame):
    model = sf.fit(
        frame, epsilon=1.0, delta=1e-7, method="plausible-deniability", schema=SCHEMA,
        options={**LARGE, "records": 2000},
    )  # fmt: skip
    assert 1 <= model.rows < 2000
    (note,) = [note for note in model.notes if "more would exceed epsilon" in note]
    assert f"{model.rows:,} records are released, not 2,000: at k = " in note and "gamma = 2" in note
    assert "or take seeds = 'histogram'" in note
    assert 0.5 < model.statement.epsilon <= 1.0


def test_what_a_smaller_release_advises_gives_all_records(frame):
    """Stated k and epsilon0 that are too dear: the note names others, and they are enough."""
    given = {"method": "plausible-deniability", "schema": SCHEMA, "epsilon": 3.0, "delta": 1e-7}
    few = sf.fit(frame, **given, options={**LARGE, "k": 60, "epsilon0": 1.0, "records": 300})
    (note,) = [note for note in few.notes if "more would exceed epsilon" in note]
    k, epsilon0 = re.search(r"state k = (\d+) and epsilon0 = ([\d.]+) to have them all", note).groups()
    all_of_them = sf.fit(
        frame, **given, options={**LARGE, "k": int(k), "epsilon0": float(epsilon0), "records": 300}
    )
    assert few.rows < 300 == all_of_them.rows


@pytest.mark.parametrize(
    "options, message",
    [
        ({"omega": 0}, "omega"),
        ({"omega": "5-3"}, "omega"),
        ({"omega": 6}, "at most the number of columns"),
        ({"k": 50}, "epsilon0"),
        ({"randomised": False}, "needs k"),
        ({"gamma": 1.0}, "gamma"),
        ({"weights": [0.5, 0.5]}, "weights"),
        ({"structure_share": 0.8}, "share"),
        ({"bucket_starts": {"nope": [1]}}, "nope"),
        ({"seeds": "all"}, "seeds"),
        ({"k": 39_000, "epsilon0": 0.01}, "at most"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        sf.fit(people(50), epsilon=1.0, method="plausible-deniability", schema=SCHEMA, options=options)


def test_more_rows_than_records_are_refused_before_anything_is_charged(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    people(50).write_csv(source)
    shown = sfumato(
        "generate", source, "-o", out, "--epsilon", "1", "--rows", "20", "--method", "plausible-deniability",
        "--set", "records=10", "--ledger", tmp_path / "ledger", "--dataset", "d",
    )  # fmt: skip
    assert shown.code == 2 and "records" in shown.err
    assert not out.exists() and not (tmp_path / "ledger").exists()


def test_weights_do_not_go_with_a_ledger(tmp_path):
    with pytest.raises(UsageError, match="weights"):
        sf.fit(
            people(50), epsilon=1.0, method="bayes-net", schema=SCHEMA, options={"weights": [0.5, 0.5]},
            ledger=tmp_path / "ledger", dataset="d",
        )  # fmt: skip
    assert not (tmp_path / "ledger").exists()


def test_omega_follows_what_the_network_lets_pass(frame):
    network = sf.fit(frame, epsilon=3.0, delta=1e-7, method="bayes-net", schema=SCHEMA).generator.network
    given = {"epsilon0": 0.2, "gamma": 2.0, "seeds": 16_000.0}
    few, many = (enough_to_draw(network, (3, 4, 5), k=k, **given) for k in (5, 12_000))
    assert few == (3, 4, 5) and many[0] > 3 and many[-1] == 5


def test_numbers_of_attributes_to_draw():
    assert omegas_of("auto", 11) == tuple(range(6, 12)) and omegas_of("auto", 0) == ()
    assert omegas_of("5-11", 11) == tuple(range(5, 12)) and omegas_of(3, 5) == (3,)


def test_a_plan_names_k_and_the_histogram(tmp_path):
    found = sf.plan(SCHEMA, rows=100_000, epsilon=[1.0], method="plausible-deniability")
    text = " ".join(found.notes)
    assert "k = " in text and "gamma = 2" in text and "epsilon0 = " in text and "1,000 records" in text
    assert "seeds = 'histogram'" in text and "10,000 at k = " in text


# ---- neighbours -------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nothing_is_read_past_the_curator_when_records_are_released(neighbours):
    """A large table with one row more or another: the same questions, records and prices."""
    rows = people(12_000)
    odd = pl.DataFrame(
        {"age": [59], "job": ["a"], "sex": [1], "home": [None], "rich": [1]}, schema=rows.schema
    )
    other = pl.concat([rows, odd]) if neighbours == "add-remove" else pl.concat([rows.head(11_999), odd])
    options = {"records": 3, "k": 40, "epsilon0": 0.4, "omega": "3-5", "max_plausible": 500}
    played = record_replay(
        rows, other, relation=neighbours, epsilon=6.0, delta=1e-6, method="plausible-deniability", schema=SCHEMA,
        options=options,
    )  # fmt: skip
    assert "plausible_release" in [step.mechanism.name for step in played.steps]
    assert "plausible_release" in [entry.mechanism for entry in played.recording.model.ledger]


@pytest.mark.parametrize("name", list(PAIRS)[::5])
def test_entropies_and_histograms_keep_the_promises_on_the_worst_neighbours(name):
    pair = PAIRS[name]
    for method, options in (
        ("bayes-net", {"structure": "entropies"}),
        ("plausible-deniability", {"seeds": "histogram"}),
    ):
        record_replay(
            pair.table, pair.neighbour, relation=pair.relation, method=method, options=options,
            schema=pair.schema, **pair.options,
        )  # fmt: skip


def test_a_mutation_that_releases_exact_numbers_of_passes_is_seen(frame, monkeypatch):
    """The replay notices when the passing mass decides the records to release without its noise."""
    from sfumato.privacy.mechanisms.plausible_release import PassingMass

    monkeypatch.setattr(
        PassingMass, "certified", lambda self, count, doubt: float(np.random.default_rng().random() * 9000)
    )
    rows = people(9000)
    options = {"records": 3, "k": 40, "epsilon0": 0.4, "omega": "3-5"}
    with pytest.raises(AssertionError):
        record_replay(
            rows, rows.tail(8999), relation="add-remove", epsilon=6.0, delta=1e-6, schema=SCHEMA,
            method="plausible-deniability", options=options,
        )  # fmt: skip


# ---- real tables ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_of_real_people():
    adult = pl.read_csv(table("adult_discrete/adult.csv.gz"))
    acs = pl.read_parquet(
        table("acs_pums_2013_2017_income/acsbig.parquet"), columns=["mar", "sex", "agep", "incgroup"]
    )
    for frame_ in (adult, acs):
        schema = {
            "columns": {n: {"type": "int", "min": 0, "max": int(frame_[n].max())} for n in frame_.columns}
        }
        for method, options in (("bayes-net", {}), ("plausible-deniability", {"records": 50})):
            model = sf.fit(frame_, epsilon=1.0, method=method, schema=schema, options=options)
            assert sf.verify(model).epsilon <= 1.0
            assert model.sample(20).height == 20

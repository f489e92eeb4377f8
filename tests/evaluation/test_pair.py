"""How tables become comparable: kinds, codes, bins, special codes, bounds and rules."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluation.features import features
from sfumato.evaluation.gather import pair_tables
from sfumato.evaluation.metrics.dimension_wise import _targets
from sfumato.evaluation.pair import sampling_error
from sfumato.evaluation.records import twins
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import split
from sfumato.schema import read_schema

RNG = np.random.default_rng(5)
ROWS = 200


def texts(**columns):
    """A CSV-like frame: everything is text."""
    return pl.DataFrame(
        {name: [None if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}
    )


def test_kinds_are_inferred_from_the_real_rows(tmp_path):
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)]
    real = texts(
        row=range(1, ROWS + 1),
        income=RNG.integers(0, 10**6, ROWS),
        ratio=np.round(RNG.normal(size=ROWS), 3),
        zip=[f"0{2000 + i % 60}" for i in range(ROWS)],
        flag=RNG.integers(0, 2, ROWS),
        day=days,
        moment=[f"{day}T12:{i % 60:02}:00" for i, day in enumerate(days)],
        note=[f"free text number {i}" for i in range(ROWS)],
        mixed=["?" if i % 20 == 0 else i % 37 for i in range(ROWS)],
        town=RNG.choice(["Ulm", "Bonn", "Köln"], ROWS),
        nothing=[None] * ROWS,
    )
    real.write_csv(tmp_path / "real.csv")
    pair = pair_tables(str(tmp_path / "real.csv"), real)
    assert {column.name: column.kind for column in pair} == {
        "income": "number", "ratio": "number", "zip": "category", "flag": "category", "day": "number",
        "moment": "number", "mixed": "number", "town": "category", "nothing": "category",
    }  # fmt: skip
    assert set(pair.ignored) == {"row", "note"}
    assert pair["mixed"].cells["real"].unreadable == ROWS // 20
    assert pair["mixed"].missing("real").sum() == ROWS // 20
    assert pair["day"].spell(pair["day"].values("real")[0]) == days[0]
    for column in pair:
        assert (column.codes("real") == column.codes("synthetic")).all()
        assert column.codes("real").min() >= 0 and column.codes("real").max() < column.size


def test_spellings_of_one_value_are_one_value():
    real = pl.DataFrame(
        {"flag": [True, False, None] * 20, "few": [1, 2, 3] * 20, "many": list(range(60))[::-1]}
    )
    made = pl.DataFrame(
        {
            "flag": ["True", "False", ""] * 20,
            "few": ["1.0", "2", "3"] * 20,
            "many": [f" {i}.0" for i in range(59, -1, -1)],
        }
    )
    pair = pair_tables(real.with_columns(many=pl.col("many").replace(59, 1000)), made)
    assert pair.ignored == {} and pair["many"].is_number
    pair = pair.take(dict.fromkeys(("real", "synthetic"), np.arange(1, 60)))
    for name in ("flag", "few", "many"):
        assert (pair[name].codes("real") == pair[name].codes("synthetic")).all(), name


def test_bins_leave_nothing_to_hide_in():
    real = pl.DataFrame({"spiky": np.where(RNG.random(2000) < 0.4, 0.0, RNG.gamma(2, 100, 2000)), "few": RNG.integers(0, 20, 2000) * 2})  # fmt: skip
    made = pl.DataFrame({"spiky": [1e-9, -5.0, 1e6, 0.0], "few": [3, -2, 100, 4]})
    pair = pair_tables(real, made)
    spiky, few = pair["spiky"], pair["few"]
    shares = spiky.shares("real")
    zero = spiky.codes("synthetic")[3]
    assert spiky.labels[zero] == "0" and shares[zero] == pytest.approx((real["spiky"] == 0).mean())
    assert [shares[code] > 0 for code in spiky.codes("synthetic")] == [True, False, False, True]
    assert spiky.codes("synthetic")[0] != zero  # next to the spike is not the spike
    assert [few.shares("real")[code] > 0 for code in few.codes("synthetic")] == [False, False, False, True]
    rest = np.delete(shares[: spiky.bins], zero)
    assert rest.max() < 0.08  # about 20 bins of equal frequency
    for column in pair:
        assert column.shares("real").sum() == pytest.approx(1) and column.counts("synthetic").sum() == 4


SCHEMA = {
    "columns": {
        "start": {"type": "int", "min": 0, "max": 100, "nullable": True, "special_codes": {"-9": "refused", "-8": "unknown"}},
        "end": {"type": "int", "min": 0, "max": 100},
        "level": {"type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
        "top": {"type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
        "key": {"type": "id", "format": "uuid4"},
    },
    "rules": [
        {"less_or_equal": ["start", "end"]},
        {"less_than": ["level", "top"]},
        {"fixed_combinations": ["level", "top"], "allowed": [["low", "mid"], ["low", "high"], ["mid", "high"]]},
    ],
}  # fmt: skip
REAL = pl.DataFrame(
    {
        "start": [1, -9, 5, None, 7, 8, -8, 9],
        "end": [2, 3, 5, 9, 8, 9, 1, 10],
        "level": ["low", "low", "mid", "low"] * 2,
        "top": ["mid", "high", "high", "mid"] * 2,
        "key": ["k"] * 8,
    }
)
MADE = pl.DataFrame(
    {
        "start": [1, -9, -9, -9, 50, 101, 3, 3],
        "end": [2, 3, 5, 9, 8, 105, 3, 2],
        "level": ["low", "high", "mid", "low", "mid", "low", "odd", None],
        "top": ["mid", "low", "high", "mid", "mid", "low", "high", "high"],
        "key": ["k"] * 8,
    }
)


def test_a_schema_settles_codes_bounds_and_rules():
    found = sf.evaluate(REAL, MADE, schema=SCHEMA, families=["marginals"])
    pair = found.pair
    assert pair.ignored == {"key": "the schema declares it a key or free text"}
    assert pair["level"].labels[:3] == ("low", "mid", "high") and "odd" in pair["level"].labels
    codes = {row["code"]: row for row in found["marginals.special_codes"].details}
    assert (codes["code -9"]["real"], codes["code -9"]["synthetic"]) == (1 / 8, 3 / 8)
    assert (codes["code -8"]["real"], codes["code -8"]["synthetic"]) == (1 / 8, 0)
    assert found["marginals.special_codes"].value == pytest.approx((2 / 8 + 1 / 8) / 2)
    within = {row["column"]: row for row in found["marginals.boundary_adherence"].details}
    assert within["start"]["share within"] == pytest.approx(4 / 5)  # special codes are not out of bounds
    assert within["end"]["share within"] == pytest.approx(7 / 8)
    assert within["start"]["bounds"] == "declared"
    rules = {row["rule"].partition(":")[0]: row for row in found["marginals.rule_adherence"].details}
    assert rules["less_or_equal"]["synthetic"] == pytest.approx(3 / 5)  # of the rows that have both numbers
    assert rules["less_or_equal"]["real"] == 1.0
    assert rules["less_than"]["synthetic"] == pytest.approx(3 / 6)  # of the rows with two declared levels
    assert rules["fixed_combinations"]["synthetic"] == pytest.approx(3 / 7)
    assert found["marginals.invented_categories"].value == pytest.approx((2 / 7 + 2 / 8) / 2)


def test_a_kind_that_the_stored_type_cannot_be_is_unreadable():
    schema = {"columns": {"day": {"type": "date"}, "x": {"type": "int"}}}
    real = pl.DataFrame({"day": ["2024-01-01", "2024-05-06"] * 30, "x": range(60)})
    made = pl.DataFrame({"day": [1, 2] * 30, "x": ["a", "5"] * 30})
    found = sf.evaluate(real, made, schema=schema, families=["marginals"])
    rows = {row["column"]: row for row in found["marginals.missing"].details}
    assert rows["day"]["unreadable synthetic cells"] == 60 and rows["x"]["unreadable synthetic cells"] == 30
    assert rows["day"]["synthetic"] == 1.0 and rows["x"]["synthetic"] == 0.5
    assert found["marginals.tv1"].details.column("tv")[0] == 1.0


def test_sub_samples_are_drawn_once_and_their_error_is_stated():
    frame = pl.DataFrame({"a": RNG.normal(size=5000), "b": RNG.choice(["x", "y"], 5000)})
    pair = pair_tables(frame, frame.head(300), holdout=frame)
    small = pair.sample(400, seed=1)
    assert (small.real_rows, small.synthetic_rows, small.holdout_rows) == (400, 300, 400)
    again = pair.sample(400, seed=1)
    assert (small["a"].values("real") == again["a"].values("real")).all()
    assert pair.sample(9000, seed=1) is pair
    assert len(np.unique(small["a"].values("real"))) == 400  # without replacement
    shares = [pair.sample(400, seed=seed)["b"].shares("real")[0] for seed in range(300)]
    assert np.std(shares) == pytest.approx(sampling_error(400, 5000), rel=0.25)
    assert sampling_error(10, 10) == 0.0


def test_a_holdout_that_lacks_columns_is_not_used():
    frame = pl.DataFrame({"a": RNG.normal(size=50), "b": RNG.choice(["x", "y"], 50)})
    pair = pair_tables(
        frame, frame, holdout=frame.select("a"), schema=read_schema({"columns": {"a": {"type": "float"}}})
    )
    assert not pair.has_holdout and "lacks 1" in pair.notes[0]


def test_a_holdout_says_what_another_sample_would_score():
    frame = pl.DataFrame({"a": RNG.normal(size=900), "b": RNG.choice(["x", "y", "z"], 900)})
    found = sf.evaluate(frame.head(300), frame[300:600], holdout=frame.tail(300), families=["marginals"])
    facts = found["marginals.tv2"].facts
    assert facts["of the hold-out rows"] == pytest.approx(found["marginals.tv2"].value, rel=0.3)
    assert facts["expected of another real table of this size"] == pytest.approx(
        found["marginals.tv2"].value, rel=0.3
    )


def test_a_flood_of_labels_takes_bounded_memory():
    rows = 60_000
    real = pl.DataFrame(
        {f"few {i}": RNG.integers(0, 5, rows) for i in range(3)} | {"many": RNG.integers(0, 20_000, rows)}
    )
    real = real.with_columns("code " + pl.col("many").cast(pl.String))
    made = real.select(pl.col("^few.*$") + pl.Series(RNG.normal(0, 0.1, rows)), pl.col("many"))
    pair = pair_tables(real, made)
    assert max(pair.sizes) < 2_200
    assert pair["few 0"].labels == (
        "0",
        "1",
        "2",
        "3",
        "4",
        f"({rows} values that the real table does not have)",
    )
    assert pair["many"].counts("real").sum() == rows
    found = sf.evaluate(real, made, families=["marginals", "structure"])
    assert found["marginals.tv1"].value == pytest.approx(0.75)
    assert found["structure.cramers_v"].state == "value"
    assert not [each for each in found if each.state == "failed"]


def test_keys_with_gaps_are_keys_and_amounts_are_numbers():
    real = texts(
        key=RNG.permutation(1500)[:1000],
        amount=RNG.choice(10**9, 1000, replace=False),
        code=[f"K{i}" for i in RNG.permutation(5000)[:1000]],
    )
    pair = pair_tables(real, real)
    assert set(pair.ignored) == {"key", "code"} and pair["amount"].is_number


def test_codes_among_numbers_are_codes():
    pay = ["N" if i % 4 == 0 else "B" if i % 10 == 1 else 100 + 7 * i for i in range(ROWS)]
    made = ["N", "B", 250, "other", None]
    pair = pair_tables(texts(pay=pay), texts(pay=made))
    pay = pair["pay"]
    assert pay.is_number and pay.labels[pay.bins :] == ("code B", "code N")
    assert [pay.labels[code] if code < len(pay.labels) else None for code in pay.codes("synthetic")[[0, 1, 3, 4]]] == [
        "code N", "code B", None, None,
    ]  # fmt: skip
    assert pay.cells["synthetic"].unreadable == 1 and pay.values("synthetic")[2] == 250
    many = texts(pay=[f"text {i % 9}" if i % 3 else i for i in range(ROWS)])
    assert not pair_tables(many, many)["pay"].is_number


def test_a_headerless_real_file_is_compared_to_a_file_of_ours(tmp_path):
    (tmp_path / "real.data").write_text("".join(f"{i % 7}; {i % 3}\n" for i in range(90)))
    (tmp_path / "made.csv").write_text("age,kind\n" + "".join(f"{i % 7},{i % 3}\n" for i in range(90)))
    dialect = sf.CsvDialect(delimiter=";", header="no", names=("age", "kind"), trim=True)
    for made in ("made.csv", "real.data"):
        pair = pair_tables(tmp_path / "real.data", tmp_path / made, dialect=dialect)
        assert (
            pair.synthetic_rows == 90
            and (pair["kind"].shares("synthetic") == pair["kind"].shares("real")).all()
        )


def test_equal_records_are_twins_once_each():
    first, second = np.array([5, 3, 5, 5, 9], np.uint64), np.array([5, 9, 5, 1], np.uint64)
    a, b = twins(first, second)
    assert sorted(zip(first[a].tolist(), second[b].tolist(), strict=True)) == [(5, 5), (5, 5), (9, 9)]
    assert len(set(a)) == len(set(b)) == 3
    assert [len(each) for each in twins(first[:0], second)] == [0, 0]


def test_wide_tables_cost_no_more_than_is_said():
    settings = Settings()
    assert [settings.rows_for(columns) for columns in (1, 32, 200, 1000, 10**6)] == [
        10_000,
        10_000,
        10_000,
        2000,
        500,
    ]
    assert Settings(model_rows=50).rows_for(10**6) == 50
    wide = pl.DataFrame({f"c{i}": RNG.choice([f"l{k}" for k in range(12)], 20) for i in range(300)})
    pair = pair_tables(wide, wide)
    assert features(pair).linear("real").shape[1] <= 2000
    assert len(_targets(pair, 0)) == 200


def test_rows_of_one_person_train_or_test_and_never_both():
    whose = np.repeat(np.arange(40), 5)
    real = pl.DataFrame({"id": whose, "x": RNG.normal(size=200), "y": RNG.choice(["a", "b"], 200)})
    parts = split(pair_tables(real, real, person="id"), at_most=1000, seed=3)
    both = set(whose[parts.real]) & set(whose[parts.test])
    assert len(both) <= 1 and len(parts.test) == 66

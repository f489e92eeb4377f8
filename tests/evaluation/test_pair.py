"""How tables become comparable: kinds, codes, bins, special codes, bounds and rules."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluation.gather import pair_tables
from sfumato.evaluation.pair import sampling_error
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

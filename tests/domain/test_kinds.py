"""How each kind reads and writes raw cells, case by case, and what facts it refuses."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from sfumato.domain.column import kind, kinds, read_column
from sfumato.domain.kinds import Bool, Categorical, Date, Datetime, Duration, Float, Id, Int, Text
from sfumato.domain.reading import LIMIT
from sfumato.errors import SchemaError

HALF = LIMIT // 2


def units(column, cells, **how):
    """Units of the cells, None for the missing."""
    series = cells if isinstance(cells, pl.Series) else pl.Series("c", cells, **how)
    found, atoms = column.parse(series)
    return [None if atom == 0 else unit for unit, atom in zip(found.tolist(), atoms.tolist(), strict=True)]


def spelled(column, values):
    return column.write(np.array(values, dtype=np.int64)).to_list()


# numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("7", 7),
        (" 7\t", 7),
        ("+7", 7),
        ("-0", 0),
        ("007", 7),
        ("2.0", 2),
        ("2.", 2),
        ("2.5", None),
        ("1e3", 1000),
        ("12.50e1", 125),
        ("1e-1", None),
        ("0e-5", 0),
        ("-1e999", -LIMIT),
        ("inf", LIMIT),
        ("-Infinity", -LIMIT),
        ("NaN", None),
        ("9007199254740993", 9007199254740993),
        ("9007199254740993.0", 9007199254740993),
        ("9223372036854775807", LIMIT),
        ("-99999999999999999999999999", -LIMIT),
        ("0" * 40 + "3", 3),
        ("1,000", None),
        ("1_000", None),
        ("0x10", None),
        ("١", None),
        ("", None),
        (None, None),
    ],
)
def test_whole_numbers_from_text(text, unit):
    assert units(Int("c"), [text], dtype=pl.String) == [unit]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pl.Series([2**53 + 1, None, -(2**63)]), [2**53 + 1, None, -LIMIT]),
        (pl.Series([2**64 - 1, 5], dtype=pl.UInt64), [LIMIT, 5]),
        (pl.Series([2**100, -(2**100), 5], dtype=pl.Int128), [LIMIT, -LIMIT, 5]),
        (
            pl.Series([2.0, 2.5, float("nan"), float("-inf"), None, 1e300]),
            [2, None, None, -LIMIT, None, LIMIT],
        ),
        (pl.Series(["3.00", "3.10"]).cast(pl.Decimal(10, 2)), [3, None]),
        (pl.Series([True, False, None]), [1, 0, None]),
        (pl.Series(["4", "x"], dtype=pl.Categorical), [4, None]),
        (pl.Series([dt.date(2021, 4, 5)]), [None]),
        (pl.Series([[1]]), [None]),
    ],
)
def test_whole_numbers_from_stored_types(series, expected):
    assert units(Int("c"), series) == expected


def test_decimal_numbers_round_to_the_declared_place_and_infinities_saturate():
    cells = ["1.25", "1.256", "-0.004", "1e999", "-inf", "nan", "1,5", " 2 ", "5e-1", "x", None]
    assert units(Float("c", decimals=2), cells) == [
        125,
        126,
        0,
        LIMIT,
        -LIMIT,
        None,
        None,
        200,
        50,
        None,
        None,
    ]
    comma = Float("c", decimals=1, decimal=",")
    assert units(comma, ["1,5", "1.5", "1.000,5", "7", " -2,25 "]) == [15, None, None, 70, -22]
    assert units(Float("c"), pl.Series([0.1, 1 / 3])) == [100_000, 333_333]
    assert units(Float("c", decimals=0), pl.Series([2**64 - 1], dtype=pl.UInt64)) == [LIMIT]


def test_decimal_numbers_are_written_with_the_declared_decimals_and_mark():
    assert spelled(Float("c", decimals=2), [0, 5, -5, -150, 10**17 + 1]) == [
        "0.00",
        "0.05",
        "-0.05",
        "-1.50",
        "1000000000000000.01",
    ]
    assert spelled(Float("c", decimals=0), [-3]) == ["-3"]
    assert spelled(Float("c", decimals=1, decimal=","), [15]) == ["1,5"]
    assert spelled(Float("c"), [1_500_000, 3_000_000, 1]) == ["1.5", "3.0", "0.000001"]


# days, moments, lengths of time -----------------------------------------------------------------


def test_days_stored_as_numbers_are_read_by_their_digits_only_under_a_format():
    day = (dt.date(2021, 4, 5) - dt.date(1970, 1, 1)).days
    declared = Date("c", format="%Y%m%d")
    for series in (
        pl.Series([20210405, 0, None]),
        pl.Series([20210405.0, 0.5, None]),
        pl.Series(["20210405", "20210431", None]),
        pl.Series(["20210405.0", "x", None]),
    ):
        assert units(declared, series) == [day, None, None]
    assert units(Date("c"), pl.Series([20210405])) == [None]
    assert units(Date("c", format="%d%m%Y"), pl.Series([5042021])) == [day]
    assert units(Date("c"), ["2021-04-05", "2021-04-05 10:00:00", "05/04/2021"]) == [day, day, None]
    assert spelled(declared, [day]) == ["20210405"]
    stored = Date("c", format="%Y%m%d", storage="int")
    assert stored.render(np.array([day]), text=False).to_list() == [20210405]


def test_days_saturate_at_the_ends_of_the_calendar():
    first, last = Date("c").unit_limits
    assert units(Date("c"), ["0001-01-01", "9999-12-31", "-001-01-01"]) == [first, last, first]
    assert units(Date("c"), pl.Series([2**31 - 1]).cast(pl.Int32).cast(pl.Date)) == [last]
    assert spelled(Date("c"), [-(10**6), 10**7]) == ["0001-01-01", "9999-12-31"]
    assert units(Date("c", format="%d.%m.%y"), ["01.01.70", "31.12.69"]) == [0, 36_524]


def test_a_local_time_in_the_gap_moves_forward_and_in_the_overlap_is_the_earlier():
    column = Datetime("c", timezone="Europe/Amsterdam")
    cells = ["2021-03-28T02:30:00", "2021-10-31T02:30:00", "2021-10-31T02:30:00+01:00", "2021-06-01"]
    expected = ["2021-03-28T01:30:00", "2021-10-31T00:30:00", "2021-10-31T01:30:00", "2021-05-31T22:00:00"]
    found, _ = column.parse(pl.Series(cells))
    assert found.tolist() == [
        int(dt.datetime.fromisoformat(each).replace(tzinfo=dt.UTC).timestamp()) for each in expected
    ]
    naive = pl.Series(cells[:2]).str.to_datetime()
    assert column.parse(naive)[0].tolist() == found.tolist()[:2]
    assert column.write(found[:2]).to_list() == ["2021-03-28T03:30:00", "2021-10-31T02:30:00"]
    aware = naive.dt.replace_time_zone("America/New_York").cast(pl.Datetime("ns", "America/New_York"))
    assert units(column, aware)[0] == int(aware.dt.epoch("s")[0])
    assert column.natural(found).dtype == pl.Datetime("us", "Europe/Amsterdam")


def test_moments_are_read_in_the_common_spellings_of_iso():
    column = Datetime("c", resolution="us")
    base = dt.datetime(2021, 4, 5, 10, 11, tzinfo=dt.UTC)
    second = 10**6
    start = int(base.timestamp()) * second
    assert units(
        column,
        [
            "2021-04-05T10:11",
            "2021-04-05 10:11:12",
            "2021-04-05T10:11:12.5",
            " 2021-04-05T10:11:12.123456789 ",
            "2021-04-05T10:11:12Z",
            "2021-04-05T11:11:12.5+01:00",
            "2021-04-05 09:11:12-0100",
            "05/04/2021",
        ],
    ) == [start, *(start + int(s * second) for s in (12, 12.5, 12.123456, 12, 12.5, -3588 + 3600)), None]
    assert units(Datetime("c", resolution="h"), ["1969-12-31T23:30:00"]) == [-1]
    assert Datetime("c", format="%Y-%m-%d %H:%M").grain == "min"


def test_lengths_of_time_are_read_in_iso_short_and_clock_spelling():
    cells = [
        "PT2H30M",
        "P1DT1S",
        "-PT5M",
        "P1W",
        "PT0.5S",
        "2h 30m",
        "90s",
        "1d2h",
        "2:30:00",
        "1 day, 0:00:01",
        "0:45",
    ]
    expected = [9000, 86401, -300, 604800, 0, 9000, 90, 93600, 9000, 86401, 2700]
    assert units(Duration("c"), cells) == expected
    for wrong in ("P1M", "P1Y", "PT", "P", "", "90", "-", "1:2:3:4", "h"):
        assert units(Duration("c"), [wrong]) == [None], wrong
    assert units(Duration("c"), ["P99999999999999999999D"]) == [LIMIT // 10**6]
    assert units(Duration("c"), pl.Series([dt.timedelta(minutes=1, microseconds=5)])) == [60]
    assert units(Duration("c"), pl.Series([60])) == [None]
    assert spelled(Duration("c"), [0, 9000, -61, 90_000]) == ["PT0S", "PT2H30M", "-PT1M1S", "PT25H"]
    assert spelled(Duration("c", format="clock", resolution="ms"), [-1, 90_061_001]) == [
        "-00:00:00.001",
        "25:01:01.001",
    ]


# labels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "series", "places"),
    [
        (("1", "x"), pl.Series(["1", "1.0", "X", None]), [0, -2, -2, -1]),
        (("1", "2"), pl.Series([1, 2, 3, None]), [0, 1, -2, -1]),
        (("1", "2.0"), pl.Series([1.0, 2.0, 2.5, float("nan")]), [0, 1, -2, -1]),
        (("true", "false"), pl.Series([True, False, None]), [0, 1, -1]),
        (("False", "True"), pl.Series([True, False, None]), [1, 0, -1]),
        (("2021-04-05",), pl.Series([dt.date(2021, 4, 5)]), [0]),
        (("01:02:03",), pl.Series([dt.time(1, 2, 3)]), [0]),
        (("b",), pl.Series(["b", "a"], dtype=pl.Enum(["a", "b"])), [0, -2]),
        ((), pl.Series(["b", None]), [-2, -1]),
    ],
)
def test_labels_are_compared_by_their_plain_text(values, series, places):
    facts = Categorical("c", open_set=True)
    assert facts.match(series, values).tolist() == places


def test_labels_leave_in_the_stored_type():
    zone = Categorical("c", values=("2", "15"), storage="int")
    assert zone.render(zone.values, text=False).to_list() == [2, 15]
    assert zone.render(zone.values, text=True).to_list() == ["2", "15"]
    flag = Categorical("c", values=("True", "false")).stored_as(pl.Boolean())
    assert flag.storage == "bool" and flag.render(flag.values, text=False).to_list() == [True, False]
    assert Categorical("c", values=("a",)).stored_as(pl.Int64()).storage == ""
    assert Int("c").stored_as(pl.Float32()).storage == "float"
    assert Date("c").stored_as(pl.Int64()).storage == ""
    assert Date("c", format="%Y%m%d").stored_as(pl.Int64()).storage == "int"


def test_truth_is_read_without_regard_to_case_and_from_zero_and_one():
    facts = Bool("c")
    cells = pl.Series(["true", "FALSE", "1", "0", "yes", None])
    assert facts.match(cells, facts.values).tolist() == [1, 0, 1, 0, -2, -1]
    assert facts.match(pl.Series([0, 1, 2, None]), facts.values).tolist() == [0, 1, -2, -1]
    assert facts.match(pl.Series([0.0, 1.0, 0.5]), facts.values).tolist() == [0, 1, -2]
    spelt = Bool("c", spelling=("no", "yes"))
    assert spelt.match(pl.Series(["Yes", "no", "1"]), spelt.values).tolist() == [1, 0, -2]


# columns that are not modelled ------------------------------------------------------------------


def test_what_is_not_modelled_is_made_from_its_facts():
    rng = np.random.default_rng(0)
    empty = Float("c", min=0, max=1, nullable=True, always_null=True)
    assert empty.generate(3, rng).to_list() == [None] * 3
    assert Categorical("c", values=("A7",)).generate(2, rng).to_list() == ["A7", "A7"]
    assert Int("c", min=4, max=4).generate(2, rng).to_list() == [4, 4]
    assert Date("c", min="2021-04-05", max="2021-04-05").generate(1, rng, text=True).to_list() == [
        "2021-04-05"
    ]
    assert Text("c").dropped and not Text("c").modelled
    assert Int("c", min=4, max=4, nullable=True).modelled
    with pytest.raises(ValueError, match="modelled"):
        Int("c", min=1, max=4).generate(1, rng)


# facts that are refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "where", "what"),
    [
        ({"type": "flot"}, "type", "did you mean 'float'"),
        ({}, "", "has no type"),
        ({"type": ["int"]}, "type", "unknown type"),
        ({"type": "int", "mim": 1}, "mim", "did you mean 'min'"),
        ({"type": "int", "min": "1"}, "min", "expected a whole number"),
        ({"type": "int", "min": True}, "min", "expected a whole number"),
        ({"type": "int", "min": 1.0}, "min", "expected a whole number"),
        ({"type": "int", "min": 2, "max": 1}, "min", "above max"),
        ({"type": "int", "max": 10**5000}, "max", "too large"),
        ({"type": "int", "max": 2**62 + 1}, "max", "too large"),
        ({"type": "int", "special_codes": {"1": "a", "1.0": "b"}}, "special_codes.1.0", "same value"),
        ({"type": "int", "special_codes": {"": "a"}}, "special_codes.", "empty"),
        ({"type": "int", "special_codes": [1]}, "special_codes", "expected a table"),
        (
            {"type": "int", "special_codes": {"n/a": ""}, "storage": "int"},
            "special_codes.n/a",
            "cannot be stored",
        ),
        ({"type": "int", "storage": "date"}, "storage", "does not go with"),
        ({"type": "int", "source": "guess"}, "source", "expected"),
        ({"type": "int", "source": {"mni": "dp"}}, "source.mni", "not a fact"),
        ({"type": "int", "source": {"min": "guess"}}, "source.min", "expected"),
        ({"type": "int", "not_applicable_when": " "}, "not_applicable_when", "empty"),
        ({"type": "int", "nullable": 1}, "nullable", "expected true or false"),
        ({"type": "int", "note": "\ud800"}, "note", "expected a text"),
        ({"type": "float", "min": float("inf")}, "min", "finite"),
        ({"type": "float", "max": float("nan")}, "max", "finite"),
        ({"type": "float", "decimals": 16}, "decimals", "is 16"),
        ({"type": "float", "decimals": 1, "min": 0.05}, "min", "more than 1 decimals"),
        ({"type": "float", "decimals": 0, "special_codes": {"0.5": ""}}, "special_codes.0.5", "more than 0"),
        ({"type": "float", "max": 10**400}, "max", "too large"),
        ({"type": "float", "decimal": ";"}, "decimal", "one of"),
        ({"type": "categorical"}, "values", "missing"),
        ({"type": "categorical", "values": []}, "values", "empty"),
        ({"type": "categorical", "values": "abc"}, "values", "expected a list"),
        ({"type": "categorical", "values": [1.5]}, "values", "expected a list"),
        ({"type": "categorical", "values": ["a", "a"]}, "values", "more than once"),
        ({"type": "categorical", "values": ["", "a"]}, "values", "empty text"),
        ({"type": "categorical", "values": ["a" * 257]}, "values", "longer than 256"),
        ({"type": "categorical", "values": ["a"], "open_set": True}, "values", "cannot go with open_set"),
        (
            {"type": "categorical", "values": ["a"], "public_values": ["b"]},
            "public_values",
            "only with open_set",
        ),
        (
            {"type": "categorical", "open_set": True, "public_values": ["OTHER"]},
            "other_label",
            "also a value",
        ),
        ({"type": "categorical", "values": ["1", "01"], "storage": "int"}, "values", "'01' cannot be stored"),
        ({"type": "categorical", "open_set": True, "storage": "int"}, "public_values", "'OTHER' cannot"),
        ({"type": "bool", "spelling": ["a"]}, "spelling", "two texts"),
        ({"type": "bool", "spelling": ["a", "A"]}, "spelling", "but for case"),
        ({"type": "date", "min": "2021-02-30"}, "min", "cannot be read"),
        ({"type": "date", "format": "%d/%m/%Y", "min": "4/5"}, "min", "cannot be read"),
        ({"type": "date", "format": "%d.%m.%y", "min": "1950-01-01"}, "min", "cannot be spelled"),
        ({"type": "date", "format": "%Y-%m"}, "format", "pin down the day"),
        ({"type": "date", "format": "%d/%m"}, "format", "no year"),
        ({"type": "date", "format": "%Y-%m-%d %H:%M"}, "format", "time of day"),
        ({"type": "date", "format": "%Q%Y%m%d"}, "format", "%Q"),
        ({"type": "date", "format": "%Y%m%d%"}, "format", "cannot be read back"),
        ({"type": "date", "format": "%Y%m%d%d"}, "format", "twice"),
        ({"type": "date", "storage": "int"}, "storage", "format of digits"),
        ({"type": "datetime", "format": "%Y-%m-%d %H"}, "format", "no minute"),
        ({"type": "datetime", "format": "%Y-%m-%d %I:%M"}, "format", "%I and %p"),
        ({"type": "datetime", "format": "%Y-%m-%d %H:%M:%S%f"}, "format", "%S.%f"),
        ({"type": "datetime", "timezone": "Europe/Amsterdm"}, "timezone", "unknown"),
        ({"type": "datetime", "timezone": "../etc/passwd"}, "timezone", "unknown"),
        ({"type": "datetime", "format": "%Y-%m-%d", "timezone": "UTC"}, "timezone", "without a time"),
        ({"type": "datetime", "format": "%Y-%m-%d %H:%M", "resolution": "s"}, "resolution", "finer"),
        ({"type": "duration", "min": "P1M"}, "min", "cannot be read"),
        ({"type": "duration", "min": "2h", "max": "1h"}, "min", "above max"),
        ({"type": "id"}, "", "neither format nor pattern"),
        ({"type": "id", "format": "uuid4", "pattern": "a"}, "pattern", "cannot go with"),
        ({"type": "id", "format": "uuid"}, "format", "one of"),
        ({"type": "id", "format": "sequence", "unique": False}, "unique", "never repeats"),
        ({"type": "id", "pattern": "a?"}, "pattern", "empty text"),
        ({"type": "id", "pattern": "[a-z]{3}", "storage": "int"}, "storage", "digits"),
        ({"type": "text", "policy": "keep"}, "policy", "one of"),
    ],
)
def test_facts_that_make_no_sense_are_refused_with_their_path(facts, where, what):
    with pytest.raises(SchemaError) as caught:
        read_column("c", facts)
    path = f"columns.c.{where}" if where else "columns.c"
    assert any(
        fault.where == path and what in f"{fault.what} {fault.mend}" for fault in caught.value.faults
    ), caught.value.faults


def test_all_faults_of_a_column_come_together():
    with pytest.raises(SchemaError) as caught:
        read_column("c", {"type": "float", "min": "a", "max": None, "decimals": "b", "color": 1})
    assert [fault.where for fault in caught.value.faults] == [
        "columns.c.color",
        "columns.c.decimals",
        "columns.c.min",
    ]


def test_a_column_prints_as_the_call_that_makes_it():
    column = Int("c", min=0, max=HALF, special_codes={"-1": "lost"}, nullable=True)
    assert eval(repr(column)) == column
    assert Int("c", special_codes={"1": "", "2": ""}) != Int("c", special_codes={"2": "", "1": ""})
    assert read_column("c", column.facts()) == column and len({column, read_column("c", column.facts())}) == 1


def test_a_new_kind_is_one_registration():
    before = set(kinds)
    assert before >= {"bool", "categorical", "date", "datetime", "duration", "float", "id", "int", "text"}
    with pytest.raises(ValueError, match="two column kinds"):
        kind("int")(type("Other", (Int,), {}))
    assert Id("c", format="uuid4").kind == "id"

"""Hypothesis strategies for columns of every kind, codecs for them, and raw cells."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
from hypothesis import strategies as st

from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec
from sfumato.domain.column import Column
from sfumato.domain.kinds import Bool, Categorical, Date, Datetime, Duration, Float, Id, Int, Text
from sfumato.domain.measured import Measured
from sfumato.domain.reading import LIMIT

labels = st.text(min_size=1, max_size=8)
_conditions = st.none() | st.just("sex == 'M'")
_origins = st.sampled_from(["public", "dp"]) | st.just({"type": "dp"})
DATE_FORMATS = (None, "%Y%m%d", "%d/%m/%Y", "%d.%m.%y", "%b %d, %Y", "%Y-%j", "%A %d %B %Y")
MOMENT_FORMATS = (
    None,
    "%Y%m%d%H%M%S",
    "%d/%m/%Y %I:%M %p",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%d",
    "%m/%d/%y %H:%M",
)


def _facts(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "nullable": draw(st.booleans()),
        "note": draw(st.sampled_from(["", "as told"])),
        "not_applicable_when": draw(_conditions),
        "source": draw(_origins),
    }


def _pair(draw: st.DrawFn, low: int, high: int) -> tuple[int, int]:
    ends = st.integers(low, high) | st.integers(max(low, -50), min(high, 50))
    first = draw(ends)
    near = st.integers(first, min(high, first + 40))
    return first, draw(near | st.integers(first, high))


@st.composite
def ints(draw: st.DrawFn, name: str = "c") -> Int:
    low, high = _pair(draw, -LIMIT + 9, LIMIT - 9)
    keys = draw(st.lists(st.integers(low - 3, low + 3) | st.just(-99), unique=True, max_size=2))
    codes = {str(key): draw(st.sampled_from(["", "no file"])) for key in keys}
    if draw(st.booleans()):
        codes["refused"] = "said no"
    storage = draw(st.sampled_from(["", "string", "int"] if "refused" not in codes else ["", "string"]))
    return Int(name, min=low, max=high, special_codes=codes, storage=storage, **_facts(draw))


@st.composite
def floats(draw: st.DrawFn, name: str = "c") -> Float:
    decimals = draw(st.none() | st.integers(0, 6))
    places = 6 if decimals is None else decimals
    low, high = _pair(draw, -(2**51) + 1, 2**51 - 1)
    spell = lambda unit: float(f"{unit}e-{places}")  # noqa: E731
    mark = draw(st.sampled_from([".", ","]))
    codes = {f"{low + 1}e-{places}": "rare"} if draw(st.booleans()) and low + 1 <= high else {}
    return Float(
        name,
        decimals=decimals,
        min=spell(low),
        max=spell(high),
        decimal=mark,
        special_codes=codes,
        **_facts(draw),
    )


@st.composite
def dates(draw: st.DrawFn, name: str = "c") -> Date:
    format = draw(st.sampled_from(DATE_FORMATS))
    first, last = (0, 36_524) if format == "%d.%m.%y" else (-719_162, 2_932_896)
    days = [dt.date(1970, 1, 1).toordinal() + day for day in _pair(draw, first, last)]
    low, high = (dt.date.fromordinal(day).isoformat() for day in days)
    storages = ["", "string", "int"] if format == "%Y%m%d" else ["", "string"]
    return Date(
        name, format=format, min=low, max=high, storage=draw(st.sampled_from(storages)), **_facts(draw)
    )


@st.composite
def datetimes(draw: st.DrawFn, name: str = "c") -> Datetime:
    """Zones with summer time go with a format that spells the offset: without it an hour occurs twice."""
    zone = draw(st.sampled_from([None, "UTC", "Asia/Tokyo", "Europe/Amsterdam"]))
    formats = MOMENT_FORMATS if zone is None else [each for each in MOMENT_FORMATS if each != "%Y-%m-%d"]
    format = "%Y-%m-%d %H:%M:%S%z" if zone == "Europe/Amsterdam" else draw(st.sampled_from(formats))
    first, last = (1971, 2068) if zone or (format and "%y" in format) else (1, 9998)
    moments = st.datetimes(dt.datetime(first, 1, 1), dt.datetime(last, 12, 31))
    low, high = sorted(moment.isoformat() for moment in draw(st.tuples(moments, moments)))
    resolution = None if format else draw(st.sampled_from(["us", "ms", "s", "min", "h", "d", None]))
    return Datetime(
        name, format=format, timezone=zone, min=low, max=high, resolution=resolution, **_facts(draw)
    )


@st.composite
def durations(draw: st.DrawFn, name: str = "c") -> Duration:
    low, high = _pair(draw, -(10**9), 10**9)
    return Duration(
        name,
        format=draw(st.sampled_from(["iso", "clock"])),
        resolution=draw(st.sampled_from(["us", "ms", "s", "min", "h", "d"])),
        min=f"{low}s" if low >= 0 else f"-PT{-low}S",
        max=f"PT{high}S" if high >= 0 else f"-PT{-high}S",
        **_facts(draw),
    )


@st.composite
def categoricals(draw: st.DrawFn, name: str = "c") -> Categorical:
    storage = draw(st.sampled_from(["", "string", "int"]))
    known = st.integers(-(10**9), 10**9).map(str) if storage == "int" else labels
    values = draw(st.lists(known, unique=True, min_size=1, max_size=5))
    facts = {"storage": storage, **_facts(draw)}
    if storage != "int" and "OTHER" not in values and draw(st.booleans()):
        return Categorical(name, open_set=True, public_values=tuple(values), **facts)
    return Categorical(name, values=tuple(values), ordered=draw(st.booleans()), **facts)


@st.composite
def bools(draw: st.DrawFn, name: str = "c") -> Bool:
    spelling = draw(st.sampled_from([("false", "true"), ("No", "Yes"), ("0", "1"), ("ß", "é")]))
    storage = draw(st.sampled_from(["", "string", "int", "bool"]))
    return Bool(name, spelling=spelling, storage=storage, **_facts(draw))


@st.composite
def ids(draw: st.DrawFn, name: str = "c") -> Id:
    how = draw(
        st.sampled_from(
            [
                {"format": "uuid4"},
                {"format": "email"},
                {"format": "sequence"},
                {"pattern": r"[A-Z]{2}-\d{3,5}x?", "unique": False},
                {"pattern": "[0-9]{6}", "storage": "int"},
            ]
        )
    )
    return Id(name, **how, **_facts(draw))


def measured(name: str = "c") -> st.SearchStrategy[Measured]:
    """Any column of values on a line."""
    return ints(name) | floats(name) | dates(name) | datetimes(name) | durations(name)


def columns(name: str = "c") -> st.SearchStrategy[Column]:
    """A column of any kind."""
    return measured(name) | categoricals(name) | bools(name) | ids(name) | st.builds(Text, st.just(name))


@st.composite
def grids(draw: st.DrawFn) -> GridCodec:
    """A measured column cut at random units inside its bounds."""
    facts = draw(measured())
    low, high = facts.unit_bounds()
    cuts = st.integers(low, min(high, low + 20)) | st.integers(low, high)
    edges = {low, high + 1, *draw(st.lists(cuts, max_size=6))}
    if high - low < 60 and draw(st.booleans()):
        edges |= set(range(low, high + 1))
    return GridCodec(facts, sorted(edges))


@st.composite
def value_codecs(draw: st.DrawFn) -> ValuesCodec:
    """A column of labels with all its values."""
    facts = draw(categoricals() | bools())
    if isinstance(facts, Bool):
        return ValuesCodec(facts, facts.values)
    return ValuesCodec(facts, facts.values or facts.public_values, other=facts.open_set)


def codecs() -> st.SearchStrategy[Codec]:
    """Any codec."""
    return grids() | value_codecs()


_ODD = """0|1|-1|+7| 5 |2.0|2.5|1e3|-1e999|inf|NaN|1_000|1,5|1.5|true|TRUE|refused|OTHER|20210405|20210405.0
|2021-04-05|2021-04-05T10:11:12|2021-04-05 10:11:12.5+01:00|0001-01-01|9999-12-31|10000-01-01|-001-01-01
|2021-02-30|PT2H30M|-PT5M|P1M|PT|1:02:03|90s|99999999999999999999999|9007199254740993|.|-|+|e5|0x10
|P99999999999999999999D|24:00|\uff11|\x00|\U0001f600"""
odd_texts = st.sampled_from(_ODD.replace("\n", "").split("|"))
texts = st.lists(st.none() | odd_texts | st.text(max_size=12), max_size=12).map(
    lambda cells: pl.Series("c", cells, dtype=pl.String)
)


EXTREMES = [-(2**63) + 1, 2**63 - 1, 0]


@st.composite
def typed(draw: st.DrawFn) -> pl.Series:
    """A block of some stored type, with the values that trouble it."""
    day, noon = dt.date(2021, 4, 5), dt.datetime(2021, 3, 28, 2, 30)
    kinds: list[tuple[Any, list[Any]]] = [
        (pl.Int8, [-128, 0, 1, 127]),
        (pl.Int64, [-(2**63), 2**63 - 1, 2**53 + 1, 20210405, 0, 1]),
        (pl.UInt64, [0, 2**64 - 1, 20210405]),
        (pl.Int128, [2**100, -(2**100), 3]),
        (pl.Float32, [0.5, float("nan"), float("inf"), 2.0]),
        (pl.Float64, [2.0, 2.5, 1e300, -1e300, float("nan"), float("-inf"), 20210405.0]),
        (pl.Boolean, [True, False]),
        (pl.Date, [day, dt.date.min, dt.date.max]),
        (pl.Date, [-(2**31), 2**31 - 1, 0]),
        (pl.Datetime("ns"), [noon]),
        (pl.Datetime("us"), [noon, dt.datetime.min, dt.datetime.max]),
        (pl.Datetime("ms"), EXTREMES),
        (pl.Datetime("us", "Europe/Amsterdam"), EXTREMES),
        (pl.Datetime("ms", "Europe/Amsterdam"), [dt.datetime(2021, 10, 31, 0, 30, tzinfo=dt.UTC)]),
        (pl.Duration("ns"), [dt.timedelta(seconds=90), dt.timedelta(days=-1)]),
        (pl.Duration("ms"), EXTREMES),
        (pl.Time, [dt.time(1, 2, 3), dt.time.max]),
        (pl.Categorical, ["a", "20210405", "7"]),
        (pl.Enum(["a", "b", "1"]), ["b", "1"]),
        (pl.Decimal(20, 2), ["2.00", "2.50"]),
        (pl.Null, []),
        (pl.Binary, [b"\xff", b"a"]),
        (pl.List(pl.Int64), [[1, 2]]),
        (pl.Struct({"x": pl.Int64}), [{"x": 1}]),
    ]
    dtype, cells = draw(st.sampled_from(kinds))
    chosen = draw(st.lists(st.none() | st.sampled_from(cells) if cells else st.none(), max_size=8))
    if dtype == pl.Decimal(20, 2):
        return pl.Series("c", chosen, dtype=pl.String).cast(dtype)
    if dtype.is_temporal() and any(isinstance(cell, int) for cell in chosen):
        return pl.Series("c", chosen, dtype=pl.Int64).cast(dtype)
    return pl.Series("c", chosen, dtype=dtype)

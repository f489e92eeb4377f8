"""Census-like tables of eleven attributes as codes, with the buckets of the publication, by public facts.

Files are looked up in the folder that SFUMATO_DATA names. Rows with a missing cell are left out, as in the
publication. Every attribute is a whole number; a category is its place in a fixed or sorted list of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from attrs import frozen
from benchmarks.common.shared_files import shared_file

AGE_BUCKETS = (17, 27, 37, 47, 57, 67, 77, 87)
HOURS_BUCKETS = (1, 15, 30, 45, 60, 75, 90)
SCHOOLING = (
    "No schooling completed", "Nursery school, preschool", "Kindergarten", "Grade 1", "Grade 2", "Grade 3",
    "Grade 4", "Grade 5", "Grade 6", "Grade 7", "Grade 8", "Grade 9", "Grade 10", "Grade 11",
    "12th grade - no diploma", "Regular high school diploma", "GED or alternative credential",
    "Some college, but less than 1 year", "1 or more years of college credit, no degree", "Associate's degree",
    "Bachelor's degree", "Master's degree", "Professional degree beyond a bachelor's degree", "Doctorate degree",
)  # fmt: skip
"""The 24 levels in order; buckets: up to grade 12, high school and some college, and each degree."""
SCHOOLING_BUCKETS = (0, 15, 19, 20, 21, 22, 23)
MONEY = (1, 1_000, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000)


@frozen(kw_only=True)
class Table:
    """frame: codes; sizes: codes of each attribute; starts: buckets of parents; income: name of the class."""

    name: str
    frame: pl.DataFrame
    sizes: dict[str, int]
    starts: dict[str, tuple[int, ...]]
    income: str

    @property
    def schema(self) -> dict[str, Any]:
        """Public facts: attributes with stated buckets are numbers, all others labels without an order."""
        return {
            "columns": {
                name: {"type": "int", "min": 0, "max": size - 1}
                if name in self.starts
                else {"type": "categorical", "values": [str(code) for code in range(size)]}
                for name, size in self.sizes.items()
            }
        }

    def labelled(self, rows: int) -> pl.DataFrame:
        """The first rows, with labels as text."""
        labels = [name for name in self.sizes if name not in self.starts]
        return self.frame.head(rows).with_columns(pl.col(labels).cast(pl.String))

    @property
    def codes(self) -> np.ndarray:
        return self.frame.to_numpy()


def find(name: str, rows: int | None = None) -> Table:
    """The table called `name`; `rows` takes a fixed random subset of so many."""
    frame, starts, income = NAMES[name]()
    frame = frame.drop_nulls()
    if rows is not None and rows < frame.height:
        frame = frame.sample(rows, seed=1, shuffle=True)
    else:
        frame = frame.sample(fraction=1.0, seed=1, shuffle=True)
    sizes = {column: int(frame[column].max()) + 1 for column in frame.columns}
    return Table(name=name, frame=frame.cast(pl.Int64), sizes=sizes, starts=starts, income=income)


def _labels(series: pl.Series, known: tuple[str, ...] | None = None) -> pl.Series:
    texts = series.cast(pl.String)
    values = list(known) if known else texts.drop_nulls().unique().sort().to_list()
    return texts.replace_strict(values, list(range(len(values))), default=None, return_dtype=pl.Int32)


def _starts(cuts: tuple[int, ...], first: int) -> tuple[int, ...]:
    return tuple(max(cut - first, 0) for cut in cuts)


def _cut(series: pl.Series, ends: tuple[int, ...]) -> pl.Series:
    """The number of `ends` that a value reaches."""
    places = np.searchsorted(np.array(ends, dtype=np.float64), series.to_numpy(), side="right")
    return pl.Series(series.name, places)


def _acs_2018() -> tuple[pl.DataFrame, dict[str, tuple[int, ...]], str]:
    raw = pl.read_parquet(shared_file("acs_income_2018/acs_income_2018_holdout.parquet"))
    travel = raw["Travel time to work"].fill_null(0).clip(0, 99)
    frame = pl.DataFrame(
        {
            "age": raw["Age"].clip(17, 95) - 17,
            "workclass": _labels(raw["Workclass"]),
            "education": _labels(raw["Education"], SCHOOLING),
            "marital": _labels(raw["Marital Status"]),
            "occupation": _labels(raw["Occupation"].cast(pl.String).str.slice(0, 3)),
            "citizenship": _labels(raw["Citizenship status"]),
            "race": _labels(raw["Race"]),
            "sex": _labels(raw["Gender"]),
            "travel": travel,
            "transport": _labels(raw["Means of transportation to work"]),
            "income": (raw["Income"] >= 50_000).cast(pl.Int32),
        }
    )
    starts = {
        "age": _starts(AGE_BUCKETS, 17),
        "education": SCHOOLING_BUCKETS,
        "travel": (0, 1, 15, 30, 45, 60, 75, 90),
    }
    return frame, starts, "income"


def _acs_2013() -> tuple[pl.DataFrame, dict[str, tuple[int, ...]], str]:
    raw = pl.read_parquet(shared_file("acs_pums_2013_2017_income/acsbig.parquet"))
    frame = pl.DataFrame(
        {
            "age": raw["agep"].clip(17, 95) - 17,
            "marital": _labels(raw["mar"]),
            "sex": raw["sex"] - 1,
            "state": _labels(raw["stabbr"]),
            "place": raw["sporder"].clip(1, 8) - 1,
            **{name: _cut(raw[name], MONEY) for name in ("wagp", "intp", "retp", "ssp")},
            "ssip": (raw["ssip"] > 0).cast(pl.Int32),
            "income": (raw["pincp"] >= 50_000).cast(pl.Int32),
        }
    )
    money = tuple(range(len(MONEY) + 1))
    starts = {
        "age": _starts(AGE_BUCKETS, 17),
        "place": (0, 1, 2, 4),
        "wagp": money,
        "intp": money,
        "retp": money,
    }
    return frame, {**starts, "ssp": money}, "income"


def _adult() -> tuple[pl.DataFrame, dict[str, tuple[int, ...]], str]:
    names = (
        "age", "workclass", "fnlwgt", "education", "education-num", "marital", "occupation", "relationship",
        "race", "sex", "capital-gain", "capital-loss", "hours", "country", "income",
    )  # fmt: skip
    parts = []
    for file, skip in (("adult_raw/adult.data", 0), ("adult_raw/adult.test", 1)):
        lines = [
            [cell.strip().rstrip(".") for cell in line.split(",")]
            for line in shared_file(file).read_text().splitlines()[skip:]
            if line.count(",") == 14
        ]
        parts += lines
    raw = pl.DataFrame(parts, schema=list(names), orient="row")
    raw = raw.with_columns(pl.all().replace("?", None))
    frame = pl.DataFrame(
        {
            "age": raw["age"].cast(pl.Int32).clip(17, 95) - 17,
            "workclass": _labels(raw["workclass"]),
            "education": raw["education-num"].cast(pl.Int32) - 1,
            "marital": _labels(raw["marital"]),
            "occupation": _labels(raw["occupation"]),
            "relationship": _labels(raw["relationship"]),
            "race": _labels(raw["race"]),
            "sex": _labels(raw["sex"]),
            "hours": raw["hours"].cast(pl.Int32) - 1,
            "country": _labels(raw["country"]),
            "income": _labels(raw["income"]),
        }
    )
    starts = {"age": _starts(AGE_BUCKETS, 17), "hours": _starts(HOURS_BUCKETS, 1)}
    return frame, starts, "income"


NAMES: dict[str, Callable[[], tuple[pl.DataFrame, dict[str, tuple[int, ...]], str]]] = {
    "acs_income_2018": _acs_2018,
    "acs_pums_2013_2017_income": _acs_2013,
    "adult": _adult,
}

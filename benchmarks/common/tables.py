"""The tables of the benchmarks as codes 0 … k-1 and domain sizes, the same for every method.

Files are looked up in the folder that SFUMATO_DATA names. Most come coded already, with a domain file
{"column": k, …} or {"column": {"domain": k}, …}; columns with 64 to 160 codes are numbers, others categories.

acs_income is coded here, by public facts: a category is its place in the sorted list of labels; Age is a year
each from 17 to 79, and 80 and over (64 codes); Income 4,000 dollars a code up to 252,000, and over (64 codes);
Travel time 3 minutes a code up to 189, and missing (64 codes); Vehicle occupancy 1 to 10, and missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from attrs import frozen
from benchmarks.common.shared_files import NoTableError, shared_file

CODED = {
    "adult": ("adult_discrete/adult.csv.gz", "adult_discrete/adult-domain.json"),
    "nltcs": ("nltcs/nltcs.csv.gz", "nltcs/domain.json"),
    "acs": ("privbayes_acs/acs.csv.gz", "privbayes_acs/domain.json"),
    "br2000": ("privbayes_br2000/br2000.csv.gz", "privbayes_br2000/domain.json"),
    "fire": ("nist2018_sf_fire_discrete/fire.parquet", "nist2018_sf_fire_discrete/fire-domain.json"),
    "msnbc": ("msnbc/msnbc.parquet", "msnbc/msnbc-domain.json"),
    "stroke": ("ist_stroke_discrete/stroke.parquet", "ist_stroke_discrete/stroke-domain.json"),
}
BINARY = {
    "icd": ("diabetes130_icd_binary/icd_binary.parquet", 881),
    "icd100": ("diabetes130_icd_binary/icd_binary.parquet", 100),
    "bbc": ("bbc_binary/bbc_binary.parquet", 1_058),
}
"""Files of columns 0 and 1, and how many of their first columns are taken."""
ACS_INCOME = "acs_income_2018/acs_income_2018_holdout.parquet"
NAMES = ("adult", "nltcs", "acs", "br2000", "fire", "msnbc", "acs_income", "stroke", *BINARY)
NUMBERS = range(64, 161)


@frozen(kw_only=True)
class Table:
    """codes: rows x columns, int32; sizes: codes a column; numbers: whether a column is taken as a number."""

    name: str
    columns: tuple[str, ...]
    codes: np.ndarray
    sizes: tuple[int, ...]
    numbers: tuple[bool, ...]


def find(name: str, rows: int | None = None) -> Table:
    """The table called `name`, or rows.csv:domain.json; `rows` takes a fixed random subset of so many."""
    if name == "acs_income":
        frame, sizes, numbers = _acs_income(shared_file(ACS_INCOME))
    elif name in BINARY:
        file, columns = BINARY[name]
        frame = pl.read_parquet(shared_file(file), columns=list(range(columns)))
        sizes, numbers = (2,) * columns, (False,) * columns
    else:
        if name in CODED:
            files = tuple(shared_file(file) for file in CODED[name])
        elif ":" in name:
            files = (Path(name.rsplit(":", 1)[0]), Path(name.rsplit(":", 1)[1]))
        else:
            raise NoTableError(f"not one of {', '.join(NAMES)}, nor rows.csv:domain.json")
        frame, sizes, numbers = _coded(*files)
    if rows is not None and rows < frame.height:
        frame = frame.sample(rows, seed=1)
    return Table(
        name=name, columns=tuple(frame.columns), codes=frame.cast(pl.Int32).to_numpy(),
        sizes=sizes, numbers=numbers,
    )  # fmt: skip


def _coded(rows: Path, domain: Path) -> tuple[pl.DataFrame, tuple[int, ...], tuple[bool, ...]]:
    facts = {
        name: int(size["domain"] if isinstance(size, dict) else size)
        for name, size in json.loads(domain.read_text()).items()
    }
    frame = pl.read_parquet(rows) if rows.suffix == ".parquet" else pl.read_csv(rows)
    sizes = tuple(facts.values())
    return frame.select(list(facts)), sizes, tuple(size in NUMBERS or size == 1 for size in sizes)


_ACS_BINS: dict[str, tuple[Callable[[pl.Expr], pl.Expr], int]] = {
    "Age": (lambda value: value.clip(17, 80) - 17, 64),
    "Income": (lambda value: (value / 4_000).floor().clip(0, 63), 64),
    "Travel time to work": (lambda value: ((value / 3).floor().clip(0, 62) + 1).fill_null(0), 64),
    "Vehicle occupancy": (lambda value: value.clip(1, 10).fill_null(0), 11),
}


def _acs_income(path: Path) -> tuple[pl.DataFrame, tuple[int, ...], tuple[bool, ...]]:
    frame = pl.read_parquet(path)
    series, sizes = [], []
    for name in frame.columns:
        if name in _ACS_BINS:
            code, size = _ACS_BINS[name]
            series.append(frame.select(code(pl.col(name))).to_series().cast(pl.Int32).alias(name))
        else:
            labels = frame[name].cast(pl.String)
            known = labels.unique().sort()
            size = known.len()
            series.append(labels.replace_strict(known, list(range(size)), return_dtype=pl.Int32))
        sizes.append(size)
    numbers = tuple(name in _ACS_BINS and name != "Vehicle occupancy" for name in frame.columns)
    return pl.DataFrame(series), tuple(sizes), numbers

"""What kind of column is this? Rows vote, and only noisy counts of votes are seen.

Each row of a column of text falls into exactly one class (missing, integer, number with k decimals,
date or date-time of a known format, other text), so the votes of a column are one table of counts.
Typed columns vote on missing values, and floating-point ones on decimals as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from attrs import frozen

from sfumato.domain.encoder import Codes

if TYPE_CHECKING:
    import polars as pl

DECIMALS = 9
"""Decimals are counted up to this many; more are rounded away."""

_FORMATS: tuple[tuple[str, str, str], ...] = (
    # class, format, pattern
    ("date", "%Y-%m-%d", r"^\d{4}-\d{2}-\d{2}$"),
    ("date", "%Y/%m/%d", r"^\d{4}/\d{2}/\d{2}$"),
    ("date", "%d.%m.%Y", r"^\d{2}\.\d{2}\.\d{4}$"),
    ("date", "%d/%m/%Y", r"^(1[3-9]|2\d|3[01])/\d{2}/\d{4}$"),
    ("date", "%m/%d/%Y", r"^\d{2}/(1[3-9]|2\d|3[01])/\d{4}$"),
    ("date", "either", r"^\d{2}/\d{2}/\d{4}$"),
    ("duration", "clock", r"^\d{1,3}:[0-5]\d:[0-5]\d$"),
    ("datetime", "%Y-%m-%d %H:%M:%S", r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$"),
    ("datetime", "%Y-%m-%d %H:%M", r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$"),
    ("datetime", "%Y-%m-%dT%H:%M:%S", r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$"),
    ("datetime", "%Y-%m-%dT%H:%M:%SZ", r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"),
    ("datetime", "%d/%m/%Y %H:%M", r"^(1[3-9]|2\d|3[01])/\d{2}/\d{4} \d{2}:\d{2}$"),
    ("datetime", "%m/%d/%Y %H:%M", r"^\d{2}/(1[3-9]|2\d|3[01])/\d{4} \d{2}:\d{2}$"),
    ("datetime", "either", r"^\d{2}/\d{2}/\d{4} \d{2}:\d{2}$"),
)
_MISSING, _INTEGER, _DATE_LIKE = 0, 1, 2
_DECIMAL = 3  # one class per number of decimals, 1 … DECIMALS
_FORMAT = _DECIMAL + DECIMALS
_OTHER = _FORMAT + len(_FORMATS)
CLASSES = _OTHER + 1

Ballot = Literal["text", "float", "missing"]


@frozen(kw_only=True)
class VoteEncoder:
    """The class of every value of one column."""

    column: str
    ballot: Ballot
    """`text`: all classes; `float`: missing and decimals; `missing`: missing or not."""
    decimal: str = "."

    @property
    def size(self) -> int:
        return CLASSES

    def describe(self) -> dict[str, Any]:
        return {"vote": self.ballot, "column": self.column, "decimal": self.decimal, "classes": CLASSES}

    def encode(self, series: pl.Series) -> Codes:
        if self.ballot == "text":
            return _text_classes(series, self.decimal)
        missing = series.is_null().to_numpy()
        if self.ballot == "missing":
            return np.where(missing, _MISSING, _INTEGER).astype(np.uint8)
        values = series.cast(float).fill_null(float("nan")).to_numpy()
        return np.where(np.isnan(values), _MISSING, _float_classes(values)).astype(np.uint8)


def _float_classes(values: np.ndarray[Any, np.dtype[np.float64]]) -> Codes:
    with np.errstate(invalid="ignore", over="ignore"):
        classes = np.full(values.shape, _DECIMAL + DECIMALS - 1, dtype=np.uint8)
        for decimals in range(DECIMALS - 1, -1, -1):
            scaled = values * 10.0**decimals
            # Exact up to the rounding of one multiplication.
            whole = np.abs(scaled - np.rint(scaled)) <= 1e-12 * np.abs(scaled) + 1e-300
            classes[whole] = _INTEGER if decimals == 0 else _DECIMAL + decimals - 1
    return classes


def _text_classes(series: pl.Series, decimal: str) -> Codes:
    import polars as pl

    mark = re.escape(decimal)
    text = series.cast(pl.String)
    codes = np.full(len(text), _OTHER, dtype=np.uint8)
    codes[text.is_null().to_numpy()] = _MISSING
    # Only what starts like a number or a date needs the finer patterns.
    hopeful = np.flatnonzero(text.str.contains(rf"^(-|{mark}|\d)").fill_null(False).to_numpy())
    if hopeful.size == 0:
        return codes
    text = text.gather(hopeful)
    found = np.full(len(text), _OTHER, dtype=np.uint8)

    def settle(pattern: str, code: int) -> None:
        hit = text.str.contains(pattern).to_numpy() & (found == _OTHER)
        found[hit] = code

    settle(r"^(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$", _DATE_LIKE)
    settle(r"^-?(0|[1-9]\d*)$", _INTEGER)
    fractional = text.str.contains(rf"^-?(0|[1-9]\d*)?{mark}\d+$").to_numpy()
    if fractional.any():
        lengths = text.str.len_chars().to_numpy().astype(np.int64)
        points = text.str.find(decimal, literal=True).fill_null(0).to_numpy().astype(np.int64)
        places = np.clip(lengths - points - 1, 1, DECIMALS)
        found[fractional] = (_DECIMAL + places - 1)[fractional]
    settle(rf"^-?\d+({mark}\d*)?[eE][+-]?\d+$", _DECIMAL + DECIMALS - 1)
    for i, (_, _, pattern) in enumerate(_FORMATS):
        settle(pattern, _FORMAT + i)
    codes[hopeful] = found
    return codes


@frozen(kw_only=True)
class Verdict:
    """What the votes say of one column."""

    kind: Literal["int", "float", "date", "datetime", "duration", "text"]
    nullable: bool
    decimals: int = 0
    format: str | None = None
    timezone: str | None = None
    mixed: float = 0.0
    """Rows with a value, of a number column in which texts occur often enough to be looked for; else 0."""
    date_like: bool = False
    """Integers that look like YYYYMMDD."""


def verdict(votes: np.ndarray[Any, np.dtype[np.int64]], sigma: float) -> Verdict:
    """Decide from noisy votes; post-processing.

    A class needs more than three times the noise scale to count at all, and one class of a type four times.
    Where the noise drowns everything the column is taken as text, which can only become the category OTHER.
    """
    noticed = np.where(votes > 3 * sigma, votes, 0)
    if votes[_INTEGER:_OTHER].max() <= 4 * sigma:
        return Verdict(kind="text", nullable=bool(noticed[_MISSING]))
    nullable = bool(noticed[_MISSING])
    present = noticed[_INTEGER:]
    half = 0.5 * present.sum()
    by_decimals = np.append(noticed[_INTEGER] + noticed[_DATE_LIKE], noticed[_DECIMAL:_FORMAT])
    if by_decimals.sum() > half:
        decimals = _decimals(votes[_DECIMAL:_FORMAT], sigma, by_decimals.sum())
        return Verdict(
            kind="float" if decimals else "int",
            nullable=nullable,
            decimals=decimals,
            mixed=float(present.sum()) if noticed[_OTHER] else 0.0,
            date_like=noticed[_DATE_LIKE] > 0.9 * by_decimals.sum(),
        )
    formats = noticed[_FORMAT:_OTHER]
    for kind in ("date", "datetime", "duration"):
        members = [i for i, (family, _, _) in enumerate(_FORMATS) if family == kind]
        if formats[members].sum() > half:
            spelled = [_FORMATS[i][1] for i in members]
            ranked = sorted((-int(formats[i]), _FORMATS[i][1]) for i in members if _FORMATS[i][1] != "either")
            best = ranked[0][1]
            if -ranked[0][0] == 0:
                best = next(name for name in spelled if name.startswith("%m/%d/%Y"))
            return Verdict(
                kind=kind,
                nullable=nullable,
                format=best,
                timezone="UTC" if best.endswith("Z") else None,
            )
    return Verdict(kind="text", nullable=nullable)


def _decimals(votes: np.ndarray[Any, np.dtype[np.int64]], sigma: float, numbers: float) -> int:
    """How many decimals are in use: the fewest such that what has more is not seen above the noise.

    `votes[k]` are those for k + 1 decimals. One class must stand out by 4.5 noise scales or all of them
    together by 4, since a column of whole numbers that is given decimals looks absurd; and fewer than 1 %
    of the numbers are left to be rounded.
    """
    for k in range(votes.size):
        more = votes[k:]
        least = 0.01 * numbers
        one = more.max() > max(4.5 * sigma, least)
        together = more.sum() > max(4.0 * sigma * np.sqrt(more.size), least)
        if not (one or together):
            return k
    return votes.size

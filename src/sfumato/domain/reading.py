"""From raw cells to numbers and texts: a whole block at a time, row by row pure, never raising on a value.

Whole numbers never pass through a float: 2**53 + 1 stays itself and what does not fit 64 bits saturates.
Texts are tried by the quick parser first; what it does not know goes through slower and slower rules, so
that a tidy column costs what it should. Thousands separators are not guessed.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LIMIT = 1 << 62
"""Units saturate here, which leaves room to add and subtract them in 64 bits."""

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days since 1970-01-01."""

MICROS_A_DAY = 86_400_000_000

_WHOLE = r"^([+-]?)0*([0-9]+)(?:\.0*)?$"
_SCIENTIFIC = (
    r"^[+-]?(?:(?:[0-9]{1,60}\.?[0-9]{0,60}|\.[0-9]{1,60})(?:[eE][+-]?[0-9]{1,6})?|(?i:inf|infinity))$"
)


def present(series: pl.Series) -> Mask:
    """Which rows are not null."""
    if not series.has_nulls():
        return np.ones(len(series), dtype=np.bool_)
    return series.is_not_null().to_numpy()


def nothing(rows: int) -> tuple[Ints, Mask]:
    """What a column of an unusable storage type says: all missing."""
    return np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)


def as_text(series: pl.Series) -> pl.Series:
    """The cells as texts: booleans as true/false, dates and times in ISO 8601, the unusable as null."""
    import polars as pl

    dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype == pl.Datetime:
        return _datetime_text(series)
    if dtype == pl.Date:
        return series.cast(pl.Int32).clip(FIRST_DAY, LAST_DAY).cast(pl.Date).dt.to_string("%Y-%m-%d")
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Categorical, pl.Enum, pl.Time, pl.Null):
        return series.cast(pl.String)
    return pl.Series(series.name, [None], dtype=pl.String).new_from_index(0, len(series))


def _datetime_text(series: pl.Series) -> pl.Series:
    zone = getattr(series.dtype, "time_zone", None)
    spare = MICROS_A_DAY if zone else 0  # local time may lie a day off
    moments = to_moments(series, spare=spare)
    if zone:
        moments = moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return moments.dt.to_string("%Y-%m-%dT%H:%M:%S%.f" + ("%:z" if zone else ""))


def to_micros(series: pl.Series) -> pl.Series:
    """Microseconds of moments (since the epoch, UTC) or lengths of time, saturated; nulls stay."""
    import polars as pl

    unit = getattr(series.dtype, "time_unit", "us")
    physical = series.to_physical()
    if unit == "us":
        return physical.clip(-LIMIT, LIMIT)
    if unit == "ns":
        return pl.Series(series.name, physical // 1_000)
    return physical.clip(-(LIMIT // 1_000), LIMIT // 1_000) * 1_000


def to_moments(series: pl.Series, *, spare: int = 0) -> pl.Series:
    """Moments in microseconds, without a zone, kept in the years 1 to 9999 and `spare` microseconds more."""
    import polars as pl

    first, last = FIRST_DAY * MICROS_A_DAY + spare, (LAST_DAY + 1) * MICROS_A_DAY - 1 - spare
    return to_micros(series).clip(first, last).cast(pl.Datetime("us"))


def is_textual(series: pl.Series) -> bool:
    """Whether the cells are stored as text of some sort."""
    import polars as pl

    return series.dtype in (pl.String, pl.Categorical, pl.Enum)


def to_ints(series: pl.Series) -> tuple[Ints, Mask]:
    """Whole numbers, saturated at ±2**62, and which rows have one. A fraction is not a whole number."""
    import polars as pl

    dtype = series.dtype
    if dtype.is_integer():
        return _from_integers(series)
    if dtype.is_float():
        return _from_floats(series.cast(pl.Float64))
    if dtype == pl.Boolean:
        return _from_integers(series.cast(pl.Int8))
    if is_textual(series) or dtype == pl.Decimal:
        return _from_texts(series.cast(pl.String))
    return nothing(len(series))


def _from_integers(series: pl.Series) -> tuple[Ints, Mask]:
    import polars as pl

    known = present(series)
    narrow = series.cast(pl.Int64, strict=False)
    values = narrow.fill_null(0).to_numpy()
    if narrow.null_count() > series.null_count():
        over = known & ~present(narrow)
        sign = np.where((series > 0).fill_null(value=False).to_numpy(), LIMIT, -LIMIT)
        values = np.where(over, sign, values)
    return saturate(values), known


def saturate(values: Ints, low: int = -LIMIT, high: int = LIMIT) -> Ints:
    """`values` clipped to the limits; the same array when nothing sticks out."""
    if len(values) and (values.min() < low or values.max() > high):
        return np.clip(values, low, high)
    return values


def _from_floats(series: pl.Series) -> tuple[Ints, Mask]:
    values = series.fill_null(np.nan).to_numpy()
    with np.errstate(invalid="ignore"):
        known = (values == np.rint(values)) | np.isinf(values)
    return round_to_ints(np.where(known, values, 0.0)), known


def round_to_ints(values: Floats) -> Ints:
    """The nearest whole numbers (half to even), saturated; NaN is not allowed."""
    return np.rint(np.clip(values, -float(LIMIT), float(LIMIT))).astype(np.int64)


def _from_texts(series: pl.Series) -> tuple[Ints, Mask]:
    import polars as pl

    quick = series.cast(pl.Int64, strict=False)
    known = present(quick)
    values = quick.fill_null(0).to_numpy()
    left = np.flatnonzero(~known & present(series))
    if len(left):
        values, known = values.copy(), known.copy()
        values[left], known[left] = _from_odd_texts(series.gather(left).str.strip_chars())
    return saturate(values), known


def _from_odd_texts(series: pl.Series) -> tuple[Ints, Mask]:
    """Blanks around, "2.0", more than 64 bits: still without leaving whole numbers."""
    import polars as pl

    parts = series.str.extract_groups(_WHOLE).struct.unnest()
    sign, digits = (parts.to_series(i) for i in range(2))
    known = present(digits)
    quick = digits.cast(pl.Int64, strict=False).fill_null(LIMIT).to_numpy()
    values = np.where((sign == "-").fill_null(value=False).to_numpy(), -quick, quick)
    left = np.flatnonzero(~known & series.str.contains(_SCIENTIFIC).fill_null(value=False).to_numpy())
    if len(left):
        rest = series.gather(left)
        whole = {text: _scientific(text) for text in rest.unique().to_list()}
        found = [whole[text] for text in rest.to_list()]
        values[left] = [0 if each is None else each for each in found]
        known = known.copy()
        known[left] = [each is not None for each in found]
    return values, known


def _scientific(text: str) -> int | None:
    try:
        number = Decimal(text)
    except InvalidOperation:  # pragma: no cover  (the pattern admits only what Decimal reads)
        return None
    if number.is_infinite() or number.adjusted() > 19:
        return LIMIT if number > 0 else -LIMIT if number < 0 else 0
    if number.adjusted() < 0 or number != number.to_integral_value():
        return 0 if number == 0 else None
    return max(-LIMIT, min(LIMIT, int(number)))


def to_floats(series: pl.Series, decimal: str = ".") -> tuple[Floats, Mask]:
    """Numbers, infinities among them, and which rows have one; NaN is missing."""
    import polars as pl

    dtype = series.dtype
    if is_textual(series):
        numbers = _float_texts(series.cast(pl.String), decimal)
    elif dtype.is_numeric() or dtype == pl.Boolean:
        numbers = series.cast(pl.Float64, strict=False)
    else:
        return nothing(len(series))[0].astype(np.float64), nothing(len(series))[1]
    values = numbers.fill_null(np.nan).to_numpy()
    known = ~np.isnan(values)
    return (values if known.all() else np.where(known, values, 0.0)), known


def _float_texts(series: pl.Series, decimal: str) -> pl.Series:
    import polars as pl

    if decimal != ".":
        foreign = series.str.contains(".", literal=True)
        spelled = series.str.replace_all(decimal, ".", literal=True)
        series = spelled.zip_with(~foreign.fill_null(value=False), pl.Series([None], dtype=pl.String))
    numbers = series.cast(pl.Float64, strict=False)
    left = np.flatnonzero(~present(numbers) & present(series))
    if not len(left):
        return numbers
    return numbers.scatter(left, series.gather(left).str.strip_chars().cast(pl.Float64, strict=False))

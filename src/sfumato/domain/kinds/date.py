"""Calendar days. The unit is the number of days since 1970-01-01."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.domain.column import kind
from sfumato.domain.measured import Measured
from sfumato.domain.reading import (
    FIRST_DAY,
    LAST_DAY,
    MICROS_A_DAY,
    Ints,
    Mask,
    as_text,
    is_textual,
    nothing,
    present,
    to_ints,
    to_moments,
)
from sfumato.domain.shapes import MOMENT, TEXT, fact, show
from sfumato.domain.strftime import Format, faults_of, translate
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

CENTURY = (0, 36_524)
"""The days a year of two digits can mean: 1970-01-01 to 2069-12-31."""

ISO = "%Y-%m-%d"


@kind("date")
@frozen(slots=False, repr=False)
class Date(Measured):
    """A day between `min` and `max`, spelled by `format` (codes of strftime; ISO 8601 when not declared).

    Days stored as whole numbers (20210405) are read by their digits when a format is declared, never
    otherwise. Bounds are written as the format says, or in ISO 8601.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int", "float")

    format: str | None = fact(None, TEXT)
    min: str | None = fact(None, MOMENT)
    max: str | None = fact(None, MOMENT)

    @property
    def spelling(self) -> Format:
        """The format in the dialect of the engine."""
        return translate(self.format or ISO)

    @property
    def unit_limits(self) -> tuple[int, int]:
        return CENTURY if "%y" in self.spelling.read else (FIRST_DAY, LAST_DAY)

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        if dtype.is_numeric():
            return self.format is not None and bool(self.spelling.numeric)
        return dtype in (pl.Date, pl.Datetime) or super().accepts(dtype)

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        import polars as pl

        if series.dtype == pl.Date:
            days = series
        elif series.dtype == pl.Datetime:
            days = local_times(series).dt.date()
        elif is_textual(series):
            days = self._read_texts(as_text(series))
        elif series.dtype.is_numeric() and self.format and self.spelling.numeric:
            days = self._read_texts(digits(series, width=self.spelling.numeric))
        else:
            return nothing(len(series))
        return days.to_physical().cast(pl.Int64).fill_null(0).to_numpy(), present(days)

    def _read_texts(self, texts: pl.Series) -> pl.Series:
        days = texts.str.to_date(self.spelling.read, strict=False)
        left = np.flatnonzero(~present(days) & present(texts))
        if not len(left):
            return days
        rest = texts.gather(left).str.strip_chars()
        if self.format is None:
            rest = rest.str.replace(r"[T ][0-9:.]+$", "")
        elif self.spelling.numeric:
            rest = rest.str.replace(r"\.0+$", "")
        return days.scatter(left, rest.str.to_date(self.spelling.read, strict=False))

    def natural(self, units: Ints) -> pl.Series:
        import polars as pl

        days = np.clip(units, *self.unit_limits).astype(np.int32)
        return pl.Series(self.name, days).cast(pl.Date)

    def write(self, units: Ints) -> pl.Series:
        return self.natural(units).dt.to_string(self.spelling.write)

    def bound(self, value: Any) -> int | None:
        unit = self.unit_of(value)
        if unit is None and self.format is not None:
            unit = Date(self.name).unit_of(value)
        return unit

    def advice(self) -> str:
        return f"write it as {self.format or ISO}" + (f" or {ISO}" if self.format else "")

    def check(self) -> Iterator[Fault]:
        yield from format_faults(self, self.format, time=False)
        if self.format is None or not faults_of(self.format, time=False):
            yield from super().check()
            yield from bounds_spelled(self)


def local_times(moments: pl.Series) -> pl.Series:
    """Stored moments as the clock on the wall shows them, in their own zone."""
    zone = moments.dtype.time_zone  # type: ignore[attr-defined]
    if zone is None:
        return to_moments(moments)
    placed = to_moments(moments, spare=MICROS_A_DAY).dt.replace_time_zone("UTC")
    return placed.dt.convert_time_zone(zone).dt.replace_time_zone(None)


def format_faults(column: Measured, format: str | None, *, time: bool) -> Iterator[Fault]:
    """Faults of a format, and of a storage as numbers that it cannot fill."""
    for what, mend in faults_of(format, time=time) if format is not None else ():
        yield column.fault("format", f"{show(format)} {what}", mend)
    numeric = format is not None and not faults_of(format, time=time) and translate(format).numeric
    if column.storage in ("int", "float") and not numeric:
        mend = 'declare how the digits are to be read, such as format = "%Y%m%d"'
        yield column.fault("storage", "stored as a number needs a format of digits only", mend)


def bounds_spelled(column: Measured) -> Iterator[Fault]:
    """Bounds that the format cannot spell, such as 1950 with a year of two digits."""
    for name, value, unit in zip(("min", "max"), column.ends, column.end_units, strict=True):
        if unit is not None:
            low, high = column.unit_limits
            text = column.write(np.array([unit], dtype=np.int64))[0]
            if not low <= unit <= high or column.unit_of(text) != unit:
                yield column.fault(name, f"{show(value)} cannot be spelled in the declared format")


def digits(series: pl.Series, *, width: int) -> pl.Series:
    """Whole numbers as texts of `width` digits; null for anything else."""
    import polars as pl

    numbers, known = to_ints(series)
    texts = pl.Series(numbers).cast(pl.String).str.zfill(width)
    return texts if known.all() else texts.zip_with(pl.Series(known), pl.Series([None], dtype=pl.String))

"""Moments. The unit is a number of `resolution` steps since 1970-01-01T00:00 UTC.

A text or stored value without an offset is local time in the declared zone: in the hour that occurs twice
it is the earlier one, in the hour that does not exist it is moved forward by the size of the gap. Without
a declared zone it is taken as it stands; a moment with an offset is then written as UTC.
"""

from __future__ import annotations

import datetime as dt
import zoneinfo
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.domain.column import kind
from sfumato.domain.kinds.date import CENTURY, bounds_spelled, digits, format_faults
from sfumato.domain.measured import Measured
from sfumato.domain.reading import (
    FIRST_DAY,
    LAST_DAY,
    Ints,
    Mask,
    as_text,
    is_textual,
    nothing,
    present,
    to_micros,
    to_moments,
)
from sfumato.domain.shapes import MOMENT, TEXT, fact, one_of, show
from sfumato.domain.strftime import GRAINS, Format, faults_of, translate
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

DAY = GRAINS["d"]
_CLOCKS = ("%H:%M:%S", "%H:%M:%S%.f", "%H:%M")
_ISO = (
    *(f"%Y-%m-%d{mark}{clock}" for clock in _CLOCKS for mark in "T "),
    "%Y-%m-%d",
    *(f"%Y-%m-%d{mark}{clock}%#z" for clock in _CLOCKS[1:] for mark in "T "),
)
_FRACTION = {"us": "%.6f", "ms": "%.3f"}


@kind("datetime")
@frozen(slots=False, repr=False)
class Datetime(Measured):
    """A moment between `min` and `max`, rounded down to `resolution`.

    `format` holds codes of strftime (ISO 8601 when not declared); `timezone` is a name such as
    "Europe/Amsterdam". `resolution` is one of us, ms, s, min, h, d; when not declared it is the finest step
    the format can spell, or a second.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int", "float")

    format: str | None = fact(None, TEXT)
    timezone: str | None = fact(None, TEXT)
    min: str | None = fact(None, MOMENT)
    max: str | None = fact(None, MOMENT)
    resolution: str | None = fact(None, one_of(*GRAINS))

    @property
    def grain(self) -> str:
        """The step a moment is rounded down to."""
        return self.resolution or (translate(self.format).grain if self.format else "s")

    @property
    def step(self) -> int:
        """Microseconds in one unit."""
        return GRAINS[self.grain]

    @property
    def spelling(self) -> Format:
        """The format in the dialect of the engine."""
        if self.format:
            return translate(self.format)
        iso = "%Y-%m-%dT%H:%M:%S"
        return Format(read=iso, write=iso + _FRACTION.get(self.grain, ""), grain="us", zoned=False, numeric=0)

    @property
    def unit_limits(self) -> tuple[int, int]:
        first, last = CENTURY if "%y" in self.spelling.read else (FIRST_DAY, LAST_DAY)
        spare = DAY if self.timezone else 0
        return (first * DAY + spare) // self.step, ((last + 1) * DAY - 1 - spare) // self.step

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        if dtype.is_numeric():
            return self.format is not None and bool(self.spelling.numeric)
        return dtype in (pl.Date, pl.Datetime) or super().accepts(dtype)

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        import polars as pl

        if series.dtype in (pl.Date, pl.Datetime):
            instants = self._stored(series)
        elif is_textual(series):
            instants = self._read_texts(as_text(series))
        elif series.dtype.is_numeric() and self.format and self.spelling.numeric:
            instants = self._read_texts(digits(series, width=self.spelling.numeric))
        else:
            return nothing(len(series))
        micros = instants.fill_null(0).to_numpy()
        return (micros // self.step if self.step > 1 else micros), present(instants)

    def _stored(self, series: pl.Series) -> pl.Series:
        """Microseconds since the epoch of stored days, local times or moments."""
        import polars as pl

        if series.dtype == pl.Date:
            series = series.cast(pl.Int32).clip(FIRST_DAY, LAST_DAY).cast(pl.Date).cast(pl.Datetime("us"))
        elif series.dtype.time_zone is not None:  # type: ignore[attr-defined]
            return to_micros(series)
        return self._instants(to_moments(series))

    def _read_texts(self, texts: pl.Series) -> pl.Series:
        """Microseconds since the epoch, format after format on what is still unread."""
        instants = self._attempt(texts, self.spelling.read)
        for format in self._formats(texts):
            left = np.flatnonzero(~present(instants) & present(texts))
            if not len(left):
                break
            rest = texts.gather(left).str.strip_chars()
            if self.spelling.numeric:
                rest = rest.str.replace(r"\.0+$", "")
            instants = instants.scatter(left, self._attempt(rest, format))
        return instants

    def _formats(self, texts: pl.Series) -> tuple[str, ...]:
        """What to try after the usual spelling; without a colon there can be no clock, which saves time."""
        if self.format:
            return (self.spelling.read,)
        return _ISO if texts.str.contains(":", literal=True).any() else ("%Y-%m-%d",)

    def _attempt(self, texts: pl.Series, format: str) -> pl.Series:
        return self._instants(
            texts.str.to_datetime(format.replace("%z", "%#z"), time_unit="us", strict=False, ambiguous="null")
        )

    def _instants(self, moments: pl.Series) -> pl.Series:
        """Microseconds since the epoch, UTC."""
        if moments.dtype.time_zone is None and self.timezone:  # type: ignore[attr-defined]
            moments = localise(moments, self.timezone)
        return moments.to_physical()

    def natural(self, units: Ints) -> pl.Series:
        import polars as pl

        micros = np.clip(units, *self.unit_limits) * self.step
        moments = pl.Series(self.name, micros).cast(pl.Datetime("us"))
        if self.timezone is None:
            return moments
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(self.timezone)

    def write(self, units: Ints) -> pl.Series:
        moments = self.natural(units)
        if self.spelling.zoned and self.timezone is None:
            moments = moments.dt.replace_time_zone("UTC")
        return moments.dt.to_string(self.spelling.write)

    def bound(self, value: Any) -> int | None:
        unit = self.unit_of(value)
        if unit is None and self.format is not None:
            unit = Datetime(self.name, timezone=self.timezone, resolution=self.grain).unit_of(value)
        return unit

    def advice(self) -> str:
        return f"write it as {self.format or 'YYYY-MM-DDTHH:MM:SS'}" + (
            " or in ISO 8601" if self.format else ""
        )

    def check(self) -> Iterator[Fault]:
        if self.timezone is not None and not _is_zone(self.timezone):
            yield self.fault(
                "timezone", f"{show(self.timezone)} is unknown", 'a name such as "Europe/Paris" or "UTC"'
            )
            return
        yield from format_faults(self, self.format, time=True)
        if self.format is not None and faults_of(self.format, time=True):
            return
        if self.format and self.timezone and translate(self.format).grain == "d":
            yield self.fault("timezone", "means nothing without a time of day", 'declare type = "date"')
            return
        if self.format and GRAINS[self.grain] < GRAINS[translate(self.format).grain]:
            yield self.fault(
                "resolution",
                f"{self.grain!r} is finer than the format can spell",
                f"use {translate(self.format).grain!r}, or extend the format",
            )
            return
        yield from super().check()
        yield from bounds_spelled(self)


def _is_zone(name: str) -> bool:
    try:
        dt.datetime(2000, 1, 1, tzinfo=zoneinfo.ZoneInfo(name))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def localise(moments: pl.Series, zone: str) -> pl.Series:
    """Local times as moments: the earlier of two, and past a gap by its size."""
    import polars as pl

    placed = moments.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    lost = np.flatnonzero(~present(placed) & present(moments))
    if not len(lost):
        return placed
    day = pl.duration(days=1)
    before = pl.select(moments.gather(lost) - day).to_series()
    before = before.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    physical = before.to_physical() + DAY  # a day of 24 hours later, so the offset before the gap holds
    moved = physical.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return placed.scatter(lost, moved)

"""Columns whose values lie on a line: whole and decimal numbers, dates, moments, lengths of time.

Each maps a raw value to a whole number of *units* (days, microseconds, hundredths …) that fits 63 bits,
so that nothing downstream has to know which kind it is. Special codes ("-1" = "no file") stand beside
the line: one that reads as a value of the column is matched by its unit, any other by its exact text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.column import Column
from sfumato.domain.frozenmap import FrozenMap
from sfumato.domain.reading import LIMIT, Ints, Mask, as_text, is_textual, saturate
from sfumato.domain.shapes import MEANINGS, fact, show
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

_NONE = FrozenMap()

TABLE_SHARE = 2
"""Spell a table of all units in the range when it has at most 1/2 of the rows."""


@frozen(slots=False, repr=False)
class Measured(Column):
    """A column of values on a line. Kinds say how a value is read, and how it is written."""

    measured: ClassVar[bool] = True
    native: ClassVar[str] = ""

    special_codes: Mapping[str, str] = fact(_NONE, MEANINGS)

    # what a kind adds ---------------------------------------------------------------------------

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        """Units of ordinary values, and which rows have one; never raises on a value."""
        raise NotImplementedError

    def natural(self, units: Ints) -> pl.Series:
        """Units as values of the natural type of the kind, without nulls."""
        raise NotImplementedError

    def write(self, units: Ints) -> pl.Series:
        """Units as texts, one by one."""
        raise NotImplementedError

    def bound(self, value: Any) -> int | None:
        """The unit of a declared bound, None when it cannot be read."""
        return self.unit_of(str(value))

    @property
    def unit_limits(self) -> tuple[int, int]:
        """The least and greatest unit the kind can hold."""
        return -LIMIT, LIMIT

    # what everybody may ask ---------------------------------------------------------------------

    def parse(self, series: pl.Series) -> tuple[Ints, npt.NDArray[np.int16]]:
        """Units, and atoms: -1 an ordinary value, 0 missing, 1+i the special code number i."""
        units, known = self.read(series)
        units = saturate(units, *self.unit_limits)
        atoms = np.where(known, np.int16(-1), np.int16(0))
        texts = as_text(series) if self.spelled_codes and _comparable(series) else None
        for place, (key, unit) in enumerate(zip(self.special_codes, self.special_units, strict=True)):
            if unit is not None:
                atoms[known & (units == unit)] = 1 + place
            elif texts is not None:
                atoms[(texts == key).fill_null(value=False).to_numpy()] = 1 + place
        return units, atoms

    @cached_property
    def special_units(self) -> tuple[int | None, ...]:
        """The unit of each special code, None for one that is matched by its text."""
        return tuple(self.unit_of(key) for key in self.special_codes)

    @property
    def spelled_codes(self) -> bool:
        """Whether a special code exists only as text, so that the column can only be text."""
        return None in self.special_units

    def unit_of(self, text: str) -> int | None:
        """The unit of one spelled value, None when it is not one."""
        import polars as pl

        units, known = self.read(pl.Series([text], dtype=pl.String))
        return int(saturate(units, *self.unit_limits)[0]) if known[0] else None

    def unit_bounds(self) -> tuple[int, int] | None:
        """The declared bounds in units, both included; None when they are not both declared."""
        low, high = self.end_units
        return None if low is None or high is None else (low, high)

    @cached_property
    def end_units(self) -> tuple[int | None, int | None]:
        """`min` and `max` in units, each None when it is not declared or cannot be read."""
        low, high = (None if value is None else self.bound(value) for value in self.ends)
        return low, high

    @property
    def ends(self) -> tuple[Any, Any]:
        """`min` and `max` as declared."""
        return getattr(self, "min", None), getattr(self, "max", None)

    @property
    def constant(self) -> str | None:
        """The text of the only possible value, when the bounds leave but one."""
        bounds = self.unit_bounds()
        if bounds is None or bounds[0] != bounds[1] or self.nullable or self.special_codes:
            return None
        return self.write(np.array(bounds[:1], dtype=np.int64))[0]

    def only_value(self, *, text: bool) -> pl.Series:
        """A series of length one with the constant of the column."""
        bounds = self.unit_bounds()
        assert bounds is not None
        return self.render(np.array(bounds[:1], dtype=np.int64), text=text).alias(self.name)

    def text(self, natural: pl.Series) -> pl.Series:
        """Natural values (nulls stay) as texts, spelled as declared."""
        units, atoms = self.read(natural)
        return with_nulls(self.spell(units), ~atoms)

    def spell(self, units: Ints) -> pl.Series:
        """Units as texts, spelled as declared; few distinct units are spelled once each."""
        if len(units) < 64:
            return self.write(units)
        low, high = int(units.min()), int(units.max())
        if (high - low + 1) * TABLE_SHARE > len(units):
            return self.write(units)
        table = self.write(np.arange(low, high + 1, dtype=np.int64))
        return take(table, (units - low).astype(np.uint32))

    def leaves_as_text(self, *, text: bool) -> bool:
        """Whether values leave as texts: asked for, stored so, or a special code is a word."""
        return text or self.storage == "string" or (self.spelled_codes and not self.storage)

    def render(self, units: Ints, *, text: bool) -> pl.Series:
        """Units as they leave: texts if `text` or if the facts say so, else stored or natural values."""
        import polars as pl

        if self.leaves_as_text(text=text):
            return self.spell(units)
        if self.storage in ("", self.native):
            return self.natural(units)
        return self.spell(units).cast(pl.Int64 if self.storage == "int" else pl.Float64)

    # checks -------------------------------------------------------------------------------------

    def check(self) -> Iterator[Fault]:
        """Bounds that cannot be read, out of order or out of range; special codes that collide."""
        low, high = self.end_units
        for name, value, unit in zip(("min", "max"), self.ends, (low, high), strict=True):
            if value is not None and unit is None:
                yield self.fault(
                    name, f"{show(value)} cannot be read as a value of this column", self.advice()
                )
        if low is not None and high is not None and low > high:
            yield self.fault("min", f"{show(self.ends[0])} is above max, which is {show(self.ends[1])}")
        yield from self._check_codes()

    def advice(self) -> str:
        """How a bound is to be spelled."""
        return ""

    def _check_codes(self) -> Iterator[Fault]:
        seen: dict[int, str] = {}
        for key in self.special_codes:
            where = f"special_codes.{key}"
            if not key or len(key) > 256:
                yield self.fault(where, "is empty or longer than 256 characters")
                continue
            unit = self.unit_of(key)
            if unit is None and self.storage in ("int", "float") and not re.fullmatch("-?[0-9]{1,18}", key):
                yield self.fault(where, f"cannot be stored in a column with storage {self.storage!r}")
            elif unit is not None and abs(unit) >= LIMIT:
                yield self.fault(where, "is too large", "2**62 units at most")
            elif unit is not None and seen.setdefault(unit, key) != key:
                yield self.fault(where, f"is the same value as the code {seen[unit]!r}")


def _comparable(series: pl.Series) -> bool:
    return is_textual(series) or series.dtype.is_integer()


def take(table: pl.Series, codes: npt.NDArray[np.integer[Any]]) -> pl.Series:
    """The rows of `table` at `codes`."""
    import polars as pl

    return table.gather(pl.Series(codes).cast(pl.UInt32))


def with_nulls(series: pl.Series, missing: Mask) -> pl.Series:
    """`series` with nulls where `missing`."""
    import polars as pl

    if not missing.any():
        return series
    return series.zip_with(pl.Series(~missing), pl.Series([None], dtype=series.dtype))

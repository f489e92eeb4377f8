"""Whole numbers: counts, ages, scores. The unit is the number itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from sfumato.domain.column import kind
from sfumato.domain.measured import Measured
from sfumato.domain.reading import LIMIT, Ints, Mask, to_ints
from sfumato.domain.shapes import WHOLE, fact, show
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl


@kind("int")
@frozen(slots=False, repr=False)
class Int(Measured):
    """A whole number between `min` and `max` (both included, both optional).

    "2.0" and a stored 2.0 count as 2; a number with a fraction is missing.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int", "float")
    native: ClassVar[str] = "int"

    min: int | None = fact(None, WHOLE)
    max: int | None = fact(None, WHOLE)

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        return dtype.is_numeric() or dtype == pl.Boolean or super().accepts(dtype)

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        return to_ints(series)

    def natural(self, units: Ints) -> pl.Series:
        import polars as pl

        return pl.Series(self.name, units, dtype=pl.Int64)

    def write(self, units: Ints) -> pl.Series:
        import polars as pl

        return self.natural(units).cast(pl.String)

    def bound(self, value: Any) -> int | None:
        return max(-LIMIT, min(LIMIT, value))

    def check(self) -> Iterator[Fault]:
        for name, value in zip(("min", "max"), self.ends, strict=True):
            if value is not None and abs(value) > LIMIT:
                yield self.fault(name, f"{show(value)} is too large", "2**62 at most")
        yield from super().check()

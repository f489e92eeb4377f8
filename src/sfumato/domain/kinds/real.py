"""Numbers with decimals: amounts, measurements. The unit is one step of the last declared decimal."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import frozen

from sfumato.domain.column import kind
from sfumato.domain.measured import Measured
from sfumato.domain.reading import LIMIT, Ints, Mask, round_to_ints, to_floats
from sfumato.domain.shapes import NUMBER, WHOLE, fact, one_of, show
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

EXACT = 1 << 51
"""Up to here a unit survives the way to a float and back: two roundings, each of 1 part in 2**53."""


@kind("float")
@frozen(slots=False, repr=False)
class Float(Measured):
    """A number rounded to `decimals` (six when not declared) between `min` and `max`.

    `decimal` is the decimal mark of texts. Infinities count as very large. With declared decimals a text
    always shows that many; without, it shows as many as the number needs.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "float")
    native: ClassVar[str] = "float"

    decimals: int | None = fact(None, WHOLE)
    min: float | int | None = fact(None, NUMBER)
    max: float | int | None = fact(None, NUMBER)
    decimal: str = fact(".", one_of(".", ","))

    @property
    def places(self) -> int:
        """Decimals after which a number is rounded."""
        return 6 if self.decimals is None else self.decimals

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        return dtype.is_numeric() or dtype == pl.Boolean or super().accepts(dtype)

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        numbers, known = to_floats(series, self.decimal)
        with np.errstate(over="ignore"):
            return round_to_ints(numbers * 10.0**self.places), known

    def natural(self, units: Ints) -> pl.Series:
        import polars as pl

        return pl.Series(self.name, units / 10.0**self.places, dtype=pl.Float64)

    def write(self, units: Ints) -> pl.Series:
        import polars as pl

        scale = pl.Series([10**self.places], dtype=pl.Decimal(38, 0))
        exact = pl.Series(self.name, units).cast(pl.Decimal(38, self.places)) / scale
        texts = exact.cast(pl.Decimal(38, self.places)).cast(pl.String)
        if self.decimals is None:
            texts = texts.str.replace(r"(\.[0-9]+?)0+$", "$1")
        return texts if self.decimal == "." else texts.str.replace(".", self.decimal, literal=True)

    def bound(self, value: Any) -> int | None:
        return round(max(Decimal(-LIMIT), min(Decimal(LIMIT), self._exact(value))))

    def _exact(self, value: Any) -> Decimal:
        try:
            return Decimal(str(value)).scaleb(self.places)
        except (ValueError, ArithmeticError):  # an int of more than 4300 digits
            return Decimal(4 * LIMIT if value > 0 else -4 * LIMIT)

    def check(self) -> Iterator[Fault]:
        if not 0 <= self.places <= 15:
            yield self.fault("decimals", f"is {self.decimals}", "0 to 15")
            return
        yield from super().check()
        for name, value in zip(("min", "max"), self.ends, strict=True):
            unit = Decimal(0) if value is None else self._exact(value)
            if abs(unit) > 2 * LIMIT:
                yield self.fault(
                    name, f"{show(value)} is too large", "2**62 steps of the last decimal at most"
                )
            elif unit != unit.to_integral_value():
                yield self.fault(
                    name, f"{show(value)} has more than {self.places} decimals", "raise decimals"
                )
        yield from self._check_rounding()

    def _check_rounding(self) -> Iterator[Fault]:
        for key, unit in zip(self.special_codes, self.special_units, strict=True):
            if unit is not None and abs(unit) < EXACT:
                number = Decimal(key.strip().replace(self.decimal, ".")).scaleb(self.places)
                if number != unit:
                    yield self.fault(
                        f"special_codes.{key}", f"has more than {self.places} decimals", "raise decimals"
                    )

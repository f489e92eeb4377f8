"""Two values. Numbers 0 and 1 and true/false count as stored values; other words only when declared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.column import Column, kind
from sfumato.domain.reading import as_text, is_textual, to_ints
from sfumato.domain.shapes import PAIR, fact
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl


@kind("bool")
@frozen(slots=False, repr=False)
class Bool(Column):
    """False or true; `spelling` is how texts write the two, read without regard to case.

    Under the default spelling the texts 0 and 1 are read as well.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int", "bool")

    spelling: tuple[str, str] = fact(("false", "true"), PAIR)

    @property
    def values(self) -> tuple[str, ...]:
        """The two texts, false first."""
        return tuple(self.spelling)

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        return dtype.is_numeric() or dtype == pl.Boolean or super().accepts(dtype)

    def match(self, series: pl.Series, values: tuple[str, ...]) -> npt.NDArray[np.int32]:
        """0 for false, 1 for true, -1 for a null, -2 for anything else."""

        if not is_textual(series):
            units, known = to_ints(series)
            found = np.where(known & ((units == 0) | (units == 1)), units, -2).astype(np.int32)
            found[series.is_null().to_numpy()] = -1
            return found
        texts = as_text(series).str.to_lowercase()
        spelled = [[text.lower()] for text in self.spelling]
        if self.spelling == ("false", "true"):
            spelled = [["false", "0"], ["true", "1"]]
        found = np.full(len(series), -2, dtype=np.int32)
        for code, words in enumerate(spelled):
            found[texts.is_in(words).fill_null(value=False).to_numpy()] = code
        found[texts.is_null().to_numpy()] = -1
        return found

    def render(self, values: tuple[str, ...], *, text: bool) -> pl.Series:
        """The two values as they leave: texts, or the stored type."""
        import polars as pl

        if text or self.storage == "string":
            return pl.Series(self.name, values, dtype=pl.String)
        return pl.Series(self.name, [False, True]).cast(pl.Int64 if self.storage == "int" else pl.Boolean)

    def check(self) -> Iterator[Fault]:
        if self.spelling[0].lower() == self.spelling[1].lower():
            yield self.fault("spelling", "both values are spelled the same, but for case")
        if any(not text or len(text) > 256 for text in self.spelling):
            yield self.fault("spelling", "a value is empty or longer than 256 characters")

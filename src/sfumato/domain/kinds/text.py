"""Free text: nothing is learned from it and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from sfumato.domain.column import Column, kind
from sfumato.domain.shapes import fact, one_of

if TYPE_CHECKING:
    import polars as pl


@kind("text")
@frozen(slots=False, repr=False)
class Text(Column):
    """Free text. The only policy is "drop": the column is left out, and the report says so."""

    policy: str = fact("drop", one_of("drop"))

    @property
    def modelled(self) -> bool:
        return False

    @property
    def dropped(self) -> bool:
        return True

    def accepts(self, dtype: pl.DataType) -> bool:
        return True

    def generate(
        self, rows: int, rng: np.random.Generator, start: int = 0, *, text: bool = False
    ) -> pl.Series:
        """Nulls, for a caller that keeps the column after all."""
        import polars as pl

        return pl.Series(self.name, [None], dtype=pl.String).new_from_index(0, rows)

"""What is public of a raw column without cost, and synthetic values in its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from sfumato.domain.column import Column
from sfumato.domain.measured import Measured

if TYPE_CHECKING:
    import polars as pl

NARROW = ("Int8", "Int16", "Int32", "UInt8", "UInt16", "UInt32", "UInt64", "Float32")
"""Types that are narrower than the natural one of a number."""


@frozen(kw_only=True)
class Stored:
    """What is public of a raw column without cost: its name and how it is stored."""

    name: str
    storage: str
    """string, int, float, bool, date, datetime, duration or categorical; untyped: the cells of a text
    file.
    """
    timezone: str | None = None
    dtype: str = ""
    """Name of a numeric type narrower than 64 bits, signed."""

    def like(self, series: pl.Series, facts: Column) -> pl.Series:
        """`series` in the type of the raw column, where that holds every value that `facts` allow.

        The same for all parts of a table, since it does not depend on the values.
        """
        import polars as pl

        if self.storage == "categorical" and series.dtype == pl.String:
            return series.cast(pl.Categorical)
        if self.dtype == "Float32" and series.dtype == pl.Float64:
            return series.cast(pl.Float32)
        if self.dtype in NARROW and series.dtype == pl.Int64 and _fits(facts, self.dtype):
            return series.cast(getattr(pl, self.dtype))
        return series


def _fits(facts: Column, dtype: str) -> bool:
    bounds = facts.unit_bounds() if isinstance(facts, Measured) and facts.kind == "int" else None
    if bounds is None or not isinstance(facts, Measured) or facts.spelled_codes:
        return False
    limits = np.iinfo(dtype.lower())
    units = [*bounds, *(unit for unit in facts.special_units if unit is not None)]
    return limits.min <= min(units) and max(units) <= limits.max

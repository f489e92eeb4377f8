"""Any other frame that narwhals knows (modin, cuDF, DuckDB, Dask, …), brought into memory once.

Frames that have a kind of their own here are not claimed.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.engines.arrow import ArrowEngine
from sfumato.tables.engines.pandas import PandasEngine
from sfumato.tables.engines.polars import PolarsEngine, PolarsSource
from sfumato.tables.source import engines


class ForeignEngine:
    """Opens other packages' frames; `restore` gives polars frames."""

    def claims(self, table: object) -> bool:
        own = (PolarsEngine(), PandasEngine(), ArrowEngine())
        return not any(engine.claims(table) for engine in own) and _wrapped(table) is not None

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> PolarsSource:
        import narwhals as nw

        label = label or "data frame"
        wrapped = _wrapped(table)
        try:
            if isinstance(wrapped, nw.LazyFrame):
                wrapped = wrapped.collect(backend="polars")
            rows: pl.DataFrame = wrapped.to_polars()
        except Exception:
            raise InputError(f"{label} cannot be turned into a polars frame") from None
        return PolarsEngine().open(rows, dialect=dialect, label=label, allow_empty=allow_empty)


def _wrapped(table: object) -> Any:
    import narwhals as nw

    wrapped: Any = nw.from_native(table, pass_through=True)
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.LazyFrame) else None


engines.register("foreign")(ForeignEngine())

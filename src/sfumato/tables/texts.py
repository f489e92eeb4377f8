"""Python and numpy values -> polars columns, value by value, so that no row decides a column's type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

_HUGE = "9" * 300
"""More digits than any bound has, and more characters than a category may have."""


def text_series(values: Iterable[Any]) -> pl.Series:
    """Python objects as texts: None, NaN, NaT and NA are missing, a string is itself, the rest its `str`.

    An object that cannot be spelled is missing; a whole number too long to be spelled becomes a large one.
    """
    texts = [value if type(value) is str else _text(value) for value in values]
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:  # half a surrogate pair: no text in any encoding
        clean = (None if text is None else text.encode("utf-8", "replace").decode("utf-8") for text in texts)
        return pl.Series(list(clean), dtype=pl.String)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    try:
        if value != value:
            return None
    except Exception:  # NA has no truth value, an array has many
        if type(value).__name__ == "NAType":
            return None
    try:
        return str.__str__(value if isinstance(value, str) else str(value))  # plain, also from a subclass
    except Exception:
        return ("-" * (value < 0) + _HUGE) if type(value) is int else None


def as_text(series: pl.Series) -> pl.Series:
    """A column of single values as texts, NaN missing; times and durations in ISO 8601."""
    if series.dtype in (pl.Time, pl.Duration):
        return series.dt.to_string("iso")
    if series.dtype.is_float():
        series = series.fill_nan(None)
    return series.cast(pl.String)


def numpy_dtype(dtype: np.dtype[Any]) -> pl.DataType | None:
    """The polars type in which a numpy array of `dtype` comes; None when its cells are not single values."""
    if dtype.kind in "iufb":
        if dtype.kind == "f" and dtype.itemsize != 4:
            return pl.Float32() if dtype.itemsize == 2 else pl.Float64()
        return pl.Series(np.empty(0, dtype.newbyteorder("="))).dtype
    if dtype.kind in "mM":
        unit, _ = np.datetime_data(dtype)
        if dtype.kind == "M" and unit in ("D", "W", "M", "Y"):
            return pl.Date()
        kept = unit if unit in ("ms", "us", "ns") else "ms"
        return pl.Datetime(kept) if dtype.kind == "M" else pl.Duration(kept)
    return pl.String() if dtype.kind in "UTO" else None


def numpy_series(values: npt.NDArray[Any]) -> pl.Series:
    """A one-dimensional array of a type that `numpy_dtype` accepts; NaN and NaT become missing."""
    kind = values.dtype.kind
    if kind in "UTO":
        return text_series(values.tolist())
    if kind in "mM":
        unit, _ = np.datetime_data(values.dtype)
        date = kind == "M" and unit in ("D", "W", "M", "Y")
        target = "D" if date else unit if unit in ("ms", "us", "ns") else "ms"
        return pl.Series(values.astype(f"{kind}8[{target}]"))
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    if kind == "f":
        native = native.astype(np.float32 if native.itemsize <= 4 else np.float64, copy=False)
        return pl.Series(native, nan_to_null=True)
    return pl.Series(native)

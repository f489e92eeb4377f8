"""Synthetic columns back in the caller's column types, where those can hold the values.

A type that lists labels (a polars Enum) is made anew from the labels that occur in the synthetic column, in
their own order: the list in the caller's type may have been read off the rows, so it is neither kept nor
looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

ANYTHING: tuple[type[BaseException], ...] = (Exception, pl.exceptions.PanicException)
"""What code of others may raise, less what ends the program."""


def without_labels(dtypes: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
    """`dtypes` with the list of every Enum taken out: what a model may hold on to."""
    return {name: pl.Enum([]) if isinstance(dtype, pl.Enum) else dtype for name, dtype in dtypes.items()}


def unchanged(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame itself: what files give back."""
    return frame


def cast_like(frame: pl.DataFrame, dtypes: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """`frame` with each column in the type `dtypes` names for it, or its own if that cannot hold it."""
    return frame.with_columns(
        series_like(frame.get_column(name), dtype) for name, dtype in dtypes.items() if name in frame.columns
    )


def series_like(series: pl.Series, dtype: pl.DataType) -> pl.Series:
    """`series` as `dtype` when every value survives, else unchanged."""
    if series.dtype == dtype:
        return series
    try:
        cast = _cast(series, dtype)
    except ANYTHING:  # whatever a type refuses: the rows are paid for
        return series
    return series if cast is None or cast.null_count() != series.null_count() else cast


def _cast(series: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    if isinstance(dtype, pl.Enum):
        texts = series.cast(pl.String)
        return texts.cast(pl.Enum(texts.drop_nulls().unique().sort()))
    if series.null_count() == len(series):
        return series.cast(dtype)
    if dtype.is_integer() and series.dtype.is_float():
        return series.cast(dtype) if (series == series.round()).all() else None
    if dtype.is_numeric() and series.dtype.is_temporal():
        return None  # not the days or microseconds since 1970
    if dtype.is_integer() and series.dtype == pl.Boolean:
        return series.cast(dtype)
    if dtype.is_float() and series.dtype.is_integer():
        cast = series.cast(dtype)
        return cast if (cast.cast(series.dtype, strict=False) == series).all() else None
    if dtype == pl.Boolean:
        return as_bool(series)
    if isinstance(dtype, pl.Datetime):
        return _as_datetime(series, dtype)
    if dtype == pl.Time and series.dtype == pl.String:
        return series.str.to_time(strict=True)
    if dtype == pl.Date and series.dtype == pl.String:
        return series.str.to_date(strict=True)
    if dtype == pl.String and series.dtype in (pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    return series.cast(dtype)


def as_bool(series: pl.Series) -> pl.Series | None:
    """Truth values from 0 and 1 or from the texts "false" and "true"; None when there is anything else."""
    if series.dtype.is_numeric():
        return series.cast(pl.Boolean) if series.is_in([0, 1]).all() else None
    if series.dtype != pl.String:
        return None
    low = series.str.to_lowercase()
    return low == "true" if low.is_in(["true", "false"]).all() else None


def _as_datetime(series: pl.Series, dtype: pl.Datetime) -> pl.Series | None:
    """Instants keep their instant: text and types without a zone count as UTC in a zoned column."""
    if series.dtype == pl.String:
        series = series.str.to_datetime(time_unit="us", strict=True)
    elif series.dtype == pl.Date:
        series = series.cast(pl.Datetime("us"))
    if not isinstance(series.dtype, pl.Datetime):
        return None
    if dtype.time_zone is not None:
        if series.dtype.time_zone is None:
            series = series.dt.replace_time_zone("UTC")
        series = series.dt.convert_time_zone(dtype.time_zone)
    elif series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    cast = series.dt.cast_time_unit(dtype.time_unit)
    if dtype.time_unit == "ns" and (cast.dt.cast_time_unit("us") != series.dt.cast_time_unit("us")).any():
        return None  # beyond the years 1677 to 2262
    return cast

"""Dicts of numpy arrays or lists. A list has no declared type, so its cells are read as text, like CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from attrs import define, frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.frames import block_rows, check_cells, refuse_nested
from sfumato.tables.names import check_names, same_but_for_case
from sfumato.tables.restore import ANYTHING, as_bool
from sfumato.tables.source import SourceColumn, engines, storage_word
from sfumato.tables.texts import numpy_dtype, numpy_series, text_series


@define(slots=False, eq=False, repr=False)
class ArraysSource:
    """Columns as one-dimensional arrays or sequences of one length."""

    _arrays: dict[str, Any]
    _rows: int
    label: str
    columns: tuple[SourceColumn, ...]
    notes: tuple[str, ...]

    kind = "arrays"

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`."""
        wanted = list(self._arrays if columns is None else columns)
        step = block_rows(len(wanted))
        for start in range(0, self._rows, step):
            parts = {name: _series(self._arrays[name][start : start + step]) for name in wanted}
            yield pl.DataFrame(parts)

    def check_rows(self) -> None:
        """InputError for a column whose cells cannot be read."""
        check_cells(self)

    @property
    def restore(self) -> ArraysRestore:
        arrays = {name: values for name, values in self._arrays.items() if isinstance(values, np.ndarray)}
        return ArraysRestore({name: values.dtype for name, values in arrays.items()})


@frozen
class ArraysRestore:
    """Gives a dict of numpy arrays, of the source's types where those can hold the values."""

    _dtypes: dict[str, np.dtype[Any]]

    def __call__(self, frame: pl.DataFrame) -> dict[str, np.ndarray]:
        return {name: _array(frame.get_column(name), self._dtypes.get(name)) for name in frame.columns}


def _series(values: Any) -> pl.Series:
    return numpy_series(values) if isinstance(values, np.ndarray) else text_series(values)


def _array(series: pl.Series, dtype: np.dtype[Any] | None) -> np.ndarray:
    values = None
    if dtype is not None:
        try:
            values = _typed(series, dtype)
        except ANYTHING:  # whatever a type refuses: the rows are paid for
            values = None
    if values is not None:
        return values
    return objects(series) if series.dtype == pl.String else series.to_numpy()


def _typed(series: pl.Series, dtype: np.dtype[Any]) -> np.ndarray | None:
    if dtype.kind == "O":
        return objects(series)
    if dtype.kind in "UT":
        texts = objects(series.cast(pl.String))
        return texts if series.null_count() else texts.astype(dtype.kind)
    return numpy_like(series, dtype)


def objects(series: pl.Series) -> np.ndarray:
    """An array of Python objects, None where missing."""
    found = np.empty(len(series), object)
    found[:] = series.to_list()
    return found


def numpy_like(series: pl.Series, dtype: np.dtype[Any]) -> np.ndarray | None:
    """`series` as an array of a number, truth or time type; missing integers make it float64.

    None when a value would not survive.
    """
    missing = bool(series.null_count())
    if dtype.kind in "mM":
        if series.dtype.base_type() not in ((pl.Datetime, pl.Date) if dtype.kind == "M" else (pl.Duration,)):
            return None
        if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
            series = series.dt.replace_time_zone(None)
        natural = series.to_numpy()
        cast = natural.astype(dtype)
        finer = np.result_type(natural.dtype, dtype) == dtype  # a finer unit has a shorter range
        return (
            None
            if finer and not np.array_equal(cast.astype(natural.dtype), natural, equal_nan=True)
            else cast
        )
    if dtype.kind == "b":
        truths = series if series.dtype == pl.Boolean else as_bool(series)
        if truths is None:
            return None
        return objects(truths) if missing else truths.to_numpy().astype(bool)
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        return None
    if dtype.kind in "iu":
        if missing:
            return series.cast(pl.Float64).to_numpy()
        values = series.to_numpy()
        if not np.array_equal(cast := values.astype(dtype), values):
            return None
        return cast
    return series.cast(pl.Float64).to_numpy().astype(dtype)


class ArraysEngine:
    """Opens dicts of arrays or lists."""

    def claims(self, table: object) -> bool:
        return isinstance(table, Mapping)

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> ArraysSource:
        label = label or "dict of arrays"
        names = check_names(list(table), label, mend="rename the keys")
        if not names:
            raise InputError(f"{label} has no columns")
        arrays: dict[str, Any] = {}
        nested: dict[str, str] = {}
        for name, values in table.items():
            if isinstance(values, np.ndarray) or (hasattr(values, "__array__") and hasattr(values, "dtype")):
                arrays[name] = np.asarray(values)
                if arrays[name].ndim != 1 or numpy_dtype(arrays[name].dtype) is None:
                    nested[name] = f"{arrays[name].dtype} of {arrays[name].ndim} dimensions"
            elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
                arrays[name] = values
            else:
                raise InputError(f"{label}: column {name!r} is not an array or a list")
        refuse_nested(nested, label)
        lengths = {name: len(values) for name, values in arrays.items()}
        uneven = [name for name in names if lengths[name] != lengths[names[0]]]
        if uneven:
            raise InputError(f"{label}: column {uneven[0]!r} is not as long as column {names[0]!r}")
        if not allow_empty and not lengths[names[0]]:
            raise InputError(f"{label} has no rows")
        columns = tuple(_column(name, values) for name, values in arrays.items())
        return ArraysSource(arrays, lengths[names[0]], label, columns, tuple(same_but_for_case(names)))


def _column(name: str, values: Any) -> SourceColumn:
    dtype = (numpy_dtype(values.dtype) if isinstance(values, np.ndarray) else None) or pl.String()
    return SourceColumn(name, dtype, storage=storage_word(dtype) or "string")


engines.register("arrays")(ArraysEngine())

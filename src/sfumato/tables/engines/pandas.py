"""pandas frames, without pyarrow being needed (pandas is touched only when the caller hands a frame in).

Types come from the columns' dtypes, never from their cells: object columns are read as text, value by
value. The index is not a column.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from attrs import define, frozen

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.engines.arrays import numpy_like, objects
from sfumato.tables.engines.arrow import readable_type
from sfumato.tables.frames import block_rows, check_cells, refuse_nested
from sfumato.tables.names import check_names, same_but_for_case
from sfumato.tables.restore import ANYTHING, as_bool, series_like
from sfumato.tables.source import SourceColumn, block_dtype, engines, storage_word, zone_name
from sfumato.tables.texts import numpy_dtype, numpy_series, text_series

if TYPE_CHECKING:
    import pandas as pd


@define(slots=False, eq=False, repr=False)
class PandasSource:
    """A pandas DataFrame; `_places` maps a column's name to its position."""

    _table: pd.DataFrame
    _places: dict[str, int]
    label: str
    columns: tuple[SourceColumn, ...]
    notes: tuple[str, ...]

    kind = "pandas"

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """See `Source.blocks`."""
        wanted = list(self._places if columns is None else columns)
        dtypes = {column.name: column.dtype for column in self.columns}
        step = block_rows(len(wanted))
        for start in range(0, len(self._table), step):
            parts = {}
            for name in wanted:
                part = self._table.iloc[start : start + step, self._places[name]]
                parts[name] = _series(part).cast(dtypes[name])
            yield pl.DataFrame(parts)

    def check_rows(self) -> None:
        """InputError for a column whose cells cannot be read."""
        check_cells(self)

    @property
    def restore(self) -> PandasRestore:
        dtypes = [_without_labels(dtype) for dtype in self._table.dtypes]
        kinds = zip(self._places, self._table.columns.tolist(), dtypes, strict=True)
        return PandasRestore({name: (label, dtype) for name, label, dtype in kinds}, self._table.columns.name)


@frozen
class PandasRestore:
    """Gives a pandas frame with the source's column labels and dtypes, where those can hold the values."""

    _kinds: dict[str, tuple[Any, Any]]
    _axis: Any

    def __call__(self, frame: pl.DataFrame) -> pd.DataFrame:
        import pandas as pd

        found, labels = {}, []
        for number, name in enumerate(frame.columns):
            series = frame.get_column(name)
            label, dtype = self._kinds.get(name, (name, None))
            found[number] = _natural(series) if dtype is None else _restored(series, dtype)
            labels.append(label)
        restored = pd.DataFrame(found, index=pd.RangeIndex(frame.height))
        restored.columns = pd.Index(labels, name=self._axis)
        return restored


def _dtype(dtype: Any) -> tuple[pl.DataType, str] | None:
    """Block type and storage word of a pandas dtype; None when its cells are not single values."""
    import pandas as pd

    if isinstance(dtype, np.dtype):
        found = numpy_dtype(dtype)
    elif isinstance(dtype, pd.CategoricalDtype):
        return pl.String(), "categorical"
    elif isinstance(dtype, pd.DatetimeTZDtype):
        unit = dtype.unit if dtype.unit in ("ms", "us", "ns") else "ms"
        found = pl.Datetime(unit, zone_name(dtype.tz))
    elif isinstance(dtype, pd.SparseDtype):
        return _dtype(dtype.subtype)
    elif isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        found = pl.Series(pl.from_arrow(pa.array([], readable_type(dtype.pyarrow_dtype)))).dtype
        word = storage_word(found)
        return None if word is None else (block_dtype(found), word)
    elif hasattr(dtype, "numpy_dtype"):  # nullable integers, floats and truths
        found = numpy_dtype(dtype.numpy_dtype)
    else:  # strings, periods, intervals, what other packages define
        found = pl.String()
    word = None if found is None else storage_word(found)
    return None if found is None or word is None else (found, word)


def _series(column: pd.Series) -> pl.Series:
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return numpy_series(column.to_numpy())
    if isinstance(dtype, pd.CategoricalDtype):
        labels = text_series(dtype.categories.tolist())
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
        return labels.gather(codes.set(codes < 0, None))
    if isinstance(dtype, pd.DatetimeTZDtype):
        instants = numpy_series(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return instants.dt.replace_time_zone("UTC").dt.convert_time_zone(zone_name(dtype.tz))
    if isinstance(dtype, pd.ArrowDtype):
        array = column.array.__arrow_array__()
        return pl.Series(pl.from_arrow(array.cast(readable_type(array.type))))
    if getattr(dtype, "storage", "") == "pyarrow":
        return pl.Series(pl.from_arrow(column.array.__arrow_array__()))
    if isinstance(dtype, pd.SparseDtype):
        return numpy_series(np.asarray(column.array))
    missing = column.isna().to_numpy()
    if hasattr(dtype, "numpy_dtype"):
        filler = False if dtype.numpy_dtype.kind == "b" else 0
        values = numpy_series(column.to_numpy(dtype.numpy_dtype, na_value=filler))
        return values.set(pl.Series(missing), None)
    values = column.to_numpy(object).copy()
    values[missing] = None
    return text_series(values.tolist())


def _natural(series: pl.Series) -> Any:
    if series.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Date):
        return objects(series)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        return _zoned(series, series.dtype.time_zone)
    return objects(series) if series.dtype == pl.Boolean and series.null_count() else series.to_numpy()


def _zoned(series: pl.Series, zone: Any) -> Any:
    import pandas as pd

    instants = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
    return pd.DatetimeIndex(instants).tz_localize("UTC").tz_convert(zone).array


def _restored(series: pl.Series, dtype: Any) -> Any:
    """The values as an array of a pandas dtype, or of a dtype that can hold them."""
    try:
        return _typed(series, dtype)
    except ANYTHING:  # whatever a dtype refuses: the rows are paid for
        return _natural(series)


def _typed(series: pl.Series, dtype: Any) -> Any:
    import pandas as pd

    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    if isinstance(dtype, np.dtype):
        if dtype.kind == "O":
            return pd.Series(objects(series), dtype=object)
        values = numpy_like(series, dtype)
        return _natural(series) if values is None else values
    if isinstance(dtype, pd.CategoricalDtype):
        return _categorical(series, dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        zoned = series_like(series, pl.Datetime("us", zone_name(dtype.tz)))
        if not isinstance(zoned.dtype, pl.Datetime) or zoned.dtype.time_zone is None:
            return _natural(series)
        return _zoned(zoned, dtype.tz).astype(dtype)
    if isinstance(dtype, pd.StringDtype):
        texts = series if series.dtype == pl.String else series.cast(pl.String)
        return pd.Series(objects(texts), dtype=dtype).array
    truths = as_bool(series) if dtype == "boolean" and series.dtype != pl.Boolean else series
    return pd.array(objects(series if truths is None else truths), dtype=dtype)


def _without_labels(dtype: Any) -> Any:
    """A categorical dtype without its list, which may have been read off the rows; others as they are."""
    import pandas as pd

    if not isinstance(dtype, pd.CategoricalDtype):
        return dtype
    return pd.CategoricalDtype(dtype.categories[:0].copy(deep=True), ordered=dtype.ordered)


def _categorical(series: pl.Series, dtype: pd.CategoricalDtype) -> Any:
    """A categorical of the labels that occur, sorted, of the caller's type of label where that holds them.

    Texts lose the order that the caller gave them: it would have to be looked up in the caller's list.
    """
    import pandas as pd

    texts = series.cast(pl.String)
    present = texts.drop_nulls().unique().sort()
    codes = texts.cast(pl.Enum(present)).to_physical().cast(pl.Int32).fill_null(-1).to_list()
    labels = _labels(present, dtype.categories.dtype)
    if labels is None:
        return pd.Categorical.from_codes(codes, categories=pd.Index(objects(present)))
    found = pd.Categorical.from_codes(codes, categories=labels)
    return found.reorder_categories(labels.sort_values(), ordered=bool(dtype.ordered))


def _labels(texts: pl.Series, dtype: Any) -> pd.Index | None:
    """Numbers, times or truths from their texts; None when `dtype` is another one or cannot hold them."""
    import pandas as pd

    if dtype.kind == "b":
        truths = as_bool(texts)
        found = None if truths is None else pd.Index(truths.to_numpy())
    elif dtype.kind in "iufmM":
        try:
            found = pd.Index(objects(texts)).astype(dtype)
        except (TypeError, ValueError, OverflowError):
            return None
    else:
        return None
    return found if found is not None and found.is_unique else None


class PandasEngine:
    """Opens pandas frames."""

    def claims(self, table: object) -> bool:
        pd = sys.modules.get("pandas")
        return pd is not None and isinstance(table, pd.DataFrame)

    def open(self, table: Any, *, dialect: CsvDialect, label: str | None, allow_empty: bool) -> PandasSource:
        label = label or "data frame"
        labels = table.columns.tolist()
        numbered = [str(name) if _whole(name) else name for name in labels]
        names = check_names(numbered, label, mend="rename the columns of the frame")
        if not names:
            raise InputError(f"{label} has no columns")
        kinds = {name: _dtype(dtype) for name, dtype in zip(names, table.dtypes, strict=True)}
        types = dict(zip(names, map(str, table.dtypes), strict=True))
        refuse_nested({name: types[name] for name, kind in kinds.items() if kind is None}, label)
        if not allow_empty and not len(table):
            raise InputError(f"{label} has no rows")
        columns = tuple(
            SourceColumn(name, kind[0], storage=kind[1]) for name, kind in kinds.items() if kind is not None
        )
        notes = same_but_for_case(names)
        if numbered != labels:
            notes.append("columns labelled with whole numbers are called by their text")
        places = {name: place for place, name in enumerate(names)}
        return PandasSource(table, places, label, columns, tuple(notes))


def _whole(name: object) -> bool:
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


engines.register("pandas")(PandasEngine())

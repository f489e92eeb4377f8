"""What a column is taken for when no schema says so; decided by the real rows.

A column is a number when at least nine of ten cells that are not empty read as one and it has more than
`FEW` different values, or half of them do, with more than `MANY`, and the others hold no more than `CODES`
different texts, which are codes then; else a category. Texts with a leading zero are codes, not numbers.
Texts in ISO 8601 are dates. A column of texts most of which differ, and whole numbers all of which differ
where chance would repeat some, are keys: not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from sfumato.domain.reading import is_textual, present, to_floats

if TYPE_CHECKING:
    import polars as pl

    from sfumato.domain.column import Column
    from sfumato.domain.measured import Measured

FEW = 10
MANY = 50
CODES = 3
READABLE = 0.9
UNLIKELY = 5.0
"""Minus the logarithm of the chance, below 1 %, at which numbers that all differ are taken for a key."""
_ISO_DAY = r"^\s*\d{4}-\d{2}-\d{2}\s*$"
_ISO_MOMENT = r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"


@frozen
class Sort:
    """How cells are to be read: `what` is "number", "labels", "numeric labels" or "ignored" with a `reason`.

    `reader`: a kind of date or time that numbers are read by, or facts that the schema declares. `codes`:
    texts that stand among numbers for something else, such as "N" for not applicable.
    """

    what: str
    reader: Column | None = None
    reason: str = ""
    codes: tuple[str, ...] = ()


def sort_of(series: pl.Series) -> Sort:
    """What the cells of a real column are taken for."""
    import polars as pl

    from sfumato.domain.kinds import Date, Datetime, Duration

    dtype = series.dtype
    if dtype == pl.Date:
        return Sort("number", Date(series.name))
    if dtype == pl.Datetime:
        return Sort("number", Datetime(series.name))
    if dtype == pl.Duration:
        return Sort("number", Duration(series.name))
    if dtype == pl.Boolean:
        return Sort("labels")
    if dtype.is_numeric():
        return _numeric(*to_floats(series), share=1.0)
    if is_textual(series):
        return _textual(series)
    return Sort("labels")


def _numeric(values: np.ndarray, known: np.ndarray, *, share: float) -> Sort:
    values = values[known]
    different = np.unique(values)
    if different.size <= FEW or share < READABLE:
        return Sort("numeric labels")
    if different.size == values.size > MANY and _is_key(different):
        return Sort("ignored", reason="its whole numbers are all different, as those of a key are")
    return Sort("number")


def _is_key(different: np.ndarray) -> bool:
    """Whether so many whole numbers in such a range would hardly all differ if they were not given out to
    differ: n even draws of R do with probability about exp(-n²/2R), uneven ones with less.
    """
    if not np.isfinite(different).all() or (different != np.rint(different)).any():
        return False
    span = float(different[-1] - different[0]) + 1
    return different.size**2 / (2 * span) > UNLIKELY


def _textual(series: pl.Series) -> Sort:
    import polars as pl

    texts = series.drop_nulls()
    texts = texts.filter(texts != "")
    if not len(texts):
        return Sort("labels")
    different = texts.unique()
    head = different.head(1000)
    if head.str.contains(r"^\s*[+-]?0\d").any():
        return _labels(texts, different)
    if to_floats(head)[1].mean() >= READABLE / 2:
        values, known = to_floats(texts)
        if known.mean() >= READABLE:
            return _numeric(values, known, share=float(known.mean()))
        codes = texts.filter(pl.Series(~known)).unique().sort().to_list()
        if len(codes) <= CODES and known.mean() >= 0.5 and np.unique(values[known]).size > MANY:
            return Sort("number", codes=tuple(codes))
    moment = _moment(series.name, different)
    return Sort("number", moment) if moment is not None else _labels(texts, different)


def _moment(name: str, different: pl.Series) -> Measured | None:
    from sfumato.domain.kinds import Date, Datetime

    for pattern, facts in ((_ISO_DAY, Date(name)), (_ISO_MOMENT, Datetime(name))):
        if different.head(1000).str.contains(pattern).mean() == 1:
            known = facts.read(different)[1]
            if known.mean() >= READABLE and len(different) > FEW:
                return facts
    return None


def _labels(texts: pl.Series, different: pl.Series) -> Sort:
    if len(different) > MANY and len(different) > len(texts) / 2:
        return Sort("ignored", reason="most of its texts differ from row to row")
    return Sort("labels")


def filled(series: pl.Series) -> np.ndarray:
    """Which cells hold anything: neither null, nor NaN, nor the empty text."""
    found = present(series)
    if series.dtype.is_float():
        return found & ~np.isnan(series.fill_null(np.nan).to_numpy())
    if is_textual(series):
        return found & (series != "").fill_null(value=False).to_numpy()
    return found

"""Fixing a column to a value: which codes may be drawn, and the value to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.domain.codecs import Codec, ValuesCodec
from sfumato.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

LISTED = 20
"""Values that a message lists."""


class Maker(Protocol):
    """Writes the fixed value in every row."""

    def __call__(self, rows: int, *, text: bool) -> pl.Series: ...


def condition(codec: Codec, value: Any) -> tuple[npt.NDArray[np.bool_], Maker | None]:
    """Mask of the codes that hold `value` (text or a plain value; None or "" for missing), and how to
    write it.

    In a cell wider than one value the value itself is written, not a draw from the cell.
    """
    missing = value is None or value == ""
    series = _series(codec.column, value, missing=missing)
    code = int(codec.encode(series)[0])
    mask = np.zeros(codec.size, dtype=bool)
    mask[code] = True
    if not codec.allowed[code] or (code == 0 and not missing) or not _names(codec, code, series):
        labels = [label for label, may in zip(codec.labels(), codec.allowed, strict=True) if may]
        more = f" and {len(labels) - LISTED} more" if len(labels) > LISTED else ""
        raise UsageError(
            f"column {codec.column!r} cannot be {'missing' if missing else repr(str(value))}",
            mend=f"it may be one of: {', '.join(labels[:LISTED])}{more}",
        )
    if isinstance(codec, ValuesCodec) or code < codec.atoms:
        return mask, None
    facts = codec.facts
    units, _ = facts.parse(series)

    def make(rows: int, *, text: bool) -> pl.Series:
        return facts.render(np.repeat(units, rows), text=text)

    return mask, make


def _series(column: str, value: Any, *, missing: bool) -> pl.Series:
    """The value as a column of length one; a text is read as a cell of a text file is."""
    import polars as pl

    if missing or isinstance(value, str):
        return pl.Series(column, [None if missing else value], dtype=pl.String)
    try:
        return pl.Series(column, [value])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(column, [str(value)], dtype=pl.String)


def _names(codec: Codec, code: int, series: pl.Series) -> bool:
    """Whether `code` stands for the value itself, not for what lies outside the bounds or for the rest."""
    if isinstance(codec, ValuesCodec):
        return not codec.other or code != codec.size - 1 or series[0] == codec.labels()[code]
    if code < codec.atoms:
        return True
    unit = int(codec.facts.parse(series)[0][0])
    return codec.edges[0] <= unit < codec.edges[-1]

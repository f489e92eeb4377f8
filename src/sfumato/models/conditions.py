"""Fixing a column to a value: which codes may be drawn, and the value to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.domain.codecs import Codec, ValuesCodec
from sfumato.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


class Maker(Protocol):
    """Writes the fixed value in every row."""

    def __call__(self, rows: int, *, text: bool) -> pl.Series: ...


def condition(codec: Codec, value: Any) -> tuple[npt.NDArray[np.bool_], Maker | None]:
    """Mask of the codes that hold `value` (text or a plain value; None or "" for missing), and how to
    write it.

    In a cell wider than one value the value itself is written, not a draw from the cell.
    """
    import polars as pl

    missing = value is None or value == ""
    series = pl.Series(codec.column, [None if missing else str(value)], dtype=pl.String)
    code = int(codec.encode(series)[0])
    mask = np.zeros(codec.size, dtype=bool)
    mask[code] = True
    if not codec.allowed[code] or (code == 0 and not missing):
        raise UsageError(
            f"column {codec.column!r} cannot be {str(value)!r}",
            mend=f"it may be one of: {', '.join(codec.labels()[:20])}",
        )
    if isinstance(codec, ValuesCodec) or code < codec.atoms:
        return mask, None
    facts = codec.facts
    units, _ = facts.parse(series)

    def make(rows: int, *, text: bool) -> pl.Series:
        return facts.render(np.repeat(units, rows), text=text)

    return mask, make

"""Neighbouring tables divided alike: what decides the part of a row is its content, for tests of replays.

In a run every row falls into a part of its own, by chance. To compare what is read from two tables, rows that
they share must fall alike; so a secret of the recording and the row itself decide, which has the same law.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.privacy import division


@contextmanager
def parts_by_content(secret: bytes) -> Generator[None, None, None]:
    """Inside, rows are divided by `secret`, their content, and the number of equal rows before them."""
    before = division.draw_labels

    def labels(source: Any, count: int, ends: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
        if source is None:
            raise AssertionError("the rows changed while they were being read")
        return _labels(source, secret, ends)

    division.draw_labels = labels
    try:
        yield
    finally:
        division.draw_labels = before


def _labels(source: Any, secret: bytes, ends: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    import polars as pl

    names = [column.name for column in source.columns]
    blocks = [block.select(pl.all().cast(pl.String, strict=False)) for block in source.blocks(names)]
    if not blocks:
        return np.zeros(0, dtype=np.uint8)
    frame = pl.concat(blocks)
    key = int.from_bytes(secret[:8], "little")
    again = frame.select(pl.struct(names).hash(key).alias("row"))
    place = again.select(pl.int_range(pl.len()).over("row").alias("place"))["place"]
    drawn = again.with_columns(place).select(pl.struct("row", "place").hash(key ^ 1)).to_series().to_numpy()
    return np.searchsorted(ends, drawn >> np.uint64(11), side="right").astype(np.uint8)

"""At most m rows of each person, chosen by the secure generator of the operating system.

When the unit of privacy is a person, what a person can change is bounded only if the rows beyond the
m-th are left out. Every row gets its own random key and a person's rows with the m smallest keys stay:
a uniform choice, independent of all other persons, fixed for the life of the limiter. Rows without an
id belong to nobody and are left out.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.errors import InputError, UsageError
from sfumato.tables.source import Source
from sfumato.tables.texts import as_text

_IDS_AT_ONCE = 1 << 24


class RowLimiter:
    """Which rows of a source stay: the same ones in every pass."""

    def __init__(self, source: Source, kept: npt.NDArray[np.uint8], rows: int) -> None:
        self.source = source
        self.rows = rows
        self._kept = kept

    def mask(self, start: int, stop: int) -> pl.Series:
        """Whether each of the rows start … stop-1 of the source stays."""
        low = start // 8
        bits = np.unpackbits(self._kept[low : (stop + 7) // 8])[start - 8 * low : stop - 8 * low]
        if bits.size != stop - start:
            raise InputError(f"{self.source.label} changed while it was being read")
        return pl.Series(bits.astype(bool))


def keep_at_most(source: Source, column: str, m: int, *, ids_at_once: int = _IDS_AT_ONCE) -> RowLimiter:
    """Choose at most `m` rows of each id in `column`; ids are the same when their texts are.

    Reads the id column once; once more for each doubling needed to hold about `ids_at_once` ids and
    row numbers at a time.
    Raises InputError when there is no such column, UsageError when m < 1.
    """
    if m < 1:
        raise UsageError(f"at most {m} rows of a person leave nothing to count", mend="use 1 or more")
    if column not in [entry.name for entry in source.columns]:
        raise InputError(f"{source.label} has no column {column!r} for the ids of persons")
    parts = 1
    while (kept := _choose(source, column, m, parts, ids_at_once)) is None:
        parts *= 2
    return RowLimiter(source, np.packbits(kept), kept.size)


def _choose(source: Source, column: str, m: int, parts: int, most: int) -> npt.NDArray[np.bool_] | None:
    """The rows that stay, working on one part of the ids after the other; None if a part is too large."""
    seed = int.from_bytes(os.urandom(8), "little")  # which ids share a part is nobody's to choose
    kept: list[npt.NDArray[np.int64]] = []
    rows = 0
    for part in range(parts):
        frames: list[pl.DataFrame] = []
        rows = held = 0
        for block in source.blocks([column]):
            ids = block.get_column(column)
            ids = ids if ids.dtype.is_integer() else as_text(ids)
            entry = pl.DataFrame({"id": ids, "row": pl.int_range(rows, rows + ids.len(), eager=True)})
            rows += ids.len()
            entry = entry.filter(pl.col("id").is_not_null())
            if parts > 1:
                entry = entry.filter(pl.col("id").hash(seed) % parts == part)
            held += entry.height
            if held > most and parts < 1 << 10:
                return None
            frames.append(entry)
        if frames:
            kept.append(_sample(pl.concat(frames), m))
    mask = np.zeros(rows, bool)
    for chosen in kept:
        mask[chosen] = True
    return mask


def _sample(frame: pl.DataFrame, m: int) -> npt.NDArray[np.int64]:
    """Row numbers of a uniform choice of at most m rows for each id."""
    keys = np.frombuffer(os.urandom(8 * frame.height), np.uint64)
    ranked = frame.with_columns(pl.Series("key", keys)).sort("key", maintain_order=True)
    return ranked.group_by("id", maintain_order=False).head(m)["row"].to_numpy()

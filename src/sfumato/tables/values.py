"""How often each text of a column occurs, in memory that grows with the different texts only."""

from __future__ import annotations

import polars as pl

from sfumato.tables.texts import as_text


class TextCounts:
    """Running counts of the texts of one column."""

    def __init__(self, max_length: int) -> None:
        self._max_length = max_length
        self._total = pl.DataFrame(schema={"text": pl.String, "count": pl.Int64})
        self._pending: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, series: pl.Series) -> None:
        """Count one block; missing and overlong texts are left out."""
        found = series.alias("text").drop_nulls().value_counts(name="count")
        counts = found.with_columns(as_text(found["text"]), pl.col("count").cast(pl.Int64))
        counts = counts.filter(pl.col("text").str.len_chars() <= self._max_length)  # drops NaN, too
        self._pending.append(counts)
        self._waiting += counts.height
        if self._waiting > max(self._total.height, 1 << 16):
            self._merge()

    def _merge(self) -> None:
        everything = pl.concat([self._total, *self._pending])
        self._total = everything.group_by("text").agg(pl.col("count").sum())
        self._pending, self._waiting = [], 0

    def result(self) -> dict[str, int]:
        """Text -> count, sorted by text."""
        self._merge()
        ordered = self._total.sort("text")
        return dict(zip(ordered["text"].to_list(), ordered["count"].to_list(), strict=True))

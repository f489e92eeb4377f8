"""Columns as learners take them: a matrix of floats, with everything that is learnt learnt from real rows.

`linear`: numbers standardised, a missing number is the mean and has an indicator; categories one-hot, with
the `LEVELS` most common labels each. `trees`: numbers as they are, a missing number below all others,
categories by the order of their share in the real table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.evaluation.pair import Pair, PairedColumn, Side

LEVELS = 30
FEATURES = 2_000
"""About so many features at most: a wide table has fewer labels of each category."""
Matrix = npt.NDArray[np.float64]


@frozen(eq=False)
class Features:
    """How columns become a matrix; made from the real rows of a pair, used for every side and every part."""

    pair: Pair
    names: tuple[str, ...]
    levels: int = LEVELS

    def linear(self, side: Side, rows: npt.NDArray[np.integer] | None = None) -> Matrix:
        """Rows x features, numbers with mean 0 and deviation 1 in the real table, and one-hot categories."""
        parts = [self._linear(self.pair[name], side, rows) for name in self.names]
        return np.concatenate(parts, axis=1) if parts else np.zeros((self._height(side, rows), 0))

    def trees(self, side: Side, rows: npt.NDArray[np.integer] | None = None) -> Matrix:
        """Rows x columns."""
        parts = [self._tree(self.pair[name], side, rows) for name in self.names]
        return np.column_stack(parts) if parts else np.zeros((self._height(side, rows), 0))

    def _height(self, side: Side, rows: npt.NDArray[np.integer] | None) -> int:
        return self.pair.rows(side) if rows is None else len(rows)

    def _linear(self, column: PairedColumn, side: Side, rows: npt.NDArray[np.integer] | None) -> Matrix:
        codes = _cut(column.codes(side), rows)
        if column.is_number:
            values = _cut(column.values(side), rows)
            real = column.values("real")
            real = real[~np.isnan(real)]
            mean, spread = (real.mean(), real.std() or 1.0) if real.size else (0.0, 1.0)
            unknown = np.isnan(values)
            made = np.where(unknown, 0.0, (values - mean) / spread)
            parts = [made[:, None]]
            if any(np.isnan(column.values(each)).any() for each in column.cells):
                parts.append(unknown.astype(np.float64)[:, None])
            return np.concatenate(parts, axis=1)
        counts = column.counts("real")
        common = np.argsort(-counts, kind="stable")[: self.levels]
        common = common[counts[common] > 0]
        if common.size == 2 and counts.sum() == counts[common].sum():
            common = common[1:]
        return (codes[:, None] == common).astype(np.float64)

    def _tree(self, column: PairedColumn, side: Side, rows: npt.NDArray[np.integer] | None) -> Matrix:
        if column.is_number:
            values = _cut(column.values(side), rows)
            real = column.values("real")
            known = real[~np.isnan(real)]
            low = known.min() if known.size else 0.0
            return np.where(np.isnan(values), low - 1 - abs(low), values)
        rank = np.empty(column.size)
        rank[np.argsort(-column.counts("real"), kind="stable")] = np.arange(column.size)
        return rank[_cut(column.codes(side), rows)]


def features(pair: Pair, *, without: Sequence[str] = (), levels: int = LEVELS) -> Features:
    """The features of all columns but those named."""
    names = tuple(column.name for column in pair if column.name not in without)
    return Features(pair, names, min(levels, max(FEATURES // max(len(names), 1), 1)))


def _cut(values: np.ndarray, rows: npt.NDArray[np.integer] | None) -> np.ndarray:
    return values if rows is None else values[rows]

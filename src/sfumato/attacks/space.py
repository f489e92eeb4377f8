"""Records as points, and how far apart they are.

The squared distance of two records is the number of categories in which they differ, plus the squared
differences of their numbers, in units of about the range that most of the column fills; beyond one unit
from the median a number counts by its logarithm, so that no tail decides alone. A missing cell or a special
code is a category of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.evaluation.pair import Pair, PairedColumn, Side

Floats32 = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


@frozen(eq=False)
class Points:
    """Records of one side: `numbers`, one row a number; `codes`, one row a category (or the state of a
    number).

    `columns` says which column each row of the two belongs to.
    """

    numbers: Floats32
    codes: npt.NDArray[np.int32]
    columns: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

    def __len__(self) -> int:
        return int(self.numbers.shape[1])

    def take(self, places: Places | slice) -> Points:
        """The records at some places."""
        return Points(self.numbers[:, places], self.codes[:, places], self.columns)

    def parts(self, column: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rows of `numbers` and of `codes` that belong to one column."""
        numbers, codes = self.columns
        return np.flatnonzero(numbers == column), np.flatnonzero(codes == column)


@frozen(eq=False)
class Space:
    """Turns records into points. `middle`, `unit`: by column, for numbers."""

    pair: Pair
    middle: npt.NDArray[np.float64]
    unit: npt.NDArray[np.float64]

    @classmethod
    def of(cls, pair: Pair) -> Space:
        """Units from what an attacker knows of other people: the hold-out rows."""
        middle, unit = np.zeros(len(pair.columns)), np.ones(len(pair.columns))
        for i, column in enumerate(pair.columns):
            if column.is_number:
                values = column.values("holdout")
                middle[i], unit[i] = _scale(values[np.isfinite(values)])
        return cls(pair, middle, unit)

    def points(self, side: Side, places: Places | None = None) -> Points:
        """The records of a side, or those at some places of it."""
        count = self.pair.rows(side) if places is None else len(places)
        numbers: list[Floats32] = []
        codes: list[npt.NDArray[np.int32]] = []
        of_numbers: list[int] = []
        of_codes: list[int] = []
        for i, column in enumerate(self.pair.columns):
            if column.is_number:
                values = column.values(side) if places is None else column.values(side)[places]
                numbers.append(self.placed(i, values))
                of_numbers.append(i)
            if (state := _state(column, side, places)) is not None:
                codes.append(state)
                of_codes.append(i)
        return Points(
            np.stack(numbers) if numbers else np.zeros((0, count), np.float32),
            np.stack(codes) if codes else np.zeros((0, count), np.int32),
            (np.array(of_numbers, np.int64), np.array(of_codes, np.int64)),
        )

    def placed(self, i: int, values: npt.NDArray[np.float64]) -> Floats32:
        """Where numbers of column `i` lie, in its units; a missing one in the middle."""
        far = (np.nan_to_num(values, nan=self.middle[i]) - self.middle[i]) / self.unit[i]
        size = np.abs(far)
        return np.where(size <= 1, far, np.sign(far) * (1 + np.log(np.maximum(size, 1)))).astype(np.float32)


def _scale(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Median and unit. The unit is the range of nine tenths of the rows, or two standard deviations where
    that is more (a column most of which is one value has a range of 0), but at most ten such ranges.
    """
    if not values.size:
        return 0.0, 1.0
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    inner, spread = float(high - low), 2 * float(values.std())
    unit = max(inner, min(spread, 10 * inner) if inner > 0 else spread)
    return float(middle), unit if 0 < unit < np.inf else 1.0


def _state(column: PairedColumn, side: Side, places: Places | None) -> npt.NDArray[np.int32] | None:
    """Labels of a category; of a number 0 where it has a value, else its code; None if that is 0 always."""
    codes = column.codes(side) if places is None else column.codes(side)[places]
    if not column.is_number:
        return codes.astype(np.int32, copy=False)
    if all(int(each.codes.max(initial=0)) < column.bins for each in column.cells.values()):
        return None
    values = column.values(side) if places is None else column.values(side)[places]
    return np.where(np.isnan(values), codes + 1, 0).astype(np.int32)

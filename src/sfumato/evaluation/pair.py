"""Real, synthetic and hold-out rows brought to one common view.

Every column that the tables share is a number or a category. Its cells are *codes* 0 … size-1, the same for
all sides: labels of categories, bins of numbers, special codes, and last the code of a missing cell, which
always exists. Numbers have their values as well, NaN where there is none. Bins are chosen by the real rows
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np
import numpy.typing as npt
from attrs import field, frozen

if TYPE_CHECKING:
    from sfumato.domain.column import Column
    from sfumato.schema import Schema

Kind = Literal["number", "category"]
Side = Literal["real", "synthetic", "holdout"]
Codes = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
Persons = npt.NDArray[np.int64]

SIDES: tuple[Side, ...] = ("real", "synthetic", "holdout")


@frozen(eq=False)
class Cells:
    """One column of one table.

    `codes`: a code a row. `values`: numbers as float64, NaN where missing, special, unreadable or infinite;
    None for a category. `unreadable`: how many cells hold something that is not a value of the column's kind;
    they have the code of a missing cell.
    """

    codes: Codes
    values: Values | None = None
    unreadable: int = field(default=0, kw_only=True)


@frozen(eq=False)
class PairedColumn:
    """One column of all tables.

    `labels`: what each code but the last means; for a number first the `bins`, then the special codes.
    `cells`: by side. `facts`: what the schema says of it. `spell`: turns a number into what it stands for (a
    date).
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    cells: Mapping[Side, Cells]
    bins: int = field(default=0, kw_only=True)
    integral: bool = field(default=False, kw_only=True)
    facts: Column | None = field(default=None, kw_only=True, repr=False)
    spell: Callable[[float], str] = field(default="{:.6g}".format, kw_only=True, repr=False)

    @property
    def size(self) -> int:
        """How many codes there are, that of a missing cell included."""
        return len(self.labels) + 1

    @property
    def is_number(self) -> bool:
        """Whether values lie on a line."""
        return self.kind == "number"

    def codes(self, side: Side) -> Codes:
        """The code of each row of a side."""
        return self.cells[side].codes

    def values(self, side: Side) -> Values:
        """The number of each row of a side, NaN where there is none; only for a number."""
        values = self.cells[side].values
        if values is None:
            raise ValueError(f"column {self.name!r} is a category")
        return values

    def missing(self, side: Side) -> npt.NDArray[np.bool_]:
        """Which rows of a side have no value."""
        return self.codes(side) == len(self.labels)

    def counts(self, side: Side) -> npt.NDArray[np.int64]:
        """How many rows have each code."""
        return np.bincount(self.codes(side), minlength=self.size)

    def shares(self, side: Side) -> Values:
        """The share of rows with each code; zeros for a table without rows."""
        counts = self.counts(side)
        return counts / max(counts.sum(), 1)


@frozen(eq=False, kw_only=True)
class Pair:
    """Tables to be compared. `columns`: those that real and synthetic rows share, in the order of the real
    table.

    `absent`: columns that the synthetic table lacks; `extra`: those that only it has; `ignored`: shared
    columns that are not compared, with the reason. `notes`: remarks for the reader. Rows: counts by side,
    None for a hold-out that was not given (`holdout` is used only when it has all columns). `persons`: whose
    a row is, by side, where a column tells persons apart: one number a person, -1 where none is named.
    """

    columns: tuple[PairedColumn, ...]
    real_rows: int
    synthetic_rows: int
    holdout_rows: int | None = None
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    ignored: Mapping[str, str] = field(factory=dict)
    notes: tuple[str, ...] = ()
    schema: Schema | None = None
    persons: Mapping[Side, Persons] = field(factory=dict)

    def __getitem__(self, name: str) -> PairedColumn:
        """The column called `name`; KeyError when it is not compared."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __iter__(self) -> Iterator[PairedColumn]:
        return iter(self.columns)

    @property
    def numbers(self) -> tuple[PairedColumn, ...]:
        """Columns whose values lie on a line."""
        return tuple(column for column in self.columns if column.is_number)

    @property
    def categories(self) -> tuple[PairedColumn, ...]:
        """The other columns."""
        return tuple(column for column in self.columns if not column.is_number)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Codes of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def has_holdout(self) -> bool:
        """Whether there are hold-out rows."""
        return bool(self.holdout_rows)

    def rows(self, side: Side) -> int:
        """How many rows a side has."""
        return {"real": self.real_rows, "synthetic": self.synthetic_rows}.get(side, self.holdout_rows or 0)

    def codes(self, side: Side) -> list[Codes]:
        """The codes of all columns, one array a column."""
        return [column.codes(side) for column in self.columns]

    def sample(self, rows: int, *, seed: int) -> Pair:
        """The same with at most `rows` rows a side, drawn without replacement; `seed` fixes which.

        Sides with as many rows are cut at the same places: a table beside itself stays so. A share p is off
        by at most `sampling_error(rows, …)` (one standard error) on a side that is cut.
        """
        chosen: dict[Side, npt.NDArray[np.int64] | None] = {}
        for side in SIDES:
            rng, whole = np.random.default_rng(seed), self.rows(side)
            chosen[side] = None if whole <= rows else np.sort(rng.choice(whole, rows, replace=False))
        if all(places is None for places in chosen.values()):
            return self
        return self.take(chosen)

    def take(self, chosen: Mapping[Side, npt.NDArray[np.int64] | None]) -> Pair:
        """The same with the rows at the given places of each side; None keeps a side whole."""

        def cut(column: PairedColumn) -> PairedColumn:
            cells = {side: _taken(each, chosen.get(side)) for side, each in column.cells.items()}
            return attrs.evolve(column, cells=cells)

        def rows(side: Side, whole: int) -> int:
            places = chosen.get(side)
            return whole if places is None else len(places)

        return attrs.evolve(
            self,
            columns=tuple(map(cut, self.columns)),
            real_rows=rows("real", self.real_rows),
            synthetic_rows=rows("synthetic", self.synthetic_rows),
            holdout_rows=None if self.holdout_rows is None else rows("holdout", self.holdout_rows),
            persons={side: ids if (places := chosen.get(side)) is None else ids[places]
                     for side, ids in self.persons.items()},
        )  # fmt: skip

    def only(self, names: Sequence[str]) -> Pair:
        """The same with the named columns, in their order."""
        return attrs.evolve(self, columns=tuple(self[name] for name in names))


def sampling_error(drawn: int, whole: int) -> float:
    """The largest standard error of a share taken from `drawn` of `whole` rows without replacement.

    sqrt(p(1-p)/m · (N-m)/(N-1)) at p = 1/2 (simple random sampling; Cochran, Sampling Techniques, section
    3.2).
    """
    if drawn >= whole or whole < 2:
        return 0.0
    return 0.5 * math.sqrt((whole - drawn) / ((whole - 1) * drawn)) if drawn else math.inf


def _taken(cells: Cells, places: npt.NDArray[np.int64] | None) -> Cells:
    if places is None:
        return cells
    values = None if cells.values is None else cells.values[places]
    return Cells(cells.codes[places], values, unreadable=cells.unreadable)

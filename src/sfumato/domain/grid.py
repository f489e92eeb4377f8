"""A measured column in cells: codes 0 missing, 1 … S special codes, then the cells of the grid in order."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes, code_dtype
from sfumato.domain.measured import Measured, take, with_nulls
from sfumato.domain.reading import LIMIT, Ints

if TYPE_CHECKING:
    import polars as pl

TABLE = 1 << 21
"""Look cells up in a table when the grid spans at most this many units."""

DICTIONARY = 1 << 18
"""Decode by a table of all values when a grid of single units has at most this many codes."""


def _edges(value: Any) -> tuple[int, ...]:
    return tuple(int(edge) for edge in value)


@frozen(slots=False, cache_hash=True)
class GridCodec:
    """Cell i holds the units u with `edges[i] <= u < edges[i+1]`; what lies outside joins the nearest end."""

    facts: Measured
    edges: tuple[int, ...] = field(converter=_edges)

    def __attrs_post_init__(self) -> None:
        if len(self.edges) < 2 or any(a >= b for a, b in pairwise(self.edges)):
            raise ValueError("a grid needs two edges or more, in rising order")
        if self.edges[0] < -LIMIT or self.edges[-1] > LIMIT + 1:
            raise ValueError("the edges of a grid lie within 2**62")

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.facts.name

    @property
    def atoms(self) -> int:
        """Codes before the first cell: missing and the special codes."""
        return 1 + len(self.facts.special_codes)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.atoms + self.cells

    @property
    def ordered(self) -> bool:
        """Cells lie on a line."""
        return True

    @cached_property
    def lows(self) -> Ints:
        """First unit of each cell."""
        return np.array(self.edges[:-1], dtype=np.int64)

    @cached_property
    def widths(self) -> Ints:
        """Units in each cell."""
        return np.array([b - a for a, b in pairwise(self.edges)], dtype=np.int64)

    @cached_property
    def _banned(self) -> dict[int, list[int]]:
        """Units of special codes by the cell they fall in: no ordinary value may take them."""
        found: dict[int, list[int]] = {}
        for unit in sorted(unit for unit in self.facts.special_units if unit is not None):
            if self.edges[0] <= unit < self.edges[-1]:
                found.setdefault(int(np.searchsorted(self.lows, unit, side="right")) - 1, []).append(unit)
        return found

    @cached_property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """Which codes a synthetic row may have."""
        mask = np.ones(self.size, dtype=np.bool_)
        mask[0] = self.facts.nullable
        for cell, units in self._banned.items():
            mask[self.atoms + cell] = len(units) < self.widths[cell]
        return mask

    def width(self, code: int) -> int:
        """How many units the code stands for; 1 for an atom."""
        return 1 if code < self.atoms else int(self.widths[code - self.atoms])

    # encoding -----------------------------------------------------------------------------------

    @cached_property
    def _step(self) -> int:
        """The width of the cells when they are all alike, else 0."""
        return int(self.widths[0]) if bool((self.widths == self.widths[0]).all()) else 0

    @cached_property
    def _table(self) -> Codes | None:
        if self.edges[-1] - self.edges[0] > TABLE:
            return None
        return np.repeat(np.arange(self.cells, dtype=code_dtype(self.cells)), self.widths)

    def cell_of(self, units: Ints) -> npt.NDArray[np.integer[Any]]:
        """The cell of each unit, clipped to the ends."""
        inside = np.clip(units, self.edges[0], self.edges[-1] - 1)
        if self._step:
            inside -= self.edges[0]
            return inside if self._step == 1 else inside // self._step
        if self._table is not None:
            return self._table[inside - self.edges[0]]
        return np.searchsorted(self.lows, inside, side="right") - 1

    def encode(self, series: pl.Series) -> Codes:
        """Codes of a block of raw values; a value outside the grid joins the nearest end."""
        units, atoms = self.facts.parse(series)
        codes = self.cell_of(units).astype(code_dtype(self.size))
        codes += self.atoms
        special = np.flatnonzero(atoms >= 0)
        codes[special] = atoms[special]
        return codes

    # decoding -----------------------------------------------------------------------------------

    def decode(self, codes: Codes, rng: np.random.Generator, *, text: bool) -> pl.Series:
        """Values of codes: uniform within a cell, null for 0, the special code itself for its atom.

        `text=True` gives texts spelled as declared; else the stored or natural type, which is text when a
        special code is a word.
        """
        codes = np.asarray(codes)
        if self._step == 1 and self.size <= DICTIONARY and len(codes) * 2 > self.size:
            return take(self._dictionary(text=text), codes)
        atom = codes < self.atoms
        cells = np.where(atom, 0, codes.astype(np.int64) - self.atoms)
        units = self._draw(cells, rng)
        values = self.facts.render(units, text=text)
        if not atom.any():
            return values.alias(self.column)
        return self._with_atoms(values, codes, atom, text=text).alias(self.column)

    def _draw(self, cells: Ints, rng: np.random.Generator) -> Ints:
        if self._step == 1:
            return self.lows.take(cells)
        room = self.widths.copy()
        for cell, units in self._banned.items():
            room[cell] = max(1, room[cell] - len(units))
        most = room.take(cells)
        shares = rng.random(len(cells))
        shares *= most
        units = shares.astype(np.int64)
        most -= 1
        np.minimum(units, most, out=units)
        units += self.lows.take(cells)
        for cell, banned in self._banned.items():
            rows = np.flatnonzero(cells == cell)
            if len(rows) and len(banned) < self.widths[cell]:
                drawn = units[rows]
                for unit in banned:  # rising, so each drawn unit steps over those at or below it
                    drawn += drawn >= unit
                units[rows] = drawn
        return units

    def _with_atoms(
        self, values: pl.Series, codes: Codes, atom: npt.NDArray[np.bool_], *, text: bool
    ) -> pl.Series:
        import polars as pl

        if self.atoms > 1 and bool((atom & (codes > 0)).any()):
            specials = take(self._specials(text=text), np.where(atom, codes, 0))
            values = specials.zip_with(pl.Series(atom), values)
        return with_nulls(values, codes == 0)

    def _specials(self, *, text: bool) -> pl.Series:
        """Missing and the special codes, as they leave."""
        import polars as pl

        keys = pl.Series([None, *self.facts.special_codes], dtype=pl.String)
        if self.facts.leaves_as_text(text=text):
            return keys
        if self.facts.spelled_codes:
            return keys.cast(pl.Int64 if self.facts.storage == "int" else pl.Float64)
        units = np.array([0, *(unit or 0 for unit in self.facts.special_units)], dtype=np.int64)
        return with_nulls(self.facts.render(units, text=False), np.arange(len(units)) == 0)

    def _dictionary(self, *, text: bool) -> pl.Series:
        return self._dictionaries[text]

    @cached_property
    def _dictionaries(self) -> tuple[pl.Series, pl.Series]:
        """Every code of a grid of single units, as it leaves: stored, and as text."""
        import polars as pl

        made = []
        for text in (False, True):
            cells = self.facts.render(self.lows, text=text)
            both = pl.concat([self._specials(text=text).alias(""), cells.alias("")], rechunk=True)
            made.append(both.alias(self.column))
        return made[0], made[1]

    # describing ---------------------------------------------------------------------------------

    def labels(self) -> list[str]:
        """A short text for each code, for display."""
        codes = [f"{key} ({word})" if word else key for key, word in self.facts.special_codes.items()]
        low = self.facts.write(self.lows).to_list()
        high = self.facts.write(self.lows + self.widths - 1).to_list()
        return ["(missing)", *codes, *(a if a == b else f"{a} … {b}" for a, b in zip(low, high, strict=True))]

    def state(self) -> dict[str, Any]:
        """Everything `codec_from_state` needs, JSON-able."""
        facts = self.facts.facts()
        return {"codec": "grid", "column": self.column, "facts": facts, "edges": list(self.edges)}

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map."""
        return self.state()

"""The public alphabet of a column, and of several together: what a row can be, known without looking at any.

Symbols of a column are the codes that a synthetic row may have, or every unit between declared bounds where
those are too many for a grid of cells. A value outside the alphabet has code 0. Alphabets of several columns
are never materialised: their product is a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec, codec_for
from sfumato.domain.column import Column
from sfumato.domain.encoder import Codes, code_dtype
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import Measured

if TYPE_CHECKING:
    import polars as pl

    from sfumato.schema import Schema

OUTSIDE = 0
"""Code of a value that is not in the alphabet."""


@frozen(slots=False, cache_hash=True)
class CodeSymbols:
    """The allowed codes of a codec, as 1 … symbols."""

    codec: Codec

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.codec.column

    @property
    def size(self) -> int:
        """Number of codes: one for each symbol, and one for everything else."""
        return 1 + self.codes.size

    @cached_property
    def codes(self) -> npt.NDArray[np.int64]:
        """Codes of the codec, in the order of the symbols."""
        return np.flatnonzero(self.codec.allowed)

    @cached_property
    def _symbols(self) -> Codes:
        found = np.zeros(self.codec.size, dtype=code_dtype(self.size))
        found[self.codes] = np.arange(1, self.size)
        return found

    def encode(self, series: pl.Series) -> Codes:
        """Symbols of a block of raw values, 0 outside the alphabet."""
        return self._symbols[self.codec.encode(series)]

    def decode(self, symbols: npt.NDArray[np.int64], *, text: bool) -> pl.Series:
        """Values of the symbols 1 …"""
        return self.codec.decode(self.codes[symbols - 1], np.random.default_rng(0), text=text)

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map."""
        return {"symbols": self.size - 1, **self.codec.describe()}


@frozen(slots=False, cache_hash=True)
class UnitSymbols:
    """Missing if the column is nullable, the special codes, then every unit between the bounds."""

    facts: Measured = field()

    @facts.validator
    def _check(self, _: object, facts: Measured) -> None:
        if facts.unit_bounds() is None:
            raise ValueError("an alphabet of units needs bounds")

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.facts.name

    @cached_property
    def _ends(self) -> tuple[int, int]:
        bounds = self.facts.unit_bounds()
        assert bounds is not None
        return bounds

    @cached_property
    def _taken(self) -> npt.NDArray[np.int64]:
        """Units inside the bounds that are special codes, so that no ordinary value has them."""
        low, high = self._ends
        units = {unit for unit in self.facts.special_units if unit is not None and low <= unit <= high}
        return np.array(sorted(units), dtype=np.int64)

    @property
    def _atoms(self) -> int:
        return len(self.facts.special_codes) + self.facts.nullable

    @property
    def size(self) -> int:
        """Number of codes: one for each symbol, and one for everything else."""
        low, high = self._ends
        return 1 + self._atoms + high - low + 1 - self._taken.size

    def encode(self, series: pl.Series) -> Codes:
        """Symbols of a block of raw values, 0 outside the alphabet; numbers beyond the bounds join the
        ends.
        """
        units, atoms = self.facts.parse(series)
        low, high = self._ends
        held = np.clip(units, low, high)
        symbols = held - low - np.searchsorted(self._taken, held, side="left") + self._atoms + 1
        # An end that is a special code has its neighbour's symbol, or lies beyond the last one.
        symbols = np.minimum(symbols, self.size - 1)
        special = atoms >= 0
        symbols[special] = np.where(
            atoms[special] > 0, atoms[special] + self.facts.nullable, int(self.facts.nullable)
        )
        return symbols

    def decode(self, symbols: npt.NDArray[np.int64], *, text: bool) -> pl.Series:
        """Values of the symbols 1 …"""
        low, high = self._ends
        ordinary = symbols > self._atoms
        units = np.where(ordinary, symbols - self._atoms - 1 + low, low)
        for taken in self._taken:  # rising, so that each unit steps over those at or below it
            units += units >= taken
        values = self.facts.render(np.clip(units, low, high), text=text)
        if ordinary.all():
            return values.alias(self.column)
        import polars as pl

        cells = GridCodec(self.facts, (low, high + 1))
        codes = np.where(ordinary, cells.atoms, symbols - self.facts.nullable)
        atoms = cells.decode(codes, np.random.default_rng(0), text=text)
        return values.zip_with(pl.Series(ordinary), atoms.cast(values.dtype)).alias(self.column)

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map."""
        return {"symbols": self.size - 1, "column": self.column, "facts": self.facts.facts()}


Symbols = CodeSymbols | UnitSymbols


def symbols_of(facts: Column) -> Symbols | None:
    """The alphabet of a column, from its facts alone; None where these do not tell it."""
    if isinstance(facts, Categorical) and facts.open_set and facts.public_values:
        return CodeSymbols(ValuesCodec(facts, facts.public_values, other=True))
    codec = codec_for(facts)
    if codec is not None:
        return CodeSymbols(codec)
    if isinstance(facts, Measured) and facts.modelled and facts.unit_bounds() is not None:
        return UnitSymbols(facts)
    return None


def alphabet_size(axes: Sequence[Symbols]) -> int:
    """Number of symbols of several columns together."""
    return math.prod(axis.size - 1 for axis in axes)


def alphabet_of(schema: Schema) -> int | None:
    """Number of possible rows, over the columns that are learned; None where the schema leaves one open."""
    axes = [symbols_of(column) for column in schema.columns if column.modelled]
    return None if any(axis is None for axis in axes) else alphabet_size([axis for axis in axes if axis])

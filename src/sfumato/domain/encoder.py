"""The contract between what is counted and what counts it.

An encoder is a public map from one raw column to small integers, row by row: the code of a row depends
on that row and on public facts alone. A table of counts over one or more encoders is the only thing
that is ever computed from private rows (apart from the values of an open category, see
`sfumato.privacy.partitions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Codes = npt.NDArray[np.integer[Any]]


class Encoder(Protocol):
    """A public row-by-row map of the raw column `column` to codes 0 … size-1. Hashable."""

    @property
    def column(self) -> str: ...

    @property
    def size(self) -> int: ...

    def encode(self, series: pl.Series) -> Codes:
        """Codes of a block of raw values, same length as `series`; never raises on a value."""
        ...

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map, JSON-able, in canonical form."""
        ...


def code_dtype(size: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned type that holds codes 0 … size-1."""
    if size <= 1 << 8:
        return np.uint8
    return np.uint16 if size <= 1 << 16 else np.uint32

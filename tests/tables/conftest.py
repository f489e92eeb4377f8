"""Encoders of the tests' own: any object with column, size, encode and describe will do."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from attrs import frozen


@frozen
class Labels:
    """Codes texts by a list; missing and unknown ones are 0."""

    column: str
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.values) + 1

    def encode(self, series: pl.Series) -> np.ndarray:
        codes = {value: code for code, value in enumerate(self.values, start=1)}
        return np.array([codes.get(text, 0) for text in series.cast(pl.String).to_list()], np.int64)

    def describe(self) -> dict[str, Any]:
        return {"values": list(self.values)}


@frozen
class Remainder:
    """Codes whole numbers by their remainder; missing ones are 0."""

    column: str
    size: int

    def encode(self, series: pl.Series) -> np.ndarray:
        return (series.cast(pl.Int64).fill_null(0).to_numpy() % self.size).astype(np.uint32)

    def describe(self) -> dict[str, Any]:
        return {"size": self.size}


@pytest.fixture(scope="session")
def labels() -> type[Labels]:
    return Labels


@pytest.fixture(scope="session")
def remainder() -> type[Remainder]:
    return Remainder

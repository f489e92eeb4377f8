"""What every noise law offers, and how noise is added to counts."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy.noise_table import TOTAL, Draws

Shape = int | tuple[int, ...]
COUNT_LIMIT = 1 << 61
"""Counts beyond ± this are clipped before noise is added; noise is smaller than this too."""


class Noise(Protocol):
    """A symmetric or one-sided law on the integers with an exact sampler."""

    def draw(self, shape: Shape) -> Draws:
        """Independent draws."""
        ...

    def table(self) -> Law:
        """The exact law of a draw; ValueError where no table of all values is used."""
        ...

    def ideal_tail(self, t: int) -> Fraction:
        """A rational just above the ideal law's P(Z ≥ t)."""
        ...

    @property
    def bound(self) -> int: ...

    @property
    def tv_bound(self) -> Fraction: ...

    @property
    def variance(self) -> float: ...


@frozen(kw_only=True)
class Law:
    """P(Z = start + i) = weights[i] / 2**256."""

    start: int
    weights: tuple[int, ...] = field(converter=tuple, repr=False)

    def tail(self, t: int) -> Fraction:
        """P(Z ≥ t), exactly."""
        return Fraction(sum(self.weights[max(0, t - self.start) :]), TOTAL)

    @property
    def variance(self) -> float:
        """Variance, rounded once."""
        values = range(self.start, self.start + len(self.weights))
        first = sum(value * weight for value, weight in zip(values, self.weights, strict=True))
        second = sum(value * value * weight for value, weight in zip(values, self.weights, strict=True))
        return float(Fraction(second, TOTAL) - Fraction(first, TOTAL) ** 2)


def add_noise(counts: npt.NDArray[np.int64], noise: Noise) -> npt.NDArray[np.int64]:
    """counts + independent noise on every cell.

    Nothing here can fail because of a count: beyond ±2**61 counts are clipped, which no two neighbouring
    tables can tell better than by their distance, and the noise is checked against the same public bound,
    so that no sum leaves 64 bits. TypeError unless counts are int64; OverflowError if the law reaches
    2**61.
    """
    if counts.dtype != np.int64:
        raise TypeError("counts must be 64-bit integers before noise is added")
    if noise.bound >= COUNT_LIMIT:
        raise OverflowError("the noise does not fit in 64-bit counts")
    return np.clip(counts, -COUNT_LIMIT, COUNT_LIMIT) + noise.draw(counts.shape)


def as_scale(value: Any) -> Fraction:
    """An exact positive rational; TypeError for floats, whose exactness is an accident."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise TypeError(f"a noise scale must be a Fraction or an int, not {type(value).__name__}")
    if value <= 0:
        raise ValueError("a noise scale must be above 0")
    return Fraction(value)


def sized(shape: Shape) -> int:
    """Number of cells of a shape."""
    return math.prod(shape) if isinstance(shape, tuple) else operator.index(shape)

"""What is known about a table: noisy counts of some of its marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Integral

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from sfumato.graphical.layout import Floats

LARGEST = 1e15
"""Counts beyond this are not whole numbers in float64 any more."""


def _clique(value: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(a) if isinstance(a, Integral) else a for a in value)


def _values(value: ArrayLike) -> Floats:
    return np.array(value, dtype=np.float64)


def _sigma(value: ArrayLike) -> float | Floats:
    array = np.array(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


@frozen(eq=False)
class Measurement:
    """Noisy counts of one marginal.

    `clique`: the attributes, strictly increasing. `values`: counts plus noise, one axis per attribute; any
    finite numbers, negative ones too. `sigma`: standard deviation of the noise of a cell, in counts, above 0;
    one number, or an array of the shape of `values`. `interaction`: `values` tell of the interaction of all
    attributes only (their means along every axis are noise), and the margins are known from elsewhere; sigma
    is then one number. Raises ValueError when any of this does not hold.
    """

    clique: tuple[int, ...] = field(converter=_clique)
    values: Floats = field(converter=_values)
    sigma: float | NDArray[np.float64] = field(converter=_sigma)
    interaction: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        clique, shape = self.clique, self.values.shape
        check_clique(clique)
        if len(shape) != len(clique):
            raise ValueError(f"measurement of {clique} has {len(shape)} axes, not {len(clique)}")
        if not (np.abs(self.values) <= LARGEST).all():
            raise ValueError(f"measurement of {clique} has values that are not finite, or beyond {LARGEST:g}")
        sigma = np.asarray(self.sigma)
        if sigma.ndim and sigma.shape != shape:
            raise ValueError(f"measurement of {clique}: sigma has shape {sigma.shape}, values have {shape}")
        if not (np.isfinite(sigma).all() and (sigma > 0).all()):
            raise ValueError(f"measurement of {clique}: sigma must be finite and above 0")
        if self.interaction and sigma.ndim:
            raise ValueError(f"measurement of {clique}: the sigma of an interaction must be one number")


def check_clique(clique: Sequence[int]) -> None:
    """ValueError unless `clique` is one or more attributes, strictly increasing, none negative."""
    whole = all(isinstance(a, Integral) and not isinstance(a, bool) for a in clique)
    if not clique or not whole or clique[0] < 0 or any(b <= a for a, b in pairwise(clique)):
        raise ValueError(f"clique {tuple(clique)} must list attributes 0, 1, … in strictly increasing order")

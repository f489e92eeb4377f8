"""How a clique's array lies in memory, and how it is summed into and multiplied by smaller arrays.

Arrays are flat float64. Axes are the clique's attributes ordered by size, the largest last, so that the
inner loop is long; attributes with one code take no axis. Neighbouring axes that are treated alike are
merged, which leaves few and long loops: a sum is one `einsum`, a product one broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def axes(sizes: Sequence[int], clique: Sequence[int]) -> tuple[int, ...]:
    """Attributes of `clique` in the order of their axes."""
    return tuple(sorted((a for a in clique if sizes[a] > 1), key=lambda a: (sizes[a], a)))


def cell_count(sizes: Sequence[int], clique: Sequence[int]) -> int:
    """Cells of the array of `clique`."""
    return prod(sizes[attribute] for attribute in clique)


def pack(sizes: Sequence[int], clique: Sequence[int], array: NDArray) -> NDArray:
    """`array`, with one axis per attribute of `clique` in that order, as a flat array in our layout."""
    order = axes(sizes, clique)
    flat = [attribute for attribute in clique if sizes[attribute] == 1]
    moved = array.transpose([clique.index(attribute) for attribute in (*flat, *order)])
    return np.ascontiguousarray(moved).reshape(-1)


def unpack(sizes: Sequence[int], clique: Sequence[int], flat: NDArray) -> NDArray:
    """The reverse of `pack`: one axis per attribute of `clique`, in that order; always a fresh array."""
    order = axes(sizes, clique)
    array = flat.reshape([sizes[attribute] for attribute in order])
    wanted = [order.index(attribute) for attribute in clique if sizes[attribute] > 1]
    return array.transpose(wanted).reshape([sizes[attribute] for attribute in clique]).copy()


class Projection:
    """Between the array of `outer` and that of `inner`, a part of it."""

    __slots__ = ("_merged", "_spread", "_subscripts", "cells", "identity")

    def __init__(self, sizes: Sequence[int], outer: Sequence[int], inner: Sequence[int]) -> None:
        wanted = set(inner)
        merged: list[int] = []
        keeps: list[bool] = []
        for attribute in axes(sizes, outer):
            keep = attribute in wanted
            if keeps and keeps[-1] == keep:
                merged[-1] *= sizes[attribute]
            else:
                merged.append(sizes[attribute])
                keeps.append(keep)
        self._merged = tuple(merged)
        letters = ascii_letters[: len(merged)]
        kept = "".join(letter for letter, keep in zip(letters, keeps, strict=True) if keep)
        self._subscripts = f"{letters}->{kept}" if kept else ""
        self._spread = tuple(size if keep else 1 for size, keep in zip(merged, keeps, strict=True))
        self.identity = all(keeps)
        self.cells = prod(self._spread)

    def sum(self, outer: Floats) -> Floats:
        """The flat array of `inner`: `outer` summed over the attributes that `inner` lacks. A fresh array."""
        if self.identity:
            return outer.copy()
        if not self._subscripts:
            return np.array([outer.sum()])
        return np.einsum(self._subscripts, outer.reshape(self._merged)).reshape(-1)

    def multiply(self, outer: Floats, inner: Floats) -> None:
        """Multiply `outer`, in place, by `inner` spread over the attributes that it lacks."""
        view = outer.reshape(self._merged)
        np.multiply(view, inner.reshape(self._spread), out=view)

"""Mode-specific normalisation (Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4.2).

A number v is the mode k of a mixture of normal distributions that it is drawn to belong to, in proportion to
the densities at v, and α = (v - mean_k)/(4 deviation_k), cut at ±0.99. Modes, missing and special codes of a
number are labels of one block, and so are single values that many rows have; every other column is one block
of labels, and so is a number of few values. Labels that no row has are left out, and so are cells below the
first or above the last that a row has. On the normal scale v is Φ⁻¹(F(value)), with the exact distribution
function F of the column: a Gaussian copula's transform; there frequent values need no label.

A code stands for a cell; a row's v is drawn uniformly in it (on the normal scale: normally within the cell),
as values of synthetic rows are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec
from sfumato.synthesizers.deep.encoding import FEW, ColumnEncoding, Encoding, Head, labels, on_a_line
from sfumato.synthesizers.deep.variational_mixture import NormalMixture, variational_mixture
from sfumato.synthesizers.normal_scores import thresholds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WIDE = 4.0
"""Deviations of a mode that α = 1 stands for."""
SPIKE = 0.1
"""Share of rows from which a single value is a label of its own."""
FEW_VALUES = 20
"""A number of at most so many values is labels alone: modes would cut across its values."""
EACH = 10
"""Rows that a value then has on average, at least."""
INSIDE = 0.99
"""Largest size of α."""
NARROWEST = 1e-4
"""Least deviation of a mode on the normal scale."""
TAIL = 6.0
"""Where the normal scale ends."""
FAR = 1e300
"""Beyond every place."""


@frozen(kw_only=True, eq=False)
class ModalColumn:
    """A column's encoding, and how numbers of rows are drawn for it."""

    encoding: ColumnEncoding
    modes: NormalMixture | None = None
    """None for a column without numbers."""
    low: Floats
    high: Floats
    """Ends of the cells: units; on the normal scale, values of the distribution function."""

    def draw(self, codes: npt.NDArray[np.integer], rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Labels (-1: none) and numbers of rows."""
        label = self.encoding.code_label[codes]
        numbers = np.zeros(codes.size)
        if self.modes is None:
            return label, numbers
        inside = np.flatnonzero((codes >= self.encoding.first) & (label < self.modes.shares.size))
        cell = codes[inside].astype(np.int64) - self.encoding.first
        place = self.low[cell] + (self.high[cell] - self.low[cell]) * rng.random(cell.size)
        if self.encoding.normal:
            from scipy.special import ndtri

            place = ndtri(place).clip(-TAIL, TAIL)
        ends = np.cumsum(self.modes.members(place), axis=1)
        mode = np.minimum((ends < rng.random(cell.size)[:, None]).sum(1), self.modes.shares.size - 1)
        label[inside] = mode
        alpha = (place - self.modes.means[mode]) / (WIDE * self.modes.deviations[mode])
        numbers[inside] = alpha.clip(-INSIDE, INSIDE)
        return label, numbers


def modal(codec: Codec, shares: Floats, *, rows: float, at_most: int, normal: bool) -> ModalColumn:
    """How a column with these shares of codes is encoded, by modes where it is a number.

    rows: of the table. at_most: modes. normal: on the normal scale.
    """
    none = np.zeros(0)
    there = codec.allowed & (shares > 0)
    if not isinstance(codec, GridCodec) or codec.cells <= FEW or not shares[codec.atoms :].any():
        return ModalColumn(encoding=labels(codec, full=True, among=there), low=none, high=none)
    held = shares[codec.atoms :].copy()
    if not normal and _few_values(held, codec.widths, rows):
        return ModalColumn(encoding=labels(codec, full=True, among=there), low=none, high=none)
    spikes = np.zeros(0, np.int64) if normal else np.flatnonzero((held >= SPIKE) & (codec.widths == 1))
    held[spikes] = 0.0
    if not held.any():
        return ModalColumn(encoding=labels(codec, full=True, among=there), low=none, high=none)
    held /= held.sum()
    if normal:
        steps = np.append(0.0, np.cumsum(held)) / held.sum()
        low, high, bounds = steps[:-1], steps[1:], steps[1:-1]
        places, spreads = _within(held)
        floor = NARROWEST
    else:
        edges = np.array(codec.edges, dtype=np.float64) - 0.5
        low, high, bounds = edges[:-1], edges[1:], edges[1:-1]
        places, spreads = (low + high) / 2, (high - low) ** 2 / 12
        floor = 0.25
    modes = variational_mixture(places, rows * held, spreads=spreads, at_most=at_most, floor=floor)
    encoding = on_a_line(
        codec,
        np.zeros(codec.cells),
        _within_range(bounds, shares[codec.atoms :]),
        shift=modes.means,
        scale=WIDE * modes.deviations,
        member=modes.members(places).argmax(1),
        normal=normal,
        full=True,
        among=there,
        spikes=codec.atoms + spikes,
    )
    return ModalColumn(encoding=encoding, modes=modes, low=low, high=high)


def _few_values(held: Floats, widths: Ints, rows: float) -> bool:
    """Whether a number has few single values, each of which many rows have."""
    values = np.count_nonzero(held)
    return bool(values <= min(FEW_VALUES, rows / EACH) and (widths[held > 0] == 1).all())


def _within_range(bounds: Floats, shares: Floats) -> Floats:
    """Places between neighbouring cells, so that no place is in a cell before the first or behind the last
    with a share.
    """
    held = np.flatnonzero(shares)
    bounds = bounds.copy()
    bounds[: held[0]] = -FAR
    bounds[held[-1] :] = FAR
    return bounds


def _within(shares: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a standard normal variable in the interval of each cell; those without a share lie
    at their edge.
    """
    low, high = thresholds(shares)
    low, high = low.clip(-TAIL, TAIL), high.clip(-TAIL, TAIL)
    one, other = (np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) for x in (low, high))
    mass = np.maximum(shares, 1e-12)
    mean = np.where(shares > 0, (one - other) / mass, low).clip(low, high)
    square = 1 + (low * one - high * other) / mass
    return mean, np.where(shares > 0, square - mean**2, 0.0).clip(0.0, (high - low) ** 2 / 4)


@frozen(kw_only=True, eq=False)
class Modal:
    """All columns."""

    columns: tuple[ModalColumn, ...]

    @property
    def encoding(self) -> Encoding:
        """For rows that are drawn."""
        return Encoding(columns=tuple(column.encoding for column in self.columns))

    def draw(self, codes: npt.NDArray[np.integer], rng: np.random.Generator) -> tuple[Ints, Floats]:
        """Labels and numbers of rows of codes, rows x columns."""
        drawn = [column.draw(codes[:, place], rng) for place, column in enumerate(self.columns)]
        none = np.zeros((codes.shape[0], 0))
        if not drawn:
            return none.astype(np.int64), none
        return np.stack([label for label, _ in drawn], 1), np.stack([number for _, number in drawn], 1)


def head_of(encoding: Encoding) -> Head:
    """Shares of labels for every block, and numbers between -1 and 1."""
    softmax, unit = [], []
    for start, column in zip(encoding.starts, encoding.columns, strict=True):
        middle = start + column.label_width
        if column.label_width:
            softmax.append((start, middle))
        if column.numeric:
            unit.append(middle)
    return Head(softmax=tuple(softmax), sigmoid=(), bounded=(), unit=tuple(unit))


def blocks_of(encoding: Encoding) -> Sequence[tuple[int, int, int]]:
    """Place, first and last coordinate (exclusive) of the labels of every column that has several."""
    return [
        (place, start, start + column.label_width)
        for place, (start, column) in enumerate(zip(encoding.starts, encoding.columns, strict=True))
        if column.label_width
    ]

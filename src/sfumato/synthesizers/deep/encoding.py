"""Codes of a domain as vectors for networks, and back.

Every code of a column has a label, a number, or both. A label is one coordinate of a one-hot block (one
coordinate in all where a column has two labels); a number is one coordinate more.

    labels        each value is a label
    numbers       missing and special codes are labels beside the label "a number", where there are any; the
                  number is a place on a line, in `Line.mode` k after (number - shift_k)/scale_k
    places        `linear`: from 0 at the lower bound to 1 at the upper; `ranks`: middles of the steps of a
                  noisy distribution function; with `normal`, Φ⁻¹ of them, at most 3 in size

Codes that a synthetic row cannot have (a missing cell where none is allowed) are encoded as zeros. All of
this is made of public facts and released answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec
from sfumato.domain.encoder import Codes, code_dtype

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FURTHEST = 3.0
"""Largest size of a number on the normal scale."""
FEW = 2
"""Numbers of at most so many cells are labels."""
Decode = Literal["sample", "argmax"]


@frozen(kw_only=True, eq=False)
class ColumnEncoding:
    """How the codes of one column become coordinates."""

    code_label: Ints
    """Label of each code, -1 for none."""
    code_number: Floats
    """Number of each code; 0 where it has none."""
    label_code: Ints
    """Code of each label; -1-k for "a number, in mode k"."""
    shift: Floats
    scale: Floats
    """Of each mode; empty where the column has no numbers."""
    bounds: Floats
    """Places between neighbouring cells, rising."""
    first: int
    """Code of the first cell."""
    normal: bool = False
    ranked: bool = False
    """Whether numbers are places in a distribution, from 0 to 1."""
    full: bool = False
    """Whether two labels take two coordinates."""

    @property
    def labels(self) -> int:
        """Number of labels."""
        return self.label_code.size

    @property
    def label_width(self) -> int:
        """Coordinates that the labels take: none for one label, one for two."""
        if self.labels == 2 and not self.full:
            return 1
        return self.labels if self.labels > 1 else 0

    @property
    def numeric(self) -> bool:
        """Whether there is a number."""
        return self.scale.size > 0

    @property
    def by_ranks(self) -> bool:
        """Whether numbers are places in a distribution."""
        return self.normal or self.ranked

    def on_scale(self, place: Floats) -> Floats:
        """Places in the distribution as numbers of the encoding."""
        if not self.normal:
            return place
        from scipy.special import ndtri

        return ndtri(place)

    @property
    def width(self) -> int:
        """Coordinates of the column: labels first, then the number."""
        return self.label_width + self.numeric

    def decode(self, scores: Floats, numbers: Floats | None, rng: np.random.Generator, how: Decode) -> Codes:
        """Codes of rows: labels by their scores (rows x label_width, nonnegative), cells by numbers."""
        rows = scores.shape[0]
        label = self._label(scores, rng, how)
        code = self.label_code[label] if self.labels else np.full(rows, -1)
        if numbers is not None and self.numeric:
            mode = np.maximum(-1 - code, 0)
            place = self.shift[mode] + self.scale[mode] * numbers
            if self.normal:
                from scipy.special import ndtr

                place = ndtr(place)
            cell = np.searchsorted(self.bounds, place, side="right")
            code = np.where(code < 0, self.first + cell, code)
        return code.astype(code_dtype(self.code_label.size))

    def _label(self, scores: Floats, rng: np.random.Generator, how: Decode) -> Ints:
        rows = scores.shape[0]
        if self.label_width == 0:
            return np.zeros(rows, np.int64)
        if self.label_width == 1:
            limit = rng.random(rows) if how == "sample" else np.full(rows, 0.5)
            return (scores[:, 0] > limit).astype(np.int64)
        if how == "argmax":
            return scores.argmax(1)
        heap = np.cumsum(np.maximum(scores, 0.0) + 1e-12, axis=1)
        drawn = rng.random(rows) * heap[:, -1]
        return np.minimum((heap <= drawn[:, None]).sum(1), self.labels - 1)

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """For a model file."""
        return {
            f"{name}/label": self.code_label,
            f"{name}/number": self.code_number,
            f"{name}/codes": self.label_code,
            f"{name}/shift": self.shift,
            f"{name}/scale": self.scale,
            f"{name}/bounds": self.bounds,
            f"{name}/facts": np.array([self.first, self.normal, self.full, self.ranked], np.int64),
        }

    @classmethod
    def from_arrays(cls, size: int, name: str, arrays: dict[str, npt.NDArray[Any]]) -> ColumnEncoding:
        """Read back; ValueError where the arrays do not fit together."""
        parts = {
            key: arrays[f"{name}/{key}"] for key in ("label", "number", "codes", "shift", "scale", "bounds")
        }
        first, normal, full, ranked = (int(each) for each in arrays[f"{name}/facts"])
        cells = parts["bounds"].size + 1 if parts["scale"].size else 0
        codes = parts["codes"]
        if (
            parts["label"].shape != (size,)
            or parts["number"].shape != (size,)
            or parts["shift"].shape != parts["scale"].shape
            or first + cells > size
            or first < 0
            or (codes.size and not -parts["scale"].size <= codes.min() <= codes.max() < size)
            or (np.diff(parts["bounds"]) < 0).any()
            or not -1 <= parts["label"].min() <= parts["label"].max() < max(codes.size, 1)
            or not (codes.size or parts["scale"].size)
        ):
            raise ValueError("the arrays do not fit the domain")
        return cls(
            code_label=parts["label"],
            code_number=parts["number"],
            label_code=codes,
            shift=parts["shift"],
            scale=parts["scale"],
            bounds=parts["bounds"],
            first=first,
            normal=bool(normal),
            full=bool(full),
            ranked=bool(ranked),
        )


@frozen(kw_only=True)
class Head:
    """Blocks of scores that become shares, and coordinates between 0 and 1, or at most `FURTHEST` or 1 in
    size.
    """

    softmax: tuple[tuple[int, int], ...]
    sigmoid: tuple[int, ...]
    bounded: tuple[int, ...]
    unit: tuple[int, ...] = ()

    def __call__(self, y: Floats) -> Floats:
        y = y.copy()
        for start, end in self.softmax:
            block = np.exp(y[:, start:end] - y[:, start:end].max(1, keepdims=True))
            y[:, start:end] = block / block.sum(1, keepdims=True)
        for place in self.sigmoid:
            y[:, place] = 0.5 * (1 + np.tanh(y[:, place] / 2))
        for place in self.bounded:
            y[:, place] = FURTHEST * np.tanh(y[:, place])
        for place in self.unit:
            y[:, place] = np.tanh(y[:, place])
        return y


@frozen(kw_only=True, eq=False)
class Encoding:
    """All columns of a domain, one after the other."""

    columns: tuple[ColumnEncoding, ...]

    @property
    def width(self) -> int:
        """Coordinates of a row."""
        return sum(column.width for column in self.columns)

    @property
    def starts(self) -> list[int]:
        """First coordinate of each column."""
        return np.cumsum([0, *(column.width for column in self.columns)])[:-1].tolist()

    @property
    def head(self) -> Head:
        """How outputs of a network become rows like those that are encoded."""
        softmax, sigmoid, bounded = [], [], []
        for start, column in zip(self.starts, self.columns, strict=True):
            middle = start + column.label_width
            if column.label_width > 1:
                softmax.append((start, middle))
            elif column.label_width:
                sigmoid.append(start)
            if column.numeric and not column.normal:
                unit = column.scale.size == 1 and column.scale[0] == 1 and column.shift[0] == 0
                (sigmoid if unit else bounded).append(middle)
        return Head(softmax=tuple(softmax), sigmoid=tuple(sigmoid), bounded=tuple(bounded))

    def rows(self, codes: npt.NDArray[Any]) -> Floats:
        """Vectors of rows of codes (rows x columns)."""
        found = np.zeros((codes.shape[0], self.width))
        for place, (start, column) in enumerate(zip(self.starts, self.columns, strict=True)):
            given = codes[:, place].astype(np.int64)
            label = column.code_label[given]
            if column.label_width == 1:
                found[:, start] = label == 1
            elif column.label_width:
                there = np.flatnonzero(label >= 0)
                found[there, start + label[there]] = 1.0
            if column.numeric:
                found[:, start + column.label_width] = column.code_number[given]
        return found

    def means(self, counts: Sequence[Floats]) -> Floats:
        """The mean vector of rows with expected `counts` of the codes of each column."""
        found = np.zeros(self.width)
        for start, column, held in zip(self.starts, self.columns, counts, strict=True):
            share = np.maximum(held, 0.0) / max(np.maximum(held, 0.0).sum(), 1e-12)
            label = column.code_label
            if column.label_width == 1:
                found[start] = share[label == 1].sum()
            elif column.label_width:
                there = label >= 0
                found[start : start + column.labels] = np.bincount(
                    label[there], share[there], minlength=column.labels
                )
            if column.numeric:
                found[start + column.label_width] = share @ column.code_number
        return found

    def decode(
        self, rows: Floats, rng: np.random.Generator, how: Decode, only: Sequence[int] | None = None
    ) -> list[Codes]:
        """Codes of vectors, a column each."""
        found = []
        for place, (start, column) in enumerate(zip(self.starts, self.columns, strict=True)):
            if only is not None and place not in only:
                continue
            middle, end = start + column.label_width, start + column.width
            numbers = rows[:, middle] if column.numeric else None
            found.append(column.decode(rows[:, start : end - column.numeric], numbers, rng, how))
        return found


def linear(codec: Codec) -> ColumnEncoding:
    """Labels, or the place between the bounds."""
    if not isinstance(codec, GridCodec) or codec.cells <= FEW:
        return labels(codec)
    edges = np.array(codec.edges, dtype=np.float64)
    span = max(edges[-1] - 1 - edges[0], 1.0)
    middles = ((edges[:-1] + edges[1:] - 1) / 2 - edges[0]) / span
    return on_a_line(codec, middles, (edges[1:-1] - 0.5 - edges[0]) / span)


def ranks(codec: Codec, counts: Floats, *, normal: bool) -> ColumnEncoding:
    """Labels, or the place in the distribution that expected `counts` of the codes give."""
    if not isinstance(codec, GridCodec) or codec.cells <= FEW:
        return labels(codec)
    held = np.maximum(counts[codec.atoms :], 0.0) + 1e-9 * max(counts.sum(), 1.0)
    steps = np.append(0.0, np.cumsum(held)) / held.sum()
    middles = (steps[:-1] + steps[1:]) / 2
    if normal:
        from scipy.special import ndtri

        middles = ndtri(middles).clip(-FURTHEST, FURTHEST)
    return on_a_line(codec, middles, steps[1:-1], normal=normal, ranked=not normal)


def modes(codec: Codec, counts: Floats, *, at_most: int) -> ColumnEncoding:
    """Labels, or a place within one of a few normal distributions that describe expected `counts`."""
    if not isinstance(codec, GridCodec) or codec.cells <= FEW:
        return labels(codec)
    edges = np.array(codec.edges, dtype=np.float64)
    middles = (edges[:-1] + edges[1:] - 1) / 2
    shift, scale, member = mixture(middles, np.maximum(counts[codec.atoms :], 0.0), at_most=at_most)
    numbers = ((middles - shift[member]) / scale[member]).clip(-FURTHEST, FURTHEST)
    return on_a_line(codec, numbers, edges[1:-1] - 0.5, shift=shift, scale=scale, member=member)


def labels(codec: Codec, *, full: bool = False, among: npt.NDArray[np.bool_] | None = None) -> ColumnEncoding:
    """Each code that may occur is a label; `among` these, where given."""
    kept = np.flatnonzero(codec.allowed if among is None else among)
    label = np.full(codec.size, -1)
    label[kept] = np.arange(kept.size)
    none = np.zeros(0)
    return ColumnEncoding(
        code_label=label,
        code_number=np.zeros(codec.size),
        label_code=kept.astype(np.int64),
        shift=none,
        scale=none,
        bounds=none,
        first=0,
        full=full,
    )


def on_a_line(
    codec: GridCodec,
    numbers: Floats,
    bounds: Floats,
    *,
    shift: Floats | None = None,
    scale: Floats | None = None,
    member: Ints | None = None,
    normal: bool = False,
    ranked: bool = False,
    full: bool = False,
    among: npt.NDArray[np.bool_] | None = None,
    spikes: Ints | None = None,
) -> ColumnEncoding:
    """Numbers of the cells, and labels for modes, missing and special codes (`among` these, where given) and
    the codes `spikes`, where there is more than one.
    """
    shift, scale = (np.zeros(1), np.ones(1)) if shift is None or scale is None else (shift, scale)
    member = np.zeros(codec.cells, np.int64) if member is None else member
    atoms = np.flatnonzero((codec.allowed if among is None else among)[: codec.atoms])
    atoms = atoms if spikes is None else np.concatenate([atoms, spikes])
    label = np.full(codec.size, -1)
    label[codec.atoms :] = member
    label[atoms] = scale.size + np.arange(atoms.size)
    number = np.zeros(codec.size)
    number[codec.atoms :] = numbers
    return ColumnEncoding(
        code_label=label,
        code_number=number,
        bounds=bounds,
        first=codec.atoms,
        normal=normal,
        shift=shift,
        label_code=np.concatenate([-1 - np.arange(scale.size), atoms]),
        scale=scale,
        ranked=ranked,
        full=full,
    )


def mixture(places: Floats, weights: Floats, *, at_most: int) -> tuple[Floats, Floats, Ints]:
    """Means, deviations and members of at most so many normal distributions, by expectation-maximisation from
    quantiles; deterministic.
    """
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(places.size, 1 / places.size)
    steps = np.cumsum(weights) - weights / 2
    count = max(1, min(at_most, int((weights > 1e-6).sum()) // 4))
    mean = np.interp((np.arange(count) + 0.5) / count, steps, places)
    middle = float(weights @ places)
    whole = max(float(np.sqrt(weights @ (places - middle) ** 2)), 0.5)
    deviation, share = np.full(count, whole / count), np.full(count, 1 / count)
    for _ in range(100):
        logs = np.log(share) - np.log(deviation) - ((places[:, None] - mean) / deviation) ** 2 / 2
        chance = np.exp(logs - logs.max(1, keepdims=True))
        chance *= (weights / chance.sum(1))[:, None]
        share = np.maximum(chance.sum(0), 1e-9)
        mean = chance.T @ places / share
        spread = (chance * (places[:, None] - mean) ** 2).sum(0) / share
        deviation = np.maximum(np.sqrt(spread), max(0.5, 1e-3 * whole))
    logs = np.log(share) - np.log(deviation) - ((places[:, None] - mean) / deviation) ** 2 / 2
    return mean, deviation, logs.argmax(1)

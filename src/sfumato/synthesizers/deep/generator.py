"""Rows from a trained network: noise, network, decoder, codes. Needs numpy only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes
from sfumato.errors import JobError
from sfumato.synthesizers.deep.encoding import ColumnEncoding, Encoding
from sfumato.synthesizers.deep.nets import Weighted
from sfumato.synthesizers.recipe import generator

Floats = npt.NDArray[np.float64]
BLOCK = 1 << 14
TRIES = 400
"""Rows that are drawn for each row that is asked for under a condition, at most, on average."""
LEAST = 1e-9
"""Added to scores, so that every label may be given to every row."""
ROUNDS = 40
"""Steps, at most, towards shares that are to be matched."""
CLOSE, FARTHEST = 1e-9, 8.0
"""How near log-odds of shares must come, and the longest step."""


@generator("network")
@frozen(kw_only=True, eq=False)
class NetworkGenerator:
    """Latent noise through `nets`, one after the other, and decoded."""

    kind: ClassVar[str] = "network"
    tolerance: ClassVar[float] = 1e-6
    """Relative difference that other processors may make to numbers of a generator that is trained again."""

    total: float
    encoding: Encoding
    nets: tuple[Weighted, ...]
    sample_labels: bool = True
    """Labels are drawn in proportion to their scores, else the largest is taken."""
    head: bool = False
    """Whether `Encoding.head` comes after the last network."""
    condition: Floats = field(factory=lambda: np.zeros(0))
    """Shares of labels, one of which is drawn and given to the first network beside the noise."""
    targets: tuple[Floats, ...] = ()
    """Noisy shares of the labels of each column, which the rows drawn are given; empty: as the network has
    them. Numbers that are encoded by ranks are then replaced by their ranks among the rows drawn.
    """

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        return draw_where(self._draw, rows, rng, where)

    def _draw(self, rows: int, rng: np.random.Generator) -> list[Codes]:
        parts = []
        for start in range(0, rows, BLOCK):
            # What follows goes column by column.
            vectors = np.asfortranarray(self.vectors(min(BLOCK, rows - start), rng))
            if self.targets:
                self._rectify(vectors)
            parts.append(self.encoding.decode(vectors, rng, "sample" if self.sample_labels else "argmax"))
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def vectors(self, rows: int, rng: np.random.Generator) -> Floats:
        """Rows as vectors, before they are decoded."""
        labels = self.condition.size
        x = rng.standard_normal((rows, self.nets[0].net[0].inputs - labels))
        if labels:
            drawn = np.searchsorted(np.cumsum(self.condition)[:-1], rng.random(rows), side="right")
            x = np.concatenate([x, np.eye(labels)[drawn]], 1)
        for net in self.nets:
            x = net(x)
        return self.encoding.head(x) if self.head else x

    def _rectify(self, vectors: Floats) -> None:
        for start, column, target in zip(
            self.encoding.starts, self.encoding.columns, self.targets, strict=True
        ):
            middle = start + column.label_width
            if column.label_width == 1:
                vectors[:, start] = matched_chances(vectors[:, start], float(target[1]))
            elif column.label_width:
                vectors[:, start:middle] = matched(vectors[:, start:middle], target)
            if column.numeric and column.by_ranks:
                values = vectors[:, middle]
                place = np.empty(values.size)
                place[np.argsort(values, kind="stable")] = (np.arange(values.size) + 0.5) / values.size
                vectors[:, middle] = column.on_scale(place)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, npt.NDArray[Any]] = {
            "total": np.array([self.total]),
            "facts": np.array([len(self.nets), self.sample_labels, self.head, bool(self.targets)], np.int64),
            "condition": self.condition,
        }
        for i, net in enumerate(self.nets):
            found |= net.arrays(f"net/{i}")
        for i, column in enumerate(self.encoding.columns):
            found |= column.arrays(f"column/{i}")
        for i, target in enumerate(self.targets):
            found[f"target/{i}"] = target
        return found

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> NetworkGenerator:
        count, labels, head, targets = (int(each) for each in arrays["facts"])
        nets = tuple(Weighted.from_arrays(f"net/{i}", arrays) for i in range(count))
        columns = [ColumnEncoding.from_arrays(size, f"column/{i}", arrays) for i, size in enumerate(sizes)]
        encoding = Encoding(columns=tuple(columns))
        ends = [net.net[0].inputs for net in nets[1:]] + [encoding.width]
        if not nets or [net.net[-1].outputs for net in nets] != ends:
            raise ValueError("the networks do not fit each other")
        known = tuple(arrays[f"target/{i}"] for i in range(len(sizes))) if targets else ()
        if any(target.shape != (column.labels,) for target, column in zip(known, columns, strict=False)):
            raise ValueError("the shares of labels do not fit the columns")
        return cls(
            total=float(arrays["total"][0]),
            encoding=encoding,
            nets=nets,
            sample_labels=bool(labels),
            head=bool(head),
            condition=arrays["condition"],
            targets=known,
        )


def draw_where(
    draw: Callable[[int, np.random.Generator], list[Codes]],
    rows: int,
    rng: np.random.Generator,
    where: Mapping[int, npt.NDArray[np.bool_]] | None,
) -> list[Codes]:
    """`rows` of the rows that `draw` makes, those in which column i has a code that `where[i]` allows,
    all of them without `where`; JobError when they are too rare.
    """
    if not where:
        return draw(rows, rng)
    found: list[list[Codes]] = []
    have = tried = 0
    while have < rows:
        drawn = draw(BLOCK, rng)
        kept = np.logical_and.reduce([mask[drawn[i]] for i, mask in where.items()])
        found.append([codes[kept] for codes in drawn])
        have, tried = have + int(kept.sum()), tried + BLOCK
        if tried >= TRIES * max(rows, BLOCK):
            raise JobError(
                "too few of the rows that the network makes have the values that are asked for",
                mend="fix fewer columns, or choose values that are more frequent",
            )
    return [np.concatenate([part[i] for part in found])[:rows] for i in range(len(found[0]))]


def matched_chances(chances: Floats, target: float) -> Floats:
    """`matched` for two labels, of which one has these chances: their odds times one factor, such that their
    mean is `target`.

    The mean m rises with the factor t: logit(m) has the slope mean(q(1-q))/(m(1-m)) ≤ 1 in log(t). Newton's
    step, or half of the way where that would leave the bounds that are known of the solution.
    """
    target = min(max(target, LEAST), 1 - LEAST)
    p = (np.clip(chances, 0.0, 1.0) + LEAST) / (1 + 2 * LEAST)
    odds, wanted = p / (1 - p), math.log(target / (1 - target))
    at, low, high = 0.0, -math.inf, math.inf
    for _ in range(ROUNDS):
        mean = float(p.mean())
        missing = wanted - math.log(mean / (1 - mean))
        if abs(missing) < CLOSE:
            break
        low, high = (at, high) if missing > 0 else (low, at)
        slope = max(mean - float(p @ p) / p.size, 1e-12) / (mean * (1 - mean))
        newton = at + min(max(missing / slope, -FARTHEST), FARTHEST)
        at = newton if low < newton < high else (low + high) / 2
        p = odds * math.exp(at)
        p /= 1 + p
    return p


def matched(scores: Floats, target: Floats) -> Floats:
    """Scores times a factor for each label, such that the rows' shares are on average those of `target`."""
    shares = np.maximum(scores, 0.0) + LEAST
    shares /= shares.sum(1, keepdims=True)
    for _ in range(ROUNDS):
        mean = shares.mean(0)
        shares = shares * (np.maximum(target, LEAST) / mean)
        shares /= shares.sum(1, keepdims=True)
    return shares

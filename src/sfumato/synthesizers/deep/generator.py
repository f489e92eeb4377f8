"""Rows from a trained network: noise, network, decoder, codes. Needs numpy only."""

from __future__ import annotations

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
    rectify: bool = False
    """Whether numbers on the normal scale are replaced by those of their ranks among the rows drawn."""

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        if not where:
            return self._draw(rows, rng)
        found: list[list[Codes]] = []
        have = tried = 0
        while have < rows:
            drawn = self._draw(BLOCK, rng)
            kept = np.logical_and.reduce([mask[drawn[i]] for i, mask in where.items()])
            found.append([codes[kept] for codes in drawn])
            have, tried = have + int(kept.sum()), tried + BLOCK
            if tried >= TRIES * max(rows, BLOCK):
                raise JobError(
                    "too few of the rows that the network makes have the values that are asked for",
                    mend="fix fewer columns, or choose values that are more frequent",
                )
        return [np.concatenate([part[i] for part in found])[:rows] for i in range(len(found[0]))]

    def _draw(self, rows: int, rng: np.random.Generator) -> list[Codes]:
        parts = []
        for start in range(0, rows, BLOCK):
            vectors = self.vectors(min(BLOCK, rows - start), rng)
            if self.rectify:
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
        from scipy.special import ndtri

        for start, column in zip(self.encoding.starts, self.encoding.columns, strict=True):
            if column.normal:
                values = vectors[:, start + column.label_width]
                place = np.empty(values.size)
                place[np.argsort(values, kind="stable")] = (np.arange(values.size) + 0.5) / values.size
                vectors[:, start + column.label_width] = ndtri(place)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, npt.NDArray[Any]] = {
            "total": np.array([self.total]),
            "facts": np.array([len(self.nets), self.sample_labels, self.head, self.rectify], np.int64),
            "condition": self.condition,
        }
        for i, net in enumerate(self.nets):
            found |= net.arrays(f"net/{i}")
        for i, column in enumerate(self.encoding.columns):
            found |= column.arrays(f"column/{i}")
        return found

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> NetworkGenerator:
        count, labels, head, rectify = (int(each) for each in arrays["facts"])
        nets = tuple(Weighted.from_arrays(f"net/{i}", arrays) for i in range(count))
        columns = [ColumnEncoding.from_arrays(size, f"column/{i}", arrays) for i, size in enumerate(sizes)]
        encoding = Encoding(columns=tuple(columns))
        ends = [net.net[0].inputs for net in nets[1:]] + [encoding.width]
        if not nets or [net.net[-1].outputs for net in nets] != ends:
            raise ValueError("the networks do not fit each other")
        return cls(
            total=float(arrays["total"][0]), encoding=encoding, nets=nets, sample_labels=bool(labels),
            head=bool(head), condition=arrays["condition"], rectify=bool(rectify),
        )  # fmt: skip

"""Rows from a trained network under mode-specific normalisation. Needs numpy only."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes
from sfumato.synthesizers.deep.encoding import ColumnEncoding, Encoding
from sfumato.synthesizers.deep.generator import BLOCK, draw_where
from sfumato.synthesizers.deep.modal import head_of
from sfumato.synthesizers.deep.nets import Weighted
from sfumato.synthesizers.recipe import generator

Floats = npt.NDArray[np.float64]


@generator("modal")
@frozen(kw_only=True, eq=False)
class ModalGenerator:
    """Noise, and a label where there are any, through a network; labels drawn by their shares, numbers as
    they are or with normal noise.
    """

    kind: ClassVar[str] = "modal"
    tolerance: ClassVar[float] = 1e-6

    total: float
    encoding: Encoding
    net: Weighted
    condition: Floats = field(factory=lambda: np.zeros(0))
    """Shares of labels, one of which is drawn and given to the network beside the noise."""
    deviations: Floats = field(factory=lambda: np.zeros(0))
    """Standard deviation of each number, in column order; empty: none."""

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        return draw_where(self._draw, rows, rng, where)

    def _draw(self, rows: int, rng: np.random.Generator) -> list[Codes]:
        parts = [self._block(min(BLOCK, rows - start), rng) for start in range(0, rows, BLOCK)]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _block(self, rows: int, rng: np.random.Generator) -> list[Codes]:
        labels = self.condition.size
        x = rng.standard_normal((rows, self.net.net[0].inputs - labels))
        if labels:
            drawn = np.searchsorted(np.cumsum(self.condition)[:-1], rng.random(rows), side="right")
            x = np.concatenate([x, np.eye(labels)[drawn]], 1)
        head = head_of(self.encoding)
        y = head(self.net(x))
        if self.deviations.size:
            numbers = list(head.unit)
            noisy = y[:, numbers] + self.deviations * rng.standard_normal((rows, len(numbers)))
            y[:, numbers] = noisy.clip(-1.0, 1.0)
        return self.encoding.decode(y, rng, "sample")

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, npt.NDArray[Any]] = {
            "total": np.array([self.total]),
            "condition": self.condition,
            "deviations": self.deviations,
        } | self.net.arrays("net")
        for i, column in enumerate(self.encoding.columns):
            found |= column.arrays(f"column/{i}")
        return found

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> ModalGenerator:
        columns = [ColumnEncoding.from_arrays(size, f"column/{i}", arrays) for i, size in enumerate(sizes)]
        encoding, net = Encoding(columns=tuple(columns)), Weighted.from_arrays("net", arrays)
        condition, deviations = arrays["condition"], arrays["deviations"]
        if (
            not net.net
            or net.net[-1].width != encoding.width
            or condition.ndim != 1
            or condition.size >= net.net[0].inputs
            or (condition < 0).any()
            or (condition.size > 0 and not np.isclose(condition.sum(), 1.0))
            or (deviations < 0).any()
            or deviations.shape not in ((0,), (len(head_of(encoding).unit),))
        ):
            raise ValueError("the network does not fit the domain")
        return cls(
            total=float(arrays["total"][0]),
            encoding=encoding,
            net=net,
            condition=condition,
            deviations=deviations,
        )

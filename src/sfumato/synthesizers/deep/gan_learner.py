"""What a conditional GAN on rows as they are has to learn, and under which conditions. Needs numpy only; the
training is in `conditional_gan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.privacy.dpsgd import pack
from sfumato.synthesizers.deep.modal import Modal, blocks_of
from sfumato.synthesizers.deep.nets import Layer, Net, size_of


@frozen(kw_only=True)
class GanSettings:
    """What `sfumato.synthesizers.deep.ctgan.Ctgan` says of them."""

    epochs: int
    batch: int
    noise_dim: int
    generator_dim: tuple[int, ...]
    critic_dim: tuple[int, ...]
    generator_rate: float
    generator_decay: float
    critic_rate: float
    critic_decay: float
    critic_steps: int
    log_frequency: bool
    pac: int
    seed: int


def shape_of(settings: GanSettings, labels: int, width: int) -> Net:
    """The generator as it is kept: layers that put their input behind their output, normalisation within."""
    net, inputs = [], settings.noise_dim + labels
    for outputs in settings.generator_dim:
        net.append(Layer(inputs=inputs, outputs=outputs, activation="relu", joined=True))
        inputs += outputs
    return (*net, Layer(inputs=inputs, outputs=width, activation="none"))


class Labels:
    """The labels that rows are made for: those of all columns without numbers, one after the other."""

    def __init__(self, modal: Modal, shares: Sequence[npt.NDArray[Any]]) -> None:
        self.blocks = [
            (place, start, end)
            for place, start, end in blocks_of(modal.encoding)
            if not modal.columns[place].encoding.numeric
        ]
        self.offsets = np.cumsum([0, *(end - start for _, start, end in self.blocks)])
        self.count = int(self.offsets[-1])
        self.shares = [shares[place][modal.columns[place].encoding.label_code] for place, _, _ in self.blocks]

    def frequencies(self) -> npt.NDArray[np.float64]:
        """Probability of every label, when a column is drawn, and one of its labels as it occurs."""
        if not self.blocks:
            return np.zeros(0)
        return np.concatenate([share / share.sum() for share in self.shares]) / len(self.blocks)

    def training(self, rows: float, *, log_frequency: bool) -> npt.NDArray[np.float64]:
        """The same while training: in proportion to log(1 + count)."""
        if not self.blocks:
            return np.zeros(0)
        found = []
        for share in self.shares:
            weight = np.log1p(rows * share) if log_frequency else share
            found.append(weight / weight.sum())
        return np.concatenate(found) / len(self.blocks)


class ConditionalGan:
    """A `sfumato.privacy.mechanisms.plain_training.Learner`: learns the numbers of the generator."""

    def __init__(
        self,
        modal: Modal,
        shares: Sequence[npt.NDArray[Any]],
        *,
        rows: float,
        settings: GanSettings,
        facts: dict[str, Any],
    ) -> None:
        self.modal, self.settings, self._facts = modal, settings, facts
        self.labels = Labels(modal, shares)
        self.rows = rows
        self.net = shape_of(settings, self.labels.count, modal.encoding.width)
        self.shape = (1, -(-size_of(self.net) // 2))

    @property
    def frequencies(self) -> npt.NDArray[np.float64]:
        """Probability of each label that rows are made for."""
        return self.labels.frequencies()

    def describe(self) -> dict[str, Any]:
        return {**self._facts, "shapes": [layer.numbers() for layer in self.net]}

    def learn(self, codes: npt.NDArray[np.integer], report: Callable[[str], None]) -> npt.NDArray[np.int64]:
        if not self.modal.encoding.width:  # every column has one value
            return np.zeros(self.shape, np.int64)
        from sfumato.synthesizers.deep.conditional_gan import train

        return pack(train(self, codes, report)[None])

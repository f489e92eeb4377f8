"""What a tabular variational autoencoder on rows as they are has to learn. Needs numpy only; the training is
in `tvae_training`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.privacy.dpsgd import pack
from sfumato.synthesizers.deep.modal import Modal, head_of
from sfumato.synthesizers.deep.nets import Weighted, chain, size_of

SMALLEST, LARGEST, FIRST = 0.01, 1.0, 0.1
"""Of δ: least, largest, at the start."""


@frozen(kw_only=True)
class VaeSettings:
    """What `sfumato.synthesizers.deep.tvae.Tvae` says of them."""

    epochs: int
    batch: int
    code: int
    compress: tuple[int, ...]
    decompress: tuple[int, ...]
    rate: float
    decay: float
    loss_factor: float
    seed: int


class TabularVae:
    """A `sfumato.privacy.mechanisms.plain_training.Learner`: learns the decoder and the deviations."""

    def __init__(self, modal: Modal, *, settings: VaeSettings, facts: dict[str, Any]) -> None:
        self.modal, self.settings, self._facts = modal, settings, facts
        self.head = head_of(modal.encoding)
        width = modal.encoding.width
        self.encoder = chain(width, *settings.compress, 2 * settings.code, activation="relu")
        self.net = chain(settings.code, *settings.decompress, width, activation="relu")
        self.size = size_of(self.net) + len(self.head.unit)
        self.shape = (1, -(-self.size // 2))

    def describe(self) -> dict[str, Any]:
        return {**self._facts, "shapes": [layer.numbers() for layer in self.net]}

    def released(self, flat: npt.NDArray[Any]) -> tuple[Weighted, npt.NDArray[np.float64]]:
        """Decoder and deviations with the numbers that were learned."""
        numbers = size_of(self.net)
        deviations = flat[numbers : self.size].astype(np.float64).clip(0.0, LARGEST)
        return Weighted.of_flat(self.net, flat[:numbers]), deviations

    def learn(self, codes: npt.NDArray[np.integer], report: Callable[[str], None]) -> npt.NDArray[np.int64]:
        if not self.modal.encoding.width:  # every column has one value
            return np.zeros(self.shape, np.int64)
        from sfumato.synthesizers.deep.tvae_training import train

        return pack(train(self, codes, report)[None])

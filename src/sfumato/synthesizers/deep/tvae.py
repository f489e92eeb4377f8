"""`tvae`: a tabular variational autoencoder on the rows as they are. Nothing is guaranteed.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4.5. Equations, options and what differs:
docs/methods/tvae.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.synthesizers.deep.common import check_positive
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.deep.vae_learner import TabularVae, VaeSettings
from sfumato.synthesizers.deep.yardstick import Known, NetworkYardstick, check_sizes
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("tvae")
@frozen(kw_only=True)
class Tvae(NetworkYardstick[TabularVae]):
    """TVAE without privacy."""

    name: ClassVar[str] = "tvae"
    summary: ClassVar[str] = "neural: variational autoencoder of the exact rows, as a yardstick (needs torch)"
    for_sdv: ClassVar[tuple[str, ...]] = (
        "epochs", "batch_size", "embedding_dim", "compress_dims", "decompress_dims", "l2scale", "loss_factor",
    )  # fmt: skip

    compress_dims: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of the encoder."""
    decompress_dims: tuple[int, ...] = (128, 128)
    """Of the decoder."""
    lr: float = 1e-3
    l2scale: float = 1e-5
    """Decay of the weights."""
    loss_factor: float = 2.0
    """Weight of the reconstruction against the divergence."""

    def check_options(self) -> None:
        super().check_options()
        check_sizes(compress_dims=self.compress_dims, decompress_dims=self.decompress_dims)
        check_positive(lr=self.lr, loss_factor=self.loss_factor)
        if self.l2scale < 0:
            raise ValueError("l2scale is at least 0")
        if self.backend == "sdv" and self.lr != 1e-3:
            raise ValueError("lr cannot be chosen with backend = 'sdv'")

    def learner(self, known: Known) -> TabularVae:
        return TabularVae(
            known.modal,
            settings=VaeSettings(
                epochs=self.epochs,
                batch=self.batch_size,
                code=self.embedding_dim,
                compress=self.compress_dims,
                decompress=self.decompress_dims,
                rate=self.lr,
                decay=self.l2scale,
                loss_factor=self.loss_factor,
                seed=self.initial,
            ),
            facts={"what": "variational autoencoder", "epochs": self.epochs},
        )

    def generator(
        self, known: Known, learner: TabularVae, numbers: npt.NDArray[np.float32]
    ) -> ModalGenerator:
        net, deviations = learner.released(numbers)
        return ModalGenerator(
            total=known.total, encoding=known.modal.encoding, net=net, deviations=deviations
        )

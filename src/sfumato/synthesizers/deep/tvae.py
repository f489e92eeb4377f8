"""`tvae`: a tabular variational autoencoder on the rows as they are. Nothing is guaranteed.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4.5. Equations, options and what differs:
docs/methods/tvae.md.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from attrs import evolve, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers import sdv_backend
from sfumato.synthesizers.deep.common import check_choice, check_positive, need_torch
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.deep.vae_learner import TabularVae, VaeSettings
from sfumato.synthesizers.deep.yardstick import check_sizes, know, released
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.released_generator import ReleasedRecords


@synthesizer("tvae")
@frozen(kw_only=True)
class Tvae:
    """TVAE without privacy."""

    name: ClassVar[str] = "tvae"
    summary: ClassVar[str] = "neural: variational autoencoder of the exact rows, as a yardstick (needs torch)"
    guarantee: ClassVar[str] = "none"

    epochs: int = 300
    batch_size: int = 500
    embedding_dim: int = 128
    """Coordinates of the code."""
    compress_dims: tuple[int, ...] = (128, 128)
    """Widths of the hidden layers of the encoder."""
    decompress_dims: tuple[int, ...] = (128, 128)
    """Of the decoder."""
    lr: float = 1e-3
    l2scale: float = 1e-5
    """Decay of the weights."""
    loss_factor: float = 2.0
    """Weight of the reconstruction against the divergence."""
    num_modes: int = 10
    """Most modes of a number."""
    initial: int = 0
    """Seed of the training."""
    backend: Literal["own", "sdv"] = "own"
    """"sdv": train the synthesizer of that name of the package SDV, where it is installed."""
    sdv_rows: int = 0
    """Rows that SDV draws once it is fitted, which is what the model keeps; 0: as many as are asked for with
    the fit, else as many as the table has."""

    def __attrs_post_init__(self) -> None:
        check_choice("backend", self.backend, ("own", "sdv"))
        check_sizes(compress_dims=self.compress_dims, decompress_dims=self.decompress_dims)
        check_positive(
            epochs=self.epochs,
            batch_size=self.batch_size,
            embedding_dim=self.embedding_dim,
            lr=self.lr,
            loss_factor=self.loss_factor,
            num_modes=self.num_modes,
        )
        if min(self.l2scale, self.sdv_rows, self.initial) < 0:
            raise ValueError("l2scale, sdv_rows and initial are at least 0")
        if self.backend == "sdv" and self.lr != 1e-3:
            raise ValueError("lr cannot be chosen with backend = 'sdv'")

    def check_packages(self) -> None:
        """UsageError with the command that installs what is missing."""
        if self.backend == "sdv":
            sdv_backend.check_installed(self.name)
        else:
            need_torch(self.name)

    def for_rows(self, rows: int | None) -> Tvae:
        """This recipe when so many rows will be asked for."""
        return evolve(self, sdv_rows=sdv_backend.rows_to_keep(self.backend, self.sdv_rows, rows))

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: training is exact": 1.0}

    def learn(self, curator: Curator, domain: Domain) -> ModalGenerator | ReleasedRecords:
        if self.backend == "sdv":
            return sdv_backend.learn(
                curator, domain, method=self.name, options=self._for_sdv(), keep=self.sdv_rows
            )
        known = know(curator, domain, method=self.name, at_most=self.num_modes, normal=False)
        learner = TabularVae(
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
        answer = curator.train_unprotected(learner, encoders=domain.codecs, purpose="training")
        net, deviations = learner.released(released(answer))
        return ModalGenerator(
            total=known.total, encoding=known.modal.encoding, net=net, deviations=deviations
        )

    def _for_sdv(self) -> dict[str, Any]:
        names = (
            "epochs", "batch_size", "embedding_dim", "compress_dims", "decompress_dims", "l2scale",
            "loss_factor",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

"""`ctgan`: a conditional tabular GAN on the rows as they are. Nothing is guaranteed.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, "Modeling tabular data using conditional GAN".
Equations, options and what differs: docs/methods/ctgan.md.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from attrs import evolve, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers import sdv_backend
from sfumato.synthesizers.deep.common import check_choice, check_positive, need_torch
from sfumato.synthesizers.deep.gan_learner import ConditionalGan, GanSettings
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.deep.nets import Weighted
from sfumato.synthesizers.deep.yardstick import check_sizes, know, released
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.released_generator import ReleasedRecords


@synthesizer("ctgan")
@frozen(kw_only=True)
class Ctgan:
    """CTGAN without privacy."""

    name: ClassVar[str] = "ctgan"
    summary: ClassVar[str] = "neural: conditional GAN on the exact rows, as a yardstick (needs torch)"
    guarantee: ClassVar[str] = "none"
    normal: ClassVar[bool] = False
    """Whether numbers are put on the normal scale first."""

    epochs: int = 300
    batch_size: int = 500
    embedding_dim: int = 128
    """Coordinates of the noise that the generator starts from."""
    generator_dim: tuple[int, ...] = (256, 256)
    discriminator_dim: tuple[int, ...] = (256, 256)
    generator_lr: float = 2e-4
    generator_decay: float = 1e-6
    discriminator_lr: float = 2e-4
    discriminator_decay: float = 1e-6
    discriminator_steps: int = 1
    """Steps of the critic for each of the generator."""
    log_frequency: bool = True
    """Labels are drawn in training by the logarithm of their counts, else by their counts."""
    pac: int = 10
    """Rows that the critic judges at once."""
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
        check_sizes(generator_dim=self.generator_dim, discriminator_dim=self.discriminator_dim)
        check_positive(
            epochs=self.epochs,
            batch_size=self.batch_size,
            embedding_dim=self.embedding_dim,
            generator_lr=self.generator_lr,
            discriminator_lr=self.discriminator_lr,
            discriminator_steps=self.discriminator_steps,
            pac=self.pac,
            num_modes=self.num_modes,
        )
        if min(self.generator_decay, self.discriminator_decay, self.sdv_rows, self.initial) < 0:
            raise ValueError("generator_decay, discriminator_decay, sdv_rows and initial are at least 0")

    def check_packages(self) -> None:
        """UsageError with the command that installs what is missing."""
        if self.backend == "sdv":
            sdv_backend.check_installed(self.name)
        else:
            need_torch(self.name)

    def for_rows(self, rows: int | None) -> Ctgan:
        """This recipe when so many rows will be asked for."""
        return evolve(self, sdv_rows=sdv_backend.rows_to_keep(self.backend, self.sdv_rows, rows))

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: training is exact": 1.0}

    def learn(self, curator: Curator, domain: Domain) -> ModalGenerator | ReleasedRecords:
        if self.backend == "sdv":
            return sdv_backend.learn(
                curator, domain, method=self.name, options=self._for_sdv(), keep=self.sdv_rows
            )
        known = know(curator, domain, method=self.name, at_most=self.num_modes, normal=self.normal)
        learner = ConditionalGan(
            known.modal,
            known.shares,
            rows=known.total,
            settings=GanSettings(
                epochs=self.epochs,
                batch=self.batch_size,
                noise_dim=self.embedding_dim,
                generator_dim=self.generator_dim,
                critic_dim=self.discriminator_dim,
                generator_rate=self.generator_lr,
                generator_decay=self.generator_decay,
                critic_rate=self.discriminator_lr,
                critic_decay=self.discriminator_decay,
                critic_steps=self.discriminator_steps,
                log_frequency=self.log_frequency,
                pac=self.pac,
                seed=self.initial,
            ),
            facts={"what": "conditional GAN", "epochs": self.epochs},
        )
        answer = curator.train_unprotected(learner, encoders=domain.codecs, purpose="training")
        return ModalGenerator(
            total=known.total,
            encoding=known.modal.encoding,
            net=Weighted.of_flat(learner.net, released(answer)),
            condition=learner.frequencies,
        )

    def _for_sdv(self) -> dict[str, Any]:
        names = (
            "epochs", "batch_size", "embedding_dim", "generator_dim", "discriminator_dim", "generator_lr",
            "generator_decay", "discriminator_lr", "discriminator_decay", "discriminator_steps",
            "log_frequency", "pac",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

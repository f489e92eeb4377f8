"""`ctgan`: a conditional tabular GAN on the rows as they are. Nothing is guaranteed.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, "Modeling tabular data using conditional GAN".
Equations, options and what differs: docs/methods/ctgan.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.synthesizers.deep.common import check_positive
from sfumato.synthesizers.deep.gan_learner import ConditionalGan, GanSettings
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.deep.nets import Weighted
from sfumato.synthesizers.deep.yardstick import Known, NetworkYardstick, check_sizes
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("ctgan")
@frozen(kw_only=True)
class Ctgan(NetworkYardstick[ConditionalGan]):
    """CTGAN without privacy."""

    name: ClassVar[str] = "ctgan"
    summary: ClassVar[str] = "neural: conditional GAN on the exact rows, as a yardstick (needs torch)"
    for_sdv: ClassVar[tuple[str, ...]] = (
        "epochs", "batch_size", "embedding_dim", "generator_dim", "discriminator_dim", "generator_lr",
        "generator_decay", "discriminator_lr", "discriminator_decay", "discriminator_steps", "log_frequency",
        "pac",
    )  # fmt: skip

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

    def check_options(self) -> None:
        super().check_options()
        check_sizes(generator_dim=self.generator_dim, discriminator_dim=self.discriminator_dim)
        check_positive(
            generator_lr=self.generator_lr,
            discriminator_lr=self.discriminator_lr,
            discriminator_steps=self.discriminator_steps,
            pac=self.pac,
        )
        if min(self.generator_decay, self.discriminator_decay) < 0:
            raise ValueError("generator_decay and discriminator_decay are at least 0")

    def learner(self, known: Known) -> ConditionalGan:
        return ConditionalGan(
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

    def generator(
        self, known: Known, learner: ConditionalGan, numbers: npt.NDArray[np.float32]
    ) -> ModalGenerator:
        return ModalGenerator(
            total=known.total,
            encoding=known.modal.encoding,
            net=Weighted.of_flat(learner.net, numbers),
            condition=learner.frequencies,
        )

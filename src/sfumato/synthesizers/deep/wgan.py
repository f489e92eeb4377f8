"""`dp-wgan`: a Wasserstein GAN on rows themselves, after Frigerio, Oliveira, Gomez, Duverger 2019.

What differs from the reference implementation: docs/methods/dp-wgan.md.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.deep.common import (
    Learning,
    Training,
    adam,
    check_choice,
    check_positive,
    division,
    need_torch,
    power_of_two,
    rmsprop,
)
from sfumato.synthesizers.deep.generator import NetworkGenerator
from sfumato.synthesizers.deep.nets import chain, initial
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("dp-wgan")
@frozen(kw_only=True)
class DpWgan:
    """DP-WGAN: a clamped critic trained by DP-SGD, a generator with a softmax for each column."""

    name: ClassVar[str] = "dp-wgan"
    summary: ClassVar[str] = "neural: Wasserstein GAN on one-hot rows (needs torch)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    trains: ClassVar[bool] = True

    rows: int | None = None
    """Number of rows, where it is public; else a noisy count is bought."""
    decode: Literal["sample", "argmax"] = "sample"
    noise_dim: int = 64
    hidden: int = 256
    """Width of the hidden layers of generator and critic."""
    steps: int = 5_000
    """Critic steps."""
    batch: float = 256.0
    clip: float = 0.2
    critic_per_generator: int = 5
    critic_rate: float = 0.001
    generator_rate: float = 0.0005
    weight_clamp: float = 0.03
    group: int = 1
    noise_multiplier: float | None = None
    """Noise of a step over its clip, in place of the least that the budget allows."""
    initial: int = 0

    def __attrs_post_init__(self) -> None:
        check_choice("decode", self.decode, ("sample", "argmax"))
        check_positive(
            noise_dim=self.noise_dim,
            hidden=self.hidden,
            steps=self.steps,
            batch=self.batch,
            clip=self.clip,
            critic_per_generator=self.critic_per_generator,
            critic_rate=self.critic_rate,
            generator_rate=self.generator_rate,
            weight_clamp=self.weight_clamp,
            group=self.group,
            rows=self.rows,
            noise_multiplier=self.noise_multiplier,
        )
        if self.steps % self.critic_per_generator:
            raise ValueError("steps must be a multiple of critic_per_generator")

    def split(self, columns: int) -> dict[str, float]:
        return division(rows=self.rows, critic=1.0)

    def trainings(self, rows: float) -> tuple[Training, ...]:
        return (Training(purpose="critic", batch=self.batch, steps=self.steps),)

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        need_torch(self.name)
        from sfumato.synthesizers.deep.modules import HeadModule
        from sfumato.synthesizers.deep.programs import Critic

        learning = Learning.begin(self, curator, domain.codecs)
        known = learning.known
        width = known.encoding.width
        first = initial(
            chain(self.noise_dim, self.hidden, self.hidden, width), np.random.default_rng([self.initial, 5])
        )

        def critic() -> Critic:
            return Critic(
                known.encoding,
                chain(width, self.hidden, self.hidden, 1),
                first,
                HeadModule(known.encoding.head),
                optimiser=rmsprop(self.critic_rate),
                generator_optimiser=adam(self.generator_rate, (0.5, 0.9)),
                clamp=self.weight_clamp,
                pool=power_of_two(self.batch),
                seed=self.initial,
                facts={"what": "critic", "clamp": self.weight_clamp, "rate": self.critic_rate},
            )

        program = critic()
        (training,) = self.trainings(known.total)
        released = learning.train(
            program, training, clip=self.clip, rounds=self.steps // self.critic_per_generator
        )
        return NetworkGenerator(
            total=known.total,
            encoding=known.encoding,
            sample_labels=self.decode == "sample",
            head=True,
            nets=(program.trained(released.snapshots, critic),),
        )

"""`dp-auto-gan`: an autoencoder, then a Wasserstein GAN through its decoder.

Tantipongpipat, Waites, Boob, Siva, Cummings 2021, "Differentially private synthetic mixed-type data
generation for unsupervised learning". Equations, defaults and what differs from the paper:
docs/methods/dp-auto-gan.md.
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
    check_share,
    division,
    need_torch,
    power_of_two,
    rmsprop,
)
from sfumato.synthesizers.deep.generator import NetworkGenerator
from sfumato.synthesizers.deep.nets import Layer, Net, chain, initial
from sfumato.synthesizers.recipe import synthesizer

PAPER = (
    "the encoder is trained without noise, so that one row changes the terms of all others "
    "in every later step (docs/methods/dp-auto-gan.md)"
)


@synthesizer("dp-auto-gan")
@frozen(kw_only=True)
class DpAutoGan:
    """DP-auto-GAN: phase 1 trains encoder and decoder, phase 2 a critic and a generator of codes."""

    name: ClassVar[str] = "dp-auto-gan"
    summary: ClassVar[str] = "neural: autoencoder, then a GAN through its decoder (needs torch)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    trains: ClassVar[bool] = True

    rows: int | None = None
    """Number of rows, where it is public; else a noisy count is bought."""
    encoder_mode: str = "joint"
    """"joint": noise on encoder and decoder together; "frozen": a random public encoder; "paper": no noise
    on the encoder, and no guarantee."""
    numeric: Literal["linear", "ranks"] = "linear"
    """Numbers between their bounds, or by their ranks in a noisy distribution, which is paid for."""
    marginals_share: float = 0.1
    """Share of the budget for one-way marginals, where they are needed."""
    rectify_marginals: bool = False
    """Rows that are drawn get noisy one-way marginals, which are paid for: those of labels, and of numbers
    with `numeric = "ranks"`."""
    decode: Literal["sample", "argmax"] = "sample"
    code: int = 15
    """Coordinates of the code."""
    hidden: int = 0
    """Width of the hidden layers of the autoencoder; 0: half of row and code together."""
    activation: str = "leaky"
    autoencoder_share: float = 0.4
    """Share of the budget, of what is left for training."""
    autoencoder_steps: int = 10_000
    autoencoder_batch: float = 64.0
    autoencoder_clip: float = 0.012
    autoencoder_rate: float = 0.005
    autoencoder_decay: float = 0.0
    noise_dim: int = 64
    """Coordinates of the noise that the generator starts from."""
    critic_hidden: int = 0
    """Width of the critic's first hidden layer, the second has half of it; 0: two thirds of the row."""
    critic_steps: int = 15_000
    critic_batch: float = 128.0
    critic_clip: float = 0.022
    critic_rate: float = 0.005
    generator_rate: float = 0.005
    critic_per_generator: int = 15
    """Critic steps for each step of the generator."""
    generator_steps: int = 1
    """Steps of the generator at the end of each round of critic steps; they cost nothing."""
    weight_clamp: float = 0.01
    group: int = 1
    """Rows in a micro-batch: fixed groups, for which the price is that of exchanging one group's gradient."""
    noise_multiplier: float | None = None
    """Noise of a step over its clip, in place of the least that the budget allows."""
    initial: int = 0
    """Public seed of first weights and of what the generator is trained on; noise has no seed."""

    def __attrs_post_init__(self) -> None:
        check_choice("encoder_mode", self.encoder_mode, ("joint", "frozen", "paper"))
        check_choice("numeric", self.numeric, ("linear", "ranks"))
        check_choice("decode", self.decode, ("sample", "argmax"))
        check_choice("activation", self.activation, ("leaky", "relu", "tanh"))
        check_share(autoencoder_share=self.autoencoder_share, marginals_share=self.marginals_share)
        check_positive(
            code=self.code,
            autoencoder_steps=self.autoencoder_steps,
            autoencoder_batch=self.autoencoder_batch,
            autoencoder_clip=self.autoencoder_clip,
            autoencoder_rate=self.autoencoder_rate,
            noise_dim=self.noise_dim,
            critic_steps=self.critic_steps,
            critic_batch=self.critic_batch,
            critic_clip=self.critic_clip,
            critic_rate=self.critic_rate,
            generator_rate=self.generator_rate,
            critic_per_generator=self.critic_per_generator,
            generator_steps=self.generator_steps,
            weight_clamp=self.weight_clamp,
            group=self.group,
            rows=self.rows,
            noise_multiplier=self.noise_multiplier,
        )
        if self.critic_steps % self.critic_per_generator:
            raise ValueError("critic_steps must be a multiple of critic_per_generator")

    def split(self, columns: int) -> dict[str, float]:
        marginals = self.marginals_share if self.numeric == "ranks" or self.rectify_marginals else 0.0
        return division(
            rows=self.rows,
            marginals=marginals,
            autoencoder=self.autoencoder_share,
            critic=1 - self.autoencoder_share,
        )

    def trainings(self, rows: float) -> tuple[Training, ...]:
        return (
            Training(
                purpose="autoencoder", batch=self.autoencoder_batch, steps=self.autoencoder_steps, share=0.5
            ),
            Training(purpose="critic", batch=self.critic_batch, steps=self.critic_steps, share=0.5),
        )

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        need_torch(self.name)
        from sfumato.synthesizers.deep.modules import DOUBLE, device, module_of
        from sfumato.synthesizers.deep.programs import Autoencoder, Critic

        learning = Learning.begin(self, curator, domain.codecs, numeric=self.numeric)
        known, paper = learning.known, self.encoder_mode == "paper"
        width = known.encoding.width
        hidden = self.hidden or max(2, (width + self.code) // 2)
        autoencoder = Autoencoder(
            known.encoding,
            chain(width, hidden, self.code, activation=self.activation, last=self.activation),
            chain(self.code, hidden, width, activation=self.activation, last="sigmoid"),
            means=known.means,
            frozen=self.encoder_mode == "frozen",
            optimiser=adam(self.autoencoder_rate, decay=self.autoencoder_decay),
            facts={"what": "autoencoder", "mode": self.encoder_mode, "rate": self.autoencoder_rate},
            seed=self.initial,
        )
        one, two = self.trainings(known.total)
        first = learning.train(
            autoencoder,
            one,
            clip=self.autoencoder_clip,
            exposed=("encoder",) if paper else (),
            unprotected=paper,
        )
        decoder = autoencoder.decoder(first.snapshots[-1])
        finish = module_of(decoder, dtype=DOUBLE, where=device())

        def critic() -> Critic:
            return Critic(
                known.encoding,
                self._critic(width),
                initial(self._generator(), np.random.default_rng([self.initial, 5])),
                finish,
                optimiser=rmsprop(self.critic_rate),
                generator_optimiser=rmsprop(self.generator_rate),
                clamp=self.weight_clamp,
                generator_steps=self.generator_steps,
                pool=power_of_two(self.critic_batch),
                seed=self.initial,
                facts={"what": "critic", "clamp": self.weight_clamp, "rate": self.critic_rate},
            )

        program = critic()
        second = learning.train(
            program,
            two,
            clip=self.critic_clip,
            rounds=self.critic_steps // self.critic_per_generator,
            unprotected=paper,
        )
        if paper:
            curator.reveal(PAPER)
        return NetworkGenerator(
            total=known.total,
            encoding=known.encoding,
            sample_labels=self.decode == "sample",
            targets=known.targets(domain.codecs) if self.rectify_marginals else (),
            nets=(program.trained(second.snapshots, critic), decoder),
        )

    def _critic(self, width: int) -> Net:
        first = self.critic_hidden or max(2, 2 * width // 3)
        second = max(1, first // 2)
        # A bias of the score would cancel in f(D(G(z))) - f(x): two gradients of size 1, far above the clip,
        # which would take all room that the integers of a row have.
        score = Layer(inputs=second, outputs=1, activation="none", bias=False)
        return (*chain(width, first, second, last="leaky"), score)

    def _generator(self) -> Net:
        layer = Layer(inputs=self.noise_dim, outputs=self.noise_dim, bias=False, norm=True, residual=True)
        last = Layer(inputs=self.noise_dim, outputs=self.code, activation="none")
        return (layer, layer, last)

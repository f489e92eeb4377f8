"""`dp-vae`: a variational autoencoder by DP-SGD, after Chen et al. 2018 and Acs et al. 2018.

What differs from the reference implementations: docs/methods/dp-vae.md.
"""

from __future__ import annotations

from typing import ClassVar, Literal

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
)
from sfumato.synthesizers.deep.generator import NetworkGenerator
from sfumato.synthesizers.deep.nets import chain
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("dp-vae")
@frozen(kw_only=True)
class DpVae:
    """DP-VAE: the gradient of the whole evidence lower bound is clipped row by row."""

    name: ClassVar[str] = "dp-vae"
    summary: ClassVar[str] = "neural: variational autoencoder (needs torch)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    trains: ClassVar[bool] = True

    rows: int | None = None
    """Number of rows, where it is public; else a noisy count is bought."""
    numeric: Literal["linear", "ranks"] = "linear"
    marginals_share: float = 0.1
    rectify_marginals: bool = False
    """Rows that are drawn get noisy one-way marginals, which are paid for: those of labels, and of numbers
    with `numeric = "ranks"`."""
    decode: Literal["sample", "argmax"] = "sample"
    code: int = 8
    """Coordinates of the code."""
    hidden: int = 64
    steps: int = 3_000
    batch: float = 256.0
    clip: float = 0.2
    rate: float = 0.003
    group: int = 1
    noise_multiplier: float | None = None
    """Noise of a step over its clip, in place of the least that the budget allows."""
    initial: int = 0

    def __attrs_post_init__(self) -> None:
        check_choice("numeric", self.numeric, ("linear", "ranks"))
        check_choice("decode", self.decode, ("sample", "argmax"))
        check_share(marginals_share=self.marginals_share)
        check_positive(
            code=self.code,
            hidden=self.hidden,
            steps=self.steps,
            batch=self.batch,
            clip=self.clip,
            rate=self.rate,
            group=self.group,
            rows=self.rows,
            noise_multiplier=self.noise_multiplier,
        )

    def split(self, columns: int) -> dict[str, float]:
        marginals = self.marginals_share if self.numeric == "ranks" or self.rectify_marginals else 0.0
        return division(rows=self.rows, marginals=marginals, autoencoder=1.0)

    def trainings(self, rows: float) -> tuple[Training, ...]:
        return (Training(purpose="autoencoder", batch=self.batch, steps=self.steps),)

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        need_torch(self.name)
        from sfumato.synthesizers.deep.programs import VariationalAutoencoder

        learning = Learning.begin(self, curator, domain.codecs, numeric=self.numeric)
        known = learning.known
        width = known.encoding.width
        program = VariationalAutoencoder(
            known.encoding,
            chain(width, self.hidden, 2 * self.code),
            chain(self.code, self.hidden, width, last="sigmoid"),
            pool=power_of_two(self.batch),
            optimiser=adam(self.rate),
            seed=self.initial,
            facts={"what": "variational autoencoder", "rate": self.rate},
        )
        (training,) = self.trainings(known.total)
        released = learning.train(program, training, clip=self.clip)
        return NetworkGenerator(
            total=known.total,
            encoding=known.encoding,
            sample_labels=self.decode == "sample",
            targets=known.targets(domain.codecs) if self.rectify_marginals else (),
            nets=(program.decoder(released.snapshots[-1]),),
        )

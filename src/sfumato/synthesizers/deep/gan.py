"""`dp-gan`: a conditional GAN over normalised columns, every statistic of which is paid for.

Equations, options and what is charged: docs/methods/dp-gan.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec, GridCodec
from sfumato.domain.kinds.integer import Int
from sfumato.domain.kinds.real import Float
from sfumato.errors import Overdraft, UsageError
from sfumato.privacy import gdp
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.deep.common import (
    ROWS_SHARE,
    Training,
    adam,
    check_choice,
    check_positive,
    in_range,
    label_shares,
    measure_steps,
    need_torch,
    power_of_two,
)
from sfumato.synthesizers.deep.encoding import FEW, Encoding, labels, modes, ranks
from sfumato.synthesizers.deep.generator import NetworkGenerator
from sfumato.synthesizers.deep.nets import chain, initial
from sfumato.synthesizers.recipe import synthesizer

Floats = npt.NDArray[np.float64]
KEPT = 1 << 24
"""Numbers of released discriminators, at most about."""
MARGINALS_SHARE = 0.3
"""Of the budget, with the number of rows."""


def _bounds(value: Any) -> tuple[float, ...] | dict[str, tuple[float, ...]]:
    """Pairs as tuples, also where a file had lists."""
    if isinstance(value, dict):
        return {str(name): tuple(pair) for name, pair in value.items()}
    return tuple(value)


@synthesizer("dp-gan")
@frozen(kw_only=True)
class DpGan:
    """DP-GAN: an auxiliary-classifier GAN, conditioned on the most imbalanced column or a named one."""

    name: ClassVar[str] = "dp-gan"
    summary: ClassVar[str] = "neural: conditional GAN on normalised columns (needs torch)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    trains: ClassVar[bool] = True

    rows: int | None = None
    """Number of rows, where it is public; else the noisy marginals tell it."""
    numeric: Literal["mode", "uniform"] = "mode"
    """"mode": within one of a few normal distributions; "uniform": ranks in a noisy distribution, on the
    normal scale."""
    num_modes: int = 3
    rectify_marginals: bool = False
    """Numbers that are drawn get the noisy distribution exactly; with `numeric = "uniform"`."""
    condition: str = ""
    """Column that the GAN is conditioned on; else the categorical column with the smallest noisy entropy."""
    aux_lambda: float = 1.0
    """Weight of the classification of the condition."""
    discriminator_steps: int = 4
    """Steps of the discriminator in a round, after which it is released."""
    generator_steps: int = 1
    """Steps of the generator at the end of each round, against the discriminator that is released; they cost
    nothing. Rounds are longer, and have more of both, where so many discriminators would not fit in memory.
    """
    label_smoothing: float = 0.0
    ecdf_epsilon: float = 0.0
    """How much of epsilon the noisy distributions of all columns get, as if they were all there is; 0: three
    tenths of the budget."""
    ecdf_bounds: tuple[float, ...] | dict[str, tuple[float, ...]] = field(factory=tuple, converter=_bounds)
    """Least and largest value of every number, within its declared bounds; or of those columns that it
    names."""
    epochs: int = 100
    batch: float = 128.0
    clip: float = 1.0
    rate: float = 0.002
    """Of learning, of the discriminator."""
    generator_rate: float = 0.001
    noise_dim: int = 64
    hidden: int = 256
    decode: Literal["sample", "argmax"] = "sample"
    group: int = 1
    noise_multiplier: float | None = None
    """Noise of a step over its clip, in place of the least that the budget allows."""
    initial: int = 0

    def __attrs_post_init__(self) -> None:
        check_choice("numeric", self.numeric, ("mode", "uniform"))
        check_choice("decode", self.decode, ("sample", "argmax"))
        check_positive(
            num_modes=self.num_modes,
            discriminator_steps=self.discriminator_steps,
            generator_steps=self.generator_steps,
            epochs=self.epochs,
            batch=self.batch,
            clip=self.clip,
            rate=self.rate,
            generator_rate=self.generator_rate,
            noise_dim=self.noise_dim,
            hidden=self.hidden,
            group=self.group,
            rows=self.rows,
            noise_multiplier=self.noise_multiplier,
        )
        if not 0 <= self.label_smoothing < 0.5 or self.aux_lambda < 0 or self.ecdf_epsilon < 0:
            raise ValueError("label_smoothing lies in [0, 0.5), aux_lambda and ecdf_epsilon are at least 0")
        if self.rectify_marginals and self.numeric != "uniform":
            raise ValueError('rectify_marginals needs numeric = "uniform"')
        every = self.ecdf_bounds.values() if isinstance(self.ecdf_bounds, dict) else [self.ecdf_bounds]
        if any(pair and (len(pair) != 2 or not pair[0] < pair[1]) for pair in every):
            raise ValueError("ecdf_bounds are two numbers, the smaller one first, or such a pair for columns")

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError when the condition is no column."""
        if self.condition and self.condition not in names:
            raise UsageError(
                f"there is no column {self.condition!r} to condition on", mend=f"columns: {', '.join(names)}"
            )
        for name in self.ecdf_bounds if isinstance(self.ecdf_bounds, dict) else ():
            if name not in names:
                raise UsageError(
                    f"ecdf_bounds are for {name!r}, which is no column", mend=f"columns: {', '.join(names)}"
                )

    def split(self, columns: int) -> dict[str, float]:
        counted = MARGINALS_SHARE * ROWS_SHARE
        return {
            "row count": counted,
            "one-way marginals": MARGINALS_SHARE - counted,
            "discriminator": 1 - MARGINALS_SHARE,
        }

    @property
    def split_note(self) -> str:
        """What `split`, which knows no epsilon, leaves out."""
        if not self.ecdf_epsilon:
            return ""
        return (
            f"row count and one-way marginals cost ecdf_epsilon = {self.ecdf_epsilon:g} in place of their "
            "share, and the discriminator has the rest"
        )

    def trainings(self, rows: float) -> tuple[Training, ...]:
        steps = max(1, round(rows / self.batch / (self.group if self.group > 1 else 1)))
        steps = max(steps * self.epochs, self.discriminator_steps)
        return (Training(purpose="discriminator", batch=self.batch, steps=steps),)

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        need_torch(self.name)
        from sfumato.synthesizers.deep.modules import HeadModule
        from sfumato.synthesizers.deep.programs import Discriminator

        codecs, budget = domain.codecs, curator.left
        self._check_codecs(codecs)
        marginals = self._marginals(curator, budget)
        # Rate and number of steps follow from noisy counts.
        curator.ledger.adaptive = True
        total, counts = measure_steps(
            curator,
            codecs,
            rows=self.rows,
            spend=marginals * (1 - ROWS_SHARE),
            total_spend=marginals * ROWS_SHARE,
        )
        encoding = self._encoding(codecs, counts)
        place, shares = self._condition(codecs, counts, encoding)
        first = encoding.starts[place] if shares.size else 0
        block = (first, first + shares.size)
        width, count = encoding.width, shares.size
        (training,) = self.trainings(total)
        network = chain(width, self.hidden, 1 + count)
        size = sum((layer.inputs + 1) * layer.outputs for layer in network)
        rounds, times = self._rounds(training.steps, size)
        begin = initial(
            chain(self.noise_dim + count, self.hidden, width), np.random.default_rng([self.initial, 5])
        )

        def made() -> Discriminator:
            return Discriminator(
                encoding,
                network,
                begin,
                HeadModule(encoding.head),
                optimiser=adam(self.rate, (0.5, 0.999)),
                generator_optimiser=adam(self.generator_rate, (0.5, 0.999)),
                labels=block,
                weight=self.aux_lambda,
                smoothing=self.label_smoothing,
                pool=power_of_two(self.batch),
                seed=self.initial,
                generator_steps=self.generator_steps * times,
                facts={"what": "discriminator", "rate": self.rate, "aux_lambda": self.aux_lambda},
            )

        program = made()
        released = curator.train(
            program,
            encoders=codecs,
            total=total,
            batch=training.batch,
            steps=rounds * times * self.discriminator_steps,
            clip=self.clip,
            spend=budget - marginals,
            share=training.share,
            purpose=training.purpose,
            rounds=rounds,
            group=self.group,
            noise=self.noise_multiplier,
        )
        return NetworkGenerator(
            total=total,
            encoding=encoding,
            sample_labels=self.decode == "sample",
            head=True,
            condition=shares,
            targets=label_shares(codecs, encoding, counts) if self.rectify_marginals else (),
            nets=(program.trained(released.snapshots, made),),
        )

    def _rounds(self, steps: int, size: int) -> tuple[int, int]:
        """Rounds for at most so many steps in all, and how often one of them has `discriminator_steps`, such
        that what is released of `size` parameters is no more than `KEPT` numbers.
        """
        times = max(1, math.ceil(steps * size / KEPT / self.discriminator_steps))
        return max(1, steps // (self.discriminator_steps * times)), times

    def _check_codecs(self, codecs: tuple[Codec, ...]) -> None:
        for codec in codecs:
            if codec.column == self.condition and (isinstance(codec, GridCodec) or codec.allowed.sum() < 2):
                raise UsageError(
                    f"column {self.condition!r} is no category of two values or more",
                    mend="condition on another column, or on none",
                )
            number = isinstance(codec, GridCodec) and isinstance(codec.facts, Int | Float)
            if isinstance(self.ecdf_bounds, dict) and codec.column in self.ecdf_bounds and not number:
                raise UsageError(
                    f"ecdf_bounds are for {codec.column!r}, which is no number", mend="leave it out"
                )

    def _marginals(self, curator: Curator, budget: float) -> float:
        """What the marginals may cost."""
        if not self.ecdf_epsilon:
            return MARGINALS_SHARE * budget
        delta = curator.filter.budget.conversion_delta
        spend = gdp.mu(self.ecdf_epsilon, delta) ** 2
        if spend > 0.95 * budget:
            raise Overdraft(
                f"ecdf_epsilon = {self.ecdf_epsilon:g} leaves nothing to train with",
                mend="ask for a larger epsilon, or a smaller ecdf_epsilon",
            )
        return spend

    def _encoding(self, codecs: tuple[Codec, ...], counts: tuple[Floats, ...]) -> Encoding:
        columns = []
        for codec, held in zip(codecs, counts, strict=True):
            if not isinstance(codec, GridCodec) or codec.cells <= FEW:
                columns.append(labels(codec, full=True))
                continue
            held = self._within(codec, held)
            columns.append(
                ranks(codec, held, normal=True)
                if self.numeric == "uniform"
                else modes(codec, held, at_most=self.num_modes)
            )
        return Encoding(columns=tuple(columns))

    def _within(self, codec: GridCodec, counts: Floats) -> Floats:
        """Counts of cells beyond `ecdf_bounds` at the nearest cell within them."""
        pair = self.ecdf_bounds
        if isinstance(pair, dict):
            pair = pair.get(codec.column, ())
        if not pair:
            return counts
        facts = codec.facts
        if not isinstance(facts, Int | Float):
            return counts
        low, high = (facts.unit_of(f"{bound:.15g}") for bound in pair)
        if low is None or high is None:
            return counts
        first, last = codec.cell_of(np.array([low, high], dtype=np.int64)).tolist()
        found = counts.copy()
        cells = found[codec.atoms :]
        cells[first] += cells[:first].sum()
        cells[last] += cells[last + 1 :].sum()
        cells[:first] = 0
        cells[last + 1 :] = 0
        return found

    def _condition(
        self, codecs: tuple[Codec, ...], counts: tuple[Floats, ...], encoding: Encoding
    ) -> tuple[int, Floats]:
        """Place of the column to condition on, and the noisy shares of its labels; none: no shares."""
        candidates = [i for i, c in enumerate(encoding.columns) if not c.numeric and c.labels > 1]
        if self.condition:
            candidates = [i for i in candidates if codecs[i].column == self.condition]
        if not candidates:
            return 0, np.zeros(0)
        shares = {i: in_range(counts[i][encoding.columns[i].label_code]) for i in candidates}
        entropy = {i: float(-(p * np.log(np.maximum(p, 1e-12))).sum()) for i, p in shares.items()}
        place = min(entropy, key=lambda i: (entropy[i], i))
        return place, shares[place]

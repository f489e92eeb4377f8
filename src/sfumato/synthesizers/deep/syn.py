"""`dp-syn`: an autoencoder, and a mixture of normal codes for each label, after Abay et al. 2018.

The mixtures are learned by DP-EM (Park, Foulds, Chaudhuri, Welling 2017). Equations, and what differs from
the reference implementation: docs/methods/dp-syn.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec, ValuesCodec
from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import UsageError
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
)
from sfumato.synthesizers.deep.encoding import ColumnEncoding, Encoding
from sfumato.synthesizers.deep.generator import draw_where
from sfumato.synthesizers.deep.nets import Weighted, activate, chain
from sfumato.synthesizers.recipe import generator, synthesizer

Floats = npt.NDArray[np.float64]
GROUPS_AT_MOST = 50
FLOOR = 1e-3
"""Least variance of a code in a component."""


@synthesizer("dp-syn")
@frozen(kw_only=True)
class DpSyn:
    """DP-SYN: codes of rows with one label follow a mixture of normal distributions."""

    name: ClassVar[str] = "dp-syn"
    summary: ClassVar[str] = "neural: autoencoder, and a mixture of codes for each label (needs torch)"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    trains: ClassVar[bool] = True

    rows: int | None = None
    """Number of rows, where it is public; else a noisy count is bought."""
    label: str = ""
    """Column by which rows are grouped; else the last one with at most 50 values."""
    components: int = 5
    """Components of each mixture: a public number."""
    autoencoder_share: float = 0.5
    decode: Literal["sample", "argmax"] = "sample"
    code: int = 6
    hidden: int = 0
    steps: int = 3_000
    batch: float = 256.0
    clip: float = 0.1
    rate: float = 0.003
    iterations: int = 10
    """Of expectation-maximisation."""
    noise_multiplier: float | None = None
    """Noise of a step over its clip, in place of the least that the budget allows."""
    initial: int = 0

    def __attrs_post_init__(self) -> None:
        check_choice("decode", self.decode, ("sample", "argmax"))
        check_share(autoencoder_share=self.autoencoder_share)
        check_positive(
            components=self.components,
            code=self.code,
            steps=self.steps,
            batch=self.batch,
            clip=self.clip,
            rate=self.rate,
            iterations=self.iterations,
            rows=self.rows,
            noise_multiplier=self.noise_multiplier,
        )

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError when the label is no column."""
        if self.label and self.label not in names:
            raise UsageError(f"there is no column {self.label!r}", mend=f"columns: {', '.join(names)}")

    def split(self, columns: int) -> dict[str, float]:
        own = self.autoencoder_share
        return division(rows=self.rows, autoencoder=own, mixtures=1 - own)

    def trainings(self, rows: float) -> tuple[Training, ...]:
        return (Training(purpose="autoencoder", batch=self.batch, steps=self.steps),)

    def learn(self, curator: Curator, domain: Domain) -> MixtureGenerator:
        need_torch(self.name)
        from sfumato.synthesizers.deep.programs import Autoencoder

        codecs = domain.codecs
        place = self._label(codecs)
        learning = Learning.begin(self, curator, codecs)
        known = learning.known
        width = known.encoding.width
        hidden = self.hidden or max(2, (width + self.code) // 2)
        program = Autoencoder(
            known.encoding,
            chain(width, hidden, self.code, last="tanh"),
            chain(self.code, hidden, width, last="sigmoid"),
            frozen=False,
            optimiser=adam(self.rate),
            facts={"what": "autoencoder", "rate": self.rate},
            seed=self.initial,
        )
        (training,) = self.trainings(known.total)
        released = learning.train(program, training, clip=self.clip)
        encoder, decoder = program.both(released.snapshots[-1])
        mixture = Mixture.begin(int(codecs[place].allowed.sum()), self.components, self.code, self.initial)
        groups = np.full(codecs[place].size, -1)
        groups[np.flatnonzero(codecs[place].allowed)] = np.arange(mixture.groups)
        for number in range(self.iterations):
            sums = curator.vector_sum(
                Statistics(known.encoding, encoder, groups, place, mixture),
                encoders=codecs,
                size=mixture.size,
                bound=float(np.sqrt(3)),
                spend=learning.spends["mixtures"] / self.iterations,
                facts={
                    "what": "statistics of mixtures of codes",
                    "iteration": number,
                    "mixture": mixture.digest(),
                },
                purpose="mixtures of codes",
            )
            mixture = mixture.updated(sums)
        return MixtureGenerator(
            total=known.total,
            encoding=known.encoding,
            decoder=decoder,
            mixture=mixture,
            place=place,
            labels=np.flatnonzero(codecs[place].allowed),
            sample_labels=self.decode == "sample",
        )

    def _label(self, codecs: tuple[Codec, ...]) -> int:
        fit = [i for i, c in enumerate(codecs) if isinstance(c, ValuesCodec) and c.size <= GROUPS_AT_MOST]
        if self.label:
            fit = [i for i in fit if codecs[i].column == self.label]
        if not fit:
            raise UsageError(
                f"dp-syn groups rows by a column of at most {GROUPS_AT_MOST} values, and there is none",
                mend="name one with --set label=…, or declare a column as categorical",
            )
        return fit[-1]


@frozen(kw_only=True, eq=False)
class Mixture:
    """Weights (groups x components), means and covariances of codes."""

    weights: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def begin(cls, groups: int, components: int, code: int, seed: int) -> Mixture:
        """Random means inside the unit ball, by a public seed."""
        means = np.random.default_rng([seed, 7]).uniform(-0.5, 0.5, (groups, components, code)) / np.sqrt(
            code / 4
        )
        wide = np.broadcast_to(np.eye(code) / code, (groups, components, code, code)).copy()
        return cls(
            weights=np.full((groups, components), 1 / components / groups), means=means, covariances=wide
        )

    @property
    def groups(self) -> int:
        return self.weights.shape[0]

    @property
    def size(self) -> int:
        """Numbers in the statistics."""
        groups, components, code = self.means.shape
        return groups * components * (1 + code + code * code)

    def digest(self) -> str:
        """What the mixture is, to 9 digits, for the ledger."""
        import hashlib

        parts = np.concatenate([each.ravel() for each in (self.weights, self.means, self.covariances)])
        return hashlib.sha256(np.array2string(parts, precision=6, threshold=parts.size).encode()).hexdigest()

    def updated(self, sums: Floats) -> Mixture:
        """The mixture that noisy statistics give: covariances are made symmetric and get a floor."""
        groups, components, code = self.means.shape
        parts = sums.reshape(groups, components, 1 + code + code * code)
        mass = np.maximum(parts[..., 0], 1.0)
        means = parts[..., 1 : 1 + code] / mass[..., None]
        norm = np.linalg.norm(means, axis=-1, keepdims=True)
        means = means / np.maximum(norm, 1.0)
        second = parts[..., 1 + code :].reshape(groups, components, code, code) / mass[..., None, None]
        spread = (second + np.swapaxes(second, -1, -2)) / 2 - means[..., :, None] * means[..., None, :]
        values, vectors = np.linalg.eigh(spread)
        values = values.clip(FLOOR, 1.0)
        covariances = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return Mixture(weights=mass / mass.sum(), means=means, covariances=covariances)


@frozen
class Statistics:
    """What a row adds to the statistics: its responsibilities times 1, its code and the code's square, in
    the place of its group. The norm is at most √3: codes are cut to the unit ball, responsibilities add up
    to 1.
    """

    encoding: Encoding
    encoder: Weighted
    groups: npt.NDArray[np.int64]
    place: int
    mixture: Mixture

    def __call__(self, codes: npt.NDArray[Any]) -> Floats:
        y = _slowly(self.encoder, self.encoding.rows(codes))
        y = y / np.maximum(np.sqrt(np.einsum("ni,ni->n", y, y)), 1.0)[:, None]
        count = y.shape[0]
        groups, components = self.mixture.weights.shape
        group = self.groups[codes[:, self.place].astype(np.int64)]
        own = np.maximum(group, 0)
        inverse = np.linalg.inv(self.mixture.covariances)
        _, logs = np.linalg.slogdet(self.mixture.covariances)
        apart = y[:, None, :] - self.mixture.means[own]
        far = np.einsum("nki,nkij,nkj->nk", apart, inverse[own], apart)
        score = np.log(self.mixture.weights[own]) - (far + logs[own]) / 2
        share = np.exp(score - score.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        share[group < 0] = 0.0
        each = np.concatenate([np.ones((count, 1)), y, (y[:, :, None] * y[:, None, :]).reshape(count, -1)], 1)
        found = np.zeros((count, groups, components * each.shape[1]))
        found[np.arange(count), own] = (share[:, :, None] * each[:, None, :]).reshape(count, -1)
        return found.reshape(count, -1)


def _slowly(net: Weighted, x: Floats) -> Floats:
    """The network row by row: a product of matrices may add up in another order at another place."""
    for layer, numbers in zip(net.net, net.numbers, strict=True):
        y = np.einsum("ni,oi->no", x, numbers["weight"])
        x = activate(layer.activation, y + numbers["bias"] if layer.bias else y)
    return x


@generator("mixture")
@frozen(kw_only=True, eq=False)
class MixtureGenerator:
    """A label, a component, a normal code, and the decoder."""

    kind: ClassVar[str] = "mixture"
    tolerance: ClassVar[float] = 1e-6

    total: float
    encoding: Encoding
    decoder: Weighted
    mixture: Mixture
    place: int
    labels: npt.NDArray[np.int64] = field()
    sample_labels: bool = True

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        return draw_where(self._draw, rows, rng, where)

    def _draw(self, rows: int, rng: np.random.Generator) -> list[Codes]:
        weights = self.mixture.weights.ravel()
        component = rng.choice(weights.size, size=rows, p=weights / weights.sum())
        code = self.mixture.means.shape[-1]
        means = self.mixture.means.reshape(-1, code)
        factors = np.linalg.cholesky(self.mixture.covariances.reshape(-1, code, code))
        noise = rng.standard_normal((rows, code))
        y = means[component] + np.einsum("nij,nj->ni", factors[component], noise)
        found = self.encoding.decode(self.decoder(y), rng, "sample" if self.sample_labels else "argmax")
        group = component // self.mixture.weights.shape[1]
        size = self.encoding.columns[self.place].code_label.size
        found[self.place] = self.labels[group].astype(code_dtype(size))
        return found

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, npt.NDArray[Any]] = {
            "total": np.array([self.total]),
            "facts": np.array([self.place, self.sample_labels], np.int64),
            "labels": self.labels,
            "weights": self.mixture.weights,
            "means": self.mixture.means,
            "covariances": self.mixture.covariances,
        } | self.decoder.arrays("decoder")
        for i, column in enumerate(self.encoding.columns):
            found |= column.arrays(f"column/{i}")
        return found

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> MixtureGenerator:
        place, sample = (int(each) for each in arrays["facts"])
        columns = [ColumnEncoding.from_arrays(size, f"column/{i}", arrays) for i, size in enumerate(sizes)]
        mixture = Mixture(weights=arrays["weights"], means=arrays["means"], covariances=arrays["covariances"])
        labels = arrays["labels"]
        shape = (*mixture.means.shape, mixture.means.shape[-1])
        if (
            mixture.covariances.shape != shape
            or mixture.weights.shape != shape[:2]
            or not 0 <= place < len(sizes)
            or labels.shape != shape[:1]
            or not 0 <= labels.min() <= labels.max() < sizes[place]
            or (mixture.weights < 0).any()
        ):
            raise ValueError("the arrays do not fit the domain")
        return cls(
            total=float(arrays["total"][0]),
            encoding=Encoding(columns=tuple(columns)),
            mixture=mixture,
            decoder=Weighted.from_arrays("decoder", arrays),
            place=place,
            labels=labels,
            sample_labels=bool(sample),
        )

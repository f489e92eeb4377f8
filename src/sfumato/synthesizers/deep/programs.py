"""What autoencoders and critics do around a private training: losses, optimisers, generators. Imports torch.

Each is a `sfumato.privacy.dpsgd.Program`: public code that is shown noisy gradients. All chance here comes
from numpy generators with public seeds, so that a generator can be trained again from the released critics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sfumato.privacy.dpsgd import Singles, set_parameters
from sfumato.synthesizers.deep.encoding import Encoding
from sfumato.synthesizers.deep.features import FeatureMap
from sfumato.synthesizers.deep.modules import (
    DOUBLE,
    SINGLE,
    LayerModule,
    NetModule,
    device,
    flat_gradient,
    module_of,
    shapes,
)
from sfumato.synthesizers.deep.nets import Net, Weighted, initial

Optimiser = Callable[[Any], torch.optim.Optimizer]
RAREST = 1e-4
"""Least share that a decoder starts with."""


class Trained:
    """Shared by all programs: features, an optimiser, and rounds."""

    loss_bound: float

    def __init__(
        self, network: nn.Module, encoding: Encoding, optimiser: Optimiser, facts: dict[str, Any]
    ) -> None:
        self.network = network
        self.where = next(network.parameters()).device
        self._map = FeatureMap(encoding, dtype=SINGLE, where=self.where)
        self._optimiser = optimiser(list(network.parameters()))
        self._gradient = flat_gradient(network)
        self._facts = facts

    def features(self, codes: torch.Tensor) -> torch.Tensor:
        return self._map(codes)

    def companions(self, step: int) -> torch.Tensor | None:
        return None

    def update(self, gradient: torch.Tensor) -> None:
        self._gradient.copy_(gradient)
        self._optimiser.step()

    def finish_round(self, number: int, parameters: Singles) -> None:
        return

    def describe(self) -> dict[str, Any]:
        return {**self._facts, "shapes": shapes(self.network)}


class Pair(nn.Module):
    """An encoder and a decoder."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))


def _begun(encoder: Net, decoder: Net, seed: int) -> tuple[NetModule, NetModule]:
    """Both with first weights by a public seed."""
    rng, where = np.random.default_rng([seed, 1]), device()
    first, second = (module_of(initial(net, rng), dtype=SINGLE, where=where) for net in (encoder, decoder))
    return first, second


class Autoencoder(Trained):
    """Cross-entropy of a row and what comes out of the decoder, summed over the coordinates.

    frozen: the encoder is public, so that only the decoder is trained. means: the mean vector of the rows,
    where it is known: the decoder, whose last layer is a logistic one, starts there.
    """

    def __init__(
        self,
        encoding: Encoding,
        encoder: Net,
        decoder: Net,
        *,
        means: npt.NDArray[np.float64] | None = None,
        frozen: bool,
        optimiser: Optimiser,
        facts: dict[str, Any],
        seed: int,
    ) -> None:
        first, second = _begun(encoder, decoder, seed)
        self._encoder = first.requires_grad_(False) if frozen else None
        self._decoder = second
        super().__init__(
            nn.ModuleDict({"decoder": second}) if frozen else Pair(first, second), encoding, optimiser, facts
        )
        self.loss_bound = 2.0 * encoding.width
        if means is not None:
            self._start_at(means)

    def _start_at(self, means: npt.NDArray[np.float64]) -> None:
        """Whatever the code is, the decoder gives about `means` at first: a training need not spend its first
        steps on what is known.
        """
        known = means.clip(RAREST, 1 - RAREST)
        last = self._decoder[-1]
        assert isinstance(last, LayerModule) and last.layer.activation == "sigmoid"
        with torch.no_grad():
            last.linear.bias.copy_(torch.from_numpy(np.log(known / (1 - known))))

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        made = network["decoder"](self._encoder(rows)) if self._encoder is not None else network(rows)
        made = made.clamp(1e-6, 1 - 1e-6)
        return -(rows * made.log() + (1 - rows) * (1 - made).log()).sum(-1)

    def decoder(self, parameters: Singles) -> Weighted:
        """The decoder with released parameters."""
        set_parameters(self.network, parameters)
        return self._decoder.weighted()

    def both(self, parameters: Singles) -> tuple[Weighted, Weighted]:
        """Encoder and decoder with released parameters."""
        decoder = self.decoder(parameters)
        assert isinstance(self.network, Pair) and isinstance(self.network.encoder, NetModule)
        return self.network.encoder.weighted(), decoder


class Adversary(Trained):
    """A network that is trained privately to tell rows from made ones, and a generator that is trained
    against its released states.
    """

    def __init__(
        self,
        encoding: Encoding,
        network: Net,
        generator: Weighted,
        finish: nn.Module,
        *,
        optimiser: Optimiser,
        generator_optimiser: Optimiser,
        pool: int,
        facts: dict[str, Any],
        seed: int,
        generator_steps: int = 1,
    ) -> None:
        where = device()
        first = initial(network, np.random.default_rng([seed, 2]))
        super().__init__(module_of(first, dtype=SINGLE, where=where), encoding, optimiser, facts)
        self.loss_bound = 1.0
        self._pool, self._seed, self._generator_steps = pool, seed, generator_steps
        self._inputs = generator.net[0].inputs
        self.generator = module_of(generator, dtype=DOUBLE, where=where)
        self._finish = finish.to(where, DOUBLE).requires_grad_(False)
        self._judge = module_of(first, dtype=DOUBLE, where=where).requires_grad_(False)
        self._generator_optimiser = generator_optimiser(list(self.generator.parameters()))
        self._done: list[bytes] = []

    def noise(self, *key: int) -> torch.Tensor:
        """What the generator starts from: public, named by the key."""
        noise = np.random.default_rng([self._seed, *key]).standard_normal((self._pool, self._inputs))
        return torch.from_numpy(noise).to(self.where)

    def companions(self, step: int) -> torch.Tensor:
        with torch.no_grad():
            return self._finish(self.generator(self.noise(3, step))).to(SINGLE)

    def blame(self, judge: nn.Module, noise: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        """The generator's loss."""
        raise NotImplementedError

    def finish_round(self, number: int, parameters: Singles) -> None:
        set_parameters(self._judge, parameters)
        for step in range(self._generator_steps):
            noise = self.noise(4, number, step)
            self._generator_optimiser.zero_grad()
            self.blame(self._judge, noise, self._finish(self.generator(noise))).backward()
            self._generator_optimiser.step()
        self._done.append(parameters.tobytes())

    def trained(self, snapshots: Singles, fresh: Callable[[], Adversary]) -> Weighted:
        """The generator that follows from released critics: this one, if it has seen just these, or else
        that of a program that begins anew.
        """
        program = self
        if self._done != [state.tobytes() for state in snapshots]:
            program = fresh()
            for number, state in enumerate(snapshots):
                program.finish_round(number, state)
        return program.generator.weighted()


class Critic(Adversary):
    """A Wasserstein critic with clamped weights (Arjovsky, Chintala, Bottou 2017)."""

    def __init__(self, *given: Any, clamp: float, **facts: Any) -> None:
        super().__init__(*given, **facts)
        self._clamp = clamp

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        assert companions is not None
        scores = network(torch.cat([rows, companions], 1))[..., 0]
        return scores[:, rows.shape[1] :] - scores[:, : rows.shape[1]]

    def update(self, gradient: torch.Tensor) -> None:
        super().update(gradient)
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter.clamp_(-self._clamp, self._clamp)

    def blame(self, judge: nn.Module, noise: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        return -judge(made).mean()


class Discriminator(Adversary):
    """Real or made, and which label: an auxiliary-classifier GAN (Odena, Olah, Shlens 2017).

    labels: the block of coordinates of the condition, empty where there is none. weight: of the
    classification.
    """

    def __init__(
        self, *given: Any, labels: tuple[int, int], weight: float, smoothing: float, **facts: Any
    ) -> None:
        self._labels, self._weight, self._smoothing = labels, weight, smoothing
        super().__init__(*given, **facts)
        self.loss_bound = 8.0

    @property
    def _count(self) -> int:
        return self._labels[1] - self._labels[0]

    def noise(self, *key: int) -> torch.Tensor:
        noise = super().noise(*key)
        if self._count:
            # Every label as often as every other.
            drawn = np.random.default_rng([self._seed, 9, *key]).integers(self._count, size=self._pool)
            noise[:, -self._count :] = torch.eye(self._count, dtype=DOUBLE)[torch.from_numpy(drawn)].to(noise)
        return noise

    def companions(self, step: int) -> torch.Tensor:
        made = super().companions(step)
        return torch.cat([made, self.noise(3, step)[:, -self._count :].to(made)], 1) if self._count else made

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        assert companions is not None
        width, times = rows.shape[2], rows.shape[1]
        out = network(torch.cat([rows, companions[..., :width]], 1))
        real, made = out[:, :times], out[:, times:]
        loss = _cross_entropy(real[..., 0], 1 - self._smoothing) + _cross_entropy(
            made[..., 0], self._smoothing
        )
        if self._count:
            first, last = self._labels
            own, told = rows[..., first:last], companions[..., width:]
            loss = loss - self._weight * (own * torch.log_softmax(real[..., 1:], -1)).sum(-1)
            loss = loss - self._weight * (told * torch.log_softmax(made[..., 1:], -1)).sum(-1)
        return loss

    def blame(self, judge: nn.Module, noise: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
        out = judge(made)
        loss = _cross_entropy(out[:, 0], 1.0).mean()
        if self._count:
            told, (first, last) = noise[:, -self._count :], self._labels
            loss = loss - self._weight * (told * torch.log_softmax(out[:, 1:], -1)).sum(1).mean()
            # The rows themselves carry the label that was asked for.
            loss = loss - (told * made[:, first:last].clamp(min=1e-9).log()).sum(1).mean()
        return loss


def _cross_entropy(score: torch.Tensor, target: float) -> torch.Tensor:
    return nn.functional.softplus(score) - target * score


class VariationalAutoencoder(Trained):
    """Minus the evidence lower bound (Kingma, Welling 2014): cross-entropy, and the divergence of codes
    from N(0, I).
    """

    def __init__(
        self,
        encoding: Encoding,
        encoder: Net,
        decoder: Net,
        *,
        pool: int,
        optimiser: Optimiser,
        facts: dict[str, Any],
        seed: int,
    ) -> None:
        first, second = _begun(encoder, decoder, seed)
        super().__init__(Pair(first, second), encoding, optimiser, facts)
        self._decoder, self._pool, self._seed = second, pool, seed
        self._code = decoder[0].inputs
        self.loss_bound = 2.0 * encoding.width

    def companions(self, step: int) -> torch.Tensor:
        noise = np.random.default_rng([self._seed, 3, step]).standard_normal((self._pool, self._code))
        return torch.from_numpy(noise).to(self.where, SINGLE)

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        assert companions is not None
        mean, spread = network.encoder(rows).chunk(2, -1)
        spread = spread.clamp(-8, 8)
        made = network.decoder(mean + torch.exp(spread / 2) * companions).clamp(1e-6, 1 - 1e-6)
        entropy = -(rows * made.log() + (1 - rows) * (1 - made).log()).sum(-1)
        return entropy + (mean.square() + spread.exp() - 1 - spread).sum(-1) / 2

    def decoder(self, parameters: Singles) -> Weighted:
        """The decoder with released parameters."""
        set_parameters(self.network, parameters)
        return self._decoder.weighted()

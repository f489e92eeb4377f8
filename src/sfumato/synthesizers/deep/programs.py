"""What autoencoders and critics do around a private training: losses, optimisers, generators. Imports torch.

Each is a `sfumato.privacy.dpsgd.Program`: public code that is shown noisy gradients. All chance here comes from
numpy generators with public seeds, so that a generator can be trained again from the released critics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from sfumato.privacy.dpsgd import Singles, set_parameters
from sfumato.synthesizers.deep.encoding import Encoding
from sfumato.synthesizers.deep.features import FeatureMap
from sfumato.synthesizers.deep.modules import DOUBLE, SINGLE, device, module_of, set_gradient, shapes
from sfumato.synthesizers.deep.nets import Net, Weighted, initial

Optimiser = Callable[[Any], torch.optim.Optimizer]


class Trained:
    """Shared by all programs: features, an optimiser, and rounds."""

    loss_bound: float

    def __init__(self, network: nn.Module, encoding: Encoding, optimiser: Optimiser, facts: dict[str, Any]) -> None:
        self.network = network
        self.where = next(network.parameters()).device
        self._map = FeatureMap(encoding, dtype=SINGLE, where=self.where)
        self._optimiser = optimiser([p for p in network.parameters()])
        self._facts = facts

    def features(self, codes: torch.Tensor) -> torch.Tensor:
        return self._map(codes)

    def companions(self, step: int) -> torch.Tensor | None:
        return None

    def update(self, gradient: torch.Tensor) -> None:
        set_gradient(self.network, gradient)
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


class Autoencoder(Trained):
    """Cross-entropy of a row and what comes out of the decoder, summed over the coordinates.

    frozen: the encoder is public, so that only the decoder is trained.
    """

    def __init__(
        self,
        encoding: Encoding,
        encoder: Net,
        decoder: Net,
        *,
        frozen: bool,
        optimiser: Optimiser,
        facts: dict[str, Any],
        seed: int,
    ) -> None:
        rng, where = np.random.default_rng([seed, 1]), device()
        first, second = (module_of(initial(net, rng), dtype=SINGLE, where=where) for net in (encoder, decoder))
        self._encoder = first.requires_grad_(False) if frozen else None
        self._decoder = second
        super().__init__(nn.ModuleDict({"decoder": second}) if frozen else Pair(first, second), encoding, optimiser, facts)
        self.loss_bound = 2.0 * encoding.width

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        made = network["decoder"](self._encoder(rows)) if self._encoder is not None else network(rows)
        made = made.clamp(1e-6, 1 - 1e-6)
        return -(rows * made.log() + (1 - rows) * (1 - made).log()).sum(-1)

    def decoder(self, parameters: Singles) -> Weighted:
        """The decoder with released parameters."""
        set_parameters(self.network, parameters)
        return self._decoder.weighted()


class Critic(Trained):
    """A Wasserstein critic with clamped weights, and a generator that is trained against its released states."""

    def __init__(
        self,
        encoding: Encoding,
        critic: Net,
        generator: Weighted,
        decoder: Weighted | None,
        *,
        optimiser: Optimiser,
        generator_optimiser: Optimiser,
        clamp: float,
        pool: int,
        facts: dict[str, Any],
        seed: int,
    ) -> None:
        where = device()
        network = module_of(initial(critic, np.random.default_rng([seed, 2])), dtype=SINGLE, where=where)
        super().__init__(network, encoding, optimiser, facts)
        self.loss_bound = 1.0
        self._clamp, self._pool, self._seed = clamp, pool, seed
        self._inputs = generator.net[0].inputs
        self.generator = module_of(generator, dtype=DOUBLE, where=where)
        self._decoder = None if decoder is None else module_of(decoder, dtype=DOUBLE, where=where).requires_grad_(False)
        self._judge = module_of(initial(critic, np.random.default_rng(0)), dtype=DOUBLE, where=where).requires_grad_(False)
        self._generator_optimiser = generator_optimiser(list(self.generator.parameters()))
        self._done: list[bytes] = []

    def _made(self, *key: int) -> torch.Tensor:
        """Made rows, from public noise that the key names."""
        noise = np.random.default_rng([self._seed, *key]).standard_normal((self._pool, self._inputs))
        made = self.generator(torch.from_numpy(noise).to(self.where))
        return made if self._decoder is None else self._decoder(made)

    def companions(self, step: int) -> torch.Tensor:
        with torch.no_grad():
            return self._made(3, step).to(SINGLE)

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        assert companions is not None
        scores = network(torch.cat([rows, companions], 1))[..., 0]
        return scores[:, rows.shape[1] :] - scores[:, : rows.shape[1]]

    def update(self, gradient: torch.Tensor) -> None:
        super().update(gradient)
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter.clamp_(-self._clamp, self._clamp)

    def finish_round(self, number: int, parameters: Singles) -> None:
        set_parameters(self._judge, parameters)
        self._generator_optimiser.zero_grad()
        (-self._judge(self._made(4, number)).mean()).backward()
        self._generator_optimiser.step()
        self._done.append(parameters.tobytes())

    def trained(self, snapshots: Singles, fresh: Callable[[], Critic]) -> Weighted:
        """The generator that follows from released critics: this one, if it has seen just these, or else that of
        a program that begins anew.
        """
        program = self
        if self._done != [state.tobytes() for state in snapshots]:
            program = fresh()
            for number, state in enumerate(snapshots):
                program.finish_round(number, state)
        return program.generator.weighted()

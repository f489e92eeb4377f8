"""Training of a tabular variational autoencoder on rows as they are. Imports torch.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4.5: p(row | z) is a product of a normal law of
each number, N(tanh μ, δ²) with a learned δ, and of a softmax of each block of labels; q(z | row) is normal.
The loss of a row is -`loss_factor` · log p(row | z), up to constants, and the divergence of q from a standard
normal law (Kingma, Welling 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from attrs import frozen
from torch import nn

from sfumato.privacy.dpsgd import pack
from sfumato.synthesizers.deep.conditional_gan import count_numbers, unflatten
from sfumato.synthesizers.deep.modal import Modal, blocks_of, head_of
from sfumato.synthesizers.deep.modules import DOUBLE, device
from sfumato.synthesizers.deep.nets import Net, Weighted, chain

SMALLEST, LARGEST, FIRST = 0.01, 1.0, 0.1
"""Of δ: least, largest, at the start."""


@frozen(kw_only=True)
class VaeSettings:
    """What `sfumato.synthesizers.deep.tvae.Tvae` says of them."""

    epochs: int
    batch: int
    code: int
    compress: tuple[int, ...]
    decompress: tuple[int, ...]
    rate: float
    decay: float
    loss_factor: float
    seed: int


def _module(net: Net) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer in net:
        layers.append(nn.Linear(layer.inputs, layer.outputs))
        if layer.activation == "relu":
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class TabularVae:
    """A `sfumato.privacy.mechanisms.plain_training.Learner`: learns the decoder and the deviations."""

    def __init__(self, modal: Modal, *, settings: VaeSettings, facts: dict[str, Any]) -> None:
        self._modal, self._settings, self._facts = modal, settings, facts
        self._head = head_of(modal.encoding)
        width = modal.encoding.width
        self._encoder = chain(width, *settings.compress, 2 * settings.code, activation="relu")
        self.net = chain(settings.code, *settings.decompress, width, activation="relu")
        self.size = count_numbers(self.net) + len(self._head.unit)
        self.shape = (1, -(-self.size // 2))

    def describe(self) -> dict[str, Any]:
        return {**self._facts, "shapes": [layer.numbers() for layer in self.net]}

    def released(self, flat: npt.NDArray[Any]) -> tuple[Weighted, npt.NDArray[np.float64]]:
        """Decoder and deviations with the numbers that were learned."""
        numbers = count_numbers(self.net)
        deviations = flat[numbers : self.size].astype(np.float64).clip(0.0, LARGEST)
        return unflatten(self.net, flat[:numbers]), deviations

    def learn(self, codes: npt.NDArray[np.integer], report: Callable[[str], None]) -> npt.NDArray[np.int64]:
        s, where = self._settings, device()
        # Initial weights come from torch's own generator, which is put back as it was.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(s.seed)
            encoder, decoder = _module(self._encoder).to(where), _module(self.net).to(where)
        deviations = torch.full((len(self._head.unit),), FIRST, device=where, requires_grad=True)
        if len(codes):
            self._train(codes, encoder, decoder, deviations, report)
        parts = [p.detach().to(DOUBLE).reshape(-1) for p in decoder.parameters()]
        parts.append(deviations.detach().to(DOUBLE))
        return pack(torch.cat(parts).cpu().numpy().astype(np.float32)[None])

    def _train(
        self,
        codes: npt.NDArray[np.integer],
        encoder: nn.Sequential,
        decoder: nn.Sequential,
        deviations: torch.Tensor,
        report: Callable[[str], None],
    ) -> None:
        s, where, encoding = self._settings, deviations.device, self._modal.encoding
        drawn, numbers = self._modal.draw(codes, np.random.default_rng([s.seed, 7]))
        blocks = blocks_of(encoding)
        labels = torch.from_numpy(drawn[:, [place for place, _, _ in blocks]]).to(where)
        numeric = [place for place, column in enumerate(encoding.columns) if column.numeric]
        values = torch.from_numpy(numbers[:, numeric].astype(np.float32)).to(where)
        starts = torch.tensor([start for _, start, _ in blocks], device=where)
        wide = torch.where(labels >= 0, labels + starts, encoding.width)
        unit = list(self._head.unit)
        chance = torch.Generator(where).manual_seed(s.seed)
        every = [*encoder.parameters(), *decoder.parameters(), deviations]
        optimiser = torch.optim.Adam(every, lr=s.rate, weight_decay=s.decay, fused=True)
        count = len(codes)
        for epoch in range(s.epochs):
            total = 0.0
            for rows in torch.randperm(count, generator=chance, device=where).split(s.batch):
                x = torch.zeros((rows.numel(), encoding.width + 1), device=where)
                x.scatter_(1, wide[rows], 1.0)
                x[:, unit] = values[rows]
                mean, logs = encoder(x[:, : encoding.width]).chunk(2, 1)
                noise = torch.randn(mean.shape, generator=chance, device=where)
                y = decoder(mean + noise * torch.exp(logs / 2))
                loss = _numbers_lost(y[:, unit], values[rows], deviations)
                for place, (_, start, end) in enumerate(blocks):
                    # A row without a label is told nothing of it.
                    loss = loss + nn.functional.cross_entropy(
                        y[:, start:end], labels[rows, place], ignore_index=-1, reduction="sum"
                    )
                divergence = -(1 + logs - mean**2 - logs.exp()).sum() / 2
                whole = (s.loss_factor * loss + divergence) / rows.numel()
                optimiser.zero_grad()
                whole.backward()
                optimiser.step()
                with torch.no_grad():
                    deviations.clamp_(SMALLEST, LARGEST)
                total += float(whole.detach()) * rows.numel()
            report(f"epoch {epoch + 1:,} of {s.epochs:,}, loss {total / count:.4g}")


def _numbers_lost(y: torch.Tensor, values: torch.Tensor, deviations: torch.Tensor) -> torch.Tensor:
    """-log N(values; tanh y, δ²), summed, without its constant."""
    apart = (values - torch.tanh(y)) / deviations
    return (apart**2).sum() / 2 + deviations.log().sum() * y.shape[0]

"""Training of a tabular variational autoencoder on rows as they are. Imports torch.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4.5: p(row | z) is a product of a normal law of
each number, N(tanh μ, δ²) with a learned δ, and of a softmax of each block of labels; q(z | row) is normal.
The loss of a row is -`loss_factor` · log p(row | z), up to constants, and the divergence of q from a standard
normal law (Kingma, Welling 2014).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sfumato.synthesizers.deep.modal import blocks_of
from sfumato.synthesizers.deep.modules import DOUBLE, device
from sfumato.synthesizers.deep.nets import Net
from sfumato.synthesizers.deep.vae_learner import FIRST, LARGEST, SMALLEST, TabularVae


def train(
    learner: TabularVae, codes: npt.NDArray[np.integer], report: Callable[[str], None]
) -> npt.NDArray[np.float32]:
    """The numbers of the decoder and the deviations, trained on rows of codes."""
    where = device()
    # Initial weights come from torch's own generator, which is put back as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(learner.settings.seed)
        encoder, decoder = _module(learner.encoder).to(where), _module(learner.net).to(where)
    deviations = torch.full((len(learner.head.unit),), FIRST, device=where, requires_grad=True)
    if len(codes):
        _run(learner, codes, encoder, decoder, deviations, report)
    parts = [p.detach().to(DOUBLE).reshape(-1) for p in decoder.parameters()]
    parts.append(deviations.detach().to(DOUBLE))
    return torch.cat(parts).cpu().numpy().astype(np.float32)


def _module(net: Net) -> nn.Sequential:
    layers: list[nn.Module] = []
    for layer in net:
        layers.append(nn.Linear(layer.inputs, layer.outputs))
        if layer.activation == "relu":
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def _run(
    learner: TabularVae,
    codes: npt.NDArray[np.integer],
    encoder: nn.Sequential,
    decoder: nn.Sequential,
    deviations: torch.Tensor,
    report: Callable[[str], None],
) -> None:
    s, where, encoding = learner.settings, deviations.device, learner.modal.encoding
    drawn, numbers = learner.modal.draw(codes, np.random.default_rng([s.seed, 7]))
    blocks = blocks_of(encoding)
    labels = torch.from_numpy(drawn[:, [place for place, _, _ in blocks]]).to(where)
    numeric = [place for place, column in enumerate(encoding.columns) if column.numeric]
    values = torch.from_numpy(numbers[:, numeric].astype(np.float32)).to(where)
    starts = torch.tensor([start for _, start, _ in blocks], device=where)
    wide = torch.where(labels >= 0, labels + starts, encoding.width)
    unit = list(learner.head.unit)
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

"""Training of a conditional tabular GAN on rows as they are. Imports torch: load it where a method learns.

Xu, Skoularidou, Cuesta-Infante, Veeramachaneni 2019, section 4: a generator that is given a label beside
noise, and a critic that judges `pac` rows with their labels at once (Lin, Khetan, Fanti, Oh 2018). The critic
minimises mean f(made) - mean f(real) + 10 mean (|∇f| - 1)², its gradient at random places between made
and real rows (Gulrajani, Ahmed, Arjovsky, Dumoulin, Courville 2017); the generator minimises -mean f(made)
and the cross-entropy of the label that it was given. Labels are drawn by training-by-sampling: a column,
equally likely each, then one of its labels in proportion to the logarithm of its count; real rows are those
that have it. Labels of made rows are drawn by the Gumbel softmax (Jang, Gu, Poole 2017).

The generator that is kept has the exponential average of the weights of the last steps, because the weights
of networks that play against each other circle around where they would rest (Yazıcı, Foo, Winkler, Yap,
Piliouras, Chandrasekhar 2019).

All chance comes from generators with a public seed, so that a training can be repeated on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sfumato.synthesizers.deep.gan_learner import ConditionalGan, GanSettings, Labels
from sfumato.synthesizers.deep.modal import Modal, blocks_of
from sfumato.synthesizers.deep.modules import device
from sfumato.synthesizers.deep.nets import SLOPE, Net

TEMPERATURE = 0.2
"""Of the Gumbel softmax."""
DROPOUT = 0.5
PENALTY = 10.0
BETAS = (0.5, 0.9)
AVERAGING = 0.02
"""Weight of the latest step in the average: that of about 50 steps."""
SETTLING = 200
"""Batches from which the normalisation of the generator's layers is taken once it is trained."""


def train(
    learner: ConditionalGan, codes: npt.NDArray[np.integer], report: Callable[[str], None]
) -> npt.NDArray[np.float32]:
    """The numbers of the generator, trained on rows of codes, for `Weighted.of_flat`."""
    # Initial weights come from torch's own generator, which is put back as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(learner.settings.seed)
        generator = Generator(learner.net).to(device())
        run = Run(learner.modal, learner.labels, learner.settings, generator)
    if len(codes):
        run.train(codes, learner.rows, report)
    generator.settle(lambda: run.inputs(learner.frequencies)[0])
    return generator.flat()


class Generator(nn.Module):
    """Dense layers with batch normalisation, each of which puts its input behind its output."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.net = net
        self.dense = [nn.Linear(layer.inputs, layer.outputs) for layer in net]
        self.norms = [nn.BatchNorm1d(layer.outputs) for layer in net[:-1]]
        self.parts = nn.ModuleList([*self.dense, *self.norms])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for dense, norm in zip(self.dense, self.norms, strict=False):
            x = torch.cat([torch.relu(norm(dense(x))), x], 1)
        return self.dense[-1](x)

    def settle(self, inputs: Callable[[], torch.Tensor]) -> None:
        """Means and variances of the final network, as averages over many batches."""
        for norm in self.norms:
            norm.reset_running_stats()
            norm.momentum = None  # an average over all batches
        with torch.no_grad():
            for _ in range(SETTLING):
                self.forward(inputs())

    def flat(self) -> npt.NDArray[np.float32]:
        """Numbers of `net`, normalisation multiplied into the weights, for `Weighted.of_flat`."""
        parts = []
        for place, dense in enumerate(self.dense):
            weight, bias = dense.weight.double(), dense.bias.double()
            if place < len(self.norms):
                norm = self.norms[place]
                assert norm.running_mean is not None and norm.running_var is not None
                factor = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
                weight = weight * factor[:, None]
                bias = (bias - norm.running_mean.double()) * factor + norm.bias.double()
            parts += [weight.reshape(-1), bias]
        return torch.cat(parts).detach().cpu().numpy().astype(np.float32)


class Critic:
    """Dense layers with leaky rectifiers and dropout over `pac` rows, and the gradient by its rows.

    The network is piecewise linear. Its gradient is a product of weights and the slopes at the place, which
    costs one pass more, where differentiating it would cost another backward pass.
    """

    def __init__(self, width: int, hidden: Sequence[int], pac: int, generator: torch.Generator) -> None:
        self.pac = pac
        self._chance = generator
        sizes = [width * pac, *hidden, 1]
        self._dense = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        self.layers = nn.ModuleList(self._dense)

    def _kept(self, like: torch.Tensor) -> torch.Tensor:
        kept = torch.empty_like(like).bernoulli_(1 - DROPOUT, generator=self._chance)
        return kept.mul_(1 / (1 - DROPOUT))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x = x.reshape(x.shape[0] // self.pac, -1)
        for layer in self._dense[:-1]:
            x = nn.functional.leaky_relu(layer(x), SLOPE)
            x = x * self._kept(x)
        return self._dense[-1](x)

    def steepness(self, x: torch.Tensor) -> torch.Tensor:
        """|∇f| at each pack of rows."""
        x = x.reshape(x.shape[0] // self.pac, -1)
        slopes = []
        with torch.no_grad():
            for layer in self._dense[:-1]:
                y = layer(x)
                slope = torch.where(y >= 0, 1.0, SLOPE) * self._kept(y)
                slopes.append(slope)
                x = y * slope
        slope = self._dense[-1].weight.expand(x.shape[0], -1)
        for layer, factor in zip(reversed(self._dense[:-1]), reversed(slopes), strict=True):
            slope = (slope * factor) @ layer.weight
        return slope.norm(dim=1)


class Average:
    """The average of parameters over steps: that of all at first, then an exponential one."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self._live = [parameter.detach() for parameter in parameters]
        self._means = [live.clone() for live in self._live]
        self._steps = 0

    def add(self) -> None:
        """Take in what the parameters are now."""
        self._steps += 1
        weight = max(1 / self._steps, AVERAGING)
        for mean, live in zip(self._means, self._live, strict=True):
            mean.lerp_(live, weight)

    def keep(self) -> None:
        """Set the parameters to their average."""
        for mean, live in zip(self._means, self._live, strict=True):
            live.copy_(mean)


class Run:
    """One training."""

    def __init__(self, modal: Modal, labels: Labels, settings: GanSettings, generator: Generator) -> None:
        self.modal, self.labels, self.settings, self.generator = modal, labels, settings, generator
        self.where = next(generator.parameters()).device
        self.chance = torch.Generator(self.where).manual_seed(settings.seed)
        self.width = modal.encoding.width
        # Rows of one batch are judged in whole packs.
        self.batch = max(1, settings.batch // settings.pac) * settings.pac
        self.critic = Critic(self.width + labels.count, settings.critic_dim, settings.pac, self.chance)
        self.critic.layers.to(self.where)
        self._blocks = [(start, end) for _, start, end in blocks_of(modal.encoding)]
        starts = zip(modal.encoding.starts, modal.encoding.columns, strict=True)
        self._numbers = [start + column.label_width for start, column in starts if column.numeric]
        self._sizes, self._kinds = self._layout()

    def _layout(self) -> tuple[list[int], list[bool]]:
        """Sizes of the pieces of a row in order, and whether each is a block of labels."""
        ends = dict(self._blocks)
        sizes, kinds, at = [], [], 0
        while at < self.width:
            labels = at in ends
            size = ends[at] - at if labels else 1
            sizes.append(size)
            kinds.append(labels)
            at += size
        return sizes, kinds

    def train(self, codes: npt.NDArray[np.integer], rows: float, report: Callable[[str], None]) -> None:
        s = self.settings
        drawn, numbers = self.modal.draw(codes, np.random.default_rng([s.seed, 7]))
        self._prepare(drawn, numbers)
        likely = self.labels.training(rows, log_frequency=s.log_frequency)
        generator = _adam(self.generator.parameters(), s.generator_rate, s.generator_decay)
        critic = _adam(self.critic.layers.parameters(), s.critic_rate, s.critic_decay)
        steps = max(1, len(codes) // self.batch)
        average = Average(list(self.generator.parameters()))
        judged = made = torch.zeros(())
        for epoch in range(s.epochs):
            for _ in range(steps):
                for _ in range(s.critic_steps):
                    judged = self._critic_step(likely)
                    critic.zero_grad()
                    judged.backward()
                    critic.step()
                self.critic.layers.requires_grad_(False)
                made = self._generator_step(likely)
                generator.zero_grad()
                made.backward()
                generator.step()
                average.add()
                self.critic.layers.requires_grad_(True)
            told = f"critic {float(judged.detach()):.4g}, generator {float(made.detach()):.4g}"
            report(f"epoch {epoch + 1:,} of {s.epochs:,}, {told}")
        average.keep()

    def _prepare(self, labels: npt.NDArray[np.int64], numbers: npt.NDArray[np.float64]) -> None:
        """Rows as coordinates of ones and as numbers, and where the rows of each label are."""
        encoding = self.modal.encoding
        wide = np.full(labels.shape, self.width)
        for place, start, _ in blocks_of(encoding):
            wide[:, place] = np.where(labels[:, place] >= 0, start + labels[:, place], self.width)
        blocked = [place for place, _, _ in blocks_of(encoding)]
        numeric = [place for place, column in enumerate(encoding.columns) if column.numeric]
        self._ones = torch.from_numpy(wide[:, blocked]).to(self.where)
        self._values = torch.from_numpy(numbers[:, numeric].astype(np.float32)).to(self.where)
        order, starts, counts = [], [], []
        for place, start, end in self.labels.blocks:
            found = labels[:, place]
            order.append(np.argsort(found, kind="stable"))
            held = np.bincount(found[found >= 0], minlength=end - start)
            first = int((found < 0).sum()) + np.cumsum(held) - held
            if not held.any():  # no row has any of the labels: every row will do
                first, held = np.zeros_like(held), np.full_like(held, len(labels))
            starts.append(first + len(labels) * (len(order) - 1))
            counts.append(held)
        self._order, self._starts, self._counts = (
            torch.from_numpy(np.concatenate(part) if part else np.zeros(0, np.int64)).to(self.where)
            for part in (order, starts, counts)
        )

    def _uniform(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.chance, device=self.where)

    def inputs(self, likely: npt.NDArray[np.float64]) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Noise beside labels drawn with these probabilities, and the labels."""
        noise = torch.randn((self.batch, self.settings.noise_dim), generator=self.chance, device=self.where)
        if not likely.size:
            return noise, None
        ends = torch.from_numpy(np.cumsum(likely)).to(self.where)
        drawn = torch.searchsorted(ends, self._uniform(self.batch).double() * ends[-1], right=True)
        label = drawn.clamp_(max=likely.size - 1)
        return torch.cat([noise, nn.functional.one_hot(label, likely.size).float()], 1), label

    def _real(self, label: torch.Tensor | None) -> torch.Tensor:
        """Encoded rows that have the labels."""
        count = self._ones.shape[0]
        if label is None:
            rows = (self._uniform(self.batch) * count).long().clamp_(max=count - 1)
        else:
            held = self._counts[label]
            inside = torch.minimum((self._uniform(self.batch).double() * held).long(), held - 1)
            rows = self._order[self._starts[label] + inside]
        found = torch.zeros((self.batch, self.width + 1), device=self.where)
        found.scatter_(1, self._ones[rows], 1.0)
        found[:, self._numbers] = self._values[rows]
        return found[:, : self.width]

    def _activate(self, y: torch.Tensor) -> torch.Tensor:
        """Gumbel softmax of every block, tanh of numbers."""
        gumbel = torch.empty_like(y).exponential_(generator=self.chance).clamp_(min=1e-20).log_()
        noisy = (y - gumbel) * (1 / TEMPERATURE)
        parts = [
            torch.softmax(soft, 1) if labels else torch.tanh(plain)
            for soft, plain, labels in zip(
                noisy.split(self._sizes, 1), y.split(self._sizes, 1), self._kinds, strict=True
            )
        ]
        return torch.cat(parts, 1)

    def _critic_step(self, likely: npt.NDArray[np.float64]) -> torch.Tensor:
        with torch.no_grad():
            given, label = self.inputs(likely)
            made = self._activate(self.generator(given))
            real = self._real(label)
            if label is not None:
                beside = given[:, self.settings.noise_dim :]
                made, real = torch.cat([made, beside], 1), torch.cat([real, beside], 1)
            # One place for each pack of rows.
            share = self._uniform(self.batch // self.settings.pac, 1).repeat_interleave(self.settings.pac, 0)
            between = share * real + (1 - share) * made
        penalty = ((self.critic.steepness(between) - 1) ** 2).mean() * PENALTY
        judged = self.critic(torch.cat([made, real]))
        half = judged.shape[0] // 2
        return judged[:half].mean() - judged[half:].mean() + penalty

    def _generator_step(self, likely: npt.NDArray[np.float64]) -> torch.Tensor:
        given, label = self.inputs(likely)
        y = self.generator(given)
        made = self._activate(y)
        if label is None:
            return -self.critic(made).mean()
        judged = self.critic(torch.cat([made, given[:, self.settings.noise_dim :]], 1))
        return self._missed(y, label) - judged.mean()

    def _missed(self, y: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the labels that were given, in the columns that they are of."""
        lost = y.new_zeros(())
        for (_, start, end), first in zip(self.labels.blocks, self.labels.offsets, strict=False):
            rows = torch.nonzero((label >= first) & (label < first + end - start)).squeeze(1)
            if rows.numel():
                lost = lost + nn.functional.cross_entropy(
                    y[rows, start:end], label[rows] - first, reduction="sum"
                )
        return lost / self.batch


def _adam(parameters: Any, rate: float, decay: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=rate, betas=BETAS, weight_decay=decay, fused=True)

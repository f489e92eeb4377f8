"""Processor seconds of one epoch of DP-SGD, ours and every mode of Opacus, beside plain SGD; one process, one thread.

Run by run.py in an environment that has Opacus. MLP 108-128-128-64 (38,720 weights without biases and 320 biases),
32,561 rows, cross-entropy; repeats are interleaved, and the smallest of each is told.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from fractions import Fraction

import numpy as np
import torch
from torch import nn

from sfumato.privacy.batches import poisson_batch, rate_of
from sfumato.privacy.dpsgd import RowLosses
from sfumato.privacy.per_example import MULTIPLE, UNITS, integer_gradients
from sfumato.privacy.rounded_gaussian import RoundedGaussian

ROWS, INPUTS, HIDDEN, CLASSES = 32_561, 108, 128, 64
warnings.filterwarnings("ignore")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)
    )


def data() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(ROWS, INPUTS), torch.randint(0, CLASSES, (ROWS,))


def plain(x: torch.Tensor, y: torch.Tensor, batch: int) -> float:
    net = network()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    order = torch.randperm(ROWS)
    before = time.process_time()
    for start in range(0, ROWS - batch + 1, batch):
        part = order[start : start + batch]
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[part]), y[part]).backward()
        optimiser.step()
    return time.process_time() - before


class Classification:
    """The loss, as a program of sfumato gives it."""

    loss_bound = 10.0

    def losses(self, net, rows, companions):
        flat = rows.reshape(-1, INPUTS + 1)
        found = nn.functional.cross_entropy(net(flat[:, :INPUTS]), flat[:, INPUTS].long(), reduction="none")
        return found.reshape(rows.shape[:2])


def ours(x: torch.Tensor, y: torch.Tensor, batch: int, *, noise: bool) -> float:
    """Poisson batches, exact integer sums, and exact noise where asked for."""
    net, program, rate = network(), Classification(), rate_of(batch / ROWS)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    sampler, size = RoundedGaussian(Fraction(1 << UNITS)), sum(p.numel() for p in net.parameters())
    sampler.draw(10)
    both = torch.cat([x, y[:, None].float()], 1)
    before = time.process_time()
    for _ in range(ROWS // batch):
        chosen = poisson_batch(ROWS, rate)
        count = -(-chosen.size // MULTIPLE) * MULTIPLE
        places, there = np.zeros(count, np.int64), torch.zeros(count, 1)
        places[: chosen.size], there[: chosen.size] = chosen, 1.0
        rows = both[torch.from_numpy(places)][:, None]
        losses = RowLosses(program=program, rows=(rows, there), group=1)
        total = integer_gradients(net, losses, clip=1.0, loss_bound=10.0)
        if noise:
            total = total + sampler.draw(size + 1)
        flat, start = torch.from_numpy(total[:-1] * (1 / 2.0**UNITS / batch)), 0
        for p in net.parameters():
            p.grad = flat[start : start + p.numel()].reshape(p.shape).float()
            start += p.numel()
        optimiser.step()
    return time.process_time() - before


def opacus(x: torch.Tensor, y: torch.Tensor, batch: int, mode: str) -> float:
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    net = network()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(TensorDataset(x, y), batch_size=batch)
    criterion = nn.CrossEntropyLoss()
    facts = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "grad_sample_mode": mode}
    made = PrivacyEngine().make_private(
        module=net, optimizer=optimiser, data_loader=loader, criterion=criterion, **facts
    )
    net, optimiser = made[0], made[1]
    if mode == "ghost":
        criterion = made[2]
    rng = np.random.default_rng(0)
    before = time.process_time()
    for _ in range(ROWS // batch):
        # The same Poisson batches by hand, so that the loader's own time does not count.
        part = torch.from_numpy(np.flatnonzero(rng.random(ROWS) < batch / ROWS))
        optimiser.zero_grad()
        criterion(net(x[part]), y[part]).backward()
        optimiser.step()
    return time.process_time() - before


def main() -> None:
    task = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    x, y = data()
    modes = {
        "plain SGD": lambda b: plain(x, y, b),
        "sfumato, before noise": lambda b: ours(x, y, b, noise=False),
        "sfumato, exact noise": lambda b: ours(x, y, b, noise=True),
    }
    for mode in task["opacus"]:
        modes[f"Opacus {mode}"] = lambda b, m=mode: opacus(x, y, b, m)
    found: dict[str, dict[int, float | str]] = {name: {} for name in modes}
    for batch in task["batches"]:
        for _ in range(task["repeats"]):
            for name, run in modes.items():
                try:
                    seconds: float | str = run(batch)
                except Exception as error:
                    found[name][batch] = f"{type(error).__name__}: {error}"[:80]
                    continue
                before = found[name].get(batch, float("inf"))
                found[name][batch] = min(seconds, before) if not isinstance(before, str) else seconds
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""Processor seconds of one epoch of DP-SGD, ours and every mode of Opacus, beside plain SGD; one process, one thread.

Run by run.py in an environment that has Opacus. MLP 108-128-128-64 (38,720 weights without biases and 320 biases),
32,561 rows, cross-entropy. An epoch of every mode is cut into pieces of a few steps, and the pieces of all modes take
turns, so that what else the machine does falls on all alike. Ratios are those of whole epochs that ran so side by side.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice

import numpy as np
import torch
from torch import nn

from sfumato.privacy.batches import rate_of
from sfumato.privacy.dpsgd import Plan, Trainer
from sfumato.privacy.per_example import NORM_AT_MOST
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.synthesizers.deep.modules import flat_gradient

Steps = Iterator[None]
ROWS, INPUTS, HIDDEN, CLASSES = 32_561, 108, 128, 64
WARM = 3
warnings.filterwarnings("ignore")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)
    )


def data() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(ROWS, INPUTS), torch.randint(0, CLASSES, (ROWS,))


def plain(x: torch.Tensor, y: torch.Tensor, batch: int) -> Steps:
    net = network()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    order = torch.randperm(ROWS)
    for start in range(0, ROWS - batch + 1, batch):
        part = order[start : start + batch]
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(x[part]), y[part]).backward()
        optimiser.step()
        yield


class Classification:
    """A training of sfumato: codes are numbers of rows, features what stands there, the label last."""

    loss_bound = 10.0

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.network = network()
        self._optimiser = torch.optim.SGD(self.network.parameters(), lr=0.01)
        self._gradient = flat_gradient(self.network)
        self._rows = torch.cat([x, y[:, None].float()], 1)

    def features(self, codes: torch.Tensor) -> torch.Tensor:
        return self._rows[codes[:, 0]]

    def companions(self, step: int) -> None:
        return None

    def losses(self, net: nn.Module, rows: torch.Tensor, companions: None) -> torch.Tensor:
        flat = rows.reshape(-1, INPUTS + 1)
        found = nn.functional.cross_entropy(net(flat[:, :INPUTS]), flat[:, INPUTS].long(), reduction="none")
        return found.reshape(rows.shape[:2])

    def update(self, gradient: torch.Tensor) -> None:
        self._gradient.copy_(gradient)
        self._optimiser.step()


class NoNoise:
    def draw(self, count: int) -> np.ndarray:
        return np.zeros(count, np.int64)


def ours(x: torch.Tensor, y: torch.Tensor, batch: int, *, noise: bool) -> Steps:
    """Poisson batches, exact integer sums, and exact noise where asked for: the curator's own trainer."""
    plan = Plan(
        steps=ROWS // batch,
        rounds=1,
        rate=rate_of(batch / ROWS),
        noise=Fraction(1),
        clip=1.0,
        normaliser=float(batch),
    )
    trainer = Trainer(np.arange(ROWS)[:, None], Classification(x, y), plan)
    law = RoundedGaussian(NORM_AT_MOST * plan.noise) if noise else NoNoise()
    law.draw(10)
    for step in range(plan.steps):
        trainer.step(step, law)
        yield


def opacus(x: torch.Tensor, y: torch.Tensor, batch: int, mode: str) -> Steps:
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
    for _ in range(ROWS // batch):
        # The same Poisson batches by hand, so that the loader's own time does not count.
        part = torch.from_numpy(np.flatnonzero(rng.random(ROWS) < batch / ROWS))
        optimiser.zero_grad()
        criterion(net(x[part]), y[part]).backward()
        optimiser.step()
        yield


def epochs(modes: dict[str, Callable[[], Steps]], piece: int) -> dict[str, float | str]:
    """Processor seconds of an epoch of each mode, all side by side, the first `WARM` steps of each left out."""
    running: dict[str, Steps] = {}
    found: dict[str, float | str] = {}
    for name, begin in modes.items():
        try:
            running[name] = begin()
            for _ in range(WARM):
                next(running[name])
            found[name] = 0.0
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"[:80]
            running.pop(name)
    while running:
        for name, steps in list(running.items()):
            before, done = time.process_time(), 0
            for _ in islice(steps, piece):
                done += 1
            found[name] += time.process_time() - before
            if done < piece:
                del running[name]
    return found


def main() -> None:
    task = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    x, y = data()
    told = []
    for batch in task["batches"]:
        modes: dict[str, Callable[[], Steps]] = {
            "plain SGD": lambda b=batch: plain(x, y, b),
            "sfumato, before noise": lambda b=batch: ours(x, y, b, noise=False),
            "sfumato, exact noise": lambda b=batch: ours(x, y, b, noise=True),
        }
        for mode in task["opacus"]:
            modes[f"Opacus {mode}"] = lambda b=batch, m=mode: opacus(x, y, b, m)
        told += [{"batch": batch, "seconds": epochs(modes, task["piece"])} for _ in range(task["repeats"])]
    print(json.dumps(told))


if __name__ == "__main__":
    main()

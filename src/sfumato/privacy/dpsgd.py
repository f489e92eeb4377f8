"""Training a network on private rows: DP-SGD (Abadi et al. 2016), with integers between rows and noise.

A training has a fixed number of steps. In each, rows enter the batch by coins of their own (`batches`), the
clipped gradients of the rows in it are added up as integers (`per_example`), rounded Gaussian noise is
added to every coordinate, and the sum is divided by a public number: the rows that are expected in a batch,
not those that are there. A batch may be empty; then noise alone comes out. What follows (an optimiser, the
training of a generator against a critic) sees noisy gradients only, and may be anything.

The network, its loss and what follows are public code: a `Program`. Rows are handed to a copy of it that is
thrown away; the program itself is given noisy gradients. A coordinate for the loss is part of the noisy
sum, so that a training can be watched at no further charge.

Rows of one step may be paired with public companions (generated rows, latent noise). Each row picks its
companion by a coin of its own, so that no row's term depends on who else is in the batch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.errors import JobError
from sfumato.privacy.batches import fixed_groups, picks, poisson_batch
from sfumato.privacy.per_example import BLOCK, LOSS_SHARE, MULTIPLE, UNITS, Counts, integer_gradients
from sfumato.privacy.rounded_gaussian import RoundedGaussian

if TYPE_CHECKING:
    import torch

SINGLE = np.dtype("<f4")
"""How parameters are released, two in one 64-bit number."""
KEEP_BYTES = 256 << 20
"""Rows are kept as the network takes them when they fit."""
Singles = npt.NDArray[Any]


class Program(Protocol):
    """The public side of a training."""

    network: Any
    """A torch module whose parameters are trained. It must treat every row alone: no batch normalisation."""
    loss_bound: float
    """Losses are cut there, for the noisy sum of losses alone."""

    def features(self, codes: torch.Tensor) -> torch.Tensor:
        """Rows as the network takes them, rows x width, from codes, rows x columns."""
        ...

    def companions(self, step: int) -> torch.Tensor | None:
        """Public vectors of a step, a power of two of them, one of which each row picks."""
        ...

    def losses(self, network: Any, rows: torch.Tensor, companions: torch.Tensor | None) -> torch.Tensor:
        """Losses of rows (units x times x width) and their companions: units x times. Must not keep
        anything.
        """
        ...

    def update(self, gradient: torch.Tensor) -> None:
        """Change the parameters of `network` by a noisy gradient, flat in the order of its parameters."""
        ...

    def finish_round(self, number: int, parameters: Singles) -> None:
        """Called after every round of steps with the parameters that are released."""
        ...

    def describe(self) -> dict[str, Any]:
        """Public facts, for the ledger."""
        ...


@frozen(kw_only=True)
class Plan:
    """Public numbers of a training."""

    steps: int
    rounds: int
    """Parameters are released after each of so many rounds of equally many steps."""
    rate: Fraction
    noise: Fraction
    """Noise scale over the clip, with the rounding bound folded in."""
    clip: float
    normaliser: float
    group: int = 1
    groups: int = 0
    """Rows are dealt to so many fixed groups, of `group` rows on average, where that is more than 1."""
    exposed: tuple[str, ...] = ()

    @property
    def times(self) -> int:
        """Rows of one unit of sampling: 1, or as many as a group may hold."""
        return 1 if self.group == 1 else 2 * self.group + 8


@frozen
class Released:
    """What a training gives back."""

    snapshots: Singles
    """Rounds x parameters."""
    losses: Counts
    """Noisy sum of losses in each round, in units."""


@frozen(kw_only=True, eq=False)
class RowLosses:
    """Losses of a block: means over the rows of a unit, as a function of the network."""

    program: Program
    rows: tuple[torch.Tensor, ...]
    """Rows, 1 or 0 for rows that are there, and companions if there are any."""
    group: int

    def __call__(self, network: Any) -> torch.Tensor:
        return self._of(network, *self.rows)

    def of_row(self, network: Any, *row: torch.Tensor) -> torch.Tensor:
        return self._of(network, *(part[None] for part in row))[0]

    def _of(
        self, network: Any, rows: torch.Tensor, there: torch.Tensor, companions: torch.Tensor | None = None
    ) -> torch.Tensor:
        each = self.program.losses(network, rows, companions)
        return each.flatten() if self.group == 1 else (each * there).sum(1) / self.group

    @property
    def there(self) -> torch.Tensor | None:
        """1 for units that count, where a unit is a row."""
        return self.rows[1][:, 0] if self.group == 1 else None


class Trainer:
    """Private rows, and what a training asks of them. Lives in the curator for one training."""

    def __init__(
        self, codes: npt.NDArray[Any], program: Program, plan: Plan, *, padded: bool = False
    ) -> None:
        import torch

        self.plan = plan
        self.public = program
        # Rows are shown to a copy, which shares the parameters and nothing else.
        self.program = copy.deepcopy(program)
        for own, shared in zip(self.program.network.parameters(), program.network.parameters(), strict=True):
            own.data = shared.data
        if padded:
            pad_layers(self.program.network)
        self.device = next(program.network.parameters()).device
        self._codes = torch.from_numpy(np.ascontiguousarray(codes.astype(np.int32)))
        self._kept: torch.Tensor | None = None
        rows = codes.shape[0]
        width = self._features(np.zeros(1 if rows else 0, np.int64)).shape[1] if rows else 0
        if 4 * rows * width <= KEEP_BYTES and rows:
            self._kept = torch.cat(
                [self._features(np.arange(a, min(a + 8192, rows))) for a in range(0, rows, 8192)]
            )
        self.units = rows if plan.group == 1 else plan.groups
        self._members: list[npt.NDArray[np.int64]] = []
        if plan.group > 1:
            self._deal(fixed_groups(rows, plan.groups))

    def _deal(self, group: npt.NDArray[np.int64]) -> None:
        order = np.argsort(group, kind="stable")
        self._members = np.split(order, np.searchsorted(group[order], np.arange(1, self.plan.groups)))

    def deal_alike(self) -> None:
        """Let a row's group follow from what the row holds, so that tables can be compared. For tests."""
        held = self._codes.numpy().astype(np.uint64)
        mixed = np.zeros(held.shape[0], np.uint64)
        for column in held.T:
            mixed = (mixed + column + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        self._deal((mixed % np.uint64(self.plan.groups)).astype(np.int64))

    def _features(self, places: npt.NDArray[np.int64]) -> torch.Tensor:
        import torch

        index = torch.from_numpy(places)
        if self._kept is not None:
            return self._kept.index_select(0, index.to(self.device))
        return self.program.features(self._codes[index].to(self.device, torch.int64))

    # One step ------------------------------------------------------------------------------------------

    def draw(self) -> npt.NDArray[np.int64]:
        """Units in the batch of a step."""
        return poisson_batch(self.units, self.plan.rate)

    def sum(self, batch: npt.NDArray[np.int64], pool: torch.Tensor | None, chosen: Counts | None) -> Counts:
        """Exact sum of the clipped gradients of a batch, and of its losses: the private answer of a step.

        chosen: for each row of each unit of the batch, which companion of the pool it picked.
        """
        total = np.zeros(0, np.int64)
        for start in range(0, batch.size, BLOCK):
            stop = min(start + BLOCK, batch.size)
            part = self._block(batch[start:stop], pool, None if chosen is None else chosen[start:stop])
            total = total + part if total.size else part
        return total if total.size else np.zeros(self.size + 1, np.int64)

    def shift_parameters(self, base: Program, size: float) -> None:
        """Set this trainer's own parameters to those of `base` and a fixed pattern. For tests."""
        import torch

        for parameter, shared in zip(
            self.program.network.parameters(), base.network.parameters(), strict=True
        ):
            wave = torch.sin(torch.arange(parameter.numel(), dtype=shared.dtype, device=shared.device))
            parameter.data = shared.data + size * wave.reshape(parameter.shape)

    def _block(
        self, batch: npt.NDArray[np.int64], pool: torch.Tensor | None, chosen: Counts | None
    ) -> Counts:
        losses = self._losses(batch, pool, chosen)
        plan = self.plan
        return integer_gradients(
            self.program.network,
            losses,
            clip=plan.clip,
            loss_bound=self.program.loss_bound,
            there=losses.there,
            exposed=plan.exposed,
        )

    def _losses(
        self, batch: npt.NDArray[np.int64], pool: torch.Tensor | None, chosen: Counts | None
    ) -> RowLosses:
        """The block, filled up to a multiple of rows with rows that are not there."""
        import torch

        plan, times = self.plan, self.plan.times
        count = -(-batch.size // MULTIPLE) * MULTIPLE
        if plan.group == 1:
            places, there = np.zeros((count, 1), np.int64), np.zeros((count, 1))
            places[: batch.size, 0], there[: batch.size] = batch, 1.0
        else:
            places, there = np.zeros((count, times), np.int64), np.zeros((count, times))
            for i, unit in enumerate(batch.tolist()):
                members = self._members[unit][:times]
                places[i, : members.size], there[i, : members.size] = members, 1.0
        rows = self._features(places.reshape(-1)).reshape(count, times, -1)
        parts = [rows, torch.from_numpy(there).to(rows)]
        if pool is not None and chosen is not None:
            filled = np.zeros((count, times), np.int64)
            filled[: batch.size] = chosen
            parts.append(pool[torch.from_numpy(filled)])
        return RowLosses(program=self.program, rows=tuple(parts), group=plan.group)

    def exposed_gradient(
        self, batch: npt.NDArray[np.int64], pool: torch.Tensor | None, chosen: Counts | None
    ) -> torch.Tensor:
        """Gradient of exposed parts without clip or noise: nothing is guaranteed where this is used."""
        import torch

        network, plan = self.program.network, self.plan
        parameters = list(network.parameters())
        names = [name for name, _ in network.named_parameters()]
        flat = [torch.zeros_like(p) for p in parameters]
        if batch.size:
            losses = self._losses(batch, pool, chosen)
            each = losses(network) if losses.there is None else losses(network) * losses.there
            found = torch.autograd.grad(each.sum() / plan.normaliser, parameters, allow_unused=True)
            for i, (name, gradient) in enumerate(zip(names, found, strict=True)):
                if name.partition(".")[0] in plan.exposed and gradient is not None:
                    flat[i] = gradient
        return torch.cat([part.reshape(-1) for part in flat])

    # The whole training --------------------------------------------------------------------------------

    def step(self, number: int, noise: RoundedGaussian) -> int:
        """One step of the program with a noisy gradient; the noisy sum of losses, in units."""
        import torch

        plan, program = self.plan, self.public
        pool, batch = program.companions(number), self.draw()
        chosen = (
            None if pool is None else picks(batch.size * plan.times, pool.shape[0]).reshape(-1, plan.times)
        )
        noisy = noise.draw(self.size + 1)
        noisy += self.sum(batch, pool, chosen)
        scale = plan.clip / 2.0**UNITS / plan.normaliser
        gradient = torch.from_numpy(noisy[:-1] * scale).to(self.device)
        if plan.exposed:
            gradient += self.exposed_gradient(batch, pool, chosen)
        program.update(gradient)
        return int(noisy[-1])

    def run(self, noise: RoundedGaussian, *, report: Callable[[int, Counts], None]) -> Released:
        """All steps. `report` is told the number of steps made and the noisy sums of losses of the last
        ones.
        """
        plan, program = self.plan, self.public
        per_round, every = plan.steps // plan.rounds, max(1, plan.steps // 50)
        snapshots, sums, losses = [], [], []
        for step in range(plan.steps):
            losses.append(self.step(step, noise))
            if (step + 1) % every == 0:
                report(step + 1, np.array(losses[-every:]))
            if (step + 1) % per_round == 0:
                snapshots.append(parameters_of(program.network))
                program.finish_round(len(snapshots) - 1, snapshots[-1])
                sums.append(sum(losses[-per_round:]))
        return Released(np.stack(snapshots), np.array(sums, np.int64))

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return sum(parameter.numel() for parameter in self.public.network.parameters())


def mean_loss(units: Counts, *, bound: float, normaliser: float) -> float:
    """Mean loss of a row, from noisy sums of losses of steps."""
    return float(np.mean(units)) * LOSS_SHARE * bound / 2.0**UNITS / normaliser


def parameters_of(network: Any) -> Singles:
    """All parameters, flat, in the precision in which they are released."""
    import torch

    flat = torch.cat([parameter.detach().reshape(-1) for parameter in network.parameters()])
    return flat.cpu().numpy().astype(SINGLE)


def set_parameters(network: Any, values: Singles) -> None:
    """The other way round."""
    import torch

    start = 0
    with torch.no_grad():
        for parameter in network.parameters():
            part = values[start : start + parameter.numel()].reshape(tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(part)))
            start += parameter.numel()


def pack(values: Singles) -> Counts:
    """Rows of single-precision numbers as rows of 64-bit ones, two in each."""
    values = np.ascontiguousarray(values, SINGLE)
    if values.shape[1] % 2:
        values = np.concatenate([values, np.zeros((values.shape[0], 1), SINGLE)], 1)
    return np.ascontiguousarray(values).view("<i8").astype(np.int64)


def unpack(packed: Counts, size: int) -> Singles:
    """The other way round, `size` numbers a row; those that are not finite are 0."""
    values = np.ascontiguousarray(packed.astype("<i8")).view(SINGLE)[:, :size]
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)


def check_places(program: Program, plan: Plan, codes: Callable[[int], npt.NDArray[Any]]) -> bool:
    """Whether layers must be padded so that a row's integers are the same at every place and in any company.

    Tried out on made-up rows: codes(n) are n rows of codes, of no table. Products of small matrices may be
    added up in another order at another place; with sides that are multiples of `SIDE` they are not.
    JobError where even that does not help.
    """
    for padded in (False, True):
        if _same_at_all_places(program, plan, codes, padded=padded):
            return padded
    raise JobError(
        "on this machine the gradient of a row depends on which rows are computed with it",
        mend="use another build of torch, or a processor in the place of a graphics card",
    )


def _same_at_all_places(
    program: Program, plan: Plan, codes: Callable[[int], npt.NDArray[Any]], *, padded: bool
) -> bool:
    """Sums over parts of different sizes add up to the sum over all, to the last bit."""
    if plan.group > 1:
        from attrs import evolve

        plan = evolve(plan, group=1, groups=0)
    count = max(12 * MULTIPLE, min(BLOCK, math.ceil(2 * plan.normaliser))) + 5
    trainer = Trainer(codes(count), program, plan, padded=padded)
    pool = program.companions(0)
    chosen = None if pool is None else (np.arange(count) % pool.shape[0]).reshape(-1, 1)

    def total(places: npt.NDArray[np.int64]) -> Counts:
        return trainer.sum(places, pool, None if chosen is None else chosen[places])

    whole, order = total(np.arange(count)), np.arange(count)[::-1]
    some, half = 12 * MULTIPLE, count // 2
    cuts = ((1,), (MULTIPLE + 1, 2 * MULTIPLE), (17, 90, half), tuple(range(2, some, 23)), (half, count - 50))
    return all(np.array_equal(sum(map(total, np.split(order, at))), whole) for at in cuts)


SIDE = 16


def pad_layers(network: Any) -> None:
    """Make dense layers compute with sides filled up to multiples of `SIDE` by zeros; results are the
    same.
    """
    from torch import nn
    from torch.nn.functional import linear, pad

    def padded(module: Any, x: torch.Tensor) -> torch.Tensor:
        weight, bias = module.weight, module.bias
        rows, columns = (-side % SIDE for side in weight.shape)
        y = linear(pad(x, (0, columns)), pad(weight, (0, columns, 0, rows)))[..., : weight.shape[0]]
        return y if bias is None else y + bias

    for module in network.modules():
        if type(module) is nn.Linear:
            module.forward = partial(padded, module)

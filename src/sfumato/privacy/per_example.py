"""Clipped per-row gradients as integers, and their exact sum.

The gradient of row i of a dense layer is Σ_t δ_it a_itᵀ: a_it is what the layer was given, δ_it the derivative of the
row's loss by what it gave, and t counts the times the row passed the layer. So its norm is

    ‖g_i‖² = Σ_{t,u} (δ_it·δ_iu) (a_it·a_iu)        (Goodfellow 2015; Li, Tramèr, Liang, Hashimoto 2022, for t > 1)

and no gradient of a single row need be written down. A bias is one more input that is 1, an embedding a dense layer
whose inputs are unit vectors. Layers of other kinds are differentiated row by row with torch.func.

Everything is put on a grid before anything is added up. The inputs become whole multiples ã of 2**-10, the
derivatives, scaled so that the norm is at most the clip C, whole multiples d of C 2**-22. So the gradient of a row is a
vector k_i of integers in units of C 2**-32, a function of that row and of public numbers. Its norm is computed
again from the integers, and a row whose norm exceeds 2**32 is left out; the scaling aims a little lower, so that
this does not happen. Norms are sums of products in double precision: with n terms off by at most n 2**-53 relative to
Σ|terms|, which is at most 2**12 times 4**32 (a row beyond that is left out too), hence below 2**-21 for n up to 2**20.
The proven bound on ‖k_i‖ is `NORM_AT_MOST`.

The sum over the rows of a block is one product of matrices of integers in double precision. All partial sums are
below 2**53, so every order of adding them gives the same number: it is exact, and rows are added up
beyond a block in 64-bit integers. What is a floating-point result is a row's own k_i. It must not depend on which rows
share the batch: blocks are filled up to a multiple of `MULTIPLE` rows, and `check_places` holds results at other places
and in other company against each other, bit by bit, before a training starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

UNITS = 32
"""The clip is 2**32 units."""
_INPUT_BITS = 10
_LARGEST_INPUT = float(1 << 24)
NORM_AT_MOST = 2**UNITS + 2 ** (UNITS - 20)
"""Largest L2 norm of what a row adds, in units."""
LOSS_SHARE = 16
"""The loss of a row is one more coordinate, of at most the clip over this."""
_GRADIENT_SHARE = 1 - 1 / LOSS_SHARE**2
_AIM = 1 - 2.0**-12
_SPREAD = 6
"""Norms of the parts of a gradient add up to at most 2**6 times the clip."""
BLOCK = 4096
MULTIPLE = 64

Counts = npt.NDArray[np.int64]



class Losses(Protocol):
    """The losses of a block of rows."""

    rows: tuple[torch.Tensor, ...]
    """What is known of each row: tensors whose first axis is that of the rows."""

    def __call__(self, network: Any) -> torch.Tensor:
        """One loss for each row of the block; rows must not influence each other."""
        ...

    def of_row(self, network: Any, *row: torch.Tensor) -> torch.Tensor:
        """The loss of one row, given its slices of `rows`."""
        ...


class _Layer:
    """What rows gave to one layer and what it gave back, over all its calls."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.inputs: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []


def integer_gradients(
    network: Any, losses: Losses, *, clip: float, loss_bound: float, exposed: Sequence[str] = ()
) -> Counts:
    """Σ_i k_i over the rows of a block, flat in the order of `network.parameters()`, and Σ of their losses.

    clip: C. loss_bound: losses are cut there. exposed: parts of the network by name that are left out, which have
    zeros.
    """
    if only_layers(network):
        return _by_layers(network, losses, clip=clip, loss_bound=loss_bound, exposed=exposed)
    if exposed:
        raise ValueError("parts of a network with other than dense layers cannot be left out")
    return _by_rows(network, losses, clip=clip, loss_bound=loss_bound)


def only_layers(network: Any) -> bool:
    """Whether all parameters are those of dense and embedding layers."""
    from torch import nn

    owned = {
        id(parameter)
        for module in network.modules()
        if type(module) in (nn.Linear, nn.Embedding) and getattr(module, "padding_idx", None) is None
        for parameter in module.parameters(recurse=False)
    }
    return all(id(parameter) in owned for parameter in network.parameters())


def _by_layers(
    network: Any, losses: Losses, *, clip: float, loss_bound: float, exposed: Sequence[str]
) -> Counts:
    import torch
    from torch import nn

    layers: dict[int, _Layer] = {}

    def listen(module: Any, given: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
        layer = layers.setdefault(id(module), _Layer(module))
        if not output.requires_grad:
            output.requires_grad_()
        layer.inputs.append(given[0].detach())
        layer.outputs.append(output)
        return output

    kept = [p.requires_grad for p in network.parameters()]
    hooks = [
        module.register_forward_hook(listen)
        for path, module in network.named_modules()
        if isinstance(module, nn.Linear | nn.Embedding) and path.partition(".")[0] not in exposed
    ]
    try:
        network.requires_grad_(False)
        each = losses(network)
        outputs = [output for layer in layers.values() for output in layer.outputs]
        found = torch.autograd.grad(each.sum(), outputs, allow_unused=True, materialize_grads=True)
    finally:
        for hook in hooks:
            hook.remove()
        for parameter, flag in zip(network.parameters(), kept, strict=True):
            parameter.requires_grad_(flag)
    rows = each.shape[0]
    deltas = iter(found)
    parts = []
    for layer in layers.values():
        out = [next(deltas).detach() for _ in layer.outputs]
        parts.append(_Part.of(layer.module, layer.inputs, out, rows))
    weight = _weights(sum((part.squared for part in parts), torch.zeros(())), clip)
    for part in parts:
        part.quantise(weight, clip)
    loss = loss_units(each.detach(), loss_bound)
    keep = within(
        sum((part.norm_squared() for part in parts), torch.zeros(())),
        sum((part.spread_squared() for part in parts), torch.zeros(())),
    )
    sums = {id(part.module): part.sums(keep) for part in parts}
    flat: list[Counts] = []
    for parameter, owner, name in _owners(network):
        value = sums.get(id(owner), {}).get(name)
        shape = tuple(parameter.shape)
        flat.append(np.zeros(math.prod(shape), np.int64) if value is None else value.reshape(-1).cpu().numpy())
    flat.append(np.array([int((loss * keep).sum())], np.int64))
    return np.concatenate(flat)


class _Part:
    """One layer's share of the gradients of a block."""

    def __init__(self, module: Any, inputs: torch.Tensor, deltas: torch.Tensor, *, dense: bool) -> None:
        self.module = module
        self.dense = dense
        self.bias = dense and module.bias is not None
        self.inputs = inputs
        """Rows x times x inputs, whole multiples of 2**-10, in double precision; numbers of rows of the table for
        an embedding.
        """
        self.deltas = deltas
        self.gram = self._gram()
        self.squared = self._with(deltas)

    @classmethod
    def of(
        cls, module: Any, inputs: Sequence[torch.Tensor], deltas: Sequence[torch.Tensor], rows: int
    ) -> _Part:
        import torch
        from torch import nn

        dense = isinstance(module, nn.Linear)
        out = torch.cat([d.reshape(rows, -1, d.shape[-1]) for d in deltas], 1).to(torch.float64)
        if dense:
            given = torch.cat([a.reshape(rows, -1, a.shape[-1]) for a in inputs], 1).to(torch.float64)
            given = given.mul_(2.0**_INPUT_BITS).round_().clamp_(-_LARGEST_INPUT, _LARGEST_INPUT).nan_to_num_()
        else:
            given = torch.cat([a.reshape(rows, -1) for a in inputs], 1)
        return cls(module, given, out, dense=dense)

    def _gram(self) -> torch.Tensor:
        """ã_it·ã_iu, with the bias: rows x times x times, or rows where there is one time."""
        import torch

        one = 4.0**_INPUT_BITS
        if not self.dense:
            return (self.inputs[:, :, None] == self.inputs[:, None, :]).to(torch.float64) * one
        if self.inputs.shape[1] == 1:
            return self.inputs[:, 0].square().sum(1) + (one if self.bias else 0.0)
        return self.inputs @ self.inputs.transpose(1, 2) + (one if self.bias else 0.0)

    def _with(self, deltas: torch.Tensor) -> torch.Tensor:
        """Σ (δ_it·δ_iu)(ã_it·ã_iu) of each row."""
        if self.gram.dim() == 1:
            return deltas[:, 0].square().sum(1) * self.gram
        return ((deltas @ deltas.transpose(1, 2)) * self.gram).sum((1, 2))

    def quantise(self, weight: torch.Tensor, clip: float) -> None:
        scale = weight * (2.0 ** (UNITS - _INPUT_BITS) / clip)
        self.deltas = self.deltas.mul_(scale[:, None, None]).round_().nan_to_num_(0.0, 0.0, 0.0)

    def norm_squared(self) -> torch.Tensor:
        """‖k_i‖² of this layer, from the integers."""
        return self._with(self.deltas)

    def spread_squared(self) -> torch.Tensor:
        """(Σ_t ‖d_it‖ ‖ã_it‖)², which no partial sum exceeds."""
        if self.gram.dim() == 1:
            return self._with(self.deltas)
        size = self.gram.diagonal(dim1=1, dim2=2) * self.deltas.square().sum(2)
        return size.sqrt().sum(1).square()

    def sums(self, keep: torch.Tensor) -> dict[str, torch.Tensor]:
        """Σ_i k_i, exactly, of the rows that are kept."""
        import torch

        times, width = self.deltas.shape[1:]
        deltas = (self.deltas * keep[:, None, None]).reshape(-1, width)
        unit = 2.0**_INPUT_BITS
        if not self.dense:
            table = torch.zeros(self.module.weight.shape, dtype=torch.float64, device=deltas.device)
            table.index_add_(0, self.inputs.reshape(-1), deltas * unit)
            return {"weight": table.to(torch.int64)}
        found = {"weight": (deltas.T @ self.inputs.reshape(deltas.shape[0], -1)).to(torch.int64)}
        if self.bias:
            found["bias"] = (deltas.sum(0) * unit).to(torch.int64)
        return found


def _weights(squared: torch.Tensor, clip: float) -> torch.Tensor:
    """What each gradient is multiplied by, so that its norm is below the clip. `squared`: of ã, not of a."""
    norm = squared.sqrt() * 2.0**-_INPUT_BITS
    aim = clip * math.sqrt(_GRADIENT_SHARE) * _AIM
    return (aim / norm.clamp(min=aim)).nan_to_num(0.0, 0.0, 0.0)


def within(squared: torch.Tensor, spread: torch.Tensor) -> torch.Tensor:
    """1 for rows whose integers are as small as is proven, else 0."""
    import torch

    limit = 4.0**UNITS
    return ((squared <= limit * _GRADIENT_SHARE) & (spread <= limit * 4.0**_SPREAD)).to(torch.float64)


def loss_units(losses: torch.Tensor, bound: float) -> torch.Tensor:
    """Losses as whole numbers of units, at most the clip over `LOSS_SHARE` in size."""
    import torch

    scaled = losses.to(torch.float64).nan_to_num(0.0).clamp(-bound, bound)
    return (scaled * (2.0**UNITS / LOSS_SHARE / bound)).trunc()


def _owners(network: Any) -> list[tuple[Any, Any, str]]:
    """Each parameter with the module that owns it and its name there, in the order of `parameters()`."""
    modules = dict(network.named_modules())
    found = []
    for path, parameter in network.named_parameters():
        owner, _, name = path.rpartition(".")
        found.append((parameter, modules[owner], name))
    return found


# ---- layers of other kinds --------------------------------------------------------------------------------


def _by_rows(network: Any, losses: Losses, *, clip: float, loss_bound: float) -> Counts:
    """The same with every row's gradient written down."""
    import torch
    from torch.func import functional_call, grad_and_value, vmap

    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def loss(values: dict[str, torch.Tensor], *row: torch.Tensor) -> torch.Tensor:
        return losses.of_row(lambda *given: functional_call(network, values, given), *row)

    axes = (None, *(0 for _ in losses.rows))
    gradients, each = vmap(grad_and_value(loss), in_dims=axes)(parameters, *losses.rows)
    wide = torch.cat([gradients[name].reshape(each.shape[0], -1).to(torch.float64) for name in parameters], 1)
    norm = wide.square().sum(1).sqrt()
    aim = clip * math.sqrt(_GRADIENT_SHARE) * _AIM
    weight = (aim / norm.clamp(min=aim)).nan_to_num(0.0, 0.0, 0.0)
    whole = (wide * (weight * (2.0**UNITS / clip))[:, None]).nan_to_num(0.0, 0.0, 0.0).trunc()
    squared = whole.square().sum(1)
    keep = within(squared, squared)
    total = (whole * keep[:, None]).sum(0).to(torch.int64).cpu().numpy()
    loss_sum = int((loss_units(each.detach(), loss_bound) * keep).sum())
    return np.append(total, np.int64(loss_sum))

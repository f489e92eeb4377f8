"""Clipped per-row gradients as integers, and their exact sum.

The gradient of row i of a dense layer is Σ_t δ_it a_itᵀ: a_it is what the layer was given, δ_it the
derivative of the row's loss by what it gave, and t counts the times the row passed the layer. So its norm is

    ‖g_i‖² = Σ_{t,u} (δ_it·δ_iu) (a_it·a_iu)        (Goodfellow 2015; Li, Tramèr, Liang, Hashimoto 2022, for
    t > 1)

and no gradient of a single row need be written down. A bias is one more input that is 1, an embedding a
dense layer whose inputs are unit vectors. Layers of other kinds are differentiated row by row with
torch.func.

Everything is put on a grid before anything is added up. The inputs become whole multiples ã of 2**-10, the
derivatives, scaled so that the norm is at most the clip C, whole multiples d of C 2**-22. So the gradient
of a row is a vector k_i of integers in units of C 2**-32, a function of that row and of public numbers. Its
norm is computed again from the integers, with a bound on what rounding may have hidden (n terms of sizes
that add up to s are off by at most n u s, where u is the precision). A row whose norm may exceed 2**32 is
scaled down further, as is one whose terms are above 2**8 times the clip and cancel; so ‖k_i‖ ≤ 2**32 is
proven for every row that is added, whatever the network computed. Left out are only rows whose gradient is
no number.

The sum over the rows of a block is one product of matrices of integers in double precision. All partial
sums are below 2**53, so every order of adding them gives the same number: it is exact, and rows are added up
beyond a block in 64-bit integers. What is a floating-point result is a row's own k_i. It must not depend on
which rows share the batch: blocks are filled up to a multiple of `MULTIPLE` rows, and `check_places` holds
results at other places and in other company against each other, bit by bit, before a training starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

UNITS = 32
"""The clip is 2**32 units."""
_INPUT_BITS = 10
NORM_AT_MOST = 2**UNITS + 1
"""Largest L2 norm of what a row adds, in units; the loss is rounded towards 0, and 1 is for all other
rounding.
"""
LOSS_SHARE = 16
"""The loss of a row is one more coordinate, of at most the clip over this."""
_GRADIENT_SHARE = 1 - 1 / LOSS_SHARE**2
_AIM = 1 - 2.0**-12
_SPREAD = 8
"""Norms of the parts of a gradient add up to at most 2**8 times the clip."""
_SHRINKS = 4
"""Times that a row is scaled down further before it is left out; one is enough, as far as is known."""
BLOCK = 4096
MULTIPLE = 32
"""Two of the widest vectors that processors compute with in single precision: what is left over beyond them
is rounded in another way."""

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Losses(Protocol):
    """The losses of a block of rows."""

    @property
    def rows(self) -> tuple[torch.Tensor, ...]:
        """What is known of each row: tensors whose first axis is that of the rows."""
        ...

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

    def listen(self, module: Any, given: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        """A forward hook."""
        if not output.requires_grad:
            output.requires_grad_()
        self.inputs.append(given[0].detach())
        self.outputs.append(output)


def integer_gradients(
    network: Any,
    losses: Losses,
    *,
    clip: float,
    loss_bound: float,
    there: torch.Tensor | None = None,
    exposed: Sequence[str] = (),
) -> Counts:
    """Σ_i k_i over the rows of a block, flat in the order of `network.parameters()`, and Σ of their losses.

    clip: C. loss_bound: losses are cut there. there: 1 for rows that count and 0 for those that fill the
    block up, all 1 if None. exposed: parts of the network by name that are left out, which have zeros.
    """
    layout = _layout(network)
    if exposed and not layout.only_layers:
        raise ValueError("parts of a network with other than dense layers cannot be left out")
    # Rows whose numbers are none are left out below.
    with np.errstate(all="ignore"):
        if layout.only_layers:
            return _by_layers(
                network, layout, losses, clip=clip, loss_bound=loss_bound, there=there, exposed=exposed
            )
        return _by_rows(network, losses, clip=clip, loss_bound=loss_bound, there=there)


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
    network: Any,
    layout: _Layout,
    losses: Losses,
    *,
    clip: float,
    loss_bound: float,
    there: torch.Tensor | None,
    exposed: Sequence[str],
) -> Counts:
    import torch

    kept = [parameter.requires_grad for parameter, _, _ in layout.owners]
    heard = [_Layer(module) for path, module in layout.layers if path.partition(".")[0] not in exposed]
    hooks = [layer.module.register_forward_hook(layer.listen) for layer in heard]
    try:
        for parameter, _, _ in layout.owners:
            parameter.requires_grad_(False)
        each = losses(network)
        layers = [layer for layer in heard if layer.outputs]
        outputs = [output for layer in layers for output in layer.outputs]
        # Rows that are not there get derivatives 0.
        start = torch.ones_like(each) if there is None else there.to(each)
        found = torch.autograd.grad(each, outputs, start, allow_unused=True, materialize_grads=True)
    finally:
        for hook in hooks:
            hook.remove()
        for (parameter, _, _), flag in zip(layout.owners, kept, strict=True):
            parameter.requires_grad_(flag)
    loss = loss_units(_vector(each), loss_bound) * (1.0 if there is None else _vector(there))
    rows = each.shape[0]
    if _pass_once(layers, rows):
        return _sums_at_once(layout, layers, found, loss, clip)
    deltas = iter(found)
    parts = [
        _Part.of(layer.module, layer.inputs, [next(deltas).detach() for _ in layer.outputs], rows)
        for layer in layers
    ]
    slack = sum(part.rounding for part in parts)
    squared = np.sum([_vector(part.norm_squared()) for part in parts], axis=0)
    weight = _weights(squared, slack, clip)
    if not (fine := np.isfinite(squared)).all():
        for part in parts:
            part.leave_out(~fine)
    for part in parts:
        part.quantise(weight, clip)
    # Where every row passes once there is nothing to cancel.
    once = all(part.once for part in parts)

    def sizes() -> tuple[Floats, Floats]:
        squared = np.sum([_vector(part.norm_squared()) for part in parts], axis=0)
        if once:
            return squared, squared
        return squared, np.sum([_vector(part.spread_squared()) for part in parts], axis=0)

    def shrink(factor: Floats) -> None:
        for part in parts:
            part.scale(factor)

    if not (keep := _small_enough(sizes, shrink, slack)).all():
        for part in parts:
            part.leave_out(~keep)
    sums = {id(part.module): part.sums() for part in parts}
    flat = [
        sums[id(owner)][name].reshape(-1) if id(owner) in sums else np.zeros(parameter.numel())
        for parameter, owner, name in layout.owners
    ]
    flat.append(np.array([(loss * keep).sum()]))
    # Whole numbers below 2**53.
    return np.concatenate(flat).astype(np.int64)


def _pass_once(layers: Iterable[_Layer], rows: int) -> bool:
    """Whether every layer is dense, on the processor, and every row passes it once."""
    from torch import nn

    return all(
        len(layer.inputs) == 1
        and type(layer.module) is nn.Linear
        and layer.outputs[0].numel() == rows * layer.module.out_features
        and layer.outputs[0].device.type == "cpu"
        for layer in layers
    )


class _Dense:
    """What of dense layers does not change from step to step, and memory for a step: to have it anew from the
    system takes longer than to use it.
    """

    def __init__(self, layout: _Layout, modules: Sequence[Any], dtype: torch.dtype) -> None:
        self.sides = [(m.out_features, m.in_features) for m in modules]
        self.biases = np.array([[4.0**_INPUT_BITS * (m.bias is not None)] for m in modules])
        self.terms = sum(max(sides) + 8 for sides in self.sides)
        self.dtype = dtype
        self.flat = np.zeros(sum(parameter.numel() for parameter, _, _ in layout.owners) + 1)
        """Sums, 0 where layers are not trained."""
        self.weights: list[Floats] = [np.zeros(0)] * len(modules)
        self.offsets: list[Floats | None] = [None] * len(modules)
        """Parts of it."""
        trained, start = {id(module): i for i, module in enumerate(modules)}, 0
        for parameter, owner, name in layout.owners:
            part = self.flat[start : start + parameter.numel()]
            if (i := trained.get(id(owner))) is not None and name == "bias":
                self.offsets[i] = part
            elif i is not None:
                self.weights[i] = part.reshape(self.sides[i])
            start += parameter.numel()
        self._most = 0
        self._memory: dict[str, torch.Tensor] = {}
        self._blocks: dict[int, _Memory] = {}

    def memory(self, rows: int) -> _Memory:
        """For a block of `rows` rows."""
        if rows > self._most:
            self._most = rows
            self._memory.clear()
            self._blocks.clear()
        if rows not in self._blocks:
            self._blocks[rows] = _Memory(self, rows)
        return self._blocks[rows]

    def part(self, name: str, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
        """Shared by blocks of all sizes."""
        import torch

        if name not in self._memory:
            self._memory[name] = torch.empty(self._most * columns, dtype=dtype)
        return self._memory[name][: rows * columns].view(rows, columns)


class _Memory:
    """Inputs and derivatives of each layer, the same in double precision for one layer at a time, norms."""

    def __init__(self, dense: _Dense, rows: int) -> None:
        import torch

        pairs = list(enumerate(dense.sides))
        self.given = [dense.part(f"given {i}", rows, sides[1], dense.dtype) for i, sides in pairs]
        self.back = [dense.part(f"back {i}", rows, sides[0], dense.dtype) for i, sides in pairs]
        widest = [max(each) for each in zip(*dense.sides, strict=True)]
        wide = [dense.part(f"wide {k}", rows, widest[k], torch.float64).view(-1) for k in (0, 1)]
        self.left = [wide[0][: rows * sides[0]].view(rows, sides[0]) for sides in dense.sides]
        self.right = [wide[1][: rows * sides[1]].view(rows, sides[1]) for sides in dense.sides]
        self.norms = torch.empty((len(pairs), rows), dtype=dense.dtype)
        self.norm = self.norms.unbind(0)
        self.unit = np.full(rows, 2.0**_INPUT_BITS)

    def squares(self, blocks: Sequence[torch.Tensor]) -> Floats:
        """Squared norm of each row in the matrix of each layer: layers x rows."""
        import torch

        for block, norm in zip(blocks, self.norm, strict=True):
            torch.linalg.vector_norm(block, dim=1, out=norm)
        return np.square(self.norms.numpy(), dtype=np.float64)


def _sums_at_once(
    layout: _Layout, layers: list[_Layer], deltas: Sequence[torch.Tensor], loss: Floats, clip: float
) -> Counts:
    """What `_Part` does where every row passes every layer once: the usual case, with few operations."""
    import torch

    rows, dtype = loss.size, deltas[0].dtype
    dense = layout.dense([layer.module for layer in layers], dtype)
    memory = dense.memory(rows)
    raw = [delta.view(rows, -1) for delta in deltas]
    for layer, given in zip(layers, memory.given, strict=True):
        torch.mul(layer.inputs[0].reshape(rows, -1), 2.0**_INPUT_BITS, out=given).round_()
    slack = dense.terms * torch.finfo(dtype).eps
    gram = memory.squares(memory.given) + dense.biases
    squared = (memory.squares(raw) * gram).sum(0)
    scale = _weights(squared, slack, clip) * (2.0 ** (UNITS - _INPUT_BITS) / clip)
    column = torch.from_numpy(scale).to(dtype)[:, None]
    for delta, back in zip(raw, memory.back, strict=True):
        torch.mul(delta, column, out=back).round_()

    def sizes() -> tuple[Floats, Floats]:
        # A row with a number that is none has a norm that is none.
        squared = (memory.squares(memory.back) * gram).sum(0)
        return squared, squared

    def shrink(factor: Floats) -> None:
        column = torch.from_numpy(factor).to(dtype)[:, None]
        for back in memory.back:
            back.mul_(column).round_()

    if not (keep := _small_enough(sizes, shrink, slack)).all():
        left_out = torch.from_numpy(~keep)[:, None]
        for each in (*memory.given, *memory.back):
            each.masked_fill_(left_out, 0.0)
    for i, weight in enumerate(dense.weights):
        left = memory.left[i].copy_(memory.back[i]).numpy()
        right = memory.right[i].copy_(memory.given[i]).numpy()
        np.matmul(left.T, right, out=weight)
        if (offset := dense.offsets[i]) is not None:
            np.matmul(memory.unit, left, out=offset)
    dense.flat[-1] = (loss * keep).sum()
    # Whole numbers below 2**53.
    return dense.flat.astype(np.int64)


def _vector(values: torch.Tensor) -> Floats:
    """One number for each row, in double precision, for numpy."""
    return values.detach().cpu().numpy().astype(np.float64)


class _Part:
    """One layer's share of the gradients of a block.

    inputs: rows x times x inputs, whole multiples of 2**-10 (numbers of rows of the table, for an embedding);
    deltas: rows x times x outputs. Both are whole numbers once quantised, which any precision keeps whole.
    """

    def __init__(self, module: Any, inputs: torch.Tensor, deltas: torch.Tensor, *, dense: bool) -> None:
        import torch

        self.module, self.dense, self.inputs, self.deltas = module, dense, inputs, deltas
        self.once = inputs.shape[1] == 1
        # Where a row passes once nothing cancels, and short arithmetic does.
        self.wide = torch.float64 if not self.once else deltas.dtype
        size = max(deltas.shape[2], inputs.shape[2] if dense else 1) + 8
        self.rounding = size * inputs.shape[1] ** 2 * torch.finfo(self.wide).eps
        self.bias = dense and module.bias is not None
        self.gram = self._gram()

    @classmethod
    def of(
        cls, module: Any, inputs: Sequence[torch.Tensor], deltas: Sequence[torch.Tensor], rows: int
    ) -> _Part:
        import torch
        from torch import nn

        dense = isinstance(module, nn.Linear)
        out = _joined([d.reshape(rows, -1, d.shape[-1]) for d in deltas])
        if not dense:
            return cls(module, torch.cat([a.reshape(rows, -1) for a in inputs], 1), out, dense=False)
        given = _joined([a.reshape(rows, -1, a.shape[-1]) for a in inputs])
        given = given.mul(2.0**_INPUT_BITS).round_()
        return cls(module, given, out, dense=True)

    def _gram(self) -> torch.Tensor:
        """ã_it·ã_iu, with the bias: rows x times x times, or rows where there is one time."""
        one = 4.0**_INPUT_BITS
        if not self.dense:
            same = self.inputs[:, :, None] == self.inputs[:, None, :]
            return same.to(self.wide)[:, 0, 0] * one if self.once else same.to(self.wide) * one
        if self.once:
            return self.inputs[:, 0].square().sum(1) + (one if self.bias else 0.0)
        wide = self.inputs.to(self.wide)
        return wide @ wide.transpose(1, 2) + (one if self.bias else 0.0)

    def norm_squared(self) -> torch.Tensor:
        """Σ (δ_it·δ_iu)(ã_it·ã_iu) of each row."""
        if self.once:
            return self.deltas[:, 0].square().sum(1) * self.gram
        wide = self.deltas.to(self.wide)
        return ((wide @ wide.transpose(1, 2)) * self.gram).sum((1, 2))

    def spread_squared(self) -> torch.Tensor:
        """(Σ_t ‖d_it‖ ‖ã_it‖)², which no partial sum exceeds."""
        if self.once:
            return self.norm_squared()
        size = self.gram.diagonal(dim1=1, dim2=2) * self.deltas.to(self.wide).square().sum(2)
        return size.sqrt().sum(1).square()

    def scale(self, factor: Floats) -> None:
        """Quantised derivatives times one factor a row, whole again."""
        import torch

        column = torch.from_numpy(factor).to(self.deltas)[:, None, None]
        self.deltas = self.deltas.mul(column).round_()

    def quantise(self, weight: Floats, clip: float) -> None:
        """Derivatives as whole multiples of the clip times 2**-22."""
        import torch

        scale = torch.from_numpy(weight * (2.0 ** (UNITS - _INPUT_BITS) / clip)).to(self.deltas)
        self.deltas = self.deltas.mul(scale[:, None, None]).round_()

    def leave_out(self, rows: npt.NDArray[np.bool_]) -> None:
        """Rows, one flag each, that add nothing."""
        import torch

        flags = torch.from_numpy(rows).to(self.deltas.device)[:, None, None]
        self.deltas = self.deltas.masked_fill(flags, 0.0)
        if self.dense:
            self.inputs = self.inputs.masked_fill(flags, 0.0)

    def sums(self) -> dict[str, Floats]:
        """Σ_i k_i, exactly."""
        import torch

        unit, width = 2.0**_INPUT_BITS, self.deltas.shape[2]
        if not self.dense:
            deltas = self.deltas.reshape(-1, width).to(torch.float64)
            table = torch.zeros(self.module.weight.shape, dtype=torch.float64, device=deltas.device)
            table.index_add_(0, self.inputs.reshape(-1), deltas * unit)
            return {"weight": table.cpu().numpy()}
        if self.deltas.is_cuda:
            deltas, inputs = (x.reshape(-1, x.shape[2]).to(torch.float64) for x in (self.deltas, self.inputs))
            found = {
                "weight": (deltas.T @ inputs).cpu().numpy(),
                "bias": (deltas.sum(0) * unit).cpu().numpy(),
            }
        else:
            deltas, inputs = (
                x.numpy().reshape(-1, x.shape[2]).astype(np.float64) for x in (self.deltas, self.inputs)
            )
            found = {"weight": deltas.T @ inputs, "bias": deltas.sum(0) * unit}
        return found


def _joined(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    import torch

    return parts[0] if len(parts) == 1 else torch.cat(list(parts), 1)


def _weights(squared: Floats, slack: float, clip: float) -> Floats:
    """What each gradient is multiplied by, so that its norm is a little below the clip; 0 where it has
    none.
    """
    norm = np.sqrt(squared) * 2.0**-_INPUT_BITS
    aim = clip * math.sqrt(_GRADIENT_SHARE) * (_AIM - 8 * slack)
    weight = aim / np.maximum(norm, aim)
    return np.where(np.isfinite(weight), weight, 0.0)


def within(squared: Floats, spread: Floats, slack: float) -> npt.NDArray[np.bool_]:
    """Whether the integers of each row are as small as is proven: ‖k‖² is computed from terms that add up to
    `spread` in size, so that it is off by at most `slack` times that.
    """
    limit = 4.0**UNITS
    return (squared + 2 * slack * spread <= limit * _GRADIENT_SHARE) & (spread <= limit * 4.0**_SPREAD)


def _small_enough(
    sizes: Callable[[], tuple[Floats, Floats]], shrink: Callable[[Floats], None], slack: float
) -> npt.NDArray[np.bool_]:
    """Scale the rows down that are too large; which of them are `within` what is proven then.

    sizes: squared norm and spread of each row as it is; shrink: multiplies rows by factors, 1 for those that
    stay.
    """
    for _ in range(_SHRINKS):
        squared, spread = sizes()
        keep = within(squared, spread, slack)
        wrong = ~keep & np.isfinite(spread)
        if not wrong.any():
            return keep
        norm = 4.0**UNITS * _GRADIENT_SHARE / np.maximum(squared + 4 * slack * spread, 1.0)
        parts = 4.0 ** (UNITS + _SPREAD) / np.maximum(spread, 1.0)
        shrink(np.where(wrong, _AIM * np.sqrt(np.minimum(np.minimum(norm, parts), 1.0)), 1.0))
    return within(*sizes(), slack)


def loss_units(losses: Floats, bound: float) -> Floats:
    """Losses as whole numbers of units, at most the clip over `LOSS_SHARE` in size; 0 for those that are no
    numbers.
    """
    units = np.trunc(np.minimum(np.maximum(losses, -bound), bound) * (2.0**UNITS / LOSS_SHARE / bound))
    units[np.isnan(units)] = 0.0
    return units


class _Layout:
    """What of a network does not change from step to step."""

    def __init__(self, network: Any) -> None:
        from torch import nn

        modules = dict(network.named_modules())
        self.layers = [(path, m) for path, m in modules.items() if isinstance(m, nn.Linear | nn.Embedding)]
        self.owners: list[tuple[Any, Any, str]] = []
        """Each parameter with the module that owns it and its name there, in the order of `parameters()`."""
        for path, parameter in network.named_parameters():
            owner, _, name = path.rpartition(".")
            self.owners.append((parameter, modules[owner], name))
        self.only_layers = only_layers(network)
        self._dense: dict[tuple[Any, ...], _Dense] = {}

    def dense(self, modules: Sequence[Any], dtype: torch.dtype) -> _Dense:
        """Layers that are trained."""
        key = (dtype, *map(id, modules))
        if key not in self._dense:
            self._dense[key] = _Dense(self, modules, dtype)
        return self._dense[key]


_LAYOUTS: WeakKeyDictionary[Any, _Layout] = WeakKeyDictionary()


def _layout(network: Any) -> _Layout:
    found = _LAYOUTS.get(network)
    # A parameter that was put in the place of another is noticed.
    if found is None or any(
        p is not q for p, (q, _, _) in zip(network.parameters(), found.owners, strict=False)
    ):
        found = _LAYOUTS[network] = _Layout(network)
    return found


# ---- layers of other kinds --------------------------------------------------------------------------------


def _by_rows(
    network: Any, losses: Losses, *, clip: float, loss_bound: float, there: torch.Tensor | None
) -> Counts:
    """The same with every row's gradient written down."""
    import torch
    from torch.func import functional_call, grad_and_value, vmap

    parameters = {name: p.detach() for name, p in network.named_parameters()}

    def loss(values: dict[str, torch.Tensor], *row: torch.Tensor) -> torch.Tensor:
        return losses.of_row(lambda *given: functional_call(network, values, given), *row)

    axes = (None, *(0 for _ in losses.rows))
    gradients, each = vmap(grad_and_value(loss), in_dims=axes)(parameters, *losses.rows)
    wide = torch.cat([gradients[name].reshape(each.shape[0], -1).to(torch.float64) for name in parameters], 1)
    weight = _weights(_vector(wide.square().sum(1)) * 4.0**_INPUT_BITS, 0.0, clip)
    if there is not None:
        weight = weight * _vector(there)
    scale = torch.from_numpy(weight * (2.0**UNITS / clip)).to(wide)
    whole = (wide * scale[:, None]).nan_to_num(0.0, 0.0, 0.0).trunc()
    squared = _vector(whole.square().sum(1))
    keep = within(squared, squared, whole.shape[1] * torch.finfo(whole.dtype).eps)
    total = (whole * torch.from_numpy(keep).to(whole)[:, None]).sum(0).to(torch.int64).cpu().numpy()
    loss_sum = loss_units(_vector(each), loss_bound) * keep * (1.0 if there is None else _vector(there))
    return np.append(total, np.int64(loss_sum.sum()))

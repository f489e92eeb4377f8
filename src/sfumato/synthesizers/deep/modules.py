"""The networks of `nets` as torch modules, for training. Imports torch: load it where a method learns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import nn

from sfumato.synthesizers.deep.encoding import FURTHEST, Head
from sfumato.synthesizers.deep.nets import NORM_EPSILON, SLOPE, Layer, Weighted

DOUBLE, SINGLE = torch.float64, torch.float32


class LayerModule(nn.Module):
    """One layer."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer
        made = nn.utils.skip_init(nn.Linear, layer.inputs, layer.outputs, bias=layer.bias)
        self.linear = cast("nn.Linear", made)
        self.norm = nn.LayerNorm(layer.outputs, eps=NORM_EPSILON) if layer.norm else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if self.norm is not None:
            y = self.norm(y)
        match self.layer.activation:
            case "leaky":
                y = nn.functional.leaky_relu(y, SLOPE)
            case "relu":
                y = nn.functional.relu(y)
            case "tanh":
                y = torch.tanh(y)
            case "sigmoid":
                y = torch.sigmoid(y)
        if self.layer.joined:
            return torch.cat([y, x], -1)
        return x + y if self.layer.residual else y


class NetModule(nn.Sequential):
    """A network; `weighted` takes its numbers out."""

    def weighted(self) -> Weighted:
        """The same network in numpy."""
        net, numbers = [], []
        for module in self:
            assert isinstance(module, LayerModule)
            own = {"weight": module.linear.weight}
            if module.layer.bias:
                own["bias"] = module.linear.bias
            if module.norm is not None:
                own |= {"gain": module.norm.weight, "offset": module.norm.bias}
            net.append(module.layer)
            numbers.append({key: _numbers(value) for key, value in own.items()})
        return Weighted(net=tuple(net), numbers=tuple(numbers))


def _numbers(value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return value.detach().cpu().numpy().astype(np.float64).copy()


def module_of(weighted: Weighted, *, dtype: torch.dtype, where: torch.device) -> NetModule:
    """A module with the numbers of `weighted`."""
    made = NetModule(*(LayerModule(layer) for layer in weighted.net)).to(dtype)
    with torch.no_grad():
        for module, numbers in zip(made, weighted.numbers, strict=True):
            assert isinstance(module, LayerModule)
            module.linear.weight.copy_(torch.from_numpy(numbers["weight"]))
            if module.layer.bias:
                module.linear.bias.copy_(torch.from_numpy(numbers["bias"]))
            if module.norm is not None:
                module.norm.weight.copy_(torch.from_numpy(numbers["gain"]))
                module.norm.bias.copy_(torch.from_numpy(numbers["offset"]))
    return made.to(where)


class HeadModule(nn.Module):
    """`Head` in torch."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        columns: dict[int, torch.Tensor] = {}
        for start, end in self.head.softmax:
            columns[start] = torch.softmax(y[..., start:end], -1)
        for place in self.head.sigmoid:
            columns[place] = torch.sigmoid(y[..., place : place + 1])
        for place in self.head.bounded:
            columns[place] = FURTHEST * torch.tanh(y[..., place : place + 1])
        parts, at = [], 0
        while at < y.shape[-1]:
            part = columns.get(at, y[..., at : at + 1])
            parts.append(part)
            at += part.shape[-1]
        return torch.cat(parts, -1)


def device() -> torch.device:
    """A graphics card where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def flat_gradient(network: nn.Module) -> torch.Tensor:
    """The gradients of all parameters as views of one vector, which is returned, for an optimiser."""
    parameters = list(network.parameters())
    flat = torch.zeros(sum(p.numel() for p in parameters)).to(parameters[0])
    for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = part.view(parameter.shape)
    return flat


def shapes(network: nn.Module) -> list[list[Any]]:
    """Names and shapes of all parameters, for the ledger."""
    return [[name, *parameter.shape] for name, parameter in network.named_parameters()]

"""Small networks as plain data: their shape, their numbers, and what they give, in numpy.

Rows are drawn from a model file without torch. A layer is y = s(N(x Wᵀ + b)) + x, with the normalisation N
over the coordinates, the bias b and the last term where it has them; a joined one puts x after s(N(x Wᵀ + b))
instead of adding it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

Floats = npt.NDArray[np.float64]
ACTIVATIONS = ("none", "leaky", "relu", "tanh", "sigmoid")
SLOPE = 0.2
"""Of leaky rectifiers, below 0."""
NORM_EPSILON = 1e-5


@frozen(kw_only=True)
class Layer:
    """The shape of one layer."""

    inputs: int
    outputs: int
    activation: str = "leaky"
    bias: bool = True
    norm: bool = False
    residual: bool = False
    joined: bool = False

    @property
    def width(self) -> int:
        """Coordinates that come out."""
        return self.outputs + (self.inputs if self.joined else 0)

    def numbers(self) -> list[int]:
        """As whole numbers."""
        return [
            self.inputs,
            self.outputs,
            ACTIVATIONS.index(self.activation),
            self.bias,
            self.norm,
            self.residual,
            self.joined,
        ]

    @classmethod
    def of(cls, numbers: Any) -> Layer:
        """Read back."""
        inputs, outputs, activation, bias, norm, residual, joined = (int(each) for each in numbers)
        return cls(
            inputs=inputs,
            outputs=outputs,
            activation=ACTIVATIONS[activation],
            bias=bool(bias),
            norm=bool(norm),
            residual=bool(residual),
            joined=bool(joined),
        )


Net = tuple[Layer, ...]


def chain(*sizes: int, activation: str = "leaky", last: str = "none") -> Net:
    """Dense layers through `sizes`."""
    count = len(sizes) - 1
    return tuple(
        Layer(inputs=sizes[i], outputs=sizes[i + 1], activation=last if i == count - 1 else activation)
        for i in range(count)
    )


@frozen(kw_only=True, eq=False)
class Weighted:
    """A network and its numbers."""

    net: Net
    numbers: tuple[dict[str, Floats], ...]
    """Of each layer: weight, bias, gain, offset, as it has them."""

    def __call__(self, x: Floats) -> Floats:
        for layer, numbers in zip(self.net, self.numbers, strict=True):
            y = x @ numbers["weight"].T
            if layer.bias:
                y = y + numbers["bias"]
            if layer.norm:
                centred = y - y.mean(1, keepdims=True)
                y = centred / np.sqrt((centred**2).mean(1, keepdims=True) + NORM_EPSILON)
                y = y * numbers["gain"] + numbers["offset"]
            y = activate(layer.activation, y)
            x = np.concatenate([y, x], 1) if layer.joined else x + y if layer.residual else y
        return x

    @classmethod
    def of_flat(cls, net: Net, flat: npt.NDArray[Any]) -> Weighted:
        """Dense layers without normalisation, from weight and bias of each, one after the other."""
        numbers, start = [], 0
        for layer in net:
            middle = start + layer.inputs * layer.outputs
            end = middle + layer.outputs
            weight = flat[start:middle].reshape(layer.outputs, layer.inputs).astype(np.float64)
            numbers.append({"weight": weight, "bias": flat[middle:end].astype(np.float64)})
            start = end
        return cls(net=net, numbers=tuple(numbers))

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """For a model file."""
        found: dict[str, npt.NDArray[Any]] = {
            f"{name}/shape": np.array([layer.numbers() for layer in self.net], np.int64).reshape(-1, 7)
        }
        for i, numbers in enumerate(self.numbers):
            found.update({f"{name}/{i}/{key}": value for key, value in numbers.items()})
        return found

    @classmethod
    def from_arrays(cls, name: str, arrays: dict[str, npt.NDArray[Any]]) -> Weighted:
        """Read back; ValueError where shapes do not fit."""
        net = tuple(Layer.of(numbers) for numbers in arrays[f"{name}/shape"])
        found = []
        for i, layer in enumerate(net):
            wanted: dict[str, tuple[int, ...]] = {"weight": (layer.outputs, layer.inputs)}
            wanted |= {"bias": (layer.outputs,)} if layer.bias else {}
            wanted |= {"gain": (layer.outputs,), "offset": (layer.outputs,)} if layer.norm else {}
            numbers = {key: arrays[f"{name}/{i}/{key}"] for key in wanted}
            if any(numbers[key].shape != shape for key, shape in wanted.items()):
                raise ValueError("the numbers of a network do not fit its shape")
            found.append(numbers)
        if any(a.width != b.inputs for a, b in pairwise(net)):
            raise ValueError("the layers of a network do not fit each other")
        return cls(net=net, numbers=tuple(found))


def size_of(net: Net) -> int:
    """Numbers of dense layers without normalisation."""
    return sum((layer.inputs + layer.bias) * layer.outputs for layer in net)


def activate(name: str, y: Floats) -> Floats:
    """One of `ACTIVATIONS`."""
    match name:
        case "leaky":
            return np.where(y >= 0, y, SLOPE * y)
        case "relu":
            return np.maximum(y, 0.0)
        case "tanh":
            return np.tanh(y)
        case "sigmoid":
            return 0.5 * (1 + np.tanh(y / 2))
    return y


def initial(net: Net, rng: np.random.Generator) -> Weighted:
    """Uniform in ±1/√inputs, as is usual for dense layers; normalisations start as they are."""
    numbers = []
    for layer in net:
        width = 1 / np.sqrt(layer.inputs)
        own: dict[str, Floats] = {"weight": rng.uniform(-width, width, (layer.outputs, layer.inputs))}
        if layer.bias:
            own["bias"] = rng.uniform(-width, width, layer.outputs)
        if layer.norm:
            own |= {"gain": np.ones(layer.outputs), "offset": np.zeros(layer.outputs)}
        numbers.append(own)
    return Weighted(net=net, numbers=tuple(numbers))

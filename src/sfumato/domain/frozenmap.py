"""A mapping that cannot change and can be hashed; the order of its keys is part of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class FrozenMap(Mapping[str, Any]):
    """Like a `dict` from texts, but hashable; equal to another only when the order agrees too.

    Order counts because codes are numbered in the order in which special codes are declared.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        self._data: dict[str, Any] = dict(data or {})

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __hash__(self) -> int:
        return hash(tuple(self._data.items()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return list(self._data.items()) == list(other.items())
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self._data)


def freeze(value: Any) -> Any:
    """`value` with lists turned into tuples and mappings into `FrozenMap`, all the way down."""
    if isinstance(value, Mapping):
        return FrozenMap({str(key): freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """The reverse of `freeze`: plain lists and dicts, as JSON and TOML writers want them."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value

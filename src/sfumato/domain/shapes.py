"""What a fact may look like: a noun for messages, a test, and a gentle conversion.

A fact is checked when its column is made. The conversion only tidies (a list becomes a tuple) and
leaves alone what it does not understand, so that the test can name it among all the other faults.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from sfumato.domain.frozenmap import FrozenMap, thaw
from sfumato.errors import Fault


def _same(value: Any) -> Any:
    return value


@frozen
class Shape:
    """One sort of fact: `noun` completes "expected …", `test` decides, `tidy` converts without failing."""

    noun: str
    test: Callable[[Any], bool]
    tidy: Callable[[Any], Any] = _same


def fact(default: Any, shape: Shape) -> Any:
    """A keyword-only attrs field that holds a fact of the given shape."""
    return field(default=default, kw_only=True, converter=shape.tidy, metadata={"shape": shape})


def shape_faults(facts: Any, prefix: str = "") -> Iterator[Fault]:
    """Facts of an object that do not have their shape; a path starts with `prefix`."""
    for each in attrs.fields(type(facts)):
        shape: Shape | None = each.metadata.get("shape")
        value = getattr(facts, each.name)
        if shape is None or (value is None and each.default is None):
            continue
        if not shape.test(value):
            yield Fault(prefix + each.name, f"is {show(value)}: expected {shape.noun}")


def stated(facts: Any) -> dict[str, Any]:
    """The facts of an object that differ from their defaults, as plain JSON-able values."""
    return {
        each.alias or each.name: thaw(getattr(facts, each.name))
        for each in attrs.fields(type(facts))
        if "shape" in each.metadata and getattr(facts, each.name) != each.default
    }


def show(value: object) -> str:
    """A short `repr` of a public fact for messages."""
    try:
        text = repr(value)
    except Exception:  # an int of more than 4300 digits refuses to be spelled
        text = f"a {type(value).__name__} too large to print"
    return text if len(text) <= 60 else text[:57] + "..."


def is_text(value: Any) -> bool:
    """Whether `value` is text that can be written as UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _tuple(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return tuple(str(item) if _is_whole(item) and abs(item) < 1 << 63 else item for item in value)


def _map(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return FrozenMap({str(key) if _is_whole(key) else key: item for key, item in value.items()})


def _text_map(value: Any) -> bool:
    return isinstance(value, FrozenMap) and all(is_text(k) and is_text(v) for k, v in value.items())


def _moment(value: Any) -> Any:
    if isinstance(value, dt.date | dt.datetime):
        return value.isoformat()
    return str(value) if _is_whole(value) and abs(value) < 1 << 63 else value


def one_of(*words: str) -> Shape:
    """The shape of a fact that is one of a few words."""
    listed = ", ".join(repr(word) for word in words if word)
    return Shape(f"one of {listed}", lambda value: isinstance(value, str) and value in words)


TEXT = Shape("a text", is_text)
FLAG = Shape("true or false", lambda value: isinstance(value, bool))
WHOLE = Shape("a whole number", _is_whole)
NUMBER = Shape("a finite number", _is_number)
TEXTS = Shape("a list of texts", lambda value: isinstance(value, tuple) and all(map(is_text, value)), _tuple)
PAIR = Shape(
    "two texts",
    lambda value: isinstance(value, tuple) and len(value) == 2 and all(map(is_text, value)),
    _tuple,
)
MEANINGS = Shape('a table from code to meaning, such as {"-1" = "no file"}', _text_map, _map)
MOMENT = Shape("a date or time as text", is_text, _moment)
ORIGIN = Shape(
    '"public", "dp", "leaks", or a table from fact to one of them',
    lambda value: is_text(value) or _text_map(value),
    _map,
)

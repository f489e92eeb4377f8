"""Numbers as callers give them: numpy's count as Python's, and none is too large to be looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.errors import UsageError


def plain(value: Any) -> Any:
    """A numpy scalar as the Python number it holds; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def real(value: Any, what: str) -> float:
    """`value` as a float, infinite when it is beyond one; UsageError when it is no number."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{what} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def plain_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of a method in Python's own numbers; UsageError for one that is too large for a float."""
    found = {name: plain(value) for name, value in (options or {}).items()}
    for name, value in found.items():
        if isinstance(value, int) and not math.isfinite(real(int(value), name)):
            raise UsageError(f"option {name!r} is too large a number")
    return found

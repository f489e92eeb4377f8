"""Bins of a number, chosen by the real rows alone.

At most `ATOMS` different values: each has a bin of its own. More: about `BINS` bins of equal frequency, and
values that make up a bin's share alone stand in bins of their own, so that spikes are seen. What lies
between, below or above has further bins, so that nothing that is far from the real values can hide in one of
theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

ATOMS = 50
BINS = 20


def edges_of(values: Values) -> Values:
    """Where bins begin: a value belongs to the last edge that is not above it. `values`: finite."""
    if not values.size:
        return np.zeros(0)
    known, counts = np.unique(values, return_counts=True)
    if known.size <= ATOMS:
        single = known
        edges = known
    else:
        single = known[counts >= values.size / BINS]
        edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[:-1], method="inverted_cdf")
    ends = np.nextafter([*single, known[-1]], np.inf)
    return np.unique(np.concatenate([edges, single, ends]))


def raw_codes(values: Values, edges: Values) -> npt.NDArray[np.int32]:
    """The bin of each value: 0 below the first edge, i from edge i-1 on; NaN has the last."""
    return np.searchsorted(edges, values, side="right").astype(np.int32)


def bin_labels(edges: Values, used: Sequence[int], spell: Callable[[float], str]) -> list[str]:
    """What the bins called `used` hold, in words."""
    return [_label(edges, place, spell) for place in used]


def _label(edges: Values, place: int, spell: Callable[[float], str]) -> str:
    if not edges.size:
        return "any"
    if place == 0:
        return f"below {spell(edges[0])}"
    low = edges[place - 1]
    if place == len(edges):
        return f"above {spell(np.nextafter(low, -np.inf))}"
    high = edges[place]
    if high == np.nextafter(low, np.inf):
        return spell(low)
    return f"{spell(low)} to {spell(high)}"

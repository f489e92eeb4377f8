"""From the facts of a column to its codec, and from the saved state of a codec back to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.domain.column import Column
from sfumato.domain.grid import GridCodec
from sfumato.domain.kinds import read_column
from sfumato.domain.kinds.boolean import Bool
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.labels import ValuesCodec
from sfumato.domain.measured import Measured

Codec = GridCodec | ValuesCodec

FINEST = 256
"""A declared range of at most this many units has a cell for each."""


def grid_edges(facts: Measured) -> tuple[int, ...] | None:
    """Edges of one cell a unit when the declared range is small; else None."""
    bounds = facts.unit_bounds()
    if bounds is None or bounds[1] - bounds[0] >= FINEST:
        return None
    return tuple(range(bounds[0], bounds[1] + 2))


def codec_for(facts: Column) -> Codec | None:
    """The codec of a column that needs nothing from the data; None when it does, or is not modelled."""
    if not facts.modelled:
        return None
    if isinstance(facts, Measured):
        edges = grid_edges(facts)
        return None if edges is None else GridCodec(facts, edges)
    if isinstance(facts, Bool):
        return ValuesCodec(facts, facts.values)
    if isinstance(facts, Categorical) and facts.values is not None:
        return ValuesCodec(facts, facts.values)
    return None


def codec_from_state(state: Mapping[str, Any]) -> Codec:
    """The codec that `state()` described; ValueError or SchemaError when it describes none."""
    try:
        facts = read_column(state["column"], state["facts"])
        if state["codec"] == "grid" and isinstance(facts, Measured):
            return GridCodec(facts, state["edges"])
        if state["codec"] == "values" and isinstance(facts, Bool | Categorical):
            return ValuesCodec(facts, state["values"], other=bool(state["other"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not the state of a codec") from error
    raise ValueError("not the state of a codec")


__all__ = ["FINEST", "Codec", "GridCodec", "ValuesCodec", "codec_for", "codec_from_state", "grid_edges"]

"""A stand-in for a table that is not read: codecs and typical counts, from its schema and a number of rows.

What the schema states is used as it is. What it leaves open gets a default, which is told: categories that
will be found, cells of numbers that will be learned, how full the codes are, and how strongly columns depend
on each other. The defaults are those that fitted the tables named in docs/methods/plan.md best.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.grids import CELLS_AT_MOST, with_bounds
from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec, codec_for
from sfumato.domain.column import Column
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import Measured
from sfumato.schema import Schema
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

RANGES = 100
"""Numbers and dates with learned cells are compared in so many ranges with equal numbers of rows."""
LEARNED = 0.63
"""Cells that are learned for a column of numbers: the signal to this power."""
CATEGORIES = 20
"""Categories that are found in an open set."""
ZIPF = 2.1
"""The k-th most frequent category has a share in proportion to k^-ZIPF."""
DECAY = 6.0
"""Counts of a column of numbers fall by e^DECAY from one end to the other."""
MISSING, SPECIAL, SPECIAL_AT_MOST = 0.05, 0.1, 0.3
"""Share of missing cells where they are allowed; of each special code; of all of them."""
DEPENDENCE = 0.091
"""Mean distance of a pair of columns to independence (total variation)."""
SEED = 20_260_101
WIDE = 1 << 16


@frozen(kw_only=True)
class AssumedColumn:
    """One modelled column, as planned with."""

    name: str
    codec: Codec
    shares: Floats
    """Typical shares of the codes."""
    compared: int
    """Values, or ranges, in which a marginal of the column is compared."""
    wide: bool
    note: str = ""

    @property
    def learned(self) -> bool:
        """Whether a part of the budget goes to finding its codes."""
        return bool(self.note)


def assume(schema: Schema, *, cells: int = RANGES) -> list[AssumedColumn]:
    """Every column of `schema` that is modelled; those with learned cells have `cells` of them."""
    return [_column(facts, cells) for facts in schema.columns if facts.modelled]


def _column(facts: Column, cells: int) -> AssumedColumn:
    codec, note = codec_for(facts), ""
    wide = codec is None and isinstance(facts, Measured)
    if isinstance(facts, Measured) and codec is None:
        bounds = facts.unit_bounds()
        if bounds is None:
            note = "bounds are learned; as many cells assumed as for a column with wide bounds"
            facts = with_bounds(facts, 0, WIDE)
            bounds = facts.unit_bounds() or (0, WIDE)
        note = note or "cells are learned"
        pieces = min(cells, bounds[1] - bounds[0] + 1)
        edges = {bounds[0] + (bounds[1] + 1 - bounds[0]) * i // pieces for i in range(pieces + 1)}
        codec = GridCodec(facts, tuple(sorted(edges)))
    elif codec is None and isinstance(facts, Categorical):
        known = facts.public_values
        more = max(0, CATEGORIES - len(known))
        if facts.source == "dp" and known:
            more = 0
        else:
            note = f"categories are learned; {len(known) + more} and {facts.other_label!r} assumed"
        made = (f"{i}th of those assumed" for i in range(more))
        codec = ValuesCodec(facts, (*known, *made), other=True)
    if codec is None:
        raise AssertionError(f"no codec for {facts}")
    return AssumedColumn(
        name=facts.name, codec=codec, shares=shares_of(codec), compared=codec.size, wide=wide, note=note
    )


def shares_of(codec: Codec) -> Floats:
    """Typical shares of the codes: few of the codes hold most of the rows."""
    shares = np.zeros(codec.size)
    if codec.allowed[0]:
        shares[0] = MISSING
    special = codec.atoms - 1
    if special:
        shares[1 : codec.atoms] = min(SPECIAL, SPECIAL_AT_MOST / special)
    cells = codec.size - codec.atoms
    if codec.ordered and cells > 8:
        weights = np.exp(-DECAY * np.arange(cells) / cells)
    else:
        weights = np.arange(1.0, cells + 1) ** -ZIPF
    shares[codec.atoms :] = weights / weights.sum() * (1 - shares.sum())
    return shares


def dependence(columns: int, at_most: int = 20_000) -> dict[Clique, float]:
    """Distances to independence of pairs: exponentially distributed, dealt out by a fixed seed.

    Of more than `at_most` pairs, those that depend most.
    """
    rng, every = np.random.default_rng(SEED), columns * (columns - 1) // 2
    if every <= at_most:
        found = list(combinations(range(columns), 2))
        found = [found[i] for i in rng.permutation(every)]
    else:
        ends = rng.integers(columns, size=(2 * at_most, 2))
        found = list(dict.fromkeys((min(a, b), max(a, b)) for a, b in ends.tolist() if a != b))[:at_most]
    distances = -DEPENDENCE * np.log((np.arange(len(found)) + 0.5) / max(every, 1))
    return dict(zip(found, np.minimum(distances, 0.9).tolist(), strict=True))


def learned_cells(signal: float) -> int:
    """Cells that a column of numbers is expected to get."""
    return int(min(max(signal**LEARNED, 4), CELLS_AT_MOST))

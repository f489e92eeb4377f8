"""Marginals: how far the distributions of single columns, pairs, triples and larger sets are from the real
ones.

Numbers count by their bins (see `bins`), a missing cell is a cell of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from attrs import frozen

from sfumato.evaluation import distances
from sfumato.evaluation.marginal_cells import column_sets, marginals
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, Side
from sfumato.evaluation.settings import Settings

LN2 = float(np.log(2))
_WORDS = {1: "single columns", 2: "pairs of columns", 3: "triples of columns", 4: "sets of more columns"}
_KEYS = {1: "1", 2: "2", 3: "3", 4: "k"}


@frozen
class _Distance:
    key: str
    title: str
    high: float
    meaning: str
    source: str
    between: Callable[[np.ndarray, np.ndarray], float]


DISTANCES = (
    _Distance(
        "tv", "Total variation", 1.0, "the largest error of any share that is read off the counts of",
        "Levin, Peres, Wilmer, Markov Chains and Mixing Times, section 4.1", distances.total_variation,
    ),
    _Distance(
        "l1", "L1 distance", 2.0, "the summed errors of all cells of the counts of",
        "twice the total variation; McKenna, Miklau, Sheldon 2021, section 5", distances.l1,
    ),
    _Distance(
        "js", "Jensen-Shannon divergence", LN2, "how surprising the synthetic counts are, in nats, of",
        "Lin 1991, Divergence measures based on the Shannon entropy, equation 4.1", distances.jensen_shannon,
    ),
    _Distance(
        "hellinger", "Hellinger distance", 1.0, "a distance that weighs rare cells more, of",
        "Le Cam, Asymptotic Methods in Statistical Decision Theory, chapter 4", distances.hellinger,
    ),
)  # fmt: skip


def _measure(distance: _Distance, ways: int) -> Measure:
    return Measure(
        name=f"marginals.{distance.key}{_KEYS[ways]}"
        if distance.key != "l1"
        else f"marginals.l1_{_KEYS[ways]}",
        title=f"{distance.title}, {_WORDS[ways]}",
        family="marginals",
        meaning=f"Mean over the sets of {distance.meaning} {_WORDS[ways]}; 0 means the counts are the same.",
        high=distance.high,
        source=distance.source,
    )


MEASURES = {ways: tuple(_measure(distance, ways) for distance in DISTANCES) for ways in _KEYS}


@metric("marginals.1", *MEASURES[1])
def single_columns(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Distances of each column's distribution."""
    yield from _taken(pair, settings, 1, ways=1)


@metric("marginals.2", *MEASURES[2])
def pairs(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Distances of the joint distribution of each two columns."""
    yield from _taken(pair, settings, 2, ways=2)


@metric("marginals.3", *MEASURES[3])
def triples(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Distances of joint distributions of three columns."""
    yield from _taken(pair, settings, 3, ways=3)


@metric("marginals.k", *MEASURES[4])
def larger(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Distances of joint distributions of `settings.ways` columns."""
    yield from _taken(pair, settings, settings.ways, ways=4)


def _taken(pair: Pair, settings: Settings, columns: int, *, ways: int) -> Iterator[Outcome]:
    if len(pair.columns) < columns:
        raise NotApplicable(f"there are fewer than {columns} columns to compare")
    limit = {1: len(pair.columns), 2: settings.pairs}.get(ways, settings.sets)
    sets = column_sets(len(pair.columns), columns, at_most=limit, seed=settings.seed)
    drawn = len(sets) < math.comb(len(pair.columns), columns)
    sides: tuple[Side, ...] = ("real", "synthetic", "holdout") if pair.has_holdout else ("real", "synthetic")
    tables = [pair.codes(side) for side in sides]
    found, chance, control = np.empty((len(sets), len(DISTANCES))), np.empty(len(sets)), []
    for place, shares in enumerate(marginals(tables, pair.sizes, sets)):
        found[place] = [distance.between(shares[0], shares[1]) for distance in DISTANCES]
        chance[place] = distances.expected_by_chance(shares[0], pair.real_rows, pair.synthetic_rows)
        if len(shares) > 2:
            control.append([distance.between(shares[0], shares[2]) for distance in DISTANCES])
    for place, measure in enumerate(MEASURES[ways]):
        details = _details(pair, sets, found, chance) if place == 0 else None
        facts = {
            "sets": len(sets),
            "standard error of the mean over sets": _error(found[:, place]) if drawn else 0.0,
            "worst": float(found[:, place].max()),
        }
        if place == 0:
            facts["expected of another real table of this size"] = float(chance.mean())
        if control:
            facts["of the hold-out rows"] = float(np.mean([each[place] for each in control]))
        yield measure.found(float(found[:, place].mean()), details=details, facts=facts)


def _error(values: np.ndarray) -> float:
    """Standard error of a mean over sets that were drawn."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def _details(pair: Pair, sets: list[tuple[int, ...]], found: np.ndarray, chance: np.ndarray) -> Details:
    columns = len(sets[0])
    names = ["column"] if columns == 1 else [f"column {letter}" for letter in "abcdefghijkl"[:columns]]
    header = (*names, *(distance.key for distance in DISTANCES), "by chance")
    rows = [
        (*(pair.columns[a].name for a in chosen), *found[place].tolist(), float(chance[place]))
        for place, chosen in enumerate(sets)
    ]
    return Details(header, worst_first(rows, columns))

"""Numbers as numbers: Kolmogorov-Smirnov and Wasserstein distances of values, without bins."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.distances import kolmogorov, sliced_wasserstein, wasserstein
from sfumato.evaluation.marginal_cells import column_sets
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.settings import Settings

DIRECTIONS = 16
SLICED_ROWS = 2_000
SLICED_SETS = 50

KS = Measure(
    name="marginals.ks",
    title="Kolmogorov-Smirnov distance",
    family="marginals",
    meaning="Mean over numbers of the largest gap between both distribution functions; 0 means they agree.",
    source="Smirnov 1948, Table for estimating the goodness of fit of empirical distributions",
)
COMPLEMENT = Measure(
    name="marginals.ks_complement",
    title="Complement of the Kolmogorov-Smirnov distance",
    family="marginals",
    meaning="One minus the mean Kolmogorov-Smirnov distance; 1 means the distribution functions agree.",
    direction="higher",
    ideal=1.0,
    source="one minus Smirnov's distance",
)
EARTH = Measure(
    name="marginals.wasserstein1",
    title="Wasserstein distance, single columns",
    family="marginals",
    meaning="Mean over numbers of how far values must be moved, in standard deviations of the real column.",
    high=math.inf,
    source="Villani, Optimal Transport, definition 6.1; of order 1",
)


def _sliced(name: str, ways: str) -> Measure:
    return Measure(
        name=f"marginals.wasserstein{name}",
        title=f"Sliced Wasserstein distance, {ways}",
        family="marginals",
        meaning=f"Mean over {ways} of numbers of how far points must be moved, in standard deviations.",
        high=math.inf,
        source="Bonneel, Rabin, Peyré, Pfister 2015, Sliced and Radon Wasserstein barycenters of measures",
    )


SLICED = {2: _sliced("2", "pairs"), 3: _sliced("3", "triples"), 4: _sliced("k", "larger sets")}


@metric("marginals.ks", KS, COMPLEMENT)
def kolmogorov_smirnov(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """The mean distance over all numbers. A column that has values on one side only is 1 apart."""
    rows: list[tuple[str, float | None]] = []
    for column in _numbers(pair):
        real, made = (present(column, side) for side in ("real", "synthetic"))
        if not real.size and not made.size:
            rows.append((column.name, None))
        else:
            rows.append((column.name, kolmogorov(real, made) if real.size and made.size else 1.0))
    known = [value for _, value in rows if value is not None]
    if not known:
        raise NotApplicable("no number has values on either side")
    details = Details(("column", "ks"), worst_first(rows, 1))
    yield KS.found(float(np.mean(known)), details=details, facts={"worst": max(known)})
    yield COMPLEMENT.found(1 - float(np.mean(known)))


@metric("marginals.wasserstein1", EARTH)
def earth_mover(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """The mean distance over all numbers with some spread in the real table."""
    rows: list[tuple[Cell, ...]] = []
    for column in _numbers(pair):
        real, made = (present(column, side) for side in ("real", "synthetic"))
        spread = float(real.std()) if real.size else 0.0
        rows.append((column.name, wasserstein(real, made) / spread if spread > 0 and made.size else None))
    known = [value for _, value in rows if isinstance(value, float)]
    if not known:
        raise NotApplicable("no number varies in the real table and has values in the synthetic one")
    details = Details(("column", "wasserstein"), worst_first(rows, 1))
    facts = {"columns without a distance": len(rows) - len(known)}
    yield EARTH.found(float(np.mean(known)), details=details, facts=facts)


@metric("marginals.wasserstein", *SLICED.values())
def sliced(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """The mean distance over sets of numbers; rows with a missing value in the set are left out."""
    varied = [column for column in _numbers(pair) if np.nanstd(_or_nan(column.values("real"))) > 0]
    pair = pair.only([column.name for column in varied]).sample(SLICED_ROWS, seed=settings.seed)
    for number, measure in SLICED.items():
        ways = settings.ways if number == 4 else number
        if len(varied) < ways:
            yield measure.not_applicable(f"fewer than {ways} numbers vary in the real table")
            continue
        limit = min(SLICED_SETS, settings.sets)
        sets = column_sets(len(varied), ways, at_most=limit, seed=settings.seed)
        rng = np.random.default_rng(settings.seed)
        found = [each for chosen in sets if (each := _distance(pair, chosen, rng)) is not None]
        if not found:
            yield measure.not_applicable("no set of numbers has complete rows on both sides")
            continue
        facts = {"sets": len(sets), "sets without complete rows": len(sets) - len(found), "rows": SLICED_ROWS}
        yield measure.found(float(np.mean(found)), facts=facts)


def _distance(pair: Pair, chosen: tuple[int, ...], rng: np.random.Generator) -> float | None:
    points = []
    for side in ("real", "synthetic"):
        table = np.column_stack([pair.columns[a].values(side) for a in chosen])
        points.append(table[~np.isnan(table).any(axis=1)])
    if not all(map(len, points)):
        return None
    spread = points[0].std(axis=0)
    spread[spread == 0] = 1.0
    return sliced_wasserstein(points[0] / spread, points[1] / spread, directions=DIRECTIONS, rng=rng)


def _numbers(pair: Pair) -> tuple[PairedColumn, ...]:
    if not pair.numbers:
        raise NotApplicable("no column is a number")
    return pair.numbers


def _or_nan(values: np.ndarray) -> np.ndarray:
    """`values`, or a single zero when there is nothing to take a spread of."""
    return values if values.size and not np.isnan(values).all() else np.zeros(1)


def present(column: PairedColumn, side: Side) -> np.ndarray:
    """The values of a number that are not missing."""
    values = column.values(side)
    return values[~np.isnan(values)]

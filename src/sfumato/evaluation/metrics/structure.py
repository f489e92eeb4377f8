"""Structure: how columns go together, on both sides, and by how much that differs.

A pair whose association is undefined on one side only (a column without spread) counts as 0 there; one that
is undefined on both is left out. At most `ROWS` rows a side are used; the standard error of a correlation is
then at most 1/√ROWS on either side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from sfumato.evaluation import associations
from sfumato.evaluation.marginal_cells import column_sets
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.settings import Settings

ROWS, CELLS, LEAST = 50_000, 20_000_000, 5_000
SIDES: tuple[Side, ...] = ("real", "synthetic")
TwoColumns = tuple[PairedColumn, PairedColumn]
HEADER = ("column a", "column b", "real", "synthetic", "difference")


def _measure(name: str, title: str, meaning: str, source: str, high: float) -> Measure:
    return Measure(
        name=f"structure.{name}", title=title, family="structure", meaning=meaning, high=high, source=source
    )


PEARSON = _measure(
    "pearson", "Error of correlations", "Mean absolute error of the correlation of two numbers.",
    "Pearson 1895, Note on regression and inheritance", 2.0,
)  # fmt: skip
SPEARMAN = _measure(
    "spearman", "Error of rank correlations", "Mean absolute error of the rank correlation of two numbers.",
    "Spearman 1904, The proof and measurement of association between two things", 2.0,
)  # fmt: skip
CRAMER = _measure(
    "cramers_v", "Error of Cramér's V", "Mean absolute error of the association of two categories.",
    "Cramér 1946, Mathematical Methods of Statistics, section 21.9", 1.0,
)  # fmt: skip
RATIO = _measure(
    "correlation_ratio", "Error of correlation ratios",
    "Mean absolute error of how much of a number a category explains.",
    "Fisher 1925, Statistical Methods for Research Workers, section 45", 1.0,
)  # fmt: skip
INFORMATION = _measure(
    "mutual_information", "Error of mutual information",
    "Mean absolute error, in nats, of what one column tells about another; numbers by their bins.",
    "Shannon 1948, A mathematical theory of communication", math.inf,
)  # fmt: skip
PROBABILITY = _measure(
    "dimension_wise_probability", "Dimension-wise probability",
    "Mean absolute error of the share of each value of each category.",
    "Choi et al. 2017, Generating multi-label discrete patient records; Tantipongpipat et al. 2021", 1.0,
)  # fmt: skip
PROBABILITY_RMSE = _measure(
    "dimension_wise_probability_rmse", "Dimension-wise probability, root mean square",
    "Root mean square error of the share of each value of each category.", PROBABILITY.source, 1.0,
)  # fmt: skip
PROBABILITY_R = Measure(
    name="structure.dimension_wise_probability_correlation", title="Dimension-wise probability, correlation",
    family="structure", meaning="Correlation of real and synthetic shares; 1 means they lie on a line.",
    low=-1.0, direction="higher", ideal=1.0, source=PROBABILITY.source,
)  # fmt: skip


def association_rows(columns: int) -> int:
    """At most so many rows of a side are used: `ROWS`, and fewer where they would have more than `CELLS`."""
    return min(ROWS, max(CELLS // max(columns, 1), LEAST))


@metric("structure.pearson", PEARSON)
def pearson(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Correlation matrices of all numbers."""
    yield _of_numbers(pair, settings, PEARSON, associations.pearson)


@metric("structure.spearman", SPEARMAN)
def spearman(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Rank correlation matrices of all numbers."""
    yield _of_numbers(pair, settings, SPEARMAN, associations.spearman)


def _of_numbers(
    pair: Pair,
    settings: Settings,
    measure: Measure,
    matrix: Callable[[np.ndarray, list], np.ndarray],
) -> Outcome:
    if len(pair.numbers) < 2:
        raise NotApplicable("fewer than two columns are numbers")
    pair = pair.only([column.name for column in pair.numbers]).sample(
        association_rows(len(pair.columns)), seed=settings.seed
    )
    tables = [np.column_stack([column.values(side) for column in pair]) for side in SIDES]
    columns, every = len(pair.columns), math.comb(len(pair.columns), 2)
    holes = any(np.isnan(table).any() for table in tables)
    chosen = column_sets(columns, 2, at_most=settings.pairs if holes else every, seed=settings.seed)
    pairs = [(a, b) for a, b in chosen]
    real, made = (matrix(table, pairs) for table in tables)
    names = [column.name for column in pair]
    rows = [(names[a], names[b], float(real[a, b]), float(made[a, b])) for a, b in pairs]
    return _compared(measure, rows)


def _compared(
    measure: Measure, rows: list[tuple[str, str, float, float]], facts: dict | None = None
) -> Outcome:
    """Mean absolute difference; NaN on one side counts as 0, on both sides the pair is left out."""
    table: list[tuple[Cell, ...]] = []
    for first, second, real, made in rows:
        if math.isnan(real) and math.isnan(made):
            table.append((first, second, None, None, None))
        else:
            table.append((first, second, real, made, abs(np.nan_to_num(real) - np.nan_to_num(made))))
    gaps = [float(row[4]) for row in table if isinstance(row[4], float)]
    details = Details(HEADER, worst_first(table, 4))
    if not gaps:
        return measure.not_applicable("no two columns vary on either side", details=details)
    found = {"pairs": len(gaps), "undefined pairs": len(rows) - len(gaps), "worst": max(gaps)} | (facts or {})
    return measure.found(float(np.mean(gaps)), details=details, facts=found)


def _codes_table(first: PairedColumn, second: PairedColumn, side: Side) -> np.ndarray:
    return associations.cross_table(first.codes(side), second.codes(side), first.size, second.size)


def _pairs(pair: Pair, settings: Settings) -> list[tuple[int, int]]:
    return [(a, b) for a, b in column_sets(len(pair.columns), 2, at_most=settings.pairs, seed=settings.seed)]


@metric("structure.cramers_v", CRAMER)
def cramers_v(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Association of all categories; a missing cell is a level."""
    if len(pair.categories) < 2:
        raise NotApplicable("fewer than two columns are categories")
    pair = pair.only([column.name for column in pair.categories]).sample(
        association_rows(len(pair.columns)), seed=settings.seed
    )
    rows = []
    for a, b in _pairs(pair, settings):
        first, second = pair.columns[a], pair.columns[b]
        real, made = (associations.cramers_v(_codes_table(first, second, side)) for side in SIDES)
        rows.append((first.name, second.name, real, made))
    yield _compared(CRAMER, rows)


@metric("structure.correlation_ratio", RATIO)
def correlation_ratio(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """How much of each number each category explains."""
    if not pair.numbers or not pair.categories:
        raise NotApplicable("there is no category and number to compare")
    pair = pair.sample(association_rows(len(pair.columns)), seed=settings.seed)
    rows = []
    for group, number in _drawn(list(itertools.product(pair.categories, pair.numbers)), settings):
        real, made = (
            associations.correlation_ratio(group.codes(side), number.values(side), group.size)
            for side in SIDES
        )
        rows.append((group.name, number.name, real, made))
    yield _compared(RATIO, rows)


def _drawn(pairs: list[TwoColumns], settings: Settings) -> list[TwoColumns]:
    """All pairs, or `settings.pairs` of them drawn at random."""
    if len(pairs) <= settings.pairs:
        return pairs
    places = np.random.default_rng(settings.seed).choice(len(pairs), settings.pairs, replace=False)
    return [pairs[place] for place in np.sort(places)]


@metric("structure.mutual_information", INFORMATION)
def mutual_information(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Mutual information of all pairs of columns, by codes."""
    if len(pair.columns) < 2:
        raise NotApplicable("there are fewer than two columns to compare")
    pair = pair.sample(association_rows(len(pair.columns)), seed=settings.seed)
    rows = []
    for a, b in _pairs(pair, settings):
        first, second = pair.columns[a], pair.columns[b]
        real, made = (associations.mutual_information(_codes_table(first, second, side)) for side in SIDES)
        rows.append((first.name, second.name, real, made))
    yield _compared(INFORMATION, rows)


@metric("structure.dimension_wise_probability", PROBABILITY, PROBABILITY_RMSE, PROBABILITY_R)
def dimension_wise_probability(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Shares of all values of categories; of a column with two values only the second counts."""
    if not pair.categories:
        raise NotApplicable("no column is a category")
    rows: list[tuple[str, str, float, float]] = []
    for column in pair.categories:
        real, made = (column.shares(side) for side in SIDES)
        seen = np.flatnonzero((real > 0) | (made > 0))
        binary = len(column.labels) == 2 and not (real[2] or made[2])
        names = [*column.labels, "(missing)"]
        places = [1] if binary else seen.tolist()
        rows += [(column.name, names[place], float(real[place]), float(made[place])) for place in places]
    real, made = (np.array([row[place] for row in rows]) for place in (2, 3))
    table = [(*row, abs(row[2] - row[3])) for row in rows]
    details = Details(("column", "value", "real", "synthetic", "difference"), worst_first(table, 4))
    yield PROBABILITY.found(float(np.abs(real - made).mean()), details=details, facts={"values": len(rows)})
    yield PROBABILITY_RMSE.found(float(np.sqrt(np.square(real - made).mean())))
    correlation = associations.pearson(np.column_stack([real, made]))[0, 1]
    if math.isnan(correlation):
        yield PROBABILITY_R.not_applicable("the shares of one side do not vary")
    else:
        yield PROBABILITY_R.found(float(correlation))

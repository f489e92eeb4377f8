"""What occurs at all: missing and special cells, categories, ranges, declared bounds and rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import Measured
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.metrics.lines import present
from sfumato.evaluation.outcome import Cell, Details, Direction, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn, Side
from sfumato.evaluation.settings import Settings
from sfumato.schema.rules import Rule


def _measure(name: str, title: str, meaning: str, source: str, *, ideal: float = 1.0) -> Measure:
    direction: Direction = "higher" if ideal else "lower"
    return Measure(
        name=f"marginals.{name}", title=title, family="marginals", meaning=meaning, direction=direction,
        ideal=ideal, source=source,
    )  # fmt: skip


_OWN = "a share of cells; no paper needed"
SHARED = _measure(
    "columns", "Columns in common", "Share of the real table's columns that the synthetic table has.",
    "a share of columns; no paper needed",
)  # fmt: skip
MISSING = _measure(
    "missing", "Error of missing shares",
    "Mean over columns of the error of the share of missing cells.", _OWN,
    ideal=0.0,
)  # fmt: skip
SPECIAL = _measure(
    "special_codes", "Error of special codes' shares",
    "Mean over declared special codes of the error of their share of the cells.", _OWN, ideal=0.0,
)  # fmt: skip
CATEGORIES = _measure(
    "category_coverage", "Category coverage",
    "Mean share of the real categories of a column that the synthetic table has at least once.",
    "Patki, Wedge, Veeramachaneni 2016, The Synthetic Data Vault, and its later quality measures",
)  # fmt: skip
INVENTED = _measure(
    "invented_categories", "Invented categories",
    "Mean share of synthetic cells with a category that the real table does not have.", _OWN, ideal=0.0,
)  # fmt: skip
RANGE = _measure(
    "range_coverage", "Range coverage", "Mean share of a number's real range that the synthetic values span.",
    "Patki, Wedge, Veeramachaneni 2016, The Synthetic Data Vault, and its later quality measures",
)  # fmt: skip
BOUNDS = _measure(
    "boundary_adherence", "Boundary adherence",
    "Mean share of synthetic numbers within the declared bounds, or the real range where none are declared.",
    "Patki, Wedge, Veeramachaneni 2016, The Synthetic Data Vault, and its later quality measures",
)  # fmt: skip
RULES = _measure(
    "rule_adherence", "Rule adherence", "Mean share of synthetic rows that obey a declared rule.",
    "a share of rows; no paper needed",
)  # fmt: skip


@metric("marginals.columns", SHARED, bare=True)
def columns_in_common(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Share of real columns that are there."""
    known = len(pair.columns) + len(pair.ignored)
    rows = [*((name, "absent") for name in pair.absent), *((name, "extra") for name in pair.extra)]
    yield SHARED.found(known / max(known + len(pair.absent), 1), details=Details(("column", "state"), rows))


@metric("marginals.missing", MISSING)
def missing_shares(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Error of the share of missing cells, by column."""
    rows = []
    for column in pair:
        real, made = (float(column.missing(side).mean()) for side in ("real", "synthetic"))
        rows.append((column.name, real, made, abs(real - made), column.cells["synthetic"].unreadable))
    header = ("column", "real", "synthetic", "difference", "unreadable synthetic cells")
    yield MISSING.found(
        float(np.mean([row[3] for row in rows])), details=Details(header, worst_first(rows, 3))
    )


@metric("marginals.special_codes", SPECIAL)
def special_code_shares(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Error of the share of each declared special code."""
    rows = []
    for column in pair.numbers:
        real, made = column.shares("real"), column.shares("synthetic")
        for place in range(column.bins, len(column.labels)):
            gap = float(abs(real[place] - made[place]))
            rows.append((column.name, column.labels[place], float(real[place]), float(made[place]), gap))
    if not rows:
        raise NotApplicable("no special codes are declared, or stand among numbers")
    header = ("column", "code", "real", "synthetic", "difference")
    yield SPECIAL.found(
        float(np.mean([row[4] for row in rows])), details=Details(header, worst_first(rows, 4))
    )


@metric("marginals.categories", CATEGORIES, INVENTED)
def category_coverage(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Which categories of the real table occur, and which occur only in the synthetic one."""
    rows: list[tuple[Cell, ...]] = []
    strange = []
    for column in pair.categories:
        real, made = (column.counts(side)[:-1] for side in ("real", "synthetic"))
        known = real > 0
        share = float((made[known] > 0).mean()) if known.any() else None
        outside = float(made[~known].sum() / made.sum()) if made.sum() else None
        rows.append((column.name, share, int((made[known] == 0).sum())))
        strange.append((column.name, outside, int((made[~known] > 0).sum())))
    if not rows:
        raise NotApplicable("no column is a category")
    yield _mean(
        CATEGORIES, rows, ("column", "share covered", "categories not drawn"), "has real categories", False
    )
    yield _mean(INVENTED, strange, ("column", "share invented", "invented"), "has synthetic categories", True)


@metric("marginals.ranges", RANGE, BOUNDS)
def ranges(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """How much of the real range is spanned, and how much lies within bounds."""
    if not pair.numbers:
        raise NotApplicable("no column is a number")
    spans = [(column.name, _span(column)) for column in pair.numbers]
    within = [(column.name, _within(column), _declared(column)) for column in pair.numbers]
    yield _mean(RANGE, spans, ("column", "share spanned"), "has real values", False)
    yield _mean(BOUNDS, within, ("column", "share within", "bounds"), "has values on both sides", False)


def _mean(measure: Measure, rows: list, header: tuple[str, ...], has: str, largest: bool) -> Outcome:  # noqa: FBT001
    known = [row[1] for row in rows if row[1] is not None]
    details = Details(header, worst_first(rows, 1, largest=largest))
    if not known:
        return measure.not_applicable(f"no column {has}", details=details)
    return measure.found(float(np.mean(known)), details=details)


def _span(column: PairedColumn) -> float | None:
    """1 minus the parts of the real range that no synthetic value reaches; a single value is hit or not."""
    real, made = (present(column, side) for side in ("real", "synthetic"))
    if not real.size:
        return None
    if not made.size:
        return 0.0
    low, high = real.min(), real.max()
    if low == high:
        return float((made == low).any())
    lost = max(made.min() - low, 0.0) + max(high - made.max(), 0.0)
    return float(max(0.0, 1 - lost / (high - low)))


def declared_ends(column: PairedColumn) -> tuple[float | None, float | None]:
    """The least and greatest value that the schema allows a number, each None when it says nothing."""
    if not isinstance(column.facts, Measured):
        return None, None
    from sfumato.evaluation.gather import units_scale

    low, high = column.facts.end_units
    scale = units_scale(column.facts)
    return (None if low is None else low / scale), (None if high is None else high / scale)


def _declared(column: PairedColumn) -> str:
    return "declared" if any(end is not None for end in declared_ends(column)) else "real range"


def _within(column: PairedColumn) -> float | None:
    real, made = (present(column, side) for side in ("real", "synthetic"))
    low, high = declared_ends(column)
    if low is None and high is None:
        if not real.size:
            return None
        low, high = real.min(), real.max()
    if not made.size:
        return None
    inside = np.ones(made.size, dtype=bool)
    if low is not None:
        inside &= made >= low
    if high is not None:
        inside &= made <= high
    return float(inside.mean())


@metric("marginals.rules", RULES)
def rule_adherence(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Share of rows without missing cells in a rule's columns that obey it."""
    rules = () if pair.schema is None else pair.schema.rules
    if not rules:
        raise NotApplicable("no schema declares rules")
    rows: list[tuple[Cell, ...]] = []
    for rule in rules:
        known = all(name in pair for name in rule.columns)
        real, made = (_obeys(pair, rule, side) if known else None for side in ("real", "synthetic"))
        rows.append((f"{rule.name}: {', '.join(rule.columns)}", made, real))
    yield _mean(
        RULES, rows, ("rule", "synthetic", "real"), "of a rule is complete in the synthetic table", False
    )


def _obeys(pair: Pair, rule: Rule, side: Side) -> float | None:
    columns = [pair[name] for name in rule.columns]
    complete = np.logical_and.reduce([~column.missing(side) for column in columns])
    if rule.name == "fixed_combinations":
        allowed = {tuple(row) for row in rule.allowed or ()}
        codes = np.column_stack([column.codes(side)[complete] for column in columns])
        if not len(codes):
            return None
        known, counts = np.unique(codes, axis=0, return_counts=True)
        if not rule.allowed:
            allowed = _seen(columns)
        good = [_texts(columns, row) in allowed for row in known]
        return float(counts[good].sum() / counts.sum())
    values = [_ranks(column, side) for column in columns]
    complete &= np.logical_and.reduce([~np.isnan(each) for each in values])
    if not complete.any():
        return None
    steps = np.diff(np.column_stack([each[complete] for each in values]), axis=1)
    return float(((steps > 0) if rule.name == "less_than" else (steps >= 0)).all(axis=1).mean())


def _ranks(column: PairedColumn, side: Side) -> np.ndarray:
    """Numbers, or the places of ordered categories; NaN where there is none."""
    if column.is_number:
        return column.values(side)
    known = column.facts.values if isinstance(column.facts, Categorical) else None
    codes = column.codes(side).astype(np.float64)
    return np.where(codes < len(known or column.labels), codes, np.nan)


def _seen(columns: list[PairedColumn]) -> set[tuple[str, ...]]:
    """Combinations of the real rows, for a rule that lists none."""
    codes = np.column_stack([column.codes("real") for column in columns])
    return {_texts(columns, row) for row in np.unique(codes, axis=0)}


def _texts(columns: list[PairedColumn], row: np.ndarray) -> tuple[str, ...]:
    return tuple([*column.labels, ""][code] for column, code in zip(columns, row, strict=True))

"""The publishable page: a model alone. Everything on it is released already or public; no row is read."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from sfumato.report.figures import Histogram, histogram
from sfumato.report.guarantees import guarantee_card, promises_section, prospects_table, unnamed_note
from sfumato.report.page import Card, Figures, Group, Page, Prose, Section, Table
from sfumato.report.words import brief, percent

if TYPE_CHECKING:
    from sfumato.models.model import Model
    from sfumato.models.plan import Outcome
    from sfumato.privacy.ledger import Entry

STAMP = "PUBLISHABLE: released numbers only"
STAMP_MEANS = (
    "Made from the model file alone. Everything here is public, or was released with noise and is paid for."
)
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
MARGINALS_AT_MOST = 400
CHARGES_AT_MOST = 200
BARS = 24
DRAWN = 60
EXPECT, MADE = "How much like the real rows will they be?", "What was it made from?"


def publishable_page(model: Model, *, title: str = "") -> Page:
    """The page of a model."""
    from sfumato.models.prospects import prospects

    expected = next(iter(prospects(model, (1.0,))), None)
    noise = _marginals(model)
    table = model.schema.table if getattr(model.schema, "table", None) else ""
    void = model.statement.void
    secret = bool(void)
    return Page(
        title=title
        or f"{'Model' if secret else 'Differentially private model'}{f' of {table}' if table else ''}",
        subtitle=f"Method {model.method}; {model.extent} and {len(model.schema.columns)} columns.",
        stamp="NOT PRIVATE: do not publish" if secret else STAMP,
        stamp_means=f"{void}." if secret else STAMP_MEANS,
        secret=secret,
        guarantee=guarantee_card(model),
        groups=_groups(model, expected, noise),
        first=(
            _worst(model, noise, 1, "Columns that noise hits hardest"),
            _worst(model, noise, 2, "Measured pairs that noise hits hardest"),
            prospects_table(model),
        ),
        sections=(
            *promises_section(model),
            _columns(model),
            _noise(model, noise),
            _schema(model),
            _ledger(model),
            _check(model),
        ),
        footer="Made by sfumato from a model file. Statement: " + str(model.statement),
    )


@frozen(kw_only=True)
class Marginal:
    """One table of counts, or one interaction, that was released."""

    columns: tuple[str, ...]
    cells: int
    sigma: float
    """Noise of a cell, in records."""
    purpose: str

    def error(self, rows: float) -> float:
        """Total variation distance that its noise alone makes on average, before anything is fitted."""
        return min(1.0, MEAN_ABSOLUTE * self.sigma * self.cells / (2 * max(rows, 1.0)))


def _marginals(model: Model) -> list[Marginal]:
    """Every table of counts and every interaction in the ledger, whose section has other mechanisms too."""
    found = []
    for entry in model.ledger:
        facts = entry.parameters
        if entry.mechanism not in ("rounded_gaussian_counts", "rounded_gaussian_interactions"):
            continue
        multiplied = entry.mechanism == "rounded_gaussian_interactions"
        scales = facts.get("scales") or ["1"] * len(facts["cliques"])
        for names, shape, scale in zip(facts["cliques"], facts["shapes"], scales, strict=True):
            cells = math.prod(shape)
            sigma = float(Fraction(facts["sigma"]) * Fraction(scale)) / (cells if multiplied else 1)
            found.append(Marginal(columns=tuple(names), cells=cells, purpose=entry.purpose, sigma=sigma))
    return found


def _groups(model: Model, expected: Outcome | None, noise: list[Marginal]) -> tuple[Group, Group]:
    several = {each.columns for each in noise if len(each.columns) > 1}
    made = [
        _extent(model),
        Card(
            label="Tables of two or more columns",
            value=f"{len(several):,}",
            meaning="were counted and released with noise. Other relations between columns follow from "
            "these, or are lost.",
        ),
        Card(
            label="Questions put to the private rows",
            value=f"{len(model.ledger):,}",
            meaning="Each was paid for before it was answered; the ledger below lists them all.",
        ),
    ]
    if expected is None:
        none = Card(label="Expected error", value="–", meaning="The method does not say what to expect.")
        return Group(title=EXPECT, cards=[none]), Group(title=MADE, cards=made)
    hopes = [
        Card(
            label="Single columns",
            value=f"{percent(expected.error.one_way)} off",
            meaning="So many rows would have to change for a column to have the real frequencies, on "
            "average.",
            note=f"Predicted, within a factor of 2. {unnamed_note(model)}".strip(),
        ),
        Card(
            label="Noise in a count of one value",
            value=f"± {expected.noise:,.0f} rows",
            meaning=f"Typically. Groups of fewer than about {3 * expected.noise:,.0f} rows cannot be "
            "trusted.",
            tone="warn" if expected.drowned else "plain",
        ),
    ]
    if len(model.codecs) > 1:
        hopes.insert(1, Card(
            label="Pairs of columns",
            value=f"{percent(expected.error.two_way)} off",
            meaning="The same for two columns at a time: are relations kept?",
            note="Predicted, within a factor of 2.",
        ))  # fmt: skip
    return Group(title=EXPECT, cards=hopes), Group(title=MADE, cards=made)


def _extent(model: Model) -> Card:
    if getattr(model.generator, "records", None) is not None:
        return Card(
            label="Records that were released",
            value=f"{model.rows:,}",
            meaning="They are the model: each was paid for, and rows are taken from them.",
        )
    return Card(
        label="Rows that it was made from",
        value=f"{model.rows:,}",
        meaning="About: the true number is private, and this one has noise on it.",
    )


def _best(noise: list[Marginal], ways: int) -> dict[tuple[str, ...], Marginal]:
    """The least noisy table of each set of columns."""
    found: dict[tuple[str, ...], Marginal] = {}
    for each in noise:
        key = tuple(sorted(each.columns))
        if len(key) == ways and (key not in found or each.sigma < found[key].sigma):
            found[key] = each
    return found


def _worst(model: Model, noise: list[Marginal], ways: int, caption: str) -> Table:
    """Where noise is largest against the rows that a typical value, or pair of values, has."""
    several = _values(model)
    rows = []
    for each in _best(noise, ways).values():
        if all(name in several for name in each.columns):
            typical = model.generator.total / min(
                math.prod(several[name] for name in each.columns), each.cells
            )
            rows.append(
                (
                    " × ".join(map(brief, each.columns)),
                    each.sigma / typical,
                    f"{typical:,.0f} ± {each.sigma:,.0f}",
                )
            )
    rows = sorted(rows, key=lambda row: -row[1])[:5]
    note = "The same for a typical pair of values."
    if ways == 1:
        note = (
            "Rows that a typical value has, and the noise on them. Fitting all tables takes part of it away."
        )
    return Table(
        caption=caption,
        header=("column" if ways == 1 else "pair", "noise", "rows"),
        rows=rows,
        formats=("text", "%", "short"),
        bars={1: max((row[1] for row in rows), default=1.0) or 1.0},
        note=note if rows else "No such table was released.",
    )


def _values(model: Model) -> dict[str, float]:
    """How many values a column has, in effect: the exponential of the entropy of its released shares."""
    counts = getattr(model.generator, "counts", None)
    if counts is None or len(counts) != len(model.codecs):
        return {codec.column: float(codec.size) for codec in model.codecs}
    found = {}
    for codec, table in zip(model.codecs, counts, strict=True):
        held = np.clip(np.asarray(table, dtype=np.float64), 0, None)
        shares = held[held > 0] / max(float(held.sum()), 1e-300)
        found[codec.column] = float(np.exp(-(shares * np.log(shares)).sum())) if shares.size else 1.0
    return found


def _columns(model: Model) -> Section:
    """The distribution of each column, as the model has it."""
    counts = getattr(model.generator, "counts", None)
    if counts is None or len(counts) != len(model.codecs):
        return Section(key="columns", title="Distribution of each column", blocks=(
            Prose(texts=("This method does not keep the distribution of each column as a table.",)),
        ))  # fmt: skip
    drawn = [
        _histogram(codec, np.asarray(table, dtype=np.float64))
        for codec, table in zip(model.codecs, counts, strict=True)
    ]
    return Section(
        key="columns",
        title="Distribution of each column",
        intro="As the model has it, after noise. Rows that are drawn from it follow these shares.",
        blocks=(
            Figures(
                caption="Shares of values and ranges",
                drawings=drawn[:DRAWN],
                note=f"{len(drawn) - DRAWN} more columns are not drawn." if len(drawn) > DRAWN else "",
            ),
        ),
    )


def _histogram(codec: Any, counts: np.ndarray) -> Histogram:
    shares = np.clip(counts, 0, None) / max(float(np.clip(counts, 0, None).sum()), 1e-300)
    held = np.flatnonzero(shares > 0)
    kept = np.arange(held[0], held[-1] + 1) if codec.ordered and held.size else held
    labels, shares = [codec.labels()[i] for i in kept], shares[kept]
    if len(labels) > BARS and not codec.ordered:
        first = np.sort(np.argsort(-shares, kind="stable")[: BARS - 1])
        rest = np.setdiff1d(np.arange(shares.size), first)
        labels, shares = (
            [*(labels[i] for i in first), f"{rest.size} others"],
            np.append(shares[first], shares[rest].sum()),
        )
    elif len(labels) > 60:
        parts = np.array_split(np.arange(shares.size), 40)
        labels = [labels[part[0]] for part in parts[:-1]] + [labels[-1]]
        shares = np.array([shares[part].sum() for part in parts])
    return histogram(codec.column, labels, None, shares)


def _noise(model: Model, noise: list[Marginal]) -> Section:
    rows = sorted(
        (
            (
                " × ".join(each.columns), each.purpose, each.cells, each.sigma,
                each.sigma / max(model.generator.total, 1.0), each.error(model.generator.total),
            )
            for each in noise
        ),
        key=lambda row: -row[3],
    )  # fmt: skip
    more = len(rows) - MARGINALS_AT_MOST
    return Section(
        key="noise",
        title="Noise of each marginal",
        intro="Every table of counts that was released: rounded Gaussian noise with this standard "
        "deviation was added to each of its cells. A count of the table is within two of these of the "
        "true one in about 95 of 100 cases.",
        blocks=(
            Table(
                caption=f"{min(len(rows), MARGINALS_AT_MOST):,} tables of counts",
                header=("columns", "purpose", "cells", "noise (rows)", "noise (share)", "error by noise"),
                rows=rows[:MARGINALS_AT_MOST],
                formats=("text", "text", "int", "", "%", "%"),
                sortable=True,
                note=(f"{more:,} tables with less noise are left out. " if more > 0 else "")
                + "The error is that of the noisy table by itself; the model, which is fitted to all of "
                "them, has less.",
            ),
        ),
    )  # fmt: skip


def _schema(model: Model) -> Section:
    sizes = {codec.column: codec.size for codec in model.codecs}
    origin = {
        "public": "stated as public",
        "dp": "bought with noise",
        "leaks": "READ OFF THE ROWS (signed by the owner)",
    }
    rows = []
    for facts in model.schema.columns:
        source = facts.source if isinstance(facts.source, str) else ", ".join(
            f"{name} {origin.get(word, word)}" for name, word in dict(facts.source).items()
        )  # fmt: skip
        rows.append(
            (facts.name, facts.kind, sizes.get(facts.name, "not modelled"), origin.get(source, source))
        )
    return Section(
        key="schema",
        title="Columns, and where their facts come from",
        blocks=(
            Table(
                caption="The schema",
                header=("column", "type", "values or ranges", "facts"),
                rows=rows,
                formats=("text", "text", "int", "text"),
                sortable=True,
            ),
        ),
    )


def _ledger(model: Model) -> Section:
    relation = model.ledger.unit["neighbours"]
    prices = [(entry, entry.cost.under(relation)) for entry in model.ledger]
    whole = sum(price.mu2 for _, price in prices if math.isfinite(price.mu2)) or 1.0
    spent: dict[str, list[float]] = {}
    for entry, price in prices:
        held = spent.setdefault(entry.purpose, [0.0, 0.0])
        held[0] += 1
        held[1] += price.mu2 / whole
    rows = [(name, int(n), share) for name, (n, share) in spent.items()]
    every = [
        (each.number, each.purpose, each.mechanism, _columns_of(each), price.mu2 / whole, each.hash[:12])
        for each, price in prices
    ]
    more = len(every) - CHARGES_AT_MOST
    return Section(
        key="ledger",
        title="The ledger: what was asked, and what it cost",
        intro="Every look at the private rows is written down before it is answered. Costs are shares of "
        "the budget (mu² of Gaussian differential privacy, which add up).",
        blocks=(
            Table(
                caption="By purpose", header=("purpose", "questions", "share of the budget"), rows=rows,
                formats=("text", "int", "%"),
                bars={2: max((row[2] for row in rows if math.isfinite(row[2])), default=1.0) or 1.0},
            ),
            Table(
                caption="Every charge",
                header=("number", "purpose", "mechanism", "columns", "share of the budget", "hash"),
                rows=every[:CHARGES_AT_MOST],
                formats=("text", "text", "text", "text", "%", "text"),
                sortable=True,
                note=f"{more:,} more charges are in the model file." if more > 0 else "",
            ),
        ),
    )  # fmt: skip


def _columns_of(entry: Entry) -> str:
    facts = entry.parameters
    sets = facts.get("cliques") or [[name] for name in facts.get("columns", ())]
    if not isinstance(sets, list) or not sets:
        return "–"
    shown = ", ".join(" × ".join(map(str, names)) for names in sets[:3])
    return f"{shown} and {len(sets) - 3} more" if len(sets) > 3 else shown


def _check(model: Model) -> Section:
    texts = [
        str(model.statement),
        "To check this without the data: sfumato verify MODEL. It repeats the whole run on the released "
        "answers and finds the same model and the same epsilon, or says what differs.",
        *model.warnings,
        *model.notes,
    ]
    return Section(
        key="check", title="The exact statement, and how to check it", blocks=(Prose(texts=texts),)
    )

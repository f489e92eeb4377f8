"""The internal page: an evaluation, with plots. It is computed from real rows without noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.attacks.attack import SIMILARITY, SURELY, contradictions
from sfumato.attacks.ceiling import Guarantee
from sfumato.report.guarantees import guarantee_card, prospects_table
from sfumato.report.headlines import groups
from sfumato.report.page import Card, Page, Prose, Section, Table
from sfumato.report.pictures import outcome_of, pictures
from sfumato.report.words import brief, percent, plain, span, strength

if TYPE_CHECKING:
    from sfumato.evaluation.evaluation import Evaluation
    from sfumato.evaluation.outcome import Measure, Outcome
    from sfumato.models.model import Model

STAMP = "INTERNAL: contains private data"
STAMP_MEANS = (
    "Computed from real records without noise, so no guarantee covers this page. Keep it where the real "
    "table is kept; do not publish it and do not send it along with the synthetic rows."
)
PAIRS_AT_MOST = 300
ATTACKS = (
    "membership", "membership_at_1", "membership_at_01", "membership_outliers", "shadow",
    "attribute_inference", "exact_copies", "unique_copies",
    "singling_out_univariate", "singling_out", "linkability", "inference",
)  # fmt: skip
DETAILS_AT_MOST = 40


def internal_page(
    evaluation: Evaluation,
    *,
    model: Model | None = None,
    guarantee: Guarantee | None = None,
    title: str = "How good and how risky are these synthetic rows?",
) -> Page:
    """The page of an evaluation. `model`: states the guarantee and foretells other budgets; else
    `guarantee`.
    """
    stated = Guarantee.of(model) if model is not None else guarantee
    return Page(
        title=title,
        subtitle=_subtitle(evaluation),
        stamp=STAMP,
        stamp_means=STAMP_MEANS,
        secret=True,
        guarantee=_guarantee(model, stated),
        groups=groups(evaluation),
        first=(*_worst(evaluation), prospects_table(model, measured=_measured(evaluation))),
        sections=_sections(evaluation, stated),
        footer="Made by sfumato. How each number is computed: docs/methods/evaluation.md and "
        "docs/methods/attacks.md.",
    )


def _subtitle(evaluation: Evaluation) -> str:
    rows = evaluation.facts.get("rows", {})
    words = [
        f"{rows[side] or 0:,} {name}"
        for side, name in (
            ("synthetic", "synthetic rows"),
            ("real", "real rows"),
            ("holdout", "hold-out rows"),
        )
        if rows.get(side) is not None
    ]
    compared = len(evaluation.facts.get("columns", {}).get("compared", ()))
    notes = evaluation.facts.get("notes", ())
    lacks = next((f" Attacks were not run: {each}." for each in notes if "hold-out" in each), None)
    return f"{', '.join(words)}; {compared} columns compared." + (
        "" if rows.get("holdout") else lacks or " Attacks were not run: they need hold-out rows."
    )


def _measured(evaluation: Evaluation) -> tuple[float | None, float | None]:
    """Errors of columns and of pairs."""
    found = (outcome_of(evaluation, name) for name in ("marginals.tv1", "marginals.tv2"))
    one, two = (None if each is None else each.value for each in found)
    return one, two


def _guarantee(model: Model | None, stated: Guarantee | None) -> Card:
    if model is not None:
        return guarantee_card(model)
    if stated is not None and stated.holds:
        word, tone = strength(stated.epsilon)
        return Card(
            label="The guarantee, as stated by whoever made the rows (not checked)",
            value=f"epsilon {stated.epsilon:g}, delta {stated.delta:g} ({word})",
            meaning=plain(stated),
            note="Give the model file (--model) to read it off the ledger.",
            tone=tone,
        )
    return Card(
        label="The guarantee",
        value="Not known",
        meaning="Synthetic rows do not show how they were made. Without a proof nobody can say what they "
        "give away: attacks that find nothing may only be too weak.",
        note="Give the model file (--model), or the stated numbers (--epsilon, --delta).",
        tone="warn",
    )


def _worst(evaluation: Evaluation) -> list[Table]:
    """The columns and pairs that are farthest off, with what chance alone would give."""
    found = []
    for name, caption, width in (
        ("marginals.tv1", "Columns that are farthest off", 1),
        ("marginals.tv2", "Pairs of columns that are farthest off", 2),
    ):
        outcome = outcome_of(evaluation, name)
        if outcome is None or outcome.details is None:
            reason = "not computed" if outcome is None else outcome.status
            found.append(Table(caption=caption, header=("",), rows=(), note=reason))
            continue
        rows = [
            (" × ".join(map(brief, list(each.values())[:width])), each["tv"], each.get("by chance"))
            for each in list(outcome.details)[:5]
        ]
        found.append(
            Table(
                caption=caption,
                header=("column" if width == 1 else "pair", "off by", "by chance"),
                rows=rows,
                formats=("text", "%", "%"),
                bars={1: max([row[1] for row in rows if isinstance(row[1], float)], default=1.0) or 1.0},
                note="Off by: rows that would have to change to match the real shares. By chance: "
                "expected of another "
                "real table of this size." if width == 1 else "",
            )
        )  # fmt: skip
    return found


def _sections(evaluation: Evaluation, stated: Guarantee | None) -> list[Section]:
    found = list(pictures(evaluation))
    found.append(_pairs(evaluation))
    families = evaluation.families
    titles = {
        "marginals": "All measures: shares of values",
        "structure": "All measures: relations between columns",
        "prediction": "All measures: use for prediction",
        "distinguishing": "All measures: telling synthetic rows from real ones",
        "analysis": "All measures: an analyst's results",
    }
    attacks = families.get("attacks", ())
    found.append(_attacks(attacks, stated))
    if SIMILARITY in families:
        found.append(_similarity(families[SIMILARITY]))
    for family, outcomes in families.items():
        if family not in ("attacks", SIMILARITY):
            key = f"all-{len(found)}"
            found.append(
                Section(
                    key=key,
                    title=titles.get(family, f"All measures: {family}"),
                    blocks=(_measures(outcomes, "Every measure, with its 95 % interval where there is one"),),
                )
            )
    found.append(_compared(evaluation))
    return [section for section in found if section.blocks]


def _pairs(evaluation: Evaluation) -> Section:
    outcome = outcome_of(evaluation, "marginals.tv2")
    if outcome is None or outcome.details is None:
        return Section(key="pairs", title="Error of each pair of columns")
    kept = [
        name
        for name in ("column a", "column b", "tv", "js", "hellinger", "by chance")
        if name in outcome.details.header
    ]
    spelled = {"tv": "total variation", "js": "Jensen-Shannon", "hellinger": "Hellinger"}
    rows = [tuple(each[name] for name in kept) for each in outcome.details]
    forms = {"column a": "text", "column b": "text", "tv": "%", "by chance": "%"}
    most = max((cell for cell in outcome.details.column("tv") if isinstance(cell, float)), default=1.0)
    more = len(rows) - PAIRS_AT_MOST
    return Section(
        key="pairs",
        title="Error of each pair of columns",
        intro="Each heading sorts the table. Total variation is the share of rows that would have to "
        "change for the pair to have the real shares.",
        blocks=(
            Table(
                caption=f"{min(len(rows), PAIRS_AT_MOST):,} pairs, worst first",
                header=[spelled.get(name, name) for name in kept],
                rows=rows[:PAIRS_AT_MOST],
                formats=[forms.get(name, "") for name in kept],
                bars={kept.index("tv"): most or 1.0},
                sortable=True,
                note=f"{more:,} pairs that are less far off are left out." if more > 0 else "",
            ),
        ),
    )  # fmt: skip


def _measures(outcomes: tuple[Outcome, ...], caption: str) -> Table:
    rows = []
    for each in outcomes:
        measure = each.measure
        ends = "" if each.interval is None else span(each.interval.low, each.interval.high)
        low, high = ("no limit" if math.isinf(end) else f"{end:.3g}" for end in (measure.low, measure.high))
        meaning = f"{measure.meaning} Source: {measure.source}."
        rows.append(
            (
                measure.title,
                each.value,
                each.status if each.value is None else ends,
                f"{low} to {high}".replace("-", "−"),
                _best(measure),
                meaning,
            )
        )
    return Table(
        caption=caption,
        header=("measure", "value", "interval", "range", "best", "what it is"),
        rows=rows,
        formats=("text", "", "text", "text", "text", "text"),
    )


def _best(measure: Measure) -> str:
    """Which way is better, and what identical rows get."""
    ways = {"lower": "lower is better", "higher": "higher is better", "nearer": "the nearer", "none": ""}
    words = [ways[measure.direction]]
    if measure.ideal is not None:
        words.append(f"identical rows: {measure.ideal:g}")
    return "; ".join(each for each in words if each) or "–"


def _attacks(outcomes: tuple[Outcome, ...], stated: Guarantee | None) -> Section:
    intro = (
        "Each attack is made on people in the table and on people who are not in it (hold-out). Only "
        "what works better on people in the table is leakage. Ceiling: the most that the stated "
        "guarantee allows of the same number."
    )
    if all(each.state == "not applicable" for each in outcomes):
        reasons = dict.fromkeys(each.reason for each in outcomes)
        text = " ".join(f"Attacks are not applicable because {reason}." for reason in reasons)
        return Section(
            key="attacks", title="Attacks", blocks=(Prose(texts=(text or "Attacks were not asked for.",)),)
        )
    taken = [each for name in ATTACKS for each in outcomes if each.name == f"attacks.{name}"]
    taken += [each for each in outcomes if each not in taken]
    rows, meanings = [], []
    for each in taken:
        facts, ends = each.facts, each.interval
        meanings.append((each.measure.title, each.measure.meaning, facts.get("knowledge")))
        rows.append(
            (
                each.measure.title,
                each.value,
                each.status if each.value is None else "" if ends is None else span(ends.low, ends.high),
                each.measure.ideal,
                facts.get("ceiling"),
                facts.get(SURELY),
                facts.get("success"),
                facts.get("control"),
                facts.get("people"),
            )
        )
    blocks: list[Table | Prose] = [
        Table(
            caption="Attacks, their 95 % intervals and their controls",
            header=(
                "attack", "result", "interval", "no leakage", "ceiling", "ceiling, allowing for chance",
                "in the table", "hold-out", "people",
            ),
            rows=rows,
            formats=("text", "", "text", "", "", "", "", "", "int"),
            note="In the table, hold-out: success against people who are in it, and who are not. For "
            "membership inference hold-out is the same attack with other real people in the place of the "
            "synthetic rows. Allowing for chance: the ceiling if the hold-out rate is the highest that "
            "chance admits. The guarantee is contradicted only by a result that lies above it by more than "
            "chance gives in one of a thousand reports.",
        ),
        Table(
            caption="What the attacks do",
            header=("attack", "the result is", "the attacker has"),
            rows=meanings,
            formats=("text", "text", "text"),
        ),
    ]  # fmt: skip
    over = contradictions(outcomes)
    if over:
        names = ", ".join(each.measure.title for each in over)
        blocks.insert(0, Prose(texts=(f"THE STATED GUARANTEE DOES NOT HOLD for these rows: {names}.",)))
    blocks.extend(_by_column(each) for each in outcomes if each.details is not None)
    broken = [each for each in outcomes if each.facts.get("control holds") is False]
    if broken:
        blocks.insert(0, Prose(texts=(
            "Caution: hold-out rows differ from the real ones by more than chance, even without any "
            "synthetic row. Then an attack that succeeds may only see that difference.",
        )))  # fmt: skip
    return Section(key="attacks", title="Attacks", intro=intro, blocks=blocks)


def _by_column(each: Outcome) -> Table:
    assert each.details is not None
    return Table(
        caption=f"{each.measure.title}: details",
        header=each.details.header,
        rows=each.details.rows[:DETAILS_AT_MOST],
        formats=["text", *("" for _ in each.details.header[1:])],
    )


def _similarity(outcomes: tuple[Outcome, ...]) -> Section:
    return Section(
        key="similarity",
        title="Similarity, not privacy",
        intro="Distances to the nearest record say how alike rows are. They do not show that anybody is "
        "protected: rows that are all shifted by one secret number are far from every record and give "
        "everybody away.",
        blocks=(_measures(outcomes, "Distances"),),
    )


def _compared(evaluation: Evaluation) -> Section:
    facts, pair = evaluation.facts, evaluation.pair
    texts = []
    columns = facts.get("columns", {})
    for name, words in (
        ("absent", "Columns that the synthetic rows lack"),
        ("extra", "Columns that only they have"),
    ):
        if columns.get(name):
            texts.append(f"{words}: {', '.join(map(str, columns[name]))}.")
    for name, reason in (columns.get("ignored") or {}).items():
        texts.append(f"Column {name} is not compared: {reason}.")
    texts.extend(facts.get("notes", ()))
    texts.extend(_sampled(facts.get("sampling", {})))
    if pair is not None:
        texts.append(
            "Numbers are compared in ranges that the real rows fill evenly; frequent values have their own."
        )
    return Section(key="compared", title="What was compared, and how", blocks=(Prose(texts=texts),))


def _sampled(sampling: Mapping[str, Any]) -> Iterator[str]:
    """What was taken of a part of the rows or sets, and how far off that may be."""
    for key, words in (
        ("rows for models", "Models learn from, and rows are told apart in,"),
        ("rows for associations", "Relations between columns are taken from"),
    ):
        used = sampling.get(key)
        if used and used["largest standard error of a share"]:
            error = percent(used["largest standard error of a share"])
            yield (
                f"{words} {max(used['real'], used['synthetic']):,} rows of a table at most; a share among "
                f"them is off by up to {error} (one standard error)."
            )
    sets = sampling.get("sets of columns")
    if sets:
        yield (
            f"Of pairs of columns at most {sets['pairs at most']:,} are counted, of larger sets "
            f"{sets['larger sets at most']:,}, drawn at random; their standard errors are in the JSON."
        )

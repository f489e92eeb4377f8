"""The handful of numbers on the first screen of the internal page, each with what it means."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.attacks.attack import contradictions
from sfumato.evaluation.evaluation import Evaluation
from sfumato.evaluation.outcome import Outcome
from sfumato.report.page import Card, Group, Scale, Tone
from sfumato.report.pictures import outcome_of
from sfumato.report.words import in_hundred, of_hundred, percent

Make = Callable[[Outcome, Evaluation], Card]

QUALITY, RISK = "How much like the real rows are they?", "What do they give away about people?"


def groups(evaluation: Evaluation) -> tuple[Group, Group]:
    """Numbers that apply; a measure that failed or does not apply says so in its place."""
    quality: list[tuple[str, str, Make]] = [
        ("marginals.tv1", "Single columns", _columns),
        ("marginals.tv2", "Pairs of columns", _pairs),
        ("prediction.tstr", "Use for prediction", _prediction),
        ("distinguishing.auc", "Telling synthetic rows from real ones", _distinguishing),
    ]
    risk: list[tuple[str, str, Make]] = [
        ("attacks.membership", "Finding out who was in the table", _membership),
        ("attacks.attribute_inference", "Guessing a person's missing value", _attributes),
        ("attacks.unique_copies", "Copied records", _copies),
    ]
    risks = [_card(evaluation, *each) for each in risk if each[0] in evaluation]
    if not any(evaluation[each[0]].value is not None for each in risk if each[0] in evaluation):
        reasons = [evaluation[each[0]].reason for each in risk if each[0] in evaluation]
        meaning = f"Not run: {reasons[0]}." if reasons else "Not run: attacks were not asked for."
        note = "Hold-out rows (--holdout) are real rows that were kept out when the synthetic ones were made."
        risks = [Card(label="Attacks", value="–", meaning=meaning, note=note)]
    return (
        Group(title=QUALITY, cards=[_card(evaluation, *each) for each in quality if each[0] in evaluation]),
        Group(title=RISK, cards=risks),
    )


def _card(evaluation: Evaluation, name: str, label: str, make: Make) -> Card:
    outcome = evaluation[name]
    if outcome.value is not None:
        return make(outcome, evaluation)
    state = "Not applicable" if outcome.state == "not applicable" else "Failed"
    return Card(label=label, value="–", meaning=f"{state}: {outcome.reason}.")


def _distance(outcome: Outcome, label: str, meaning: str) -> Card:
    value = outcome.value or 0.0
    chance = outcome.facts.get("of the hold-out rows")
    chance = outcome.facts.get("expected of another real table of this size") if chance is None else chance
    tone: Tone = "bad" if value > 0.4 else "warn" if value > 0.15 else "plain"
    if chance is not None and value <= max(2 * chance, 0.01):
        tone = "good"
    note = "" if chance is None else f"Other real people would be {percent(float(chance))} off."
    return Card(label=label, value=f"{percent(value)} off", meaning=meaning, note=note, tone=tone)


def _columns(outcome: Outcome, _: Evaluation) -> Card:
    return _distance(
        outcome,
        "Single columns",
        "So many rows would have to change for a column to have the real frequencies, on average.",
    )


def _pairs(outcome: Outcome, _: Evaluation) -> Card:
    return _distance(outcome, "Pairs of columns", "The same for two columns at a time: are relations kept?")


def _prediction(outcome: Outcome, evaluation: Evaluation) -> Card:
    value = outcome.value or 0.0
    target = evaluation.facts.get("target")
    score = str(outcome.facts.get("score", "score"))
    trained = outcome_of(evaluation, "prediction.trtr")
    real = None if trained is None else trained.value
    names = {
        "AUROC": "0.5 is guessing, 1 is perfect",
        "R²": "0 is guessing, 1 is perfect",
        "accuracy": "the share of people for whom the answer is right",
    }
    lost = 0.0 if real is None else real - value
    useless = lost > 0.1 and value <= {"AUROC": 0.52, "R²": 0.02}.get(score, -1.0)
    return Card(
        label=(f"Predicting {target}" if target else "Use for prediction")
        + (": no better than guessing" if useless else ""),
        value=f"{value:.3f}".replace("-", "−"),
        meaning="Score on real people of models that learned from synthetic rows."
        + ("" if real is None else f" Learned from real rows: {real:.3f}."),
        note=f"{score[:1].upper()}{score[1:]}: {names[score]}." if score in names else f"{score}.",
        tone="bad"
        if useless
        else "good"
        if real is not None and lost <= 0.02
        else "warn"
        if lost > 0.1
        else "plain",
    )


def _distinguishing(outcome: Outcome, _: Evaluation) -> Card:
    value = outcome.value or 0.0
    beside = outcome.interval is not None and outcome.interval.high < 0.5
    return Card(
        label="Telling synthetic rows from real ones",
        value=in_hundred(value),
        meaning="Shown one of each, a classifier names the real one that often.",
        note="50 is a coin toss: they look alike."
        + (" Below 50: rows lie close to single real ones, as copies with noise do." if beside else ""),
        scale=_scale(outcome),
        tone="warn" if beside or value >= 0.85 else "good" if value < 0.6 else "plain",
    )


def _membership(outcome: Outcome, _: Evaluation) -> Card:
    value, ceiling = outcome.value or 0.0, outcome.facts.get("ceiling")
    low = outcome.interval.low if outcome.interval else value
    over = bool(contradictions([outcome]))
    reading = (
        "More than the guarantee allows!" if over
        else "People in the table stand out." if low > 0.55
        else "Slightly better than chance." if low > 0.5
        else "No better than chance."
    )  # fmt: skip
    allowed = (
        "" if ceiling is None else f", and the guarantee allows {of_hundred(ceiling)} at most (the mark)"
    )
    return Card(
        label=f"Who was in the table? {reading}",
        value=in_hundred(value),
        meaning="Shown one person who was in the table and one who was not, the attack names the right "
        "one that often.",
        note=f"50 is a coin toss{allowed}.",
        scale=_scale(outcome, ceiling),
        tone="bad" if over or low > 0.6 else "warn" if low > 0.5 else "good",
    )


def _attributes(outcome: Outcome, _: Evaluation) -> Card:
    value, facts = outcome.value or 0.0, outcome.facts
    low = outcome.interval.low if outcome.interval else value
    ceiling = facts.get("ceiling")
    over = bool(contradictions([outcome]))
    reading = (
        "More than the guarantee allows!" if over
        else "Easier for people in the table." if low > 0.05
        else "Perhaps a little easier for people in the table." if low > 0
        else "No easier for people in the table."
    )  # fmt: skip
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return Card(
        label=f"Can the rest of a record be guessed? {reading}",
        value=f"{sign}{abs(100 * value):.1f} in 100",
        meaning=f"One value is guessed right from the others for {of_hundred(facts['success'])} in 100 "
        f"people in the table, and for {of_hundred(facts['control'])} in 100 who are not in it. Only the "
        "difference is leakage.",
        note="" if ceiling is None else f"The guarantee allows +{of_hundred(ceiling)} at most.",
        tone="bad" if low > 0.05 or over else "warn" if low > 0 else "good",
    )  # fmt: skip


def _copies(outcome: Outcome, _: Evaluation) -> Card:
    facts, low = outcome.facts, outcome.interval.low if outcome.interval else 0.0
    return Card(
        label="Are records copied?" + (" Yes." if low > 0 else " No more than by chance."),
        value=in_hundred(facts["success"]),
        meaning="So many of the records that nobody else has occur among the synthetic rows. Of people "
        f"who are not in the table: {of_hundred(facts['control'])} in 100.",
        tone="bad" if low > 0.01 else "warn" if low > 0 else "good",
    )


def _scale(outcome: Outcome, ceiling: float | None = None) -> Scale:
    """From one half to 1."""
    ends = outcome.interval
    return Scale(
        at=_place(outcome.value or 0.0),
        low=None if ends is None else _place(ends.low),
        high=None if ends is None else _place(ends.high),
        mark=None if ceiling is None else _place(ceiling),
    )


def _place(share: float) -> float:
    return min(max((share - 0.5) / 0.5, 0.0), 1.0)

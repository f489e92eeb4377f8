"""The guarantee of a model, and what other budgets would give, for the first screen of both pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.attacks.ceiling import Guarantee
from sfumato.report.page import Card, Section, Table
from sfumato.report.words import plain, strength, times

if TYPE_CHECKING:
    from sfumato.models.model import Model


def guarantee_card(model: Model) -> Card:
    """In words first, in numbers second."""
    statement = model.statement
    if statement.void or not Guarantee.of(model).holds:
        return Card(
            label="The guarantee",
            value="None",
            meaning=f"Nothing is guaranteed: {statement.void or 'epsilon is infinite'}. Treat the rows as "
            "real records.",
            tone="bad",
        )
    word, tone = strength(statement.epsilon)
    person = "person's records" if model.ledger.unit.get("column") else "record"
    leaks = f" Not covered, since read off the rows: {', '.join(statement.leaks)}." if statement.leaks else ""
    import math

    return Card(
        label="The guarantee (differential privacy)",
        value=f"epsilon {statement.epsilon:.3g}, delta {statement.delta:.3g}: {word}",
        meaning=plain(Guarantee.of(model), one=person),
        note=f"Protected: {statement.unit}, {_relation(statement.neighbours)}. Epsilon bounds how much "
        "any one of them can change the odds of anything that comes out: by a factor of "
        f"{times(math.exp(min(statement.epsilon, 700)))} at "
        f"most, except with a chance of about {statement.delta:.0e}. Smaller is more private." + leaks,
        tone=tone,
    )  # fmt: skip


def promises_section(model: Model) -> tuple[Section, ...]:
    """Plausible deniability of records made from seeds, and the differential privacy of the model alone, of
    one record and of all of them; nothing for a model without any.
    """
    from sfumato.models.guarantees import guarantees

    found = guarantees(model.ledger, delta=model.request["delta"])
    if not found:
        return ()
    rows = [
        (each.what, each.text, each.epsilon, "" if each.delta is None else f"{each.delta:.3g}")
        for each in found
    ]
    return (
        Section(
            key="promises",
            title="Plausible deniability, and what epsilon is made of",
            intro="Worked out from the ledger, for adding or removing one row. The guarantee at the top "
            "covers all of it together.",
            blocks=(
                Table(
                    caption="Promises",
                    header=("of", "promise", "epsilon", "delta"),
                    rows=rows,
                    formats=("text", "text", "", "short"),
                ),
            ),
        ),
    )


def _relation(neighbours: str) -> str:
    return "whether added or removed" if neighbours == "add-remove" else "whatever it is replaced by"


def prospects_table(model: Model | None) -> Table:
    """Expected error at half, once and twice the epsilon, from released numbers."""
    caption, header = (
        "What half and twice the epsilon would give",
        ("epsilon", "columns off", "pairs off", "noise"),
    )
    if model is None:
        note = "Predicted from the model file; give it (--model) to see it."
        return Table(caption=caption, header=header, rows=(), note=note)
    from sfumato.models.prospects import prospects

    outcomes = prospects(model)
    names = {0.5: "half", 1.0: "as it is", 2.0: "twice"}
    asked = model.request["epsilon"]
    rows = [
        (
            f"{names[round(each.epsilon / asked, 6)]}: {each.epsilon:.3g}",
            each.error.one_way, each.error.two_way, f"± {each.noise:,.0f}",
        )
        for each in outcomes
    ]  # fmt: skip
    note = (
        "Predicted from released numbers, without another look at the table; meant to be right within a "
        "factor of 2. Noise: of a count, in rows."
    )
    return Table(
        caption=caption, header=header, rows=rows, formats=("short", "%", "%", "short"),
        note=note if rows else "The method does not say what it would do at another epsilon.",
    )  # fmt: skip

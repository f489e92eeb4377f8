"""The guarantee of a model, and what other budgets would give, for the first screen of both pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.attacks.ceiling import Guarantee
from sfumato.domain.grid import GridCodec
from sfumato.evaluation.bins import BINS
from sfumato.report.page import Card, Cell, Section, Table
from sfumato.report.words import percent, plain, strength, times

if TYPE_CHECKING:
    from sfumato.models.model import Model
    from sfumato.models.plan import Outcome


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


def prospects_table(
    model: Model | None, *, measured: tuple[float | None, float | None] | None = None
) -> Table:
    """Expected error at half, once and twice the epsilon, from released numbers. `measured`: the errors of
    columns and of pairs that an evaluation has found, for an internal page.
    """
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
    rows: list[tuple[Cell, ...]] = [
        (
            f"{names[round(each.epsilon / asked, 6)]}: {each.epsilon:.3g}",
            each.error.one_way, each.error.two_way, f"± {each.noise:,.0f}",
        )
        for each in outcomes
    ]  # fmt: skip
    if not rows:
        note = "The method does not say what it would do at another epsilon."
        return Table(caption=caption, header=header, rows=(), note=note)
    if measured is not None and measured[0] is not None:
        rows.append(("measured now", *measured, "–"))
    return Table(
        caption=caption, header=header, rows=rows, formats=("short", "%", "%", "short"),
        note=" ".join(["Predicted from released numbers: what noise does to the values that were found, "
                       "within a factor of 2. Noise: of a count, in rows.", _ranges(model, measured),
                       unnamed_note(model), _beyond(outcomes, measured)]).strip(),
    )  # fmt: skip


def _ranges(model: Model, measured: tuple[float | None, float | None] | None) -> str:
    """In how many ranges numbers are compared: the finer, the larger the error."""
    cells = [codec.cells for codec in model.codecs if isinstance(codec, GridCodec)]
    if not cells:
        return ""
    fine = f"A prediction compares numbers in the model's own ranges, up to {max(cells):,}"
    if measured is None or measured[0] is None:
        return f"{fine}."
    return f"{fine}; what was measured, in about {BINS}."


def _beyond(outcomes: Sequence[Outcome], measured: tuple[float | None, float | None] | None) -> str:
    """Why what was measured is far more than the forecast, where it is."""
    now = next((each for each in outcomes if each.epsilon > outcomes[0].epsilon), None)
    if measured is None or measured[0] is None or now is None:
        return ""
    if measured[0] <= 2 * now.error.one_way + 0.02:
        return ""
    return (
        "Measured errors are far larger: the run did not find all values or ranges at this epsilon. A schema "
        "that states them costs nothing and helps."
    )


def unnamed(model: Model) -> float:
    """The share of all cells for which the release has no value but OTHER, since none was found."""
    counts = getattr(model.generator, "counts", None)
    if counts is None or len(counts) != len(model.codecs) or not counts:
        return 0.0
    shares = []
    for codec, table in zip(model.codecs, counts, strict=True):
        held = np.clip(np.asarray(table, dtype=np.float64), 0, None)
        other = held[-1] if getattr(codec, "other", False) and held.size else 0.0
        shares.append(other / held.sum() if held.sum() > 0 else 0.0)
    return float(np.mean(shares))


def unnamed_note(model: Model) -> str:
    """The same in words; empty where it is next to nothing."""
    share = unnamed(model)
    if share < 0.005:
        return ""
    return f"Beside that, {percent(share)} of all cells are OTHER: their values were too rare to be found."

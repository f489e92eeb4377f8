"""Numbers and guarantees in words that need no training."""

from __future__ import annotations

import math

from sfumato.attacks.ceiling import Guarantee
from sfumato.report.page import Tone


def number(value: float | int | str | None, form: str = "") -> str:
    """A cell as text. `form`: "%" (a share), "±%" (a share with its sign), "int", or nothing (three
    digits).
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if form == "%":
        return percent(value)
    if form == "±%":
        return ("+" if value > 0 else "−" if value < 0 else "") + percent(abs(value))
    if form == "int" or (isinstance(value, int) and not form):
        return f"{round(value):,}"
    return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:,.0f}"


def brief(name: object, length: int = 36) -> str:
    """A name that fits on the first screen: the middle of a long one is left out."""
    text = str(name)
    return text if len(text) <= length else f"{text[: length - 13]}…{text[-12:]}"


def percent(share: float) -> str:
    """A share with as many digits as mean something: 97 %, 99.6 %, 0.04 %."""
    value = 100 * share
    if value == 0:
        return "0 %"
    if 0 < abs(value) < 0.01:
        return "below 0.01 %"
    digits = 2 if abs(value) < 0.995 else 1 if abs(value) < 9.95 or 99 <= abs(value) < 99.95 else 0
    return f"{value:.{digits}f} %"


def span(low: float, high: float) -> str:
    """An interval."""
    digits = 4 if max(abs(low), abs(high)) < 0.1 else 3
    return f"{low:.{digits}f} to {high:.{digits}f}".replace("-", "−")


def times(factor: float) -> str:
    """A factor: 1.1, 2.7, 150, more than a million."""
    if factor >= 1e6:
        return "more than a million"
    return f"{factor:.2f}" if factor < 2 else f"{factor:.1f}" if factor < 20 else f"{factor:,.0f}"


def of_hundred(share: float) -> str:
    """How many of 100: 1.3, 55, 0.02."""
    value = 100 * share
    if value == 0:
        return "0"
    return f"{value:.2g}" if value < 10 else f"{value:.3g}" if value < 99.95 else "100"


def in_hundred(share: float) -> str:
    """The same for a headline: whole numbers from 10 on."""
    value = 100 * share
    return f"{of_hundred(share) if value < 10 else round(value)} in 100"


def strength(epsilon: float) -> tuple[str, Tone]:
    """A word for epsilon, and a tone: the steps are customary, not proven."""
    if epsilon <= 1:
        return "strong", "good"
    if epsilon <= 5:
        return "moderate", "plain"
    if epsilon <= 10:
        return "weak", "warn"
    return "very weak: known attacks may succeed", "bad"


def plain(guarantee: Guarantee, *, one: str = "person's record") -> str:
    """What a guarantee means, for somebody who has never heard of epsilon."""
    alarms = 0.01
    caught = guarantee.at_most(alarms)
    return (
        f"Whoever gets the synthetic rows can hardly tell whether any one {one} was in the table. "
        "Whatever method they use: if it wrongly points at 1 in 100 people who were not in the table, it "
        f"rightly points at no more than {of_hundred(caught)} in 100 who were. The less these two differ, "
        "the better the protection."
    )

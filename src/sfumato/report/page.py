"""What a page shows, as plain values, and how it becomes one HTML file.

A page holds texts and numbers only; the templates lay them out and escape every value. Styles and the
script that sorts tables stand inside the page, and its content security policy admits these two and nothing
else: no network, no other script, whatever a label may hold.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen

if TYPE_CHECKING:
    from jinja2 import Environment

Cell = str | float | int | None
Tone = Literal["plain", "good", "warn", "bad"]


@frozen(kw_only=True)
class Card:
    """A headline number: what it is about, the number, and a sentence on what it means.

    `scale`: where the number lies on a line, drawn below it.
    """

    label: str
    value: str
    meaning: str
    note: str = ""
    tone: Tone = "plain"
    scale: Scale | None = None


@frozen(kw_only=True)
class Scale:
    """The value, its interval and a mark for comparison on a line, all between 0 and 1."""

    at: float
    low: float | None = None
    high: float | None = None
    mark: float | None = None


@frozen(kw_only=True)
class Group:
    """Headline numbers that answer one question."""

    title: str
    cards: tuple[Card, ...] = field(converter=tuple)


@frozen(kw_only=True)
class Table:
    """A table; numbers are right-aligned, and sorted by their value. `bars`: columns drawn as bars, with
    the number that fills one. `sortable`: with a button in each heading.
    """

    kind: str = field(default="table", init=False)
    caption: str
    header: tuple[str, ...] = field(converter=tuple)
    rows: tuple[tuple[Cell, ...], ...] = field(converter=lambda rows: tuple(map(tuple, rows)))
    formats: tuple[str, ...] = field(default=(), converter=tuple)
    bars: dict[int, float] = field(factory=dict)
    sortable: bool = False
    note: str = ""


@frozen(kw_only=True)
class Prose:
    """Paragraphs."""

    kind: str = field(default="prose", init=False)
    texts: tuple[str, ...] = field(converter=tuple)


@frozen(kw_only=True)
class Figures:
    """Drawings side by side, each with `shape` "histogram", "matrix" or "scatter"
    (`sfumato.report.figures`).
    """

    kind: str = field(default="figures", init=False)
    caption: str
    drawings: tuple[Any, ...] = field(converter=tuple)
    legend: tuple[str, ...] = field(default=(), converter=tuple)
    note: str = ""


@frozen(kw_only=True)
class Section:
    """A part of a page under a heading, which the table of contents links to."""

    key: str
    title: str
    intro: str = ""
    blocks: tuple[Table | Prose | Figures, ...] = field(default=(), converter=tuple)


@frozen(kw_only=True)
class Page:
    """All of a page. `stamp`: what may be done with it, shown on every section; `secret`: whether it must
    stay.
    """

    title: str
    subtitle: str
    stamp: str
    stamp_means: str
    secret: bool
    guarantee: Card
    groups: tuple[Group, ...] = field(converter=tuple)
    first: tuple[Table, ...] = field(converter=tuple)
    sections: tuple[Section, ...] = field(converter=tuple)
    footer: str = ""


def render(page: Page) -> str:
    """The page as HTML; any value is escaped."""
    style, script = (_part(name) for name in ("style.css", "sort.js"))
    return _environment().get_template("page.html.j2").render(
        page=page, style=style, script=script, style_hash=_digest(style), script_hash=_digest(script)
    )  # fmt: skip


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from sfumato.report.words import number
    from sfumato.visible import visible

    made = Environment(
        loader=PackageLoader("sfumato.report", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    made.filters["number"] = number
    made.filters["trusted"] = Markup  # the two files beside the templates, nothing else
    return made


@lru_cache(maxsize=2)
def _part(name: str) -> str:
    return (files("sfumato.report") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""A first schema from names and stored types alone: public, so it costs nothing.

A column stored as text says nothing of its type, one of floating-point numbers nothing of its decimals: such
are left as questions for the owner. What stays a question is learned when the schema is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from sfumato.domain.column import Column
from sfumato.domain.kinds import Bool, Categorical, Date, Datetime, Duration, Float, Int
from sfumato.schema.schema import Schema

_DECIMALS = (
    '{name} = {{type = "float", nullable = true, decimals = 2}}   # stored as {word}: how many decimals? '
    "as a comment, they are learned"
)
_QUESTION = (
    '{name} = {{type = "?"}}   # stored as {word}: int, float, categorical, bool, date, datetime, id or text?'
)
_EXAMPLE = """\
# Take the # off a line and state what is public of the column. What stays a comment is learned from the
# rows, out of the privacy budget of every fit. Lines may look like these (nullable: cells may be missing):
#   age = {type = "int", min = 0, max = 110, nullable = true}
#   price = {type = "float", decimals = 2, min = 0, max = 5000}
#   sex = {type = "categorical", values = ["F", "M"]}
#   town = {type = "categorical", open_set = true}
#   born = {type = "date", format = "%Y-%m-%d", min = "1900-01-01", max = "2030-12-31"}
#   patient = {type = "id", format = "sequence"}
"""
_FLOATING = re.compile("float|decimal|double")


@frozen
class Draft:
    """What stored types say: the columns they settle, and (name, storage) of those they do not, in order."""

    columns: tuple[Column | tuple[str, str], ...]
    table: str = ""

    @property
    def settled(self) -> tuple[Column, ...]:
        """Columns whose type the storage tells."""
        return tuple(each for each in self.columns if isinstance(each, Column))

    @property
    def questions(self) -> tuple[str, ...]:
        """Columns whose type only the owner, or the budget, can tell."""
        return tuple(each[0] for each in self.columns if not isinstance(each, Column))

    @property
    def schema(self) -> Schema:
        """A schema of the settled columns that lets the rest be drafted under privacy."""
        return Schema(self.settled, table=self.table, undeclared="draft")

    def to_toml(self) -> str:
        """A schema file to complete: open questions stand as comments."""
        import tomlkit

        lines = self.schema.to_toml().split("[columns]\n")[0].rstrip("\n").split("\n")
        if self.questions:
            lines += ["", *_EXAMPLE.splitlines()]
        lines += ["", "[columns]"]
        for each in self.columns:
            if isinstance(each, Column):
                whole = Schema((evolve(each),)).to_toml()
                lines.append(whole.split("[columns]\n", 1)[1].rstrip("\n"))
            else:
                name = tomlkit.key(each[0]).as_string()
                question = _DECIMALS if _FLOATING.match(each[1].lower()) else _QUESTION
                lines.append("# " + question.format(name=name, word=each[1]))
        return "\n".join(lines).lstrip("\n") + "\n"


def draft_public(columns: Sequence[tuple[str, Any]], *, table: str = "") -> Draft:
    """The draft that (name, stored type) pairs allow; the type is a polars type or its name."""
    return Draft(tuple(_guess(name, str(word)) for name, word in columns), table)


def _guess(name: str, word: str) -> Column | tuple[str, str]:
    plain = word.lower()
    if re.match(r"u?int", plain):
        return Int(name, nullable=True)
    if scale := re.search(r"scale=(\d+)", plain):
        places = int(scale[1])
        return Float(name, nullable=True, decimals=places) if places else Int(name, nullable=True)
    if _FLOATING.match(plain):
        return name, word
    if plain.startswith("bool"):
        return Bool(name, nullable=True)
    if plain.startswith("datetime"):
        zone = re.search(r"time_zone='([^']+)'", word)
        return Datetime(name, nullable=True, timezone=zone[1] if zone else None)
    if plain.startswith("date"):
        return Date(name, nullable=True)
    if plain.startswith("duration"):
        return Duration(name, nullable=True)
    if plain.startswith(("categorical", "enum", "dictionary")):
        return Categorical(name, nullable=True, open_set=True)
    return name, word

"""Identifiers: made from their format alone, so they cost nothing and echo nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from attrs import frozen

from sfumato.domain.column import Column, kind
from sfumato.domain.keys import WORD, Keys
from sfumato.domain.patterns import PatternFault, automaton
from sfumato.domain.shapes import FLAG, TEXT, fact, one_of, show
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

PATTERNS = {
    "uuid4": "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "email": r"user-[0-9a-z]{16}@example\.invalid",
}
"""UUIDs of RFC 9562 version 4, and mail addresses under a domain that RFC 2606 keeps out of use."""


@kind("id")
@frozen(slots=False, repr=False)
class Id(Column):
    """A key, made from `format` ("uuid4", "email", "sequence") or `pattern`, a regular expression.

    `unique`: no key occurs twice in a run. A sequence counts from 1.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int")

    format: str | None = fact(None, one_of("uuid4", "email", "sequence"))
    pattern: str | None = fact(None, TEXT)
    unique: bool = fact(True, FLAG)

    @property
    def modelled(self) -> bool:
        return False

    @property
    def expression(self) -> str | None:
        """The regular expression of the keys, None for a sequence."""
        return self.pattern if self.pattern is not None else PATTERNS.get(self.format or "")

    def accepts(self, dtype: pl.DataType) -> bool:
        return True

    def capacity(self) -> int | None:
        """How many distinct keys there are; None when they are practically without limit (over 2**62)."""
        if self.expression is None:
            return None
        count = automaton(self.expression).capacity
        return count if count <= WORD else None

    def keys(self, rng: np.random.Generator) -> Keys:
        """The keys of one run by place, drawing its secret from `rng`; not for a sequence."""
        if self.expression is None:
            raise ValueError("a sequence needs no keys")
        return Keys.draw(self.name, pattern=self.expression, unique=self.unique, rng=rng)

    def generate(
        self, rows: int, rng: np.random.Generator, start: int = 0, *, text: bool = False
    ) -> pl.Series:
        import polars as pl

        if self.always_null:
            return super().generate(rows, rng, start, text=text)
        if self.expression is None:
            made = pl.Series(self.name, np.arange(start + 1, start + rows + 1, dtype=np.int64))
            return made.cast(pl.String) if text or self.storage == "string" else made
        made = self.keys(rng).at(start, rows)
        return made.cast(pl.Int64) if self.storage == "int" and not text else made

    def check(self) -> Iterator[Fault]:
        if self.format is None and self.pattern is None:
            yield Fault(
                f"columns.{self.name}",
                "says neither format nor pattern",
                'format = "uuid4", "email" or "sequence", or a regular expression as pattern',
            )
            return
        if self.format is not None and self.pattern is not None:
            yield self.fault("pattern", "cannot go with format", "keep one of the two")
            return
        if self.format == "sequence" and not self.unique:
            yield self.fault("unique", "a sequence never repeats", "leave it out")
        try:
            machine = automaton(self.expression) if self.expression is not None else None
        except PatternFault as error:
            yield self.fault("pattern", f"{show(self.pattern)}: {error}")
            return
        if machine is not None and machine.ends[0]:
            yield self.fault("pattern", f"{show(self.pattern)} allows the empty text")
        if self.storage == "int" and machine is not None:
            digits = machine.letters <= set(range(0x30, 0x3A))
            if not digits or machine.longest > 18:
                yield self.fault(
                    "storage", "stored as int needs a pattern of at most 18 digits and nothing else"
                )

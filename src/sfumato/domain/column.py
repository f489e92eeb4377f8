"""What is publicly known of one column, and the registry of column kinds.

A kind is one file in `sfumato.domain.kinds` with one frozen class of facts, registered by `@kind("…")`.
Its facts are checked when it is made: `SchemaError` lists every fault with the path
`columns.<column>.<fact>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import attrs
import numpy as np
from attrs import field, frozen

from sfumato.domain.shapes import FLAG, ORIGIN, TEXT, fact, is_text, shape_faults, show, stated
from sfumato.errors import Fault, SchemaError
from sfumato.registry import Registry

if TYPE_CHECKING:
    import polars as pl

SOURCES = ("public", "dp", "leaks")
STORAGES = ("", "string", "int", "float", "bool")
LONGEST_LABEL = 256


@frozen(slots=False, repr=False)
class Column:
    """Facts of one column that are public, or were bought, never read off the private rows.

    `nullable`: cells may be missing. `source`: where the facts come from ("public", "dp" or "leaks"),
    for all of them or fact by fact. `always_null`: the column is empty. `not_applicable_when`: a condition
    under which a missing cell is the only right one. `storage`: how values are stored where that is not
    the natural type of the kind.
    """

    kind: ClassVar[str] = ""
    measured: ClassVar[bool] = False
    storages: ClassVar[tuple[str, ...]] = ("", "string")

    name: str = field()
    nullable: bool = fact(False, FLAG)
    source: str | Mapping[str, str] = fact("public", ORIGIN)
    always_null: bool = fact(False, FLAG)
    not_applicable_when: str | None = fact(None, TEXT)
    storage: str = fact("", TEXT)
    note: str = fact("", TEXT)

    def __attrs_post_init__(self) -> None:
        faults = [*self._shape_faults()] or [*self._common_faults(), *self.check()]
        if faults:
            raise SchemaError("the schema", faults)

    # what a kind adds ---------------------------------------------------------------------------

    def check(self) -> Iterator[Fault]:
        """Faults in what the facts mean, given that each has the right type."""
        return iter(())

    @property
    def constant(self) -> str | None:
        """The text of the only value the column can have, if there is but one."""
        return None

    # what everybody may ask ---------------------------------------------------------------------

    @property
    def modelled(self) -> bool:
        """Whether anything about the column has to be learned from the rows."""
        return not self.always_null and self.constant is None

    @property
    def dropped(self) -> bool:
        """Whether the column is left out of what is written."""
        return False

    def generate(
        self, rows: int, rng: np.random.Generator, start: int = 0, *, text: bool = False
    ) -> pl.Series:
        """`rows` values of a column that is not modelled, from its facts alone.

        `start` is the number of rows made before in the same run; a run made in pieces, each with a
        generator in the same state, equals a run made at once. `text=True` gives spelled texts.
        """
        import polars as pl

        if self.always_null:
            return pl.Series(self.name, [None], dtype=pl.String).new_from_index(0, rows)
        if self.constant is None:
            raise ValueError(f"column {self.name!r} is modelled, so it cannot be made from its facts")
        return self.only_value(text=text).new_from_index(0, rows)

    def only_value(self, *, text: bool) -> pl.Series:
        """A series of length one with the constant of the column."""
        import polars as pl

        return pl.Series(self.name, [self.constant], dtype=pl.String)

    def facts(self) -> dict[str, Any]:
        """The facts that differ from their defaults, JSON-able, `type` first."""
        return {"type": self.kind, **stated(self)}

    def __repr__(self) -> str:
        facts = "".join(f", {name}={value!r}" for name, value in stated(self).items())
        return f"{type(self).__name__}({self.name!r}{facts})"

    def accepts(self, dtype: pl.DataType) -> bool:
        """Whether cells of a storage type can be read as this kind at all."""
        import polars as pl

        return dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)

    def stored_as(self, dtype: pl.DataType) -> Self:
        """The same facts with `storage` set so that values leave in a type like `dtype`, where they can."""
        import polars as pl

        word = ""
        if dtype in (pl.String, pl.Categorical, pl.Enum):
            word = "string"
        elif dtype.is_integer():
            word = "int"
        elif dtype.is_float():
            word = "float"
        elif dtype == pl.Boolean:
            word = "bool"
        if self.storage or word not in self.storages:
            return self
        try:
            return attrs.evolve(self, storage=word)
        except SchemaError:
            return self

    def fault(self, where: str, what: str, mend: str = "") -> Fault:
        """A fault in the fact `where` of this column."""
        return Fault(f"columns.{self.name}.{where}", what, mend)

    # checks all kinds share ---------------------------------------------------------------------

    def _shape_faults(self) -> Iterator[Fault]:
        if not is_text(self.name):
            yield Fault("columns", f"a column is called {show(self.name)}: expected a text")
        else:
            yield from shape_faults(self, f"columns.{self.name}.")

    def _common_faults(self) -> Iterator[Fault]:
        if self.storage not in self.storages:
            known = ", ".join(repr(word) for word in self.storages if word)
            yield self.fault(
                "storage", f"{self.storage!r} does not go with type {self.kind!r}", f"known: {known}"
            )
        if isinstance(self.source, str):
            yield from self._source_fault("source", self.source)
        else:
            known = {each.name for each in attrs.fields(type(self))} - {"name"} | {"type"}
            for key, word in self.source.items():
                if key not in known:
                    yield self.fault(f"source.{key}", "is not a fact of this column")
                yield from self._source_fault(f"source.{key}", word)
        if self.not_applicable_when is not None and not self.not_applicable_when.strip():
            yield self.fault("not_applicable_when", "is empty", "leave it out, or state a condition")

    def _source_fault(self, where: str, word: str) -> Iterator[Fault]:
        if word not in SOURCES:
            yield self.fault(where, f"is {show(word)}", 'expected "public", "dp" or "leaks"')


kinds: Registry[type[Column]] = Registry("column kind", "sfumato.domain.kinds")

C = TypeVar("C", bound=Column)


def kind(name: str) -> Callable[[type[C]], type[C]]:
    """Decorator: register a class of facts as the column kind `name`."""

    def add(facts: type[C]) -> type[C]:
        facts.kind = name
        kinds.register(name)(facts)
        return facts

    return add


def read_column(name: str, facts: Mapping[Any, Any]) -> Column:
    """The column called `name` with the given facts (`type` among them); SchemaError lists every fault."""
    import difflib

    where = f"columns.{name}"
    word = facts.get("type")
    if not isinstance(word, str) or word not in kinds:
        known = "known: " + ", ".join(kinds)
        if word is None:
            raise SchemaError("the schema", [Fault(where, "has no type", known)])
        close = difflib.get_close_matches(word if isinstance(word, str) else "", list(kinds), n=1)
        hint = f"did you mean {close[0]!r}? {known}" if close else known
        raise SchemaError("the schema", [Fault(f"{where}.type", f"unknown type {show(word)}", hint)])
    made = kinds[word]
    names = [each.name for each in attrs.fields(made) if each.name != "name"]
    faults, given = [], {}
    for key, value in ((str(key), value) for key, value in facts.items()):
        if key in names:
            if value is not None:
                given[key] = value
        elif key != "type" and not key.startswith("_"):
            close = difflib.get_close_matches(key, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
            faults.append(Fault(f"{where}.{key}", f"is not a fact of type {word!r}", hint))
    try:
        column = made(name, **given)
    except SchemaError as error:
        faults.extend(error.faults)
    else:
        if not faults:
            return column
    raise SchemaError("the schema", faults)

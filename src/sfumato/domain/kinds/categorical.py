"""Categories: a closed public list, or an open set of which the frequent ones are found under privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.column import LONGEST_LABEL, Column, kind
from sfumato.domain.reading import as_text
from sfumato.domain.shapes import FLAG, TEXT, TEXTS, fact, show
from sfumato.errors import Fault

if TYPE_CHECKING:
    import polars as pl

_PLAIN_INT = r"-?(0|[1-9][0-9]{0,17})"
_WORDS = {"false": "false", "true": "true"}


@kind("categorical")
@frozen(slots=False, repr=False)
class Categorical(Column):
    """One of some texts, compared exactly. Closed: `values` is all there is, anything else is missing.

    `open_set`: `public_values` are known, more may be found under privacy, and the rest is `other_label`.
    `ordered`: the order of the values means something. Stored numbers and booleans are compared by their
    plain text: 1, 1.0 as "1" or "1.0", true as "true" in any case.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string", "int", "float", "bool")

    values: tuple[str, ...] | None = fact(None, TEXTS)
    open_set: bool = fact(False, FLAG)
    public_values: tuple[str, ...] = fact((), TEXTS)
    ordered: bool = fact(False, FLAG)
    other_label: str = fact("OTHER", TEXT)

    @property
    def constant(self) -> str | None:
        alone = self.values is not None and len(self.values) == 1 and not self.open_set
        return self.values[0] if alone and self.values and not self.nullable else None

    def only_value(self, *, text: bool) -> pl.Series:
        return self.render((self.constant or "",), text=text)

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        return not dtype.is_nested() and dtype not in (pl.Binary, pl.Object)

    def match(self, series: pl.Series, values: tuple[str, ...]) -> npt.NDArray[np.int32]:
        """The place of each cell in `values`; -1 for a null, -2 for a value that is not among them."""
        import polars as pl

        dtype = series.dtype
        if dtype == pl.Boolean:
            values = tuple(_WORDS.get(value.lower(), value) for value in values)
        if dtype.is_float():
            return _match_floats(series, values)
        return _match_texts(as_text(series), values)

    def render(self, values: tuple[str, ...], *, text: bool) -> pl.Series:
        """The values as they leave: texts, or the stored type."""
        import polars as pl

        texts = pl.Series(self.name, values, dtype=pl.String)
        if text or self.storage in ("", "string"):
            return texts
        if self.storage == "bool":
            return texts.str.to_lowercase() == "true"
        return texts.cast(pl.Int64 if self.storage == "int" else pl.Float64)

    def check(self) -> Iterator[Fault]:
        if self.open_set and self.values is not None:
            yield self.fault(
                "values", "cannot go with open_set", "list what is known under public_values instead"
            )
        if not self.open_set:
            if self.values is None:
                yield self.fault("values", "is missing", "list them, or state open_set = true")
            elif not self.values:
                yield self.fault("values", "is empty", "list at least one value, or state open_set = true")
            if self.public_values:
                yield self.fault("public_values", "goes only with open_set = true")
        name = "public_values" if self.open_set else "values"
        known = self.public_values if self.open_set else self.values or ()
        yield from self._check_values(name, known)
        if self.open_set and self.other_label in known:
            yield self.fault("other_label", f"{show(self.other_label)} is also a value")
        if not self.other_label or len(self.other_label) > LONGEST_LABEL:
            yield self.fault("other_label", "is empty or longer than 256 characters")
        labels = [*known, *([self.other_label] if self.open_set else [])]
        yield from self._check_storage(name, labels)

    def _check_values(self, name: str, known: tuple[str, ...]) -> Iterator[Fault]:
        twice = [value for value, times in Counter(known).items() if times > 1]
        if twice:
            yield self.fault(name, f"{', '.join(map(show, twice[:5]))} occurs more than once")
        if "" in known:
            yield self.fault(name, "has an empty text", "an empty cell is missing: state nullable = true")
        if any(len(value) > LONGEST_LABEL for value in known):
            yield self.fault(name, f"has a value longer than {LONGEST_LABEL} characters")

    def _check_storage(self, name: str, labels: list[str]) -> Iterator[Fault]:
        import re

        if self.storage == "int":
            wrong = [value for value in labels if not re.fullmatch(_PLAIN_INT, value)]
        elif self.storage == "float":
            wrong = [value for value in labels if _number(value) is None]
        elif self.storage == "bool":
            wrong = [value for value in labels if value.lower() not in _WORDS]
        else:
            return
        if wrong:
            hint = "choose an other_label that can" if wrong == [self.other_label] else ""
            yield self.fault(name, f"{show(wrong[0])} cannot be stored as {self.storage}", hint)


def _match_texts(texts: pl.Series, values: tuple[str, ...]) -> npt.NDArray[np.int32]:
    import polars as pl

    unique = list(dict.fromkeys(values))
    if not unique:
        return np.where(texts.is_null().to_numpy(), np.int32(-1), np.int32(-2))
    codes = texts.cast(pl.Enum(unique), strict=False).to_physical()
    found = codes.cast(pl.Int32).fill_null(-2).to_numpy()
    if codes.has_nulls():
        found = np.where(texts.is_null().to_numpy(), np.int32(-1), found)
    if len(unique) < len(values):
        first = np.array([*(values.index(value) for value in unique), -2, -1], dtype=np.int32)
        found = first[found]
    return found


def _match_floats(series: pl.Series, values: tuple[str, ...]) -> npt.NDArray[np.int32]:
    import polars as pl

    numbers = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
    found = np.full(len(numbers), -2, dtype=np.int32)
    places: dict[float, int] = {}
    for place, value in enumerate(values):
        number = _number(value)
        if number is not None:
            places.setdefault(number, place)
    if places:
        known = np.array(sorted(places))
        spot = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        place_of = np.array([places[number] for number in known], dtype=np.int32)
        found = np.where(known[spot] == numbers, place_of[spot], np.int32(-2))
    found[np.isnan(numbers)] = -1
    return found


def _number(text: str) -> float | None:
    import re

    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text, re.ASCII):
        return None
    number = float(text)
    return number if np.isfinite(number) else None

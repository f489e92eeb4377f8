"""A column of labels: codes 0 missing, 1 … k the values in order, and k+1 for any other when there is one."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes, code_dtype
from sfumato.domain.kinds.boolean import Bool
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import take

if TYPE_CHECKING:
    import polars as pl


@frozen(slots=False, cache_hash=True)
class ValuesCodec:
    """The values of a categorical or boolean column, and OTHER when `other`."""

    facts: Categorical | Bool
    values: tuple[str, ...] = field(converter=tuple)
    other: bool = field(default=False)

    def __attrs_post_init__(self) -> None:
        if len(set(self.values)) < len(self.values):
            raise ValueError("a value occurs more than once")

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.facts.name

    @property
    def atoms(self) -> int:
        """Codes before the first value: missing."""
        return 1

    @property
    def size(self) -> int:
        """Number of codes."""
        return 1 + len(self.values) + self.other

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something."""
        return isinstance(self.facts, Categorical) and self.facts.ordered

    @cached_property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """Which codes a synthetic row may have."""
        mask = np.ones(self.size, dtype=np.bool_)
        mask[0] = self.facts.nullable
        return mask

    def width(self, code: int) -> int:
        """How many values the code stands for, as far as is known."""
        return 1

    def encode(self, series: pl.Series) -> Codes:
        """Codes of a block of raw values; a value that is not listed is OTHER, or else missing."""
        places = self.facts.match(series, self.values)
        codes = (places + 1).astype(code_dtype(self.size))
        unknown = np.flatnonzero(places < 0)
        if len(unknown):
            other = 1 + len(self.values) if self.other else 0
            codes[unknown] = np.where(places[unknown] == -1, 0, other)
        return codes

    def decode(self, codes: Codes, rng: np.random.Generator, *, text: bool) -> pl.Series:
        """Values of codes, null for 0; `rng` is not used."""
        return take(self._dictionaries[text], np.asarray(codes))

    @cached_property
    def _dictionaries(self) -> tuple[pl.Series, pl.Series]:
        """Every code as it leaves: stored, and as text."""
        import polars as pl

        values = self.values
        if self.other and isinstance(self.facts, Categorical):
            values = (*values, self.facts.other_label)
        made = []
        for text in (False, True):
            shown = self.facts.render(values, text=text)
            both = pl.concat([pl.Series([None], dtype=shown.dtype), shown], rechunk=True)
            made.append(both.alias(self.column))
        return made[0], made[1]

    def labels(self) -> list[str]:
        """A short text for each code, for display."""
        return ["(missing)", *self._dictionaries[1].to_list()[1:]]

    def state(self) -> dict[str, Any]:
        """Everything `codec_from_state` needs, JSON-able."""
        facts = self.facts.facts()
        return {
            "codec": "values",
            "column": self.column,
            "facts": facts,
            "values": list(self.values),
            "other": self.other,
        }

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map."""
        return self.state()

"""Coarser views of a codec: the same column with neighbouring codes put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from sfumato.domain.codecs import Codec
from sfumato.domain.encoder import Codes, code_dtype

if TYPE_CHECKING:
    import polars as pl


@frozen(slots=False, cache_hash=True)
class Coarse:
    """An encoder that maps each code of `codec` to the group `groups[code]`; groups are 0 … G-1."""

    codec: Codec
    groups: tuple[int, ...] = field(converter=lambda groups: tuple(int(group) for group in groups))

    def __attrs_post_init__(self) -> None:
        if len(self.groups) != self.codec.size:
            raise ValueError(f"{len(self.groups)} groups for {self.codec.size} codes")
        if set(self.groups) != set(range(max(self.groups) + 1)):
            raise ValueError("groups are numbered 0 … G-1, none of them empty")

    @property
    def column(self) -> str:
        """The name of the column."""
        return self.codec.column

    @property
    def size(self) -> int:
        """Number of groups."""
        return max(self.groups) + 1

    def coarsen(self, codes: Codes) -> Codes:
        """Groups of codes of the finer codec."""
        return np.array(self.groups, dtype=code_dtype(self.size))[codes]

    def encode(self, series: pl.Series) -> Codes:
        """Groups of a block of raw values."""
        return self.coarsen(self.codec.encode(series))

    def describe(self) -> dict[str, Any]:
        """Public facts that determine the map."""
        return {"codec": "coarse", "fine": self.codec.describe(), "groups": list(self.groups)}

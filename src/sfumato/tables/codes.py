"""Columns of codes kept in memory between passes, as long as they fit."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain.encoder import Encoder, code_dtype

CHUNK = 1 << 16

Codes = npt.NDArray[np.unsignedinteger[Any]]


class CodeColumn:
    """The codes of one encoder, in chunks of CHUNK rows (the last one shorter)."""

    def __init__(self, size: int) -> None:
        self._dtype = code_dtype(size)
        self._chunks: list[Codes] = []
        self.rows = 0

    @property
    def nbytes(self) -> int:
        return sum(chunk.nbytes for chunk in self._chunks)

    def append(self, codes: Codes) -> None:
        """Add rows at the end."""
        while codes.size:
            room = self.rows % CHUNK
            if not room:
                self._chunks.append(np.empty(CHUNK, self._dtype))
            part = codes[: CHUNK - room]
            self._chunks[-1][room : room + part.size] = part
            self.rows += part.size
            codes = codes[part.size :]

    def rows_of(self, start: int, stop: int) -> Codes:
        """Rows start … stop-1, which lie in one chunk; IndexError when there are fewer rows."""
        if stop > self.rows:
            raise IndexError(stop)
        return self._chunks[start // CHUNK][start % CHUNK : start % CHUNK + stop - start]


class CodeCache:
    """Complete columns of codes, at most `budget` bytes; the least recently used make room."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._columns: OrderedDict[Encoder, CodeColumn] = OrderedDict()

    def __contains__(self, encoder: Encoder) -> bool:
        return encoder in self._columns

    def __getitem__(self, encoder: Encoder) -> CodeColumn:
        self._columns.move_to_end(encoder)
        return self._columns[encoder]

    def put(self, columns: dict[Encoder, CodeColumn]) -> None:
        """Add complete columns; the caller has made room for them."""
        self._columns.update(columns)

    def make_room(self, wanted: int, *, keep: set[Encoder]) -> bool:
        """Whether `wanted` bytes fit, after dropping columns outside `keep` where need be."""
        held = {encoder: column.nbytes for encoder, column in self._columns.items()}
        used = sum(held.values())
        if used - sum(held[e] for e in held if e not in keep) + wanted > self._budget:
            return False
        for encoder in [e for e in held if e not in keep]:
            if used + wanted <= self._budget:
                break
            used -= held[encoder]
            del self._columns[encoder]
        return True

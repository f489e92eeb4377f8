"""The records that a run released, and nothing else: there is no model to draw more of them from for free."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import JobError
from sfumato.synthesizers.recipe import generator

Where = dict[int, npt.NDArray[np.bool_]]


@generator("released")
@frozen(kw_only=True, eq=False)
class ReleasedRecords:
    """At most so many different rows as were released; which of them is a matter of chance."""

    kind: ClassVar[str] = "released"
    more: ClassVar[str] = "ask for fewer, or release more at a price: set records, or seeds = 'histogram'"
    """What to do for more of them."""
    records: npt.NDArray[np.int64] = field(converter=lambda value: np.asarray(value, dtype=np.int64))
    """Codes, one row a record."""
    sizes: tuple[int, ...]

    @property
    def total(self) -> float:
        """How many records there are."""
        return float(len(self.records))

    def pick(self, rows: int, rng: np.random.Generator, *, where: Where | None = None) -> list[Codes]:
        """`rows` different records in random order, each released record once at most; JobError when there
        are fewer.
        """
        fits = np.ones(len(self.records), dtype=bool)
        for i, mask in (where or {}).items():
            fits &= mask[self.records[:, i]]
        held = np.flatnonzero(fits)
        if held.size < rows:
            which = "released records have these values" if where else "records were released"
            raise JobError(
                f"{rows:,} rows were asked for, but {held.size:,} {which}",
                mend=self.more,
            )
        chosen = self.records[rng.permutation(held)[:rows]]
        return [chosen[:, i].astype(code_dtype(size)) for i, size in enumerate(self.sizes)]

    def sample(self, rows: int, rng: np.random.Generator, *, where: Where | None = None) -> list[Codes]:
        return self.pick(rows, rng, where=where)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"records": self.records}

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> ReleasedRecords:
        records = arrays["records"]
        if (
            records.ndim != 2
            or records.shape[1] != len(sizes)
            or (records < 0).any()
            or (records >= sizes).any()
        ):
            raise ValueError("the records do not fit the domain")
        return cls(records=records, sizes=tuple(sizes))

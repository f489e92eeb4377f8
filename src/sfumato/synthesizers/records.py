"""What the methods that release single records have in common: how many, at what price, and what is sampled
later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.alphabet import CodeSymbols, alphabet_size
from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import JobError
from sfumato.privacy.mechanisms.draws import Draws
from sfumato.sampling.choice import choose
from sfumato.synthesizers.recipe import generator

if TYPE_CHECKING:
    from sfumato.discovery.discover import Domain
    from sfumato.privacy.curator import Curator

PURPOSE = "records"
LARGEST_EACH = 50.0


@generator("records")
@frozen(kw_only=True, eq=False)
class RecordGenerator:
    """Released records. A synthetic table repeats them as evenly as it can, in random order."""

    kind: ClassVar[str] = "records"

    records: npt.NDArray[np.int64]
    """Codes of the released records, one line each."""

    @property
    def total(self) -> float:
        """Number of records released; the number of rows of the table is not asked for."""
        return float(self.records.shape[0])

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        held = self.records
        for axis, mask in (where or {}).items():
            held = held[mask[held[:, axis]]]
        if not held.shape[0]:
            raise JobError(
                "no released record has the values that are asked for", mend="release more records"
            )
        whole, rest = divmod(rows, held.shape[0])
        places = np.concatenate(
            [np.tile(np.arange(held.shape[0]), whole), rng.choice(held.shape[0], rest, replace=False)]
        )
        drawn = held[rng.permutation(places)]
        return [
            drawn[:, axis].astype(code_dtype(int(held[:, axis].max()) + 1)) for axis in range(held.shape[1])
        ]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"records": self.records}

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> RecordGenerator:
        records = arrays["records"]
        sound = records.dtype == np.int64 and records.ndim == 2 and records.shape[1] == len(sizes)
        if not sound or not records.shape[0] or not ((records >= 0) & (records < np.array(sizes))).all():
            raise ValueError("not records over these codes")
        return cls(records=records)


def check_records(records: int) -> None:
    """ValueError unless so many records can be asked for."""
    if not 1 <= records <= 1_000_000:
        raise ValueError("records must be between 1 and 1,000,000")


def learn_records(curator: Curator, domain: Domain, *, sampler: str, records: int) -> RecordGenerator:
    """Draw `records` records over all columns, with all that is left of the budget.

    Where each mechanism has an epsilon (the pure filter) draws are composed by privacy-loss distributions;
    else, where the schema left something open, they are priced in the currency of the filter.
    """
    axes = tuple(CodeSymbols(codec) for codec in domain.codecs)
    if not axes:
        return RecordGenerator(records=np.zeros((records, 0), dtype=np.int64))
    rows = None
    if sampler == "ds-roo" and curator.unit.neighbours == "replace" and curator.unit.column is None:
        rows = curator.public_rows()
    budget = curator.filter.budget
    if budget.accountant == "pure":
        found = choose(
            sampler, n=rows, k=alphabet_size(axes), epsilon=curator.left, m=records, delta=budget.delta,
            unit=curator.unit,
        )  # fmt: skip
        each, delta = found.each, found.delta
    else:
        # What is left depends on what discovery was told.
        curator.ledger.adaptive = True
        each, delta = _affordable(curator, axes, sampler=sampler, records=records, rows=rows), 0.0
    asked = Draws(axes=axes, sampler=sampler, epsilon=each, count=records, rows=rows, delta=delta)
    symbols = curator.draw(asked, purpose=PURPOSE)
    return RecordGenerator(
        records=np.stack([axis.codes[symbols[:, i] - 1] for i, axis in enumerate(axes)], axis=1)
    )


def _affordable(
    curator: Curator, axes: tuple[CodeSymbols, ...], *, sampler: str, records: int, rows: int | None
) -> float:
    """Largest epsilon of a draw whose price is within what is left."""

    def fits(each: float) -> bool:
        asked = Draws(axes=axes, sampler=sampler, epsilon=each, count=records, rows=rows)
        return curator.filter.price(asked.cost(curator.unit).under(curator.filter.relation)) <= curator.left

    low, high = 0.0, LARGEST_EACH
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

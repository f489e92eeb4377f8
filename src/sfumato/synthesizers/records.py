"""What the methods that release single records have in common: how many, at what price, and what is sampled
later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

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
MOST_RECORDS = 1_000_000
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


@frozen(kw_only=True)
class RecordRelease:
    """What methods that release single records share: all but their names and samplers."""

    guarantee: ClassVar[str] = "(epsilon, delta)"
    name: ClassVar[str]
    summary: ClassVar[str]
    releases: ClassVar[str]
    """The sampler of `sfumato.sampling` that releases the records."""
    needs_public_rows: ClassVar[bool]
    """Whether replacing rows must not change their number."""

    records: int = field(default=100)
    """Records that are released; a synthetic table repeats them when it is longer."""

    @records.validator
    def _check(self, _: object, records: int) -> None:
        if not 1 <= records <= MOST_RECORDS:
            raise ValueError(f"records must be between 1 and {MOST_RECORDS:,}")

    def split(self, columns: int) -> dict[str, float]:
        return {PURPOSE: 1.0}

    def learn(self, curator: Curator, domain: Domain) -> RecordGenerator:
        """Draw the records over all columns, with all that is left of the budget.

        Where each mechanism has an epsilon (the pure filter) draws are composed by privacy-loss
        distributions; else, where the schema left something open, they are priced in the currency of the
        filter.
        """
        axes = tuple(CodeSymbols(codec) for codec in domain.codecs)
        if not axes:
            return RecordGenerator(records=np.zeros((self.records, 0), dtype=np.int64))
        rows = curator.public_rows() if self.needs_public_rows and curator.unit.keeps_rows else None
        budget = curator.filter.budget
        if budget.accountant == "pure":
            found = choose(
                self.releases, n=rows, k=alphabet_size(axes), epsilon=curator.left, m=self.records,
                delta=budget.delta, unit=curator.unit,
            )  # fmt: skip
            each, delta = found.each, found.delta
        else:
            # What is left depends on what discovery was told.
            curator.ledger.adaptive = True
            delta = 0.0
            each = _affordable(curator, axes, sampler=self.releases, records=self.records, rows=rows)
        asked = Draws(
            axes=axes, sampler=self.releases, epsilon=each, count=self.records, rows=rows, delta=delta
        )
        symbols = curator.draw(asked, purpose=PURPOSE)
        curator.remark(
            f"{self.records:,} records are released, each for epsilon {each:.3g}; the smaller that is, the "
            "more of them are random combinations of values; a longer table repeats them (option records)"
        )
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

"""Which pairs of many columns depend on each other most, by the exponential mechanism.

With d columns there are d(d-1)/2 pairs, and noise on every score grows with d. Choosing k pairs one after
another does not: a choice looks at all scores for one price.

The score of a pair is the L1 distance between its counts and the product of its public one-way marginals,
rounded down to whole records, less a public number for each cell. Adding m rows moves the distance by at most
m records, replacing m rows by at most 2m; both are whole numbers, so rounding down keeps that. Each of the k
choices is an exponential mechanism with rate = epsilon / (2·distance) over the pairs not chosen yet, whose
log-probability ratios between neighbours span at most epsilon (Durfee, Rogers 2019, "peeling"); they compose
adaptively (gdp-accounting.md), so the price is k times that of one.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy import exponential
from sfumato.privacy.cost import Cost, bounded_range, repeated
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.mechanisms.selection import FIXED_POINT
from sfumato.privacy.unit import RELATIONS, PrivacyUnit

_RECORDS = 2.0**44
"""Estimates are cut to so many rows in all, so that sums stay within 64 bits."""


def _share(counts: npt.ArrayLike) -> npt.NDArray[np.float64]:
    held = np.clip(np.nan_to_num(np.asarray(counts, dtype=np.float64)), 0.0, _RECORDS)
    total = held.sum()
    return held / total if total > 0 else np.full(held.size, 1 / held.size)


@frozen(kw_only=True, eq=False)
class TopPairs:
    """Choose `count` pairs of `encoders`, those with the largest scores most likely."""

    name: ClassVar[str] = "exponential_mechanism_of_pairs"
    encoders: tuple[Encoder, ...]
    shares: tuple[npt.NDArray[np.float64], ...] = field(converter=lambda each: tuple(map(_share, each)))
    """Public one-way marginals; scaled to sum 1."""
    total: float = field(converter=lambda rows: float(np.clip(np.nan_to_num(rows), 0.0, _RECORDS)))
    """Public number of rows."""
    per_cell: int
    """Records by which each cell of its table lowers a pair's score."""
    count: int
    rate: Fraction
    """Factor of the score, in records, in the exponent; 0 makes choices that look at nothing."""

    def __attrs_post_init__(self) -> None:
        # What is wrong with a question must show before it is charged.
        if [share.shape for share in self.shares] != [(encoder.size,) for encoder in self.encoders]:
            raise ValueError("one share for each code of each encoder")
        if not 1 <= self.count <= self.pairs:
            raise ValueError("at least one pair is asked for, and no more than there are")
        if self.rate < 0 or not 0 <= self.per_cell < 1 << 32:
            raise ValueError("the rate and the records for each cell must be at least 0")

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.encoders) * (len(self.encoders) - 1) // 2

    def pair(self, code: int) -> tuple[int, int]:
        """The pair with the number `code`: (0, 1), (0, 2), …, (1, 2), …"""
        first, length = 0, len(self.encoders) - 1
        while code >= length:
            first, code, length = first + 1, code - length, length - 1
        return first, first + 1 + code

    def cost(self, unit: PrivacyUnit) -> Cost:
        add_remove, replace = (
            repeated(bounded_range(float(2 * self.rate * unit.score(relation))), self.count)
            for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=self.count)

    def describe(self) -> dict[str, Any]:
        shares = hashlib.sha256(np.concatenate(self.shares).tobytes())
        return {
            "columns": len(self.encoders),
            "encoders": encoder_digest((self.encoders,)),
            "shares": shares.hexdigest(),
            "total": self.total,
            "per_cell": self.per_cell,
            "count": self.count,
            "rate": str(self.rate),
        }

    def exact(self, rows: Rows) -> Counts:
        """Scores of all pairs, in records."""
        tables = rows.pair_tables(self.encoders)
        shares = np.concatenate(self.shares)
        ends = np.cumsum([encoder.size for encoder in self.encoders])
        scores = []
        for encoder, end in zip(self.encoders[:-1], ends, strict=False):
            own = slice(end - encoder.size, end)
            expected = np.rint(np.outer(shares[own] * self.total, shares[end:]) * FIXED_POINT)
            moved = np.abs(tables[own, end:] * FIXED_POINT - expected.astype(np.int64)).sum(axis=0)
            starts = ends[len(scores) : -1] - end
            sizes = np.diff(ends[len(scores) :])
            scores.append(
                np.add.reduceat(moved, starts) // FIXED_POINT - self.per_cell * encoder.size * sizes
            )
        return np.concatenate(scores)

    def noisy(self, exact: Counts) -> Answer:
        chosen = exponential.choose_several(exact, self.rate, self.count)
        return Answer(arrays=(np.array(chosen, dtype=np.int64),))

    def fits(self, answer: Answer) -> bool:
        if not has_shapes(answer, (self.count,)):
            return False
        (chosen,) = answer.arrays
        return bool(np.unique(chosen).size == chosen.size and 0 <= chosen.min() <= chosen.max() < self.pairs)

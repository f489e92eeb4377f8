"""Sums of bounded integer functions of every two columns, with sup-norm Laplace noise.

Each code of column i is in a public group, and for columns i < j there is a public table of integers f_ij
by groups, |f_ij| ≤ L. A row adds one number of each table to the answer, so that one row moves no entry by
more than L, whatever the other rows are: groups and tables depend on public numbers alone, never on ranks.
m rows of a unit move the answer by at most D = m·L in the maximum norm under add-remove, and by 2m·L under
replace; noise with density ∝ e^{-‖x‖∞/b} makes it (D/b)-DP (`sfumato.privacy.exact_laplace`). Everything is
an integer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy.cost import Cost, pure
from sfumato.privacy.exact_laplace import ExactLaplace, sup_norm
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.noise import COUNT_LIMIT
from sfumato.privacy.unit import RELATIONS, PrivacyUnit

LARGEST_VALUE = 1 << 14
"""Values are at most this large, so that sums over fewer than 2**48 rows are exact."""


def _groups(tables: Sequence[npt.ArrayLike]) -> tuple[Counts, ...]:
    return tuple(np.asarray(table, dtype=np.int64) for table in tables)


def _values(tables: Sequence[npt.ArrayLike]) -> tuple[Counts, ...]:
    return tuple(np.asarray(table) for table in tables)


@frozen(kw_only=True, eq=False)
class PairSums:
    """Noisy Σ f_ij over the rows, for all i < j of `encoders`, in the order of `combinations`."""

    name: ClassVar[str] = "sup_norm_laplace_pairs"
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    groups: tuple[Counts, ...] = field(converter=_groups)
    """Group, from 0, of every code of every encoder."""
    values: tuple[Counts, ...] = field(converter=_values)
    """f_ij for each pair, by the groups of both: integers."""
    limit: int
    """L: no value is larger in magnitude."""
    scale: Fraction
    """b, in values."""

    def __attrs_post_init__(self) -> None:
        ExactLaplace(self.scale)
        if not 1 <= self.limit <= LARGEST_VALUE or len(self.encoders) < 2:
            raise ValueError("pairs need two columns, and values within the limit")
        for encoder, groups in zip(self.encoders, self.groups, strict=True):
            if groups.shape != (encoder.size,) or groups.min(initial=0) < 0:
                raise ValueError("one group, from 0, for each code")
        for (i, j), table in zip(self.pairs, self.values, strict=True):
            shape = tuple(int(self.groups[k].max(initial=0)) + 1 for k in (i, j))
            if table.dtype.kind != "i" or table.shape != shape:
                raise ValueError("one integer for each two groups")
            if table.size and not -self.limit <= int(table.min()) <= int(table.max()) <= self.limit:
                raise ValueError("a value is beyond the limit")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of the columns of each entry."""
        return list(combinations(range(len(self.encoders)), 2))

    def cost(self, unit: PrivacyUnit) -> Cost:
        add_remove, replace = (
            pure(unit.table_l1(relation) * self.limit / self.scale) for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=len(self.pairs))

    def describe(self) -> dict[str, Any]:
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest([self.encoders]),
            "groups": _digest(self.groups),
            "values": _digest(self.values),
            "limit": self.limit,
            "scale": str(self.scale),
        }

    def exact(self, rows: Rows) -> Counts:
        return rows.pair_sums(self.encoders, self.groups, self.values)

    def noisy(self, exact: Counts) -> Answer:
        if exact.dtype != np.int64:
            raise TypeError("sums must be 64-bit integers before noise is added")
        noise = sup_norm(self.scale, exact.size)
        return Answer(arrays=(np.clip(exact, -COUNT_LIMIT, COUNT_LIMIT) + noise,))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (len(self.pairs),))


def _digest(tables: Sequence[Counts]) -> str:
    hashed = hashlib.sha256()
    for table in tables:
        hashed.update(repr(table.shape).encode())
        hashed.update(table.astype("<i8").tobytes())
    return hashed.hexdigest()

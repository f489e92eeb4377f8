"""Sums of products of bounded integer scores of every two columns, with sup-norm Laplace noise.

Each code of column i has a public integer score s_i, |s_i| ≤ L. A row adds s_i·s_j to entry (i, j) of the
answer, so one row moves no entry by more than L², whatever the other rows are: scores depend on the row's own
codes and on public numbers alone, never on ranks. m rows of a unit move the answer by at most D = m·L² in the
maximum norm under add-remove, and by 2m·L² under replace; noise with density ∝ e^{-‖x‖∞/b} makes it
(D/b)-DP (`sfumato.privacy.exact_laplace`). Scores, products and sums are integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
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

SCORE_LIMIT = 1 << 14
"""Scores are at most this large, so that sums over fewer than 2**34 rows are exact."""


def _scores(tables: Sequence[npt.ArrayLike]) -> tuple[Counts, ...]:
    return tuple(np.asarray(table, dtype=np.int64) for table in tables)


@frozen(kw_only=True, eq=False)
class ScoreProducts:
    """Noisy Σ s_i·s_j over the rows, for all i ≤ j of `encoders`, in the order of
    `combinations_with_replacement`."""

    name: ClassVar[str] = "sup_norm_laplace_products"
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    scores: tuple[Counts, ...] = field(converter=_scores)
    """A score for every code of every encoder."""
    limit: int
    """L: no score is larger."""
    scale: Fraction
    """b, in products of scores."""

    def __attrs_post_init__(self) -> None:
        ExactLaplace(self.scale)
        if not 1 <= self.limit <= SCORE_LIMIT or len(self.encoders) < 2:
            raise ValueError("products need two columns, and scores within the limit")
        for encoder, table in zip(self.encoders, self.scores, strict=True):
            if table.shape != (encoder.size,) or np.abs(table).max(initial=0) > self.limit:
                raise ValueError("one score within the limit for each code")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of the columns of each entry."""
        return list(combinations_with_replacement(range(len(self.encoders)), 2))

    def cost(self, unit: PrivacyUnit) -> Cost:
        add_remove, replace = (
            pure(unit.table_l1(relation) * self.limit**2 / self.scale) for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=len(self.pairs))

    def describe(self) -> dict[str, Any]:
        hashed = hashlib.sha256()
        for table in self.scores:
            hashed.update(table.astype("<i8").tobytes())
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest([self.encoders]),
            "scores": hashed.hexdigest(),
            "limit": self.limit,
            "scale": str(self.scale),
        }

    def exact(self, rows: Rows) -> Counts:
        return rows.product_sums(self.encoders, self.scores)

    def noisy(self, exact: Counts) -> Answer:
        if exact.dtype != np.int64:
            raise TypeError("sums must be 64-bit integers before noise is added")
        noise = sup_norm(self.scale, exact.size)
        return Answer(arrays=(np.clip(exact, -COUNT_LIMIT, COUNT_LIMIT) + noise,))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (len(self.pairs),))

"""The exponential mechanism over cliques scored by how badly an estimate describes them.

The score of a clique is the L1 distance between its counts and a public estimate, kept in units of 2⁻¹⁶
records so that it is an exact integer: adding m rows moves it by at most m records, replacing m rows by
at most 2m. A clique is chosen with probability proportional to exp(rate·score), rate = epsilon /
(2·distance) (McSherry, Talwar 2007). Log-probability ratios between neighbours span at most epsilon
(Durfee, Rogers 2019), which is what the charge uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.privacy import exponential
from sfumato.privacy.cost import Cost, bounded_range
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.unit import PrivacyUnit

FIXED_POINT = 1 << 16


@frozen(kw_only=True, eq=False)
class ErrorScores:
    """Candidate cliques and the public estimates that they are held against.

    `estimates[i]` has the shape of clique i and is in records; it is rounded to 2⁻¹⁶ here, before it
    meets data. The scores are computed once and serve several selections.
    """

    cliques: tuple[Clique, ...] = field(converter=tuple)
    estimates: tuple[Counts, ...] = field(
        converter=lambda tables: tuple(np.rint(np.asarray(t) * FIXED_POINT).astype(np.int64) for t in tables)
    )
    digest: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        hashed = hashlib.sha256(encoder_digest(self.cliques).encode())
        for table in self.estimates:
            hashed.update(table.tobytes())
        object.__setattr__(self, "digest", hashed.hexdigest())

    def of(self, rows: Rows) -> Counts:
        """Exact scores, private, in units of 2⁻¹⁶ records."""
        scores = np.empty(len(self.cliques), dtype=np.int64)
        start = 0
        for stop in _batches(self.cliques):
            for i, counts in enumerate(rows.marginals(self.cliques[start:stop]), start):
                difference = np.abs(counts * FIXED_POINT - self.estimates[i])
                scores[i] = difference.sum(dtype=np.int64)
            start = stop
        return scores


def _batches(cliques: Sequence[Clique], cells: int = 1 << 26) -> list[int]:
    """Ends of runs of cliques whose tables have at most `cells` cells together."""
    stops, held = [], 0
    for i, clique in enumerate(cliques):
        size = int(np.prod([encoder.size for encoder in clique]))
        if held and held + size > cells:
            stops.append(i)
            held = 0
        held += size
    return [*stops, len(cliques)]


@frozen(kw_only=True)
class Selection:
    """Choose one of some candidates of `scores`, those with the largest error most likely."""

    name: ClassVar[str] = "exponential_mechanism"
    scores: ErrorScores
    among: tuple[int, ...] = field(converter=lambda value: tuple(int(i) for i in value))
    """Indices of the candidates that may be chosen."""
    rate: Fraction
    """Factor of the score, in records, in the exponent."""

    def epsilon(self, distance: int) -> float:
        """Range of the log-probability ratios when scores move by at most `distance` records."""
        return float(2 * self.rate * distance)

    def cost(self, unit: PrivacyUnit) -> Cost:
        return Cost(
            add_remove=bounded_range(self.epsilon(unit.score("add-remove"))),
            replace=bounded_range(self.epsilon(unit.score("replace"))),
            draws=1,
        )

    def describe(self) -> dict[str, Any]:
        return {
            "candidates": len(self.among),
            "among": hashlib.sha256(repr(self.among).encode()).hexdigest(),
            "scores": self.scores.digest,
            "rate": str(self.rate),
        }

    def exact(self, rows: Rows) -> Counts:
        return rows.memo(self.scores.digest, lambda: self.scores.of(rows))[list(self.among)]

    def noisy(self, exact: Counts) -> Answer:
        chosen = exponential.choose(exact, self.rate / FIXED_POINT)
        return Answer(arrays=(np.array([self.among[chosen]], dtype=np.int64),))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (1,)) and int(answer.arrays[0][0]) in self.among

    def names(self) -> list[list[str]]:
        """Columns of the candidates."""
        return clique_names([self.scores.cliques[i] for i in self.among])

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
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy import exponential
from sfumato.privacy.cost import Cost, bounded_range
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.unit import PrivacyUnit

FIXED_POINT = 1 << 16
_RECORDS = 1 << 44


@frozen(kw_only=True, eq=False)
class ErrorScores:
    """Candidate cliques and the public estimates that they are held against.

    `estimates[i]` has the shape of clique i and is in records; it is rounded to 2⁻¹⁶ here, before it
    meets data, and cut so that no sum over fewer than 2⁴⁴ rows leaves 64 bits. The scores are computed once
    and serve several selections.
    """

    cliques: tuple[Clique, ...] = field(converter=tuple)
    estimates: tuple[Counts, ...] = field(converter=lambda tables: tuple(map(in_units, tables)))
    digest: str = field(init=False)

    @estimates.validator
    def _check_estimates(self, _: object, estimates: tuple[Counts, ...]) -> None:
        wanted = [tuple(encoder.size for encoder in clique) for clique in self.cliques]
        if [table.shape for table in estimates] != wanted:
            raise ValueError("one estimate for each clique, of its shape")

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


def in_units(records: npt.ArrayLike) -> Counts:
    """Public numbers in units of 2⁻¹⁶ records, cut so that their absolute values add up to at most 2⁶⁰."""
    held = np.clip(np.nan_to_num(np.asarray(records, dtype=np.float64)), -_RECORDS, _RECORDS)
    units = np.rint(held * FIXED_POINT)
    if np.abs(units).sum() > _RECORDS * FIXED_POINT:
        units = np.clip(units, -(_RECORDS * FIXED_POINT // units.size), _RECORDS * FIXED_POINT // units.size)
    return units.astype(np.int64)


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
    rate: Fraction = field()
    """Factor of the score, in records, in the exponent; 0 makes a choice that looks at nothing."""

    # What is wrong with a question must show before it is charged.

    @among.validator
    def _check_among(self, _: object, among: tuple[int, ...]) -> None:
        if not among or not 0 <= min(among) <= max(among) < len(self.scores.cliques):
            raise ValueError("the candidates are some of the scored cliques, at least one")

    @rate.validator
    def _check_rate(self, _: object, rate: Fraction) -> None:
        if rate < 0:
            raise ValueError("the rate must be at least 0")

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

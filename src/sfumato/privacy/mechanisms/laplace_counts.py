"""Tables of counts with exact discrete Laplace noise: a pure guarantee, delta 0.

Every one of m rows of a unit lies in one cell of each table, so that table i moves by at most m in L1 under
add-remove and by 2m under replace. With noise of scale b_i in table i the release is epsilon-DP with epsilon
= m·Σ 1/b_i, or twice that (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.privacy.cost import Cost, pure
from sfumato.privacy.exact_laplace import ExactLaplace
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.noise import add_noise
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class LaplaceCounts:
    """Noisy counts of several cliques in one pass over the rows."""

    name: ClassVar[str] = "discrete_laplace_counts"
    cliques: tuple[Clique, ...] = field(converter=lambda cliques: tuple(map(tuple, cliques)))
    scales: tuple[Fraction, ...] = field(converter=tuple)
    """Noise scale b of each clique, in records."""

    @scales.validator
    def _check_scales(self, _: object, scales: tuple[Fraction, ...]) -> None:
        if len(scales) != len(self.cliques):
            raise ValueError("one scale for each clique")
        for scale in scales:
            ExactLaplace(scale)

    def cost(self, unit: PrivacyUnit) -> Cost:
        add_remove, replace = (
            pure(unit.table_l1(relation) * sum((1 / scale for scale in self.scales), Fraction(0)))
            for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=sum(_cells(c) for c in self.cliques))

    def describe(self) -> dict[str, Any]:
        return {
            "cliques": clique_names(self.cliques),
            "shapes": [[encoder.size for encoder in clique] for clique in self.cliques],
            "encoders": encoder_digest(self.cliques),
            "scales": [str(scale) for scale in self.scales],
        }

    def exact(self, rows: Rows) -> list[Counts]:
        return [
            np.asarray(counts).reshape(shape)
            for counts, shape in zip(rows.marginals(self.cliques), self.shapes, strict=True)
        ]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of each table; one cell for the row count, which is the empty clique."""
        return [tuple(encoder.size for encoder in clique) or (1,) for clique in self.cliques]

    def noisy(self, exact: Sequence[Counts]) -> Answer:
        return Answer(
            arrays=tuple(
                add_noise(counts, ExactLaplace(scale))
                for counts, scale in zip(exact, self.scales, strict=True)
            )
        )

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, *self.shapes)


def _cells(clique: Clique) -> int:
    cells = 1
    for encoder in clique:
        cells *= encoder.size
    return cells

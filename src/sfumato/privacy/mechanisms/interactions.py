"""Interactions of columns with rounded Gaussian noise: what a table says beyond its margins.

The interaction of a clique whose columns have s1, s2, … codes is its table of counts, centred along every
axis and multiplied by P = s1·s2·…, which makes it whole numbers. One row adds to it P·(e - mean) along every
axis; the squared L2 norm of that is Π s(s - 1), against P² for a table that is not centred: of two columns
with two codes a quarter, so that the same budget buys half the noise. Exchanging a row for another one moves
by P² times

    2 [ Π (1 - 1/s)  -  Π_{same} (1 - 1/s) · Π_{other} (-1/s) ]

where "same" are the axes on which both rows have one code; the largest such number over the subsets of axes
is the distance (`squared_distance`). m rows of a unit move at most m times as far.

Source: the residual basis of Xiao, Wang, Zhang, Kifer, "ResidualPlanner" (NeurIPS 2023), here in whole
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from attrs import field, frozen

from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise, encoder_digest
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit, Relation


@frozen(kw_only=True)
class Interactions:
    """Noisy interactions of several cliques in one pass over the rows."""

    name: ClassVar[str] = "rounded_gaussian_interactions"
    cliques: tuple[Clique, ...] = field(converter=tuple)
    sigma: Fraction
    """Noise scale of centred counts times the number of cells."""
    scales: tuple[Fraction, ...] = field(converter=tuple)
    """Factor of `sigma` for each clique."""

    @scales.validator
    def _check_scales(self, _: object, scales: tuple[Fraction, ...]) -> None:
        if len(scales) != len(self.cliques) or not all(scale > 0 for scale in scales):
            raise ValueError("one scale above 0 for each clique")

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Number of codes along each axis of each clique."""
        return [tuple(encoder.size for encoder in clique) for clique in self.cliques]

    @property
    def sigmas(self) -> tuple[Fraction, ...]:
        """Noise scale of each clique."""
        return tuple(self.sigma * scale for scale in self.scales)

    def squared_distance(self, unit: PrivacyUnit, relation: Relation) -> Fraction:
        """Squared L2 distance of neighbours, all cliques together, each divided by its scale."""
        return sum(
            (
                squared_distance(shape, unit, relation) / scale**2
                for shape, scale in zip(self.shapes, self.scales, strict=True)
            ),
            Fraction(0),
        )

    def cost(self, unit: PrivacyUnit) -> Cost:
        cells = [math.prod(shape) for shape in self.shapes]
        distance = sum(
            size * RoundedGaussian(sigma).tv_bound for size, sigma in zip(cells, self.sigmas, strict=True)
        )
        add_remove, replace = (
            gaussian(self.squared_distance(unit, relation), self.sigma) for relation in RELATIONS
        )
        return Cost(add_remove=add_remove, replace=replace, draws=sum(cells), distance=float(distance))

    def describe(self) -> dict[str, Any]:
        return {
            "cliques": clique_names(self.cliques),
            "shapes": [list(shape) for shape in self.shapes],
            "encoders": encoder_digest(self.cliques),
            "sigma": str(self.sigma),
            "scales": [str(scale) for scale in self.scales],
        }

    def exact(self, rows: Rows) -> list[Counts]:
        return [centred(counts) for counts in rows.marginals(self.cliques)]

    def noisy(self, exact: Sequence[Counts]) -> Answer:
        return Answer(
            arrays=tuple(
                add_noise([counts], RoundedGaussian(sigma))[0]
                for counts, sigma in zip(exact, self.sigmas, strict=True)
            )
        )

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, *self.shapes)


def centred(counts: Counts) -> Counts:
    """`counts` times the number of cells, less the mean along every axis: whole numbers."""
    for axis, size in enumerate(counts.shape):
        counts = size * counts - counts.sum(axis=axis, keepdims=True)
    return counts


def squared_distance(shape: Sequence[int], unit: PrivacyUnit, relation: Relation) -> int:
    """Squared L2 distance between the interactions of neighbours, for a table of this shape."""
    alone = math.prod(size * (size - 1) for size in shape)
    rows = unit.at_most**2
    if relation == "add-remove":
        return rows * alone
    # The two rows' contributions have the inner product Π s(s - 1) over axes they share, Π -s over others.
    shared = min(
        math.prod(size * (size - 1) if same else -size for size, same in zip(shape, pattern, strict=True))
        for pattern in product((False, True), repeat=len(shape))
        if not all(pattern)
    )
    return rows * 2 * (alone - shared)

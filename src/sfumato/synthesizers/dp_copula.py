"""`dp-copula`: a Gaussian copula with a pure guarantee: private margins, private correlation, delta 0.

A part `margins_fraction` of epsilon goes to the row count and to distribution functions of numbers,
`corr_fraction` to correlations, the rest to frequencies of categories; without categories, or without
numbers, what they do not need goes to the others. Every column, of numbers or labels, has a latent normal
variable. A value becomes a normal score by the *private* distribution function, so that the score of a row
depends on that row alone and its influence is bounded; ranks among the private rows would move with every
row. All sums are over integers, all noise is exact discrete Laplace noise. Proofs and equations:
docs/methods/dp-copula.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec, GridCodec
from sfumato.domain.kinds.boolean import Bool
from sfumato.domain.kinds.categorical import Categorical
from sfumato.domain.measured import Measured
from sfumato.domain.stored import Stored
from sfumato.errors import UsageError
from sfumato.privacy.curator import Curator
from sfumato.schema import Schema
from sfumato.synthesizers.copula_generator import CopulaGenerator
from sfumato.synthesizers.copula_margins import COUNT_SHARE, Margins, even_grid, measure_margins
from sfumato.synthesizers.latent_correlation import (
    LIMIT,
    Line,
    Values,
    latent_order,
    learn_correlation,
    score_bound,
)
from sfumato.synthesizers.outlook import Outlook, Scene
from sfumato.synthesizers.recipe import synthesizer

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SMALLEST = 1e-6


def _fraction(_: Any, attribute: Any, value: float) -> None:
    if not SMALLEST <= value <= 1:
        raise ValueError(f"{attribute.name} must lie above 0 and be at most 1, not {value:g}")


@synthesizer("dp-copula")
@frozen(kw_only=True)
class DpCopula:
    """Gaussian copula with pure epsilon."""

    name: ClassVar[str] = "dp-copula"
    summary: ClassVar[str] = "Gaussian copula: private distribution functions and correlations, delta 0"
    guarantee: ClassVar[str] = "epsilon"
    discovery: ClassVar[dict[str, float]] = {"types": 0.06, "bounds": 0.10, "categories": 0.10, "cells": 0.01}
    """Shares of epsilon for what a schema leaves open. Pure epsilons add up plainly, so that a question over
    many columns gets more noise than in Gaussian DP, and needs a larger share."""

    margins_fraction: float = field(default=0.4, validator=_fraction)
    """Share of epsilon for the row count and the distribution functions of numbers."""
    corr_fraction: float = field(default=0.4, validator=_fraction)
    """Share of epsilon for the correlations. What both leave goes to the frequencies of categories."""
    bins: int = field(default=256)
    """Cells of a number with a wide range."""

    @bins.validator
    def _check_bins(self, _: Any, value: int) -> None:
        if not 8 <= value <= 4096:
            raise ValueError(f"bins must lie between 8 and 4096, not {value}")

    def __attrs_post_init__(self) -> None:
        if self.margins_fraction + self.corr_fraction > 1 + 1e-12:
            raise ValueError(
                f"margins_fraction + corr_fraction must be at most 1, not "
                f"{self.margins_fraction + self.corr_fraction:g}"
            )

    def check_facts(self, schema: Schema, stored: Sequence[Stored]) -> None:
        """UsageError when nothing is left for categories that the table has, or may turn out to have."""
        if self.margins_fraction + self.corr_fraction < 1 - SMALLEST:
            return
        declared = {column.name: column for column in schema.columns}
        for column in stored:
            facts = declared.get(column.name)
            open_type = column.storage not in ("int", "float", "date", "datetime", "duration")
            if isinstance(facts, Categorical | Bool) or (facts is None and open_type):
                raise UsageError(
                    "margins_fraction + corr_fraction = 1 leaves nothing for frequencies of categories, and "
                    f"{column.name!r} is or may be one",
                    mend="lower one of them",
                )

    def grid(self, facts: Measured) -> tuple[int, ...]:
        """Public cells of a number with bounds."""
        return even_grid(facts, self.bins)

    def split(self, columns: int) -> dict[str, float]:
        correlation = self.corr_fraction if columns > 1 else 0.0
        return {
            "row count": COUNT_SHARE * self.margins_fraction,
            "margins": (1 - COUNT_SHARE) * self.margins_fraction,
            "correlation": correlation,
            "frequencies of categories": 1 - self.margins_fraction - correlation,
        }

    def split_by_kind(self, *, numbers: int, labels: int) -> dict[str, float]:
        """The same where it is known how many columns are numbers, and how many labels."""
        margins, correlation, categories = self._shares(numbers=numbers, labels=labels)
        count = COUNT_SHARE * (margins if numbers else categories)
        found = {
            "row count": count,
            "margins": max(margins - count, 0.0),
            "correlation": correlation,
            "frequencies of categories": categories if numbers else categories - count,
        }
        return {purpose: share for purpose, share in found.items() if share}

    def outlook(self, scene: Scene) -> Outlook:
        """For plans. Parts of a pure epsilon are divided plainly: noise is in proportion to the columns of a
        kind over their share. A correlation is one number, so that its own noise hardly counts; what a copula
        holds of relations is taken to be what a tree of pairs holds.
        """
        size, (numbers, _, categories) = len(scene.codecs), self.spends(scene.codecs)
        measured = sum(isinstance(codec, GridCodec) for codec in scene.codecs)
        noise = sum(k * k / share for k, share in ((measured, numbers), (size - measured, categories)) if k)
        kept = (1 - COUNT_SHARE) * size**2 / max(noise, 1e-12)
        return Outlook(
            one_way=kept**2,
            relations=1.0 if size > 1 else 0.0,
            pairs=size - 1,
            model=lambda: sum(codec.size for codec in scene.codecs) + size * (size - 1) // 2,
        )

    def learn(self, curator: Curator, domain: Domain) -> CopulaGenerator:
        codecs, budget = domain.codecs, curator.left
        numbers, correlations, categories = self.spends(codecs)
        margins = measure_margins(curator, codecs, numbers=numbers * budget, categories=categories * budget)
        orders = tuple(
            latent_order(codec, shares) for codec, shares in zip(codecs, margins.shares, strict=True)
        )
        found = np.eye(len(codecs))
        if len(codecs) > 1:
            found = self._correlation(curator, codecs, margins, orders, spend=correlations * budget)
        return CopulaGenerator(total=margins.total, correlation=found, shares=margins.shares, orders=orders)

    def spends(self, codecs: Sequence[Codec]) -> tuple[float, float, float]:
        """Shares for numbers, correlations and categories, which sum to 1 whatever columns there are."""
        numbers = sum(isinstance(codec, GridCodec) for codec in codecs)
        return self._shares(numbers=numbers, labels=len(codecs) - numbers)

    def _shares(self, *, numbers: int, labels: int) -> tuple[float, float, float]:
        correlation = self.corr_fraction if numbers + labels > 1 else 0.0
        if numbers and labels:
            return self.margins_fraction, correlation, 1 - self.margins_fraction - correlation
        if not numbers:
            return 0.0, correlation, 1 - correlation
        if numbers == 1:
            return 1.0, 0.0, 0.0
        # What categories do not need goes to both, in proportion.
        both = self.margins_fraction + self.corr_fraction
        return self.margins_fraction / both, self.corr_fraction / both, 0.0

    def _correlation(
        self,
        curator: Curator,
        codecs: Sequence[Codec],
        margins: Margins,
        orders: Sequence[Ints],
        *,
        spend: float,
    ) -> Floats:
        lines = [
            Line.of(shares, order, bound=score_bound(margins.total, deviation))
            for shares, order, deviation in zip(margins.shares, orders, margins.deviations, strict=True)
        ]
        pairs = len(codecs) * (len(codecs) - 1) // 2
        moves = curator.unit.table_l1(curator.filter.relation)

        def ask(tables: Sequence[Values], share: float) -> Ints:
            sums, _ = curator.pair_sums(
                codecs,
                groups=[line.groups for line in lines],
                values=tables,
                limit=LIMIT,
                spend=share * spend,
                purpose="correlation",
            )
            return sums

        return learn_correlation(
            lines,
            total=margins.total,
            noise=lambda share: moves / (share * spend) * math.sqrt((pairs + 1) * (pairs + 2) / 3),
            ask=ask,
        )

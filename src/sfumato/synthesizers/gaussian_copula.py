"""`gaussian-copula`: a Gaussian copula fitted to the rows as they are. Nothing is guaranteed.

The yardstick for `dp-copula`: the same model from exact counts and exact sums, in the cells that discovery
finds with next to no noise. Its first charge is infinite.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.score_products import ScoreProducts
from sfumato.synthesizers.copula_generator import CopulaGenerator
from sfumato.synthesizers.latent_correlation import Scored, latent_order
from sfumato.synthesizers.recipe import synthesizer

BOUND = 3.0
"""Scores are within this: with an unbounded one a single row could outweigh all others."""


@synthesizer("gaussian-copula")
@frozen(kw_only=True)
class GaussianCopula:
    """Gaussian copula without privacy."""

    name: ClassVar[str] = "gaussian-copula"
    summary: ClassVar[str] = "Gaussian copula of the exact rows, as a yardstick"
    guarantee: ClassVar[str] = "none"

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: all answers are exact": 1.0}

    def learn(self, curator: Curator, domain: Domain) -> CopulaGenerator:
        codecs = domain.codecs
        curator.reveal("gaussian-copula fits the rows as they are")
        cliques = [(), *((codec,) for codec in codecs)]
        question = LaplaceCounts(cliques=cliques, scales=[Fraction(1)] * len(cliques))
        rows, *tables = curator.unprotected(question, purpose="margins").arrays
        shares = []
        for codec, counts in zip(codecs, tables, strict=True):
            held = np.where(codec.allowed, counts, 0).astype(np.float64)
            held = held if held.sum() > 0 else codec.allowed.astype(np.float64)
            shares.append(held / held.sum())
        orders = tuple(latent_order(codec, share) for codec, share in zip(codecs, shares, strict=True))
        total = max(1.0, float(rows.sum()))
        found = np.eye(len(codecs))
        if len(codecs) > 1:
            scored = Scored.of(shares, orders, bound=BOUND)
            products = ScoreProducts(
                encoders=codecs, scores=scored.tables, limit=scored.limit, scale=Fraction(1)
            )
            (sums,) = curator.unprotected(products, purpose="correlation").arrays
            found = scored.correlation(sums, total=total, noise=0.0)
        return CopulaGenerator(total=total, correlation=found, shares=tuple(shares), orders=orders)

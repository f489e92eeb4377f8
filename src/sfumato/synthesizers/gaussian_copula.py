"""`gaussian-copula`: a Gaussian copula fitted to the rows as they are. Nothing is guaranteed.

The yardstick for `dp-copula`: the same model from exact counts and exact sums, in the cells that discovery
finds with next to no noise. Its first charge is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.synthesizers.copula_generator import CopulaGenerator
from sfumato.synthesizers.exact_margins import exact_margins
from sfumato.synthesizers.latent_correlation import LIMIT, Line, Values, latent_order, learn_correlation
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.yardstick import Yardstick

Ints = npt.NDArray[np.int64]

BOUND = 3.0
"""Scores are within this: with an unbounded one a single row could outweigh all others."""


@synthesizer("gaussian-copula")
@frozen(kw_only=True)
class GaussianCopula(Yardstick):
    """Gaussian copula without privacy."""

    name: ClassVar[str] = "gaussian-copula"
    summary: ClassVar[str] = "Gaussian copula of the exact rows, as a yardstick"

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: all answers are exact": 1.0}

    def learn_here(self, curator: Curator, domain: Domain) -> CopulaGenerator:
        codecs = domain.codecs
        curator.reveal("gaussian-copula fits the rows as they are")
        total, shares = exact_margins(curator, codecs)
        orders = tuple(latent_order(codec, share) for codec, share in zip(codecs, shares, strict=True))
        found = np.eye(len(codecs))
        if len(codecs) > 1:
            lines = [Line.of(share, order, bound=BOUND) for share, order in zip(shares, orders, strict=True)]

            def ask(tables: Sequence[Values], share: float) -> Ints:
                question = PairSums(
                    encoders=codecs,
                    groups=[line.groups for line in lines],
                    values=tables,
                    limit=LIMIT,
                    scale=Fraction(1),
                )
                return curator.unprotected(question, purpose="correlation").arrays[0]

            found = learn_correlation(lines, total=total, noise=lambda share: 0.0, ask=ask)
        return CopulaGenerator(total=total, correlation=found, shares=shares, orders=orders)

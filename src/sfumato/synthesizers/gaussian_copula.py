"""`gaussian-copula`: a Gaussian copula fitted to the rows as they are. Nothing is guaranteed.

The yardstick for `dp-copula`: the same model from exact counts and exact sums, in the cells that discovery
finds with next to no noise. Its first charge is infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.synthesizers import sdv_backend
from sfumato.synthesizers.copula_generator import CopulaGenerator
from sfumato.synthesizers.deep.common import check_choice
from sfumato.synthesizers.exact_margins import exact_margins
from sfumato.synthesizers.latent_correlation import LIMIT, Line, Values, latent_order, learn_correlation
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.released_generator import ReleasedRecords

Ints = npt.NDArray[np.int64]

BOUND = 3.0
"""Scores are within this: with an unbounded one a single row could outweigh all others."""


@synthesizer("gaussian-copula")
@frozen(kw_only=True)
class GaussianCopula:
    """Gaussian copula without privacy."""

    name: ClassVar[str] = "gaussian-copula"
    summary: ClassVar[str] = "Gaussian copula of the exact rows, as a yardstick"
    guarantee: ClassVar[str] = "none"

    backend: Literal["own", "sdv"] = "own"
    """"sdv": fit the synthesizer of that name of the package SDV, where it is installed."""
    sdv_rows: int = 0
    """Rows that SDV draws once it is fitted, which is what the model keeps; 0: as many as are asked for with
    the fit, else as many as the table has."""

    def __attrs_post_init__(self) -> None:
        check_choice("backend", self.backend, ("own", "sdv"))
        if self.sdv_rows < 0:
            raise ValueError("sdv_rows is at least 0")

    def check_packages(self) -> None:
        """UsageError with the command that installs SDV, where it is asked for and missing."""
        if self.backend == "sdv":
            sdv_backend.check_installed(self.name)

    def for_rows(self, rows: int | None) -> GaussianCopula:
        """This recipe when so many rows will be asked for."""
        return evolve(self, sdv_rows=sdv_backend.rows_to_keep(self.backend, self.sdv_rows, rows))

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: all answers are exact": 1.0}

    def learn(self, curator: Curator, domain: Domain) -> CopulaGenerator | ReleasedRecords:
        if self.backend == "sdv":
            return sdv_backend.learn(curator, domain, method=self.name, options={}, keep=self.sdv_rows)
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

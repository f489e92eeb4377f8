"""How badly estimates describe many cliques: all their L1 errors with Gaussian noise, in one release.

The error of a clique is the L1 distance between its counts and a public estimate (see `ErrorScores`), an
exact integer in units of 2⁻¹⁶ records. One row more or less changes one cell by one, so by the triangle
inequality the distance by at most 2¹⁶ units: m rows of a person move every score by at most m records
(2 m when they are replaced), `unit.score`. k scores are therefore at L2 distance at most √k·score, and the
release is mu-GDP with mu² = k·score²/sigma². Noise is rounded to the same units, and rounding is
post-processing because the scores are integers.

The noise is added in these fine units, not in whole records, because the wide Gaussian sampler needs no
table: a new sigma costs nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from attrs import frozen

from sfumato.privacy.cost import Cost, gaussian
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, clique_names, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise
from sfumato.privacy.mechanisms.selection import FIXED_POINT, ErrorScores
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import RELATIONS, PrivacyUnit


@frozen(kw_only=True)
class NoisyErrors:
    """Noisy L1 errors of all candidates of `scores`, in units of 2⁻¹⁶ records."""

    name: ClassVar[str] = "rounded_gaussian_errors"
    scores: ErrorScores
    sigma: Fraction
    """Noise scale, in records."""

    @property
    def noise(self) -> RoundedGaussian:
        """Noise of one score, in units of 2⁻¹⁶ records."""
        return RoundedGaussian(self.sigma * FIXED_POINT)

    def cost(self, unit: PrivacyUnit) -> Cost:
        count = len(self.scores.cliques)
        add_remove, replace = (
            gaussian(count * unit.score(relation) ** 2, self.sigma) for relation in RELATIONS
        )
        return Cost(
            add_remove=add_remove, replace=replace, draws=count, distance=float(count * self.noise.tv_bound)
        )

    def describe(self) -> dict[str, Any]:
        return {
            "candidates": len(self.scores.cliques),
            "cliques": clique_names(self.scores.cliques),
            "scores": self.scores.digest,
            "sigma": str(self.sigma),
        }

    def exact(self, rows: Rows) -> Counts:
        return self.scores.of(rows)

    def noisy(self, exact: Counts) -> Answer:
        return Answer(arrays=add_noise([exact], self.noise))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (len(self.scores.cliques),))

"""Error scores with public weights and penalties, for the exponential mechanism.

The score of clique i is floor(w_i · error_i) - penalty_i in units of 2⁻¹⁶ records, with a weight w_i of
at most 1 and error_i the L1 distance of `ErrorScores`. Between neighbours error_i moves by at most m
records, and w_i · error_i by no more. m records are a whole number of units, and x ≤ y ≤ x + k for an
integer k gives floor(x) ≤ floor(y) ≤ floor(x) + k: the score moves by at most m records too, and the charge
of `Selection` stands.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy.mechanisms.base import Counts, Rows
from sfumato.privacy.mechanisms.selection import ErrorScores, in_units

_BITS = 10


@frozen(kw_only=True, eq=False)
class WeightedErrors(ErrorScores):
    """`weights` lie in 0 … 1 and are rounded to 1/1024, `penalties` are in records."""

    weights: Counts = field(converter=lambda w: np.rint(np.asarray(w) * (1 << _BITS)).astype(np.int64))
    penalties: Counts = field(converter=in_units)

    @weights.validator
    def _check_weights(self, _: object, weights: npt.NDArray[np.int64]) -> None:
        if not ((weights >= 0) & (weights <= 1 << _BITS)).all() or len(weights) != len(self.cliques):
            raise ValueError("one weight between 0 and 1 for each clique")

    @penalties.validator
    def _check_penalties(self, _: object, penalties: Counts) -> None:
        if penalties.shape != (len(self.cliques),):
            raise ValueError("one penalty for each clique")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        hashed = hashlib.sha256(self.digest.encode())
        hashed.update(self.weights.tobytes())
        hashed.update(self.penalties.tobytes())
        object.__setattr__(self, "digest", hashed.hexdigest())

    def of(self, rows: Rows) -> Counts:
        """Exact scores, private, in units of 2⁻¹⁶ records."""
        high, low = np.divmod(super().of(rows), 1 << _BITS)
        # floor(weight·error) in two parts, neither of which leaves 64 bits.
        return self.weights * high + ((self.weights * low) >> _BITS) - self.penalties

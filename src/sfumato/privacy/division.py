"""Disjoint parts of the rows, drawn row by row, and what mechanisms over them add up to.

Every row falls into part j with probability p_j, into none with p_0 = 1 - Σ p_j, independently of all other
rows. Which one is never released.

**Mixture.** Let what is asked of all rows and of part j together be (epsilon_j, delta) for a row of part j,
and (epsilon_0, delta) for a row of no part. Then the whole is (epsilon, delta) for adding or removing a row,
with

    e^epsilon = p_0 e^epsilon_0 + Σ p_j e^epsilon_j.

Proof. D' is D with one more row, Q the law of everything that is released on D, P_j that on D' given that the
new row falls into part j. All other rows fall alike, so P_j and Q are (epsilon_j, delta)-close both ways. The
law on D' is P = Σ p_j P_j. Adding: P(S) ≤ Σ p_j (e^epsilon_j Q(S) + delta). Removing: P_j(S) ≥ e^-epsilon_j
(Q(S) - delta), so P(S) ≥ w (Q(S) - delta) with w = Σ p_j e^-epsilon_j ≥ 1 / Σ p_j e^epsilon_j by Jensen's
inequality. □

With one part and nothing asked of all rows this is amplification by sampling, epsilon = log(1 + p
(e^epsilon_1 - 1)). It is at most max epsilon_j (max-composition), which also holds in Gaussian DP and zCDP,
and under replacement, since a row and the one in its place can be taken to fall into the same part.

A person with several rows may be in several parts at once: then nothing is gained, and the parts compose like
questions to all rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.privacy.secure_random import random_words

if TYPE_CHECKING:
    import polars as pl

Labels = npt.NDArray[np.uint8]
_BITS = 53


def mixture_epsilon(parts: Mapping[float, float] | list[tuple[float, float]]) -> float:
    """Epsilon of the whole from pairs (probability, epsilon of a row that falls there); the rest has 0."""
    pairs = list(parts.items()) if isinstance(parts, Mapping) else list(parts)
    rest = 1.0 - sum(share for share, _ in pairs)
    if rest < -1e-9:
        raise ValueError("the probabilities of the parts add up to more than 1")
    if any(math.isinf(epsilon) for share, epsilon in pairs if share > 0):
        return math.inf
    top = max([0.0, *(epsilon for _, epsilon in pairs)])
    inside = max(rest, 0.0) * math.exp(-top) + sum(p * math.exp(e - top) for p, e in pairs)
    return max(0.0, top + math.log(inside)) * (1 + 1e-12)


def amplified(epsilon: float, share: float) -> float:
    """Epsilon of a mechanism that sees each row with probability `share`: log(1 + share (e^epsilon - 1))."""
    return mixture_epsilon([(share, epsilon)])


def before_sampling(epsilon: float, share: float) -> float:
    """The epsilon that sampling with probability `share` turns into `epsilon`: the inverse of `amplified`."""
    return math.log1p(math.expm1(epsilon) / share)


def part_epsilons(
    epsilon: float, *, common: float, shares: Mapping[str, float], weights: Mapping[str, float] | None
) -> dict[str, float]:
    """Epsilon that rows of each part may see, so that all is worth `epsilon`.

    common: epsilon of what was asked of all rows. weights: how the rest, e^epsilon - e^common, is divided
    between the parts, summing to at most 1; None: in proportion to the shares, so that all parts have
    `epsilon`.
    """
    if weights is None:
        return dict.fromkeys(shares, epsilon)
    # Divided by e^epsilon, which may be too large for a float.
    held = math.exp(common - epsilon)
    return {
        name: epsilon + math.log(held + weights[name] * (1 - held) / share) for name, share in shares.items()
    }


class Division:
    """Which part each row of a source belongs to: the same in every pass, drawn when first seen.

    `limiter` leaves rows out beforehand.
    """

    def __init__(self, source: Any, shares: Mapping[str, float], *, limiter: Any = None) -> None:
        total = sum(shares.values())
        if not shares or min(shares.values()) <= 0 or total > 1 + 1e-9:
            raise ValueError("shares of parts must be above 0 and add up to at most 1")
        self.source = source
        self._names = list(shares)
        self._limiter = limiter
        ends = np.cumsum(list(shares.values())) / max(total, 1.0)
        self._ends = np.rint(ends * 2.0**_BITS).astype(np.uint64)
        self._labels: Labels = draw_labels(source, 0, self._ends)

    def part(self, name: str) -> PartOfRows:
        """The rows of one part, as a limiter of a source."""
        return PartOfRows(self, self._names.index(name))

    @property
    def rows(self) -> int:
        """Rows that were seen so far."""
        return self._labels.size

    def labels(self, start: int, stop: int) -> Labels:
        """Part of rows start … stop-1."""
        if stop > self._labels.size:
            more = draw_labels(None, stop - self._labels.size, self._ends)
            self._labels = np.concatenate([self._labels, more])
        return self._labels[start:stop]


class PartOfRows:
    """A limiter that keeps the rows of one part."""

    def __init__(self, division: Division, index: int) -> None:
        self.source = division.source
        self._division = division
        self._index = index

    @property
    def rows(self) -> int:
        """Rows of the whole source."""
        return self._division.rows

    def mask(self, start: int, stop: int) -> pl.Series:
        """Whether each of the rows start … stop-1 is in the part."""
        import polars as pl

        inside = pl.Series(self._division.labels(start, stop) == self._index)
        limiter = self._division._limiter
        return inside if limiter is None else inside & limiter.mask(start, stop)


def draw_labels(source: Any, count: int, ends: npt.NDArray[np.uint64]) -> Labels:
    """Parts of `count` more rows: the number of the first of `ends`, in units of 2**-53, above a uniform
    draw.

    `source` is given, with count 0, when a division is made (`sfumato.testing` draws labels for all rows
    then).
    """
    return np.searchsorted(ends, random_words(count) >> np.uint64(64 - _BITS), side="right").astype(np.uint8)

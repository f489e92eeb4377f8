"""The correlation matrix of latent normal variables, from noisy sums of bounded functions of two columns.

For normal scores s and t of a row and a correlation r near the true one,

    U = s·t - r (s² + t²) / 2

has mean 0 at ρ = r, and is the efficient influence function of ρ in a normal copula whose margins are unknown
(Klaassen, Wellner 1997): what errors of the scores do to its mean cancels to first order. At ρ = r it is
(1 - r²) times the product of two independent standard normal variables, and hence symmetric: cut at
±cap·(1 - r²) it keeps its mean. A small cap needs little noise, a large one uses all that rows say.

r is not known: a small part of the price asks with r = 0, the rest with what came of it. Both are answers
about ρ with noise of a known size, and are weighed against what was known before as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec
from sfumato.synthesizers.nearest_correlation import nearest_correlation
from sfumato.synthesizers.normal_scores import (
    TERMS,
    coefficients,
    correlations_of,
    hermite_integrals,
    normal_scores,
    slopes_at,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Values = npt.NDArray[np.int16]

ROUNDS = (0.1, 0.9)
"""Shares of the price for correlations, by question."""
LIMIT = 1024
"""Largest value of a function of two columns, in integer units."""
UNITS = 8
"""Scores are multiples of 1/8: within such a step they vary by 0.1 % of their variance."""
BOUNDS = (1.0, 3.0)
"""Smallest and largest bound on scores."""
DOUBT = 1.5
"""Scores end where this many standard deviations of the noise in a margin are as many rows as lie beyond."""
CAPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Caps that are weighed against each other."""
CENTRES = 64
"""Correlations r are multiples of 1/64 …"""
FURTHEST = 0.9
"""… and at most this."""
BEFORE = 0.25
"""Variance of a correlation before anything is asked: noise that is much larger says nothing."""
UNSURE = 0.05**2
"""Variance that is left after an answer at least: r = 0 is not near, so that errors of the scores count."""


def latent_order(codec: Codec, shares: Floats) -> Ints:
    """The codes of a column on its latent line: cells and ordered labels as they are, other labels by falling
    share. Atoms of a number (missing, special codes) stand beside the line, those of a label among the
    labels.
    """
    if isinstance(codec, GridCodec):
        return np.arange(codec.atoms, codec.size, dtype=np.int64)
    if codec.ordered:
        return np.arange(codec.size, dtype=np.int64)
    return np.argsort(-shares, kind="stable").astype(np.int64)


def score_bound(rows: float, deviation: float) -> float:
    """Bound on the scores of a column whose margin has noise of standard deviation `deviation`, in rows: the
    tail beyond holds enough rows to be told from noise.
    """
    from scipy.special import ndtri

    beyond = min(max(DOUBT * deviation / rows, 1e-6), 0.5)
    return float(np.clip(-ndtri(beyond), *BOUNDS))


@frozen(kw_only=True, eq=False)
class Line:
    """The codes of one column, in groups of equal score."""

    groups: Ints
    """Group of every code: from 0 for those on the line, the last one for atoms."""
    scores: Floats
    """Score of each group on the line."""
    present: float
    """Share of the codes on the line."""
    integrals: Floats
    """Hermite integrals of these groups, shape (terms, groups on the line)."""

    @classmethod
    def of(cls, shares: Floats, order: Ints, *, bound: float) -> Line:
        """A column with these shares, whose codes stand on a line in this order."""
        present = float(shares[order].sum())
        groups = np.zeros(shares.size, dtype=np.int64)
        if present <= 0:
            return cls(groups=groups, scores=np.zeros(0), present=0.0, integrals=np.zeros((TERMS + 1, 0)))
        line = shares[order] / present
        units = np.rint(UNITS * normal_scores(line, bound=bound))
        found, place = np.unique(units, return_inverse=True)
        groups[:] = found.size
        groups[order] = place
        joined = (place[:, None] == np.arange(found.size)).astype(np.float64)
        integrals = hermite_integrals(line) @ joined
        return cls(groups=groups, scores=found / UNITS, present=present, integrals=integrals)

    @property
    def atoms(self) -> int:
        """How many groups of atoms there are: 0 or 1."""
        return int(self.groups.max(initial=0)) + 1 - self.scores.size


def learn_correlation(
    lines: Sequence[Line],
    *,
    total: float,
    noise: Callable[[float], float],
    ask: Callable[[Sequence[Values], float], Ints],
) -> Floats:
    """The correlation matrix of the columns' latent variables.

    `ask(tables, share)` answers with Σ of the tables' values over the rows, for all i < j, at a share of the
    price; entries have noise of standard deviation `noise(share)`·LIMIT. `total`: number of rows.
    """
    pairs = list(combinations(range(len(lines)), 2))
    both = total * np.array([lines[i].present * lines[j].present for i, j in pairs])
    mean, variance = np.zeros(len(pairs)), np.full(len(pairs), BEFORE)
    for share in ROUNDS:
        spread = noise(share)
        cap = best_cap(total, spread)
        centres = np.rint(CENTRES * np.clip(mean, -FURTHEST, FURTHEST)) / CENTRES
        tables = [_values(lines[i], lines[j], r, cap) for (i, j), r in zip(pairs, centres, strict=True)]
        series = np.array(
            [
                coefficients(
                    table[: lines[i].scores.size, : lines[j].scores.size] / LIMIT,
                    lines[i].integrals,
                    lines[j].integrals,
                )
                for (i, j), table in zip(pairs, tables, strict=True)
            ]
        )
        sums = ask(tables, share) / LIMIT
        known = slopes_at(centres, series) * both
        with np.errstate(divide="ignore", invalid="ignore"):
            doubt = np.where(known > 1e-9, (spread / known) ** 2, np.inf)
            told = correlations_of(np.where(both > 0, sums / both, 0.0), series)
        weight = np.where(np.isfinite(doubt), variance / (variance + doubt), 0.0)
        mean, variance = mean + weight * (told - mean), np.maximum(variance * (1 - weight), UNSURE)
    matrix = np.eye(len(lines))
    for (i, j), rho in zip(pairs, mean, strict=True):
        matrix[i, j] = matrix[j, i] = rho
    return nearest_correlation(matrix)


def _values(one: Line, other: Line, centre: float, cap: float) -> Values:
    """U around `centre`, cut at ±cap·(1 - centre²), or at its largest magnitude if that is less, which is
    LIMIT units; 0 where either is an atom.
    """
    s, t = one.scores[:, None], other.scores[None, :]
    whole = s * t - centre * (s**2 + t**2) / 2
    cut = min(cap * (1 - centre**2), float(np.abs(whole).max(initial=0.0)))
    found = np.zeros((s.size + one.atoms, t.size + other.atoms), dtype=np.int16)
    if cut > 0:
        found[: s.size, : t.size] = np.rint(LIMIT * np.clip(whole / cut, -1, 1))
    return found


def best_cap(rows: float, noise: float) -> float:
    """The cap that gives the most exact correlation from `rows` rows, when a sum of values cut at ±1 gets
    noise of standard deviation `noise`.
    """
    errors = [
        square / slope**2 / rows + (noise * cap / rows / slope) ** 2
        for cap in CAPS
        for slope, square in [_precision(cap)]
    ]
    return CAPS[int(np.argmin(errors))]


@lru_cache(maxsize=len(CAPS))
def _precision(cap: float) -> tuple[float, float]:
    """E[f·V] and E[f²] for the product V of two independent standard normal variables, f = V cut at ±cap.
    With U = (1 - r²)V the first is the slope of the mean of the cut U in ρ at r.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    size = np.abs(nodes[:, None] * nodes[None, :])
    held = np.minimum(size, cap)
    return float(weights @ (held * size) @ weights), float(weights @ held**2 @ weights)

"""From sums of products of normal scores to the correlation matrix of latent normal variables.

With n rows, column i present (not an atom) in a share p_i of them, and m_i the mean of its squared scores
there, Σ s_i s_j is about n p_i p_j E[s_i s_j], and Σ s_i² about n p_i m_i. The quotient Σ s_i s_j / √(Σ s_i²
Σ s_j²) does without n, and takes out what errors of the distribution functions do to the spread of the
scores. Where noise drowns Σ s_i², what margins say it should be takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec
from sfumato.synthesizers.nearest_correlation import nearest_correlation
from sfumato.synthesizers.normal_scores import TERMS, coefficients, correlation_of, normal_scores

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

UNITS = 1024
"""Integer units of a score of 1."""
DRIFT = 0.1
"""Relative error that distribution functions are taken to put into the sum of squared scores."""
LEAST = 1e-6
"""A column whose scores have a smaller mean square has one value, as far as is known: it correlates with
none."""


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


@frozen(kw_only=True, eq=False)
class Scored:
    """Integer scores of the codes of several columns, and what is expected of them."""

    limit: int
    """Largest score, in units."""
    tables: tuple[Ints, ...]
    """Score of every code of every column, in units; 0 for atoms."""
    present: Floats
    """Share of rows without an atom, by column."""
    squares: Floats
    """Mean square of the scores of these rows, by column."""
    curves: Floats
    """Coefficients of the expansion in `normal_scores`, a row for each column."""

    @classmethod
    def of(cls, shares: Sequence[Floats], orders: Sequence[Ints], *, bound: float) -> Scored:
        """Scores within ±`bound` of columns with these shares, whose codes stand on a line in these
        orders."""
        limit = math.floor(bound * UNITS)
        present = np.array([share[order].sum() for share, order in zip(shares, orders, strict=True)])
        squares, curves = np.zeros(len(shares)), np.zeros((len(shares), TERMS + 1))
        tables = []
        for i, (share, order) in enumerate(zip(shares, orders, strict=True)):
            table = np.zeros(share.size, dtype=np.int64)
            if present[i] > 0:
                line = share[order] / present[i]
                table[order] = np.rint(UNITS * normal_scores(line, bound=limit / UNITS)).astype(np.int64)
                scores = table[order] / UNITS
                squares[i], curves[i] = line @ scores**2, coefficients(line, scores)
            tables.append(table)
        return cls(limit=limit, tables=tuple(tables), present=present, squares=squares, curves=curves)

    @property
    def bound(self) -> float:
        """Largest score."""
        return self.limit / UNITS

    def correlation(self, sums: Ints, *, total: float, noise: float) -> Floats:
        """The nearest correlation matrix to what `sums` say: products in units², for all i ≤ j row by row,
        with noise of standard deviation `noise` in products of scores.
        """
        size = len(self.tables)
        products = np.zeros((size, size))
        products[np.triu_indices(size)] = sums / UNITS**2
        expected = total * self.present * self.squares
        doubt = noise**2 / (noise**2 + np.maximum((DRIFT * expected) ** 2, 1e-9))
        scale = np.diag(products) * (1 - doubt) + expected * doubt
        scale = np.maximum(scale, 0.25 * expected)

        lively = (self.squares > LEAST) & (self.present > 0)
        first, second = np.triu_indices(size, 1)
        kept = lively[first] & lively[second]
        first, second = first[kept], second[kept]
        both = np.sqrt(scale[first] * scale[second] * self.present[first] * self.present[second])
        means = products[first, second] / both * np.sqrt(self.squares[first] * self.squares[second])
        matrix = np.eye(size)
        matrix[first, second] = correlation_of(means, self.curves[first], self.curves[second])
        matrix[second, first] = matrix[first, second]
        return nearest_correlation(matrix)

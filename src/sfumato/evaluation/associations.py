"""How strongly two columns go together, on one table. Each function gives NaN where the measure is undefined.

Undefined is a correlation with a column that has no spread, or of fewer than two complete rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Pairs = Iterable[tuple[int, int]]


def pearson(table: Values, pairs: Pairs | None = None) -> Matrix:
    """Product-moment correlations of columns (table: rows x columns, NaN missing), pairwise complete.

    `pairs`: where cells are missing only these are computed, and all others are NaN; default: all.
    """
    return _pairwise(table, _complete, pairs)


def spearman(table: Values, pairs: Pairs | None = None) -> Matrix:
    """Rank correlations of the columns, pairwise complete; ties have their mean rank. `pairs` as above."""
    return _pairwise(table, _of_ranks, pairs)


def _pairwise(table: Values, correlate: Callable[[Values], Matrix], pairs: Pairs | None) -> Matrix:
    known = ~np.isnan(table)
    if known.all():
        return correlate(table)
    columns = table.shape[1]
    found = np.full((columns, columns), np.nan)
    for a, b in itertools.combinations_with_replacement(range(columns), 2) if pairs is None else pairs:
        both = known[:, a] & known[:, b]
        found[a, b] = found[b, a] = correlate(table[both][:, [a, b]])[0, 1]
    return found


def _of_ranks(table: Values) -> Matrix:
    from scipy.stats import rankdata

    return _complete(rankdata(table, axis=0)) if len(table) else _complete(table)


def _complete(table: Values) -> Matrix:
    if len(table) < 2:
        return np.full((table.shape[1],) * 2, np.nan)
    centred = table - table.mean(axis=0)
    constant = (table == table[0]).all(axis=0)
    spread = np.sqrt(np.square(centred).sum(axis=0))
    spread[constant | (spread == 0)] = np.nan
    return np.clip((centred / spread).T @ (centred / spread), -1, 1)


def cross_table(a: npt.NDArray[np.integer], b: npt.NDArray[np.integer], rows: int, columns: int) -> Values:
    """Counts of pairs of codes."""
    flat = np.bincount(a.astype(np.int64) * columns + b, minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.float64)


def cramers_v(counts: Values) -> float:
    """sqrt(χ²/n / (min(r, c) - 1)) of the levels that occur (Cramér 1946, section 21.9), uncorrected."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if not counts.size or min(counts.shape) < 2:
        return math.nan
    total = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    chi = (np.square(counts - expected) / expected).sum()
    return float(min(1.0, math.sqrt(chi / total / (min(counts.shape) - 1))))


def correlation_ratio(codes: npt.NDArray[np.integer], values: Values, size: int) -> float:
    """η: the root of the share of the variance of `values` that lies between groups (Fisher 1925, § 45)."""
    known = ~np.isnan(values)
    codes, values = codes[known], values[known]
    if len(values) < 2 or (values == values[0]).all() or (codes == codes[0]).all():
        return math.nan
    values = values - values.mean()
    counts = np.bincount(codes, minlength=size)
    sums = np.bincount(codes, weights=values, minlength=size)
    between = (np.square(sums[counts > 0]) / counts[counts > 0]).sum()
    return float(math.sqrt(min(1.0, between / np.square(values).sum())))


def mutual_information(counts: Values) -> float:
    """Σ p(x, y) ln p(x, y)/(p(x) p(y)) in nats (Shannon 1948); 0 when one of both is constant."""
    total = counts.sum()
    if not total:
        return math.nan
    joint = counts / total
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return max(0.0, float((joint[seen] * np.log(joint[seen] / product[seen])).sum()))

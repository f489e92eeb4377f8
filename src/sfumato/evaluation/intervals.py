"""Confidence intervals of shares, of areas under ROC curves, and by bootstrap."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.evaluation.outcome import Interval

Values = npt.NDArray[np.float64]


def clopper_pearson(hits: int, trials: int, *, level: float = 0.95) -> Interval:
    """The exact interval of a probability (Clopper and Pearson 1934)."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, trials - hits)) if hits < trials else 1.0
    return Interval(low, high, level=level, method="Clopper-Pearson")


def auc(scores: Values, positive: npt.NDArray[np.bool_]) -> float:
    """The chance that a positive scores above a negative, ties half (Mann and Whitney 1947); NaN without
    both.
    """
    from scipy.stats import rankdata

    hits, misses = int(positive.sum()), int((~positive).sum())
    if not hits or not misses:
        return math.nan
    ranks = rankdata(scores)
    return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * misses))


def auc_interval(scores: Values, positive: npt.NDArray[np.bool_], *, level: float = 0.95) -> Interval:
    """DeLong, DeLong and Clarke-Pearson 1988, on the logit scale, which keeps it between 0 and 1.

    An area of 0 or 1 has no variance; its open end is that of an exact binomial interval of the smaller
    group.
    """
    from scipy.stats import norm, rankdata

    hits, misses = scores[positive], scores[~positive]
    area = auc(scores, positive)
    if area in (0.0, 1.0):
        fewer = min(hits.size, misses.size)
        found = clopper_pearson(fewer if area else 0, fewer, level=level)
        return Interval(found.low, found.high, level=level, method="Clopper-Pearson, smaller group")
    ranks = rankdata(scores)
    above = (ranks[positive] - rankdata(hits)) / misses.size
    below = 1 - (ranks[~positive] - rankdata(misses)) / hits.size
    variance = _variance(above) / hits.size + _variance(below) / misses.size
    wide = float(norm.ppf((1 + level) / 2)) * math.sqrt(variance) / (area * (1 - area))
    middle = math.log(area / (1 - area))
    return Interval(_logistic(middle - wide), _logistic(middle + wide), level=level, method="DeLong, logit")


def _variance(values: Values) -> float:
    return float(values.var(ddof=1)) if values.size > 1 else 0.25


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0


def percentiles(values: Values, *, level: float = 0.95, method: str) -> Interval:
    """The middle `level` of bootstrap replicates (Efron 1979)."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level=level, method=method)

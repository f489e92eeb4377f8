"""Conditional probabilities from counts, exact or noisy.

Without noise this is the posterior mean under a Dirichlet prior (Bindschaedler, Shokri, Gunter 2017,
equations 10-12). With noise a configuration of few records would be described by noise alone; so every row of
counts is projected to the nearest one that is not negative and keeps its noisy sum, and the prior, whose mean
is the attribute's own distribution over all configurations, weighs as many records as the noise of that sum.
All of it is post-processing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def conditional(
    counts: npt.ArrayLike, *, sigma: float, prior: float, allowed: npt.NDArray[np.bool_]
) -> Floats:
    """Distributions of the columns of `counts`, one for each row.

    sigma: noise scale of each cell. prior: records that the Dirichlet prior weighs in each configuration, on
    top of what the noise calls for. allowed: outcomes that may occur, at least one.
    """
    table = np.asarray(counts, dtype=np.float64)
    held = int(allowed.sum())
    whole = _projected(table.sum(axis=0), allowed)
    weighed = max(float(whole.sum()), 0.0)
    even = allowed / held
    # The noise of all configurations together is what the attribute's own distribution has.
    doubt = max(prior, 1e-9) + sigma * np.sqrt(held * table.shape[0])
    marginal = (whole + doubt * even) / (weighed + doubt)
    found = np.empty_like(table)
    strength = max(prior, 1e-9) + sigma * np.sqrt(held)
    for row, noisy in enumerate(table):
        part = _projected(noisy, allowed)
        found[row] = (part + strength * (marginal if sigma > 0 else even)) / (part.sum() + strength)
    return found


def _projected(values: Floats, allowed: npt.NDArray[np.bool_]) -> Floats:
    """The nearest vector (least squares) that is not negative, 0 where not allowed, with the sum of
    `values`.
    """
    found = np.zeros_like(values)
    part = values[allowed]
    total = float(part.sum())
    if total <= 0:
        return found
    ordered = np.sort(part)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, part.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    found[allowed] = np.maximum(part - excess[last], 0.0)
    return found

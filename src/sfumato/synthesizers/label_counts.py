"""Expected counts of the values of an unordered column from noisy ones; post-processing.

Empirical Bayes: where there are many values, their noisy counts together tell how large counts usually are.
This prior is estimated by maximum likelihood without a form of its own (Kiefer, Wolfowitz 1956; Jiang, Zhang
2009, "General maximum likelihood empirical Bayes estimation of normal means"), on a fixed set of counts, and
each value gets its posterior mean. Values far above the noise are left as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FAR = 6.0
"""Noise scales above which a count is left as it is."""
POINTS = np.concatenate([[0.0], np.geomspace(0.25, FAR + 4, 40)])
"""Counts of the prior, in noise scales."""
PRIOR = 3.0
"""Values' worth of a prior that is even over the points."""
STEPS = 40
"""Steps of expectation and maximisation."""


def posterior_counts(counts: Floats, *, sigma: float, total: float) -> Floats:
    """Nonnegative counts with sum `total` from counts with normal noise of scale `sigma`."""
    near = counts <= FAR * sigma
    found, variance = np.maximum(counts, 0.0), np.full(counts.size, sigma**2)
    if near.any():
        likelihood = np.exp(-0.5 * (np.maximum(counts[near], -FAR * sigma)[:, None] / sigma - POINTS) ** 2)
        even = np.full(POINTS.size, 1 / POINTS.size)
        prior, chances = even, likelihood
        for _ in range(STEPS):
            chances = likelihood * prior
            chances /= chances.sum(axis=1, keepdims=True)
            prior = (chances.sum(axis=0) + PRIOR * even) / (near.sum() + PRIOR)
        means = chances @ POINTS
        found[near] = sigma * means
        variance[near] = sigma**2 * np.maximum(chances @ POINTS**2 - means**2, 0.0)
    # What the sum is off by is shared in proportion to how uncertain each count is.
    found = np.maximum(found + (total - found.sum()) * variance / max(variance.sum(), 1e-300), 0.0)
    return found * (total / found.sum()) if found.sum() > 0 else np.full(counts.size, total / counts.size)

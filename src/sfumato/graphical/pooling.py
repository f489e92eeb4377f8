"""Many overlapping noisy marginals made consistent: residual pooling.

The marginal of a clique splits into orthogonal *residuals*, one per subset t of the clique: sum down to t,
then subtract the mean along every axis. Each clique that contains t is an unbiased look at the residual of t,
with variance sigma^2 times the cells summed over; these looks are averaged by inverse variance. Rebuilding
every clique from the averages gives targets that agree on all shared marginals. As long as sigma is one
number per measurement, the sum of squares

    sum_r |N p_r - y_r|^2 / (2 sigma_r^2)

keeps its shape: with the targets in place of y it differs by a constant. The residual of the empty set is the
total.

Source: Mullins et al., "Efficient and private marginal reconstruction with local non-negativity" (NeurIPS
2024); Xiao et al., "ResidualPlanner" (NeurIPS 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from attrs import frozen

from sfumato.graphical.layout import Floats, cell_count
from sfumato.graphical.measurement import Measurement

Clique = tuple[int, ...]
Look = tuple[Floats, float | Floats]
"""Values and their sigma."""

SIGMAS = (1e-50, 1e50)
"""Noise is clipped into this range, so that squares and their ratios stay finite."""


@frozen(eq=False)
class Target:
    """What one marginal should be, as shares of the total; `sigma` is the noise of a cell in counts."""

    clique: Clique
    values: Floats
    sigma: float | Floats

    @property
    def scale(self) -> float:
        """Root mean square of sigma."""
        return float(np.sqrt(np.mean(np.square(self.sigma))))


def pool(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    total: float,
    possible: Mapping[Clique, np.ndarray],
) -> list[Target]:
    """One target per measured clique, in the order of first mention; they agree on all shared marginals.

    `possible[clique]` is False where a cell is known to be 0; what was measured there is noise, and is
    dropped. A measurement whose sigma differs by cell counts with its mean variance towards the others; its
    own target is what was measured: corrections spread evenly over unequal cells would spoil the good ones.
    An interaction is a look at one residual; ValueError when a margin of its clique was never measured.
    """
    merged: dict[Clique, Look] = {}
    apart: dict[Clique, Look] = {}
    for measurement in measurements:
        values = measurement.values
        sigma = np.clip(measurement.sigma, *SIGMAS)
        sigma = float(sigma.flat[0]) if (sigma == sigma.flat[0]).all() else sigma
        if measurement.interaction:
            apart[measurement.clique] = _average(apart.get(measurement.clique), values, sigma)
        else:
            values = np.where(possible[measurement.clique], values, 0.0)
            merged[measurement.clique] = _average(merged.get(measurement.clique), values, sigma)
    residuals = _residuals(sizes, merged, apart)
    residuals[()] = np.asarray(total, dtype=np.float64)
    for clique in apart:
        missing = [part for part in _subsets(clique) if part not in residuals]
        if missing:
            raise ValueError(f"the interaction of {clique} needs a measurement that holds {missing[0]}")
    targets = []
    for clique in dict.fromkeys(measurement.clique for measurement in measurements):
        values, sigma = merged.get(clique) or apart[clique]
        if isinstance(sigma, float):
            values = _rebuild(sizes, clique, residuals)
            if clique in merged and clique in apart:
                sigma = float(1.0 / np.hypot(1.0 / sigma, 1.0 / apart[clique][1]))
        targets.append(Target(clique, values / total, sigma))
    return targets


def _average(known: Look | None, values: Floats, sigma: float | Floats) -> Look:
    """Inverse-variance mean of two measurements of the same clique."""
    if known is None:
        return values, sigma
    old, new = np.square(known[1]), np.square(sigma)
    share = new / (old + new)
    pooled = np.sqrt(old * share)
    return share * known[0] + (1.0 - share) * values, float(pooled) if pooled.ndim == 0 else pooled


def _residuals(
    sizes: Sequence[int], merged: Mapping[Clique, Look], apart: Mapping[Clique, Look]
) -> dict[Clique, Floats]:
    """The mean look at each residual, from tables and from interactions measured apart."""
    # Weights are divided by the largest of all, lest squares of tiny sigmas overflow.
    smallest = min(
        (float(np.min(look[1])) for looks in (merged, apart) for look in looks.values()), default=1.0
    )
    sums: dict[Clique, Floats] = {}
    weights: dict[Clique, float] = {}

    def add(clique: Clique, look: Look, parts: Iterable[Clique]) -> None:
        values, sigma = look
        variance = float(np.mean(np.square(np.asarray(sigma) / smallest)))
        for part in parts:
            residual = values.sum(axis=tuple(i for i, a in enumerate(clique) if a not in part))
            for axis in range(len(part)):
                residual = residual - residual.mean(axis=axis, keepdims=True)
            weight = cell_count(sizes, part) / (variance * cell_count(sizes, clique))
            sums[part] = sums.get(part, 0.0) + weight * residual
            weights[part] = weights.get(part, 0.0) + weight

    for clique, look in merged.items():
        add(clique, look, _subsets(clique))
    for clique, look in apart.items():
        add(clique, look, [clique])
    return {part: sums[part] / weights[part] for part in sums}


def _rebuild(sizes: Sequence[int], clique: Clique, residuals: Mapping[Clique, Floats]) -> Floats:
    """The marginal of `clique` from the residuals of its subsets."""
    values = np.zeros([sizes[attribute] for attribute in clique])
    for part in _subsets(clique):
        shape = [sizes[attribute] if attribute in part else 1 for attribute in clique]
        spread = cell_count(sizes, clique) // cell_count(sizes, part)
        values += residuals[part].reshape(shape) / spread
    return values


def _subsets(clique: Clique) -> Iterator[Clique]:
    for length in range(len(clique) + 1):
        yield from combinations(clique, length)

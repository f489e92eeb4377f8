"""Steps that marginal-based methods share: the row count, the one-way marginals, and coarser groups of
codes.

All of it is post-processing of one measurement: `measure_one_way` asks, the rest computes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.smoothing import smooth

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True)
class OneWay:
    """Fitted one-way marginals."""

    total: float
    """Estimated number of rows, at least 1."""
    counts: tuple[Floats, ...]
    """Expected counts of every code: nonnegative, summing to `total`, zero where a code is not allowed."""
    noisy: tuple[Floats, ...]
    """The released counts."""
    sigma: float


def measure_one_way(
    curator: Curator, codecs: tuple[Codec, ...], *, spend: float, total_spend: float
) -> OneWay:
    """Measure the row count and every one-way marginal, and fit them to each other."""
    rows, sigma_total = curator.total(spend=total_spend)
    noisy = curator.measure([(codec,) for codec in codecs], spend=spend, purpose="one-way marginals")
    total = pool_total(rows, sigma_total, noisy.tables, noisy.sigma)
    counts = tuple(
        project_to_simplex(_smoothed(codec, table, noisy.sigma), total, codec.allowed)
        for codec, table in zip(codecs, noisy.tables, strict=True)
    )
    return OneWay(
        total=total,
        counts=counts,
        noisy=tuple(table.astype(np.float64) for table in noisy.tables),
        sigma=noisy.sigma,
    )


def _smoothed(codec: Codec, table: npt.NDArray[np.int64], sigma: float) -> Floats:
    """Counts with the cells smoothed, where all of them have one width."""
    counts = table.astype(np.float64)
    if isinstance(codec, GridCodec) and codec.widths.min() == codec.widths.max():
        allowed = codec.allowed[codec.atoms :]
        if allowed.all():
            counts[codec.atoms :] = smooth(counts[codec.atoms :], sigma)
    return counts


def pool_total(
    rows: int, sigma_total: float, tables: tuple[npt.NDArray[np.int64], ...], sigma: float
) -> float:
    """Minimum-variance estimate of the row count: each table's sum estimates it too, with variance
    cells·sigma².
    """
    estimates = np.array([rows, *(table.sum() for table in tables)], dtype=np.float64)
    variances = np.array([sigma_total**2, *(table.size * sigma**2 for table in tables)])
    weights = 1 / variances
    return max(1.0, float(estimates @ weights / weights.sum()))


def project_to_simplex(values: Floats, total: float, allowed: npt.NDArray[np.bool_]) -> Floats:
    """The nearest vector (least squares) that is nonnegative, sums to `total` and is zero where not
    allowed.

    Held, Wolfe, Crowder 1974: subtract one number from every entry and cut at zero.
    """
    result = np.zeros_like(values)
    if not allowed.any():
        raise ValueError("no code is allowed")
    part = values[allowed]
    ordered = np.sort(part)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, part.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    result[allowed] = np.maximum(part - excess[last], 0.0)
    return result * (total / result.sum())


def coarsen(codec: Codec, counts: Floats, *, least: float, groups_at_most: int = 64) -> npt.NDArray[np.int64]:
    """Group codes so that each group is expected to hold at least `least` rows; returns the group of
    every code.

    Neighbouring cells of an ordered column are joined; rare values of an unordered one go into one
    group. Atoms (missing, special codes) stay alone. Groups are numbered 0, 1, … in the order of their
    first code.
    """
    least = max(least, counts.sum() / groups_at_most)
    groups = np.zeros(codec.size, dtype=np.int64)
    groups[: codec.atoms] = np.arange(codec.atoms)
    following = codec.atoms
    if codec.ordered:
        held = 0.0
        for code in range(codec.atoms, codec.size):
            groups[code] = following
            held += counts[code]
            rest = counts[code + 1 :].sum()
            if held >= least and rest >= least:
                following += 1
                held = 0.0
        return groups
    rare = (counts < least) & (np.arange(codec.size) >= codec.atoms)
    if rare.sum() <= 1:
        return np.arange(codec.size, dtype=np.int64)
    common = np.flatnonzero(~rare[codec.atoms :]) + codec.atoms
    groups[common] = following + np.arange(common.size)
    groups[rare] = following + common.size
    order = {group: number for number, group in enumerate(dict.fromkeys(groups.tolist()))}
    return np.array([order[group] for group in groups.tolist()], dtype=np.int64)

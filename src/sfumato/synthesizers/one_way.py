"""Steps that marginal-based methods share: the row count, the one-way marginals, and coarser groups of
codes.

All of it is post-processing of one measurement: `measure_one_way` asks, the rest computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, GridCodec, ValuesCodec
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.histogram import denoise, fade, support
from sfumato.synthesizers.label_counts import posterior_counts
from sfumato.synthesizers.structure import scales_of

Floats = npt.NDArray[np.float64]

PURPOSE = "one-way marginals"
MANY = 100
"""Codes of a column beyond which its noise is not lowered further."""
MANY_VALUES = 24
"""Values of an unordered column from which on they tell how large its counts usually are."""
SEEN = 4.0
"""Missing cells, or others, are seen when their count exceeds this many noise scales."""
STRAY = 0.02
"""Share of the rows from which cells that a column cannot hold are worth a remark, …"""
MOST = 0.5
"""… and a warning, …"""
NEARLY_ALL = 0.98
"""… or, where they come out as missing, a warning alone."""
LEAST = 1e-9
"""Share of the rows in all cells of a column together that are taken as empty, at most."""


@frozen(kw_only=True)
class OneWay:
    """Fitted one-way marginals."""

    total: float
    """Estimated number of rows, at least 1."""
    counts: tuple[Floats, ...]
    """Expected counts of every code: nonnegative, summing to `total`, zero where a code is not allowed."""
    noisy: tuple[Floats, ...]
    """The released counts."""
    sigmas: tuple[float, ...]
    """Their noise scales."""


def measure_one_way(
    curator: Curator, codecs: tuple[Codec, ...], *, spend: float, total_spend: float
) -> OneWay:
    """Measure the row count and every one-way marginal, and fit them to each other."""
    rows, sigma_total = curator.total(spend=total_spend)
    cliques = [(codec,) for codec in codecs]
    if curator.filter.is_pure:
        noisy = curator.measure(cliques, spend=spend, purpose=PURPOSE)
        sigmas = (noisy.sigma,) * len(codecs)
    else:
        scales = relative_noise(codecs, learned_sizes_are_public=curator.ledger.adaptive)
        noisy = curator.measure_each(cliques, scales=scales, spend=spend, purpose=PURPOSE)
        sigmas = noisy.sigmas
    tables = tuple(table.astype(np.float64) for table in noisy.tables)
    total = pool_total(rows, sigma_total, tables, sigmas)
    counts = tuple(
        expected_counts(codec, table, sigma=sigma, total=total)
        for codec, table, sigma in zip(codecs, tables, sigmas, strict=True)
    )
    for codec, table, sigma in zip(codecs, tables, sigmas, strict=True):
        tell_strays(curator, codec, float(table[0]), sigma=sigma, total=total)
    return OneWay(total=total, counts=counts, noisy=tables, sigmas=sigmas)


def relative_noise(codecs: Sequence[Codec], *, learned_sizes_are_public: bool) -> tuple[Fraction, ...]:
    """Noise scales of columns in proportion to size^(-1/4).

    The error of k cells with noise sigma is k·sigma, least in all for 1/sigma² in proportion to k^(2/3); it
    grows more slowly than that where cells are empty or alike, so that the power is 1/2, and the size at most
    MANY. Where charges are to be known beforehand, sizes that were learned count as MANY.
    """
    sizes = [
        min(codec.size, MANY) if learned_sizes_are_public or not _is_learned(codec) else MANY
        for codec in codecs
    ]
    return scales_of([size**0.75 for size in sizes])


def _is_learned(codec: Codec) -> bool:
    """Whether the number of codes was learned from the rows."""
    return codec.other if isinstance(codec, ValuesCodec) else bool(codec.widths.max() > 1)


def tell_strays(curator: Curator, codec: Codec, stray: float, *, sigma: float, total: float) -> None:
    """Tell when many cells are missing or not as declared, by their released count `stray`.

    A warning is for columns that a schema declares: a type that was learned may be one that noise has chosen.
    """
    facts, learned = codec.facts, codec.facts.source == "dp"
    if stray <= max(5 * sigma, STRAY * total):
        return
    what = "not of the type that was learned" if learned else "not as declared"
    mend = "mend its type or facts in the schema, or state nullable = true"
    mend = "in a schema, state nullable = true or its type" if learned else mend
    if facts.nullable:
        if stray > NEARLY_ALL * total and not learned:
            curator.warn(
                f"{codec.column!r}: nearly all of its cells are missing or {what} ({facts.kind}), and come "
                "out as missing; unless the column is empty or nearly so, mend its type or facts in the "
                "schema"
            )
    elif stray > MOST * total and not learned:
        curator.warn(
            f"{codec.column!r}: most of its cells are missing or {what} ({facts.kind}), and values are made "
            f"up in their place; {mend}"
        )
    else:
        curator.remark(
            f"{codec.column!r}: about {stray / total:.0%} of its cells are missing or {what}, and it is not "
            f"nullable, so values are drawn in their place; {mend}"
        )


def pool_total(rows: int, sigma_total: float, tables: Sequence[Floats], sigmas: Sequence[float]) -> float:
    """Minimum-variance estimate of the row count: each table's sum estimates it too, with variance
    cells·sigma².
    """
    estimates = np.array([rows, *(table.sum() for table in tables)], dtype=np.float64)
    noise = [table.size * sigma**2 for table, sigma in zip(tables, sigmas, strict=True)]
    weights = 1 / np.array([sigma_total**2, *noise])
    return max(1.0, float(estimates @ weights / weights.sum()))


def expected_counts(codec: Codec, noisy: Floats, *, sigma: float, total: float) -> Floats:
    """Expected counts of every code from noisy ones.

    Rows whose code is not allowed (a missing cell in a column that is not nullable) take allowed codes in
    proportion. Missing cells and OTHER that do not stand out of the noise are taken as none.
    """
    stray = float(noisy[~codec.allowed].sum())
    inside = min(max(total - stray, 0.01 * total), total)
    allowed = codec.allowed.copy()
    doubtful = [0, codec.size - 1] if isinstance(codec, ValuesCodec) and codec.other else [0]
    allowed[[code for code in doubtful if noisy[code] < SEEN * sigma]] = False
    if not allowed.any():
        allowed = codec.allowed
    if isinstance(codec, ValuesCodec) and allowed.sum() >= MANY_VALUES:
        found = np.zeros_like(noisy)
        found[allowed] = posterior_counts(noisy[allowed], sigma=sigma, total=inside)
        return found * (total / inside)
    if not isinstance(codec, GridCodec) or not allowed[codec.atoms :].any():
        return project_to_simplex(noisy, inside, allowed) * (total / inside)
    cells = codec.atoms + np.flatnonzero(allowed[codec.atoms :])
    widths = codec.widths[cells - codec.atoms].astype(np.float64)
    atoms = np.flatnonzero(allowed[: codec.atoms])
    kept = support(noisy[cells], widths, sigma=sigma, total=inside - noisy[atoms].sum())
    # The sum of the cells is as uncertain as all of them together, so it gives way first.
    parts = np.append(noisy[atoms], noisy[cells[kept]].sum())
    cells_each = np.append(np.ones(atoms.size), cells[kept].size)
    parts = np.maximum(parts - (parts.sum() - inside) * cells_each / cells_each.sum(), 0.0)
    parts *= total / parts.sum()
    found = np.zeros_like(noisy)
    found[atoms] = parts[:-1]
    if parts[-1] > 0:
        held, noise = np.zeros(cells.size), sigma * total / inside
        held[kept] = denoise(noisy[cells[kept]], widths[kept], sigma=noise, total=parts[-1])
        held = fade(held, noisy[cells], widths, kept, sigma=noise)
        found[cells] = held * (parts[-1] / held.sum())
    # No cell is impossible, so that rows can be drawn given any value.
    possible = codec.atoms + np.flatnonzero(codec.allowed[codec.atoms :])
    found[possible] = np.maximum(found[possible], LEAST * total / possible.size)
    return found * (total / found.sum())


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

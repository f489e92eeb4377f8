"""Two scores of marginals as they were published: NIST's three-way score and the μ-smoothed divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.distances import l1, smoothed_kl
from sfumato.evaluation.marginal_cells import column_sets, marginals
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Details, Measure, Outcome, worst_first
from sfumato.evaluation.pair import Pair, PairedColumn
from sfumato.evaluation.settings import Settings

NIST_BINS = 100
SIDES = ("real", "synthetic")

NIST = Measure(
    name="marginals.nist",
    title="Three-way score of NIST",
    family="marginals",
    meaning="Mean L1 distance of random triples, numbers in 100 even bins; 0 the same, 2 nothing shared.",
    high=2.0,
    source="NIST 2018 Differential Privacy Synthetic Data Challenge; Tantipongpipat et al. 2021, section 5",
)

KL = Measure(
    name="marginals.mu_kl",
    title="Smoothed divergence, diversity",
    family="marginals",
    meaning="Sum over categories of a divergence that punishes values which are never drawn; 0 is best.",
    high=math.inf,
    source="Tantipongpipat et al. 2021, section 5, with μ = exp(-1/(1-p))",
)


def nist_codes(column: PairedColumn) -> tuple[list[np.ndarray], int]:
    """Codes of both sides: a category's own, a number in 100 bins between the least and greatest real value.

    Below, above, special and missing cells have codes of their own.
    """
    if not column.is_number:
        return [column.codes(side) for side in SIDES], column.size
    real = column.values("real")
    real = real[~np.isnan(real)]
    low, high = (float(real.min()), float(real.max())) if real.size else (0.0, 0.0)
    rest = column.size - column.bins  # special codes and missing cells
    found = []
    for side in SIDES:
        values = column.values(side)
        with np.errstate(invalid="ignore"):
            place = np.floor((values - low) / ((high - low) or 1.0) * NIST_BINS)
        place = np.where(values == high, NIST_BINS - 1, place)
        place = np.clip(np.nan_to_num(place, nan=0.0), -1, NIST_BINS) + 1
        codes = column.codes(side)
        infinite = np.isnan(values) & (codes < column.bins)
        place = np.where(infinite, NIST_BINS + 1, place)
        found.append(
            np.where(codes >= column.bins, NIST_BINS + 2 + codes - column.bins, place).astype(np.int32)
        )
    return found, NIST_BINS + 2 + rest


@metric("marginals.nist", NIST)
def nist_score(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Mean L1 distance of random triples of columns."""
    if len(pair.columns) < 3:
        raise NotApplicable("there are fewer than 3 columns to compare")
    sets = column_sets(len(pair.columns), 3, at_most=settings.sets, seed=settings.seed)
    coded = [nist_codes(column) for column in pair]
    tables = [[codes[side] for codes, _ in coded] for side in (0, 1)]
    found = np.array([l1(*shares) for shares in marginals(tables, [size for _, size in coded], sets)])
    facts = {
        "triples": len(sets),
        "points of 1000": float(1000 * (1 - found.mean() / 2)),
        "standard error of the mean over triples": float(found.std(ddof=1) / math.sqrt(found.size))
        if 1 < found.size < math.comb(len(pair.columns), 3)
        else 0.0,
    }
    yield NIST.found(float(found.mean()), facts=facts)


@metric("marginals.mu_kl", KL)
def smoothed_divergence(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Sum of the μ-smoothed divergences of all category columns."""
    if not pair.categories:
        raise NotApplicable("no column is a category")
    rows, infinite = [], []
    for column in pair.categories:
        value = smoothed_kl(column.shares("real"), column.shares("synthetic"))
        rows.append((column.name, value))
        if math.isinf(value):
            infinite.append(column.name)
    details = Details(("column", "divergence"), worst_first(rows, 1))
    if infinite:
        yield KL.failed(
            f"the divergence of {len(infinite)} column{'s' * (len(infinite) > 1)} is infinite: constant in "
            "the real table, and the synthetic one never has that value",
            details=details,
            facts={"infinite": infinite},
        )
        return
    values = [value for _, value in rows]
    yield KL.found(
        sum(values), details=details, facts={"mean": float(np.mean(values)), "columns": len(values)}
    )

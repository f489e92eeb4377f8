"""k-way PCA marginals: both tables on the principal axes of the real one.

Features are standardised by the real rows, axes are the eigenvectors of their scatter matrix; the synthetic
rows have no say in either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.distances import matched_distance
from sfumato.evaluation.features import features
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Cell, Details, Measure, Outcome
from sfumato.evaluation.pair import Pair
from sfumato.evaluation.settings import Settings

POINTS = 100
REPEATS = 40
ROWS = 20_000
SHOWN = 500
LEVELS = 10


def _measure(axes: int) -> Measure:
    return Measure(
        name="structure.pca" if axes == 2 else f"structure.pca{axes}",
        title=f"Distance on {axes} principal axes",
        family="structure",
        meaning=f"How far rows must be moved on the {axes} main axes of the real table, less what chance "
        "alone needs; the unit is the deviation of the first axis.",
        low=-math.inf,
        high=math.inf,
        direction="lower",
        source="Tantipongpipat et al. 2021, section 5: k-way PCA marginal, Wasserstein distance of points",
    )


MEASURES = {axes: _measure(axes) for axes in (1, 2, 3)}


@metric("structure.pca", *MEASURES.values())
def principal_axes(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Exact Wasserstein distance of 100 random points of both sides on k axes, repeated; chance: real against
    real.
    """
    pair = pair.sample(ROWS, seed=settings.seed)
    made = features(pair, levels=LEVELS)
    real, synthetic = made.linear("real"), made.linear("synthetic")
    varied = real.std(axis=0) > 0
    if pair.real_rows < 2 or not varied.any():
        raise NotApplicable("no column of the real table varies")
    mean, spread = real[:, varied].mean(axis=0), real[:, varied].std(axis=0)
    real, synthetic = ((side[:, varied] - mean) / spread for side in (real, synthetic))
    sizes, axes = np.linalg.eigh(real.T @ real / len(real))
    order = np.argsort(-sizes)
    axes = axes[:, order[:3]]
    real, synthetic = (side @ axes / math.sqrt(sizes[order[0]]) for side in (real, synthetic))
    rng = np.random.default_rng(settings.seed)
    for number, measure in MEASURES.items():
        if real.shape[1] < number:
            yield measure.not_applicable(f"there are fewer than {number} principal axes")
            continue
        far, chance = _distances(real[:, :number], synthetic[:, :number], rng)
        gaps = far - chance
        facts = {
            "distance": float(far.mean()), "of two halves of the real rows": float(chance.mean()),
            "standard error": float(gaps.std(ddof=1) / math.sqrt(REPEATS)),
            "points": POINTS, "repeats": REPEATS,
            "share of variance": float(sizes[order[:number]].sum() / sizes.sum()),
        }  # fmt: skip
        details = Details(("side", "x", "y"), _shown(real, synthetic)) if number == 2 else None
        yield measure.found(float(gaps.mean()), details=details, facts=facts)


def _distances(
    real: np.ndarray, synthetic: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Distances of real from synthetic points, and of real from other real points."""
    far, chance = np.empty(REPEATS), np.empty(REPEATS)
    for repeat in range(REPEATS):
        first, second = (real[rng.integers(len(real), size=POINTS)] for _ in range(2))
        far[repeat] = matched_distance(first, synthetic[rng.integers(len(synthetic), size=POINTS)])
        chance[repeat] = matched_distance(first, second)
    return far, chance


def _shown(real: np.ndarray, synthetic: np.ndarray) -> list[tuple[Cell, ...]]:
    """At most so many points a side, the first rows of a table that was sampled in random order."""
    rng = np.random.default_rng(0)
    rows: list[tuple[Cell, ...]] = []
    for side, points in (("real", real), ("synthetic", synthetic)):
        chosen = rng.choice(len(points), min(SHOWN, len(points)), replace=False)
        rows += [(side, float(x), float(y)) for x, y in points[chosen][:, :2]]
    return rows

"""`adaptive` on a table that nobody has looked at: the search for cliques, with assumed distances.

The same search under the same caps as in a run, so that a plan knows how large the model becomes.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.graphical import CellCounter
from sfumato.synthesizers.outlook import Scene
from sfumato.synthesizers.schedule import Schedule
from sfumato.synthesizers.structure import GUESS, MEAN_ABSOLUTE, TRIED, Candidate, improving, portion_of
from sfumato.synthesizers.workload import Clique

Floats = npt.NDArray[np.float64]

SEED, RUNS = 20_260_101, 4
LARGEST = 20_000
"""Cells of the largest triple that is considered."""
SEEN = 0.3
"""Share of the noise of one-way marginals that their estimates keep."""
LEFT = 0.5
"""Share of the distance of a pair that is left to find once the first round was measured."""


def typical_sigma(columns: int, *, budget: float, distance: float) -> float:
    """Noise of a pair when 1.3 times as many pairs as there are columns share most of the budget."""
    return float(distance * np.sqrt(1.3 * columns / (0.8 * budget)))


def cells_of(scene: Scene, schedule: Schedule, *, one_way: float, budget: float, scored: bool) -> int:
    """Cells of the model after all rounds: the geometric mean of some runs, since noise decides much.

    `one_way` is the share of the one-way marginals, `budget` what they leave. `scored`: whether pairs are
    chosen by noisy scores, which lets noise pass for dependence; else each is chosen for itself.
    """
    columns = len(scene.codecs)
    least = schedule.group * typical_sigma(columns, budget=scene.budget, distance=scene.distance)
    counts = scene.groups(least=least, at_most=schedule.groups_at_most)
    sizes = [table.size for table in counts]
    # Pairs are off for what their columns are, too.
    noise = MEAN_ABSOLUTE * scene.distance * np.sqrt(columns / (one_way * scene.budget))
    off = [SEEN * float(np.minimum(noise, table).sum()) for table in counts]
    promise: dict[Clique, float] = {
        pair: far + sum(off[a] for a in pair)
        for pair, far in scene.distances.items()
        if _cells(pair, sizes) <= schedule.max_cells
    }
    found = [
        _once(scene, schedule, counts, promise, budget=budget, scored=scored, seed=SEED + number)
        for number in range(RUNS)
    ]
    return round(float(np.exp(np.mean(np.log(found)))))


def _once(
    scene: Scene,
    schedule: Schedule,
    counts: list[Floats],
    promise: dict[Clique, float],
    *,
    budget: float,
    scored: bool,
    seed: int,
) -> int:
    """One run; `promise` is the error of each pair."""
    rng, sizes = np.random.default_rng(seed), [table.size for table in counts]
    counter = CellCounter(sizes, [(i,) for i in range(len(sizes))])
    for number, (scores, tables) in enumerate(schedule.shares):
        cliques = list(promise)
        if number:
            cliques += _triples(promise, sizes, schedule.triples_at_most)
        sigma = float(scene.distance * np.sqrt(len(cliques) / (scores * budget))) if scored else 0.0
        far = [sum(promise.get(pair, 0.0) for pair in combinations(clique, 2)) for clique in cliques]
        scored_as = np.array(far) + sigma * rng.standard_normal(len(cliques))
        likely = np.argsort(-scored_as)[: 2 * TRIED if scored else 2 * len(sizes)].tolist()
        ranked = [_candidate(cliques[i], counts, scene.rows, float(scored_as[i])) for i in likely]
        if not _add(counter, ranked, tables * budget, scene.distance, sigma, schedule.cells_in(number)):
            return schedule.max_cells
        promise = {pair: LEFT * far for pair, far in promise.items()}
    return counter.cells


def _add(
    counter: CellCounter, candidates: list[Candidate], spend: float, distance: float, doubt: float, most: int
) -> bool:
    """Add what `choose` would; False once a clique does not fit, since others will then fill the model."""
    guess = float(distance * np.sqrt(GUESS / spend))
    ranked = sorted(candidates, key=lambda c: -c.gain(guess))[:TRIED]
    chosen: list[Candidate] = []
    for candidate in improving(ranked, chosen, spend=spend, distance=distance, doubt=doubt):
        if not counter.add_within(candidate.clique, most):
            return False
        chosen.append(candidate)
    return True


def _cells(clique: Clique, sizes: list[int]) -> float:
    return float(np.prod([sizes[a] for a in clique], dtype=np.float64))


def _triples(promise: dict[Clique, float], sizes: list[int], at_most: int) -> list[Clique]:
    """Triples whose pairs depend on each other most, of the columns that do."""
    strongest = sorted(promise, key=lambda pair: -promise[pair])[: 2 * TRIED]
    columns = list(dict.fromkeys(a for pair in strongest for a in pair))[:20]
    found: list[Clique] = [c for c in combinations(sorted(columns), 3) if _cells(c, sizes) <= LARGEST]
    strength = {c: sum(promise.get(pair, 0.0) for pair in combinations(c, 2)) for c in found}
    return sorted(found, key=lambda c: -strength[c])[:at_most]


def _candidate(clique: Clique, counts: list[Floats], rows: float, far: float) -> Candidate:
    """A clique whose rows are off by `far`, and by the randomness of counts."""
    expected = counts[clique[0]]
    for i in clique[1:]:
        expected = np.multiply.outer(expected, counts[i]) / rows
    random = float(np.minimum(MEAN_ABSOLUTE * np.sqrt(expected), 2 * expected).sum())
    return Candidate.of(clique, 1.0, far + random, expected, portion_of(expected.shape))

"""A run of `adaptive`: scores, choices, measurements, fits.

1. Row count and one-way marginals; codes that noise would drown are put together (`grouping`).
2. Round 1: noisy L1 distance of every pair of columns to independence, all in one Gaussian release. A
   greedy search picks the pairs to measure within a cap on the size of the junction tree. Columns with few
   values are measured by their interactions, others by tables of counts. The budget is divided among them
   in closed form (`structure`). They are measured; the model is fitted.
3. Further rounds, as many as the budget can feed: pairs and triples are scored against the current model,
   the worst described ones are measured, the model is fitted again. With strong signals several orders of
   the search compete in the first rounds, each with its share of them; the best described rows win.

Source: the published parts are select-measure-generate (McKenna et al. 2021), noisy scores for all
candidates in one release and one-shot selection under a cap (as in SWIFT of dpsynth, 2026), and AIM
(2022) for adaptive rounds and overlap weights. Proof of privacy: docs/methods/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import evolve

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec
from sfumato.domain.views import Coarse
from sfumato.graphical import Measurement, fit
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.measurement import inverse_squares
from sfumato.privacy.mechanisms.selection import ErrorScores
from sfumato.synthesizers.dry_run import typical_sigma
from sfumato.synthesizers.estimates import expected_counts
from sfumato.synthesizers.grouping import group_codes
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import OneWay
from sfumato.synthesizers.one_way import expected_counts as expected_codes
from sfumato.synthesizers.ranges import Ranges, number_of_ranges, spread, summed
from sfumato.synthesizers.schedule import HEATS, Schedule
from sfumato.synthesizers.structure import (
    MEAN_ABSOLUTE,
    Candidate,
    Choice,
    choose,
    nearest_step,
    portion_of,
    scales_of,
)
from sfumato.synthesizers.workload import Clique, Workload

Floats = npt.NDArray[np.float64]

SWEEPS = (12, 30)
"""Sweeps of the fit between rounds, and of the last one."""
STRENGTH = 0.7
"""How long the fit follows measurements, against the engine's default."""
DOUBT = 0.25
"""Errors below this many scales of their noise are not acted on."""
HOPELESS = 1e8
"""Noise of scores, in records, at which none is asked for."""
LIKELY = 1_000
"""Candidates with the largest errors, among which the search chooses."""
DROWNED = 0.5
"""A pair is measured in ranges when noise would move more than this share of the rows of its table."""
MANY = 11_000
"""Pairs of columns beyond which noise on the score of every one would drown them all: the most dependent
pairs are then chosen one after another, without scores."""
WIDE_SCORES = 0.25
"""Share for that, in what is left after the one-way marginals, and at most half of the round."""
SCREENING = 2 / 3
"""… and of this, the share for choosing them; the rest scores those that were chosen."""
TOLERABLE = 0.05
"""Share of the rows by which a chosen pair may miss the best one; settles how many are chosen."""
MARGINS = 4.0
"""Pairs' worth of a column whose pairs are measured by their interactions, which tell nothing of it."""
LARGEST_CANDIDATE = 20_000
"""Cells of the largest triple that is considered."""


class AdaptiveRun:
    """What is known so far; `learn` finds out the rest.

    `ones`: the one-way marginals; `budget`: what there was before they were measured; `schedule`: the plan
    for a signal and the sizes of the columns.
    """

    def __init__(
        self,
        curator: Curator,
        domain: Domain,
        ones: OneWay,
        *,
        budget: float,
        goal: Workload,
        schedule: Callable[[float, Sequence[int]], Schedule],
    ) -> None:
        self.curator, self.ones, self.codecs = curator, ones, domain.codecs
        self.counts = list(ones.counts)
        """Expected counts of every code, from all that was measured of single columns."""
        self.single = list(zip(ones.noisy, ones.sigmas, strict=True))
        """Noisy counts of every code, and the noise of each."""
        self.distance = float(np.sqrt(curator.unit.table_l2_squared(curator.filter.relation)))
        signal = float(ones.total * np.sqrt(budget) / self.distance)
        self.plan = schedule(signal, [codec.size for codec in domain.codecs])
        self.goal = evolve(goal, triple=self.plan.triple)
        sigma = typical_sigma(len(domain.codecs), budget=budget, distance=self.distance)
        self.groups = [
            group_codes(codec, counts, least=self.plan.group * sigma, at_most=self.plan.groups_at_most)
            for codec, counts in zip(domain.codecs, self.counts, strict=True)
        ]
        self.views = [
            Coarse(codec, tuple(g.tolist())) for codec, g in zip(domain.codecs, self.groups, strict=True)
        ]
        self.sizes = [view.size for view in self.views]
        self.coarse = [self._grouped(i) for i in range(len(self.views))]
        self.known: list[Measurement] = [self._one_way(i) for i in range(len(self.views))]
        self.measured: list[Clique] = []
        self.promise: dict[Clique, float] = {}
        self.ranges = [
            Ranges.of_counts(
                counts.astype(np.float64), number_of_ranges(ones.total, sigma), ordered=codec.ordered
            )
            for codec, counts in zip(domain.codecs, self.coarse, strict=True)
        ]
        self.rough = self._drowned(goal.pairs(), sigma)
        """Pairs that are measured in ranges."""
        self.wide = len(goal.pairs()) > MANY
        self.thrift, self.doubt = 0.0, 0.0
        self.candidates: list[Candidate] = []
        self.missed = np.inf
        """Weighted noisy errors of all candidates of the round."""

    def _drowned(self, pairs: Sequence[Clique], sigma: float) -> set[Clique]:
        """Pairs whose table of groups would be nothing but noise, and whose table of ranges is smaller."""
        found: set[Clique] = set()
        for i, j in pairs:
            cells = self.sizes[i] * self.sizes[j]
            few = self.ranges[i].size * self.ranges[j].size < cells
            if few and MEAN_ABSOLUTE * sigma * cells > DROWNED * self.ones.total:
                table = np.outer(self.coarse[i], self.coarse[j]) / self.ones.total
                if Candidate.of((i, j), 1.0, 0.0, table).noise(sigma) > DROWNED * self.ones.total:
                    found.add((i, j))
        return found

    def _grouped(self, i: int) -> Floats:
        counts = np.bincount(self.groups[i], weights=self.counts[i], minlength=self.sizes[i])
        return counts.astype(np.float64, copy=False)

    def _seen(self, clique: Clique) -> tuple[Codec | Coarse, ...]:
        """The columns of a clique as they are counted: a single one code by code, unless it has few."""
        if len(clique) == 1 and self._portion(clique) == 1:
            return (self.codecs[clique[0]],)
        if clique in self.rough:
            return tuple(self.ranges[a].view(self.views[a]) for a in clique)
        return tuple(self.views[a] for a in clique)

    def _one_way(self, i: int) -> Measurement:
        members = np.bincount(self.groups[i], minlength=self.sizes[i])
        sigma = self.single[i][1] * np.sqrt(members.mean())
        return Measurement(clique=(i,), values=self.coarse[i], sigma=float(sigma))

    def _know_better(self, i: int, counts: Floats, sigma: float) -> None:
        """A second measurement of a single column, averaged with the first by inverse variances."""
        before, noise = self.single[i]
        share = noise**2 / (noise**2 + sigma**2)
        pooled, noise = before + share * (counts - before), float(noise * np.sqrt(1 - share))
        self.single[i] = pooled, noise
        self.counts[i] = expected_codes(self.codecs[i], pooled, sigma=noise, total=self.ones.total)
        self.coarse[i] = self._grouped(i)
        self.ranges[i] = self.ranges[i].shared_by(self.coarse[i])
        self.known[i] = self._one_way(i)

    def learn(self) -> MarginalGenerator:
        """All rounds; spends what the curator has left."""
        self._fit(sweeps=SWEEPS[0])
        budget = self.curator.left
        runs = [self]
        for number, (scores, tables) in enumerate(self._shares()):
            for run in runs:
                run._score(number, scores * budget / len(runs))
            if number == 0 and not self.wide:
                runs = [self._in_order(thrift) for thrift in self.plan.orders]
            elif number == HEATS:
                runs = [min(runs, key=lambda run: run.missed)]
            for run in runs:
                run._advance(number, tables * budget / len(runs))
        (run,) = runs
        return MarginalGenerator(
            total=run.ones.total, counts=tuple(run.counts), groups=tuple(run.groups), model=run.model
        )

    def _shares(self) -> list[tuple[float, float]]:
        """For each round, the shares of scores and of tables."""
        first, *others = self.plan.shares
        if self.wide:
            scores = min(WIDE_SCORES, sum(first) / 2)
            first = scores, sum(first) - scores
        return [first, *others]

    def _in_order(self, thrift: float) -> AdaptiveRun:
        """This run so far, to go on by itself with an order of its own."""
        run = copy(self)
        run.thrift = thrift
        for name in ("counts", "single", "coarse", "ranges", "known", "measured"):
            setattr(run, name, list(getattr(self, name)))
        return run

    def _advance(self, number: int, spend: float) -> None:
        """Choose, measure and fit."""
        last = number == len(self.plan.shares) - 1
        choice = self._choose(number, spend)
        if not choice.cliques:
            if not last:
                return
            again = self.measured
            if again:
                choice = Choice(tuple(again), scales_of([self._importance(clique) for clique in again]))
            else:
                choice = Choice(tuple((i,) for i in range(len(self.views))), scales_of(self.sizes))
        self._measure(choice, self.curator.left if last else min(spend, self.curator.left))
        self._fit(sweeps=SWEEPS[last])

    def _importance(self, clique: Clique) -> float:
        cells = self._cells(clique)
        if clique in self.rough:
            cells = int(np.prod([self.ranges[a].size for a in clique]))
        return self.goal.weight(clique) * cells * self._portion(clique)

    def _portion(self, clique: Clique) -> float:
        """Noise of a cell once it is measured, in that of a table: below 1 for an interaction."""
        return 1.0 if clique in self.rough else portion_of([self.sizes[a] for a in clique])

    def _cells(self, clique: Clique) -> int:
        return int(np.prod([self.sizes[a] for a in clique], dtype=np.float64))

    def _fit(self, sweeps: int) -> None:
        self.model = fit(
            self.sizes,
            self.known,
            total=self.ones.total,
            base=[counts / self.ones.total for counts in self.coarse],
            sweeps=sweeps,
            strength=STRENGTH,
            max_cells=max(self.plan.max_cells, sum(self.sizes)),
        )

    def _screened(self, spend: float) -> list[Clique]:
        """Of many columns, the pairs that depend on each other most; they alone are scored."""
        columns = len(self.views)
        pairs = columns * (columns - 1) // 2
        cliques: set[Clique] = set()
        if self.goal.target is not None:
            target = self.goal.target
            cliques |= {(min(a, target), max(a, target)) for a in range(columns) if a != target}
        # A choice misses the best score by about log(pairs) noise scales of sqrt(count / spend).
        count = spend * (TOLERABLE * self.ones.total / (self.distance * np.log(pairs))) ** 2
        count = int(min(count, 2 * columns, pairs))
        if count:
            cliques |= set(
                self.curator.top_pairs(
                    self.views,
                    shares=self.coarse,
                    total=self.ones.total,
                    count=count,
                    per_cell=int(MEAN_ABSOLUTE * self.distance * np.sqrt(count / spend)),
                    spend=spend,
                    purpose="dependent pairs",
                )
            )
        return sorted(cliques)

    def _score(self, number: int, spend: float) -> None:
        """Noisy errors of this round's candidates, the likely ones of which can be chosen."""
        if self.wide and number == 0:
            cliques = self._screened(spend * SCREENING)
            spend *= 1 - SCREENING
        else:
            cliques = self._candidates(number)
        self.candidates, self.missed = [], np.inf
        if not cliques or self.distance * np.sqrt(len(cliques) / spend) > HOPELESS:
            return
        if number:
            estimates = expected_counts(self.model, cliques)
        else:
            estimates = [np.outer(self.coarse[i], self.coarse[j]) / self.ones.total for i, j in cliques]
        estimates = [
            summed(table, [self.ranges[a] for a in clique]) if clique in self.rough else table
            for clique, table in zip(cliques, estimates, strict=True)
        ]
        views = [self._seen(clique) for clique in cliques]
        errors, sigma = self.curator.errors(
            ErrorScores(cliques=views, estimates=estimates),
            spend=spend,
            purpose=f"error scores, round {number + 1}",
        )
        if not number:
            self.promise = dict(zip(cliques, errors.tolist(), strict=True))
        weights = np.array([self.goal.weight(clique) for clique in cliques])
        self.missed, self.doubt = float(weights @ errors), sigma * DOUBT
        likely = np.argsort(-weights * errors, kind="stable")[:LIKELY]
        self.candidates = [
            Candidate.of(
                cliques[i], float(weights[i]), float(errors[i]), estimates[i], self._portion(cliques[i])
            )
            for i in sorted(likely.tolist())
        ]

    def _choose(self, number: int, spend: float) -> Choice:
        choice = choose(
            self.candidates, sizes=self.sizes, measured=self.measured, spend=spend, distance=self.distance,
            doubt=self.doubt, max_cells=self.plan.cells_in(number), thrift=self.thrift,
        )  # fmt: skip
        return self._with_margins(choice) if number == 0 else choice

    def _with_margins(self, choice: Choice) -> Choice:
        """One-way marginals besides, of columns whose pairs are measured by their interactions."""
        apart = {a for clique in choice.cliques if self._portion(clique) < 1 for a in clique}
        margins = [(a,) for a in sorted(apart)]
        importance = [self._importance(clique) for clique in choice.cliques]
        importance += [MARGINS * self._importance(margin) for margin in margins]
        return Choice((*choice.cliques, *margins), scales_of(importance))

    def _candidates(self, number: int) -> list[Clique]:
        if self.wide:
            return self._close()
        pairs = self.goal.pairs()
        pairs = [clique for clique in pairs if self._cells(clique) <= self.plan.max_cells]
        if number == 0:
            return pairs
        return [*pairs, *self._promising(self.goal.triples())]

    def _close(self) -> list[Clique]:
        """Of many columns: pairs and triples that hang together by pairs already chosen."""
        near: dict[int, set[int]] = {}
        for a, b in self.promise:
            near.setdefault(a, set()).add(b)
            near.setdefault(b, set()).add(a)
        corners = {tuple(sorted((a, b, c))) for b, ends in near.items() for a, c in combinations(ends, 2)}
        wanted = self._promising(sorted(corners))
        sides = {pair for clique in wanted for pair in combinations(clique, 2)}
        triples = wanted if max(self.goal.ways) >= 3 else []
        return [*sorted(sides | set(self.promise)), *triples]

    def _promising(self, triples: Sequence[Clique]) -> list[Clique]:
        """Triples worth a look: those whose pairs depend on each other most, within a number of cells."""
        if not triples:
            return []
        columns = len(self.sizes)
        promise = np.zeros((columns, columns))
        for (a, b), error in self.promise.items():
            promise[a, b] = error
        a, b, c = np.array(triples).T
        related = promise[a, b] + promise[a, c] + promise[b, c]
        cells = np.prod(np.array(self.sizes, dtype=np.float64)[np.array(triples)], axis=1)
        kept, held = [], 0.0
        for i in np.argsort(-related, kind="stable").tolist():
            if len(kept) >= self.plan.triples_at_most:
                break
            if cells[i] <= LARGEST_CANDIDATE and held + cells[i] <= self.plan.candidate_cells:
                kept.append(triples[i])
                held += cells[i]
        return sorted(kept)

    def _measure(self, choice: Choice, spend: float) -> None:
        """Interactions and tables of counts; what the choice would pay for each kind decides their shares."""
        scales = dict(zip(choice.cliques, choice.scales, strict=True))
        apart = [clique for clique in scales if self._portion(clique) < 1]
        whole = [clique for clique in scales if self._portion(clique) == 1]
        share = float(inverse_squares([scales[c] for c in apart]) / inverse_squares(choice.scales))
        if apart:
            noisy = self.curator.interactions(
                [self._seen(clique) for clique in apart],
                scales=self._scales_apart(apart, scales),
                spend=share * spend,
                purpose="interactions",
            )
            for clique, table, sigma in zip(apart, noisy.tables, noisy.sigmas, strict=True):
                cells = self._cells(clique)
                self.known.append(Measurement(clique, table / cells, sigma / cells, interaction=True))
        if whole:
            noisy = self.curator.measure_each(
                [self._seen(clique) for clique in whole],
                scales=[scales[clique] for clique in whole],
                spend=(1 - share) * spend,
                purpose="marginals",
            )
            # Single columns first: ranges are spread as they say.
            answers = zip(whole, noisy.tables, noisy.sigmas, strict=True)
            for clique, table, sigma in sorted(answers, key=lambda answer: len(answer[0])):
                values = table.astype(np.float64)
                if len(clique) == 1:
                    self._know_better(clique[0], values, sigma)
                elif clique in self.rough:
                    ranges, distance = [self.ranges[a] for a in clique], self.promise.get(clique, 0.0)
                    self.known.append(spread(clique, values, sigma, ranges, distance=distance))
                else:
                    self.known.append(Measurement(clique=clique, values=values, sigma=sigma))
        self.measured += [clique for clique in scales if len(clique) > 1]

    def _scales_apart(self, cliques: Sequence[Clique], scales: Mapping[Clique, Fraction]) -> list[Fraction]:
        """Noise of interactions as they are released, which are at different distances between neighbours."""
        released = [
            float(scales[clique]) * self._cells(clique) * np.sqrt(self._portion(clique)) for clique in cliques
        ]
        return [nearest_step(each / min(released)) for each in released]

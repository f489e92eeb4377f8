"""`adaptive`: rounds of private error scores, batches of marginals, and a graphical model fitted to them.

1. Row count and one-way marginals; codes that noise would drown are put together (`grouping`).
2. Round 1: noisy L1 distance of every pair of columns to independence, all in one Gaussian release. A
   greedy search picks the pairs to measure within a cap on the size of the junction tree. Columns with few
   values are measured by their interactions, others by tables of counts. The budget is divided among them
   in closed form (`structure`). They are measured; the model is fitted.
3. Further rounds, as many as the budget can feed: pairs and triples are scored against the current model,
   the worst described ones are measured, the model is fitted again.

Source: the published parts are select-measure-generate (McKenna et al. 2021), noisy scores for all
candidates in one release and one-shot selection under a cap (as in SWIFT of dpsynth, 2026), and AIM
(2022) for adaptive rounds and overlap weights. Proof of privacy: docs/methods/adaptive.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen

from sfumato.discovery.discover import Domain
from sfumato.domain.codecs import Codec
from sfumato.domain.views import Coarse
from sfumato.errors import UsageError
from sfumato.graphical import GraphicalModel, Measurement, fit
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.measurement import inverse_squares
from sfumato.privacy.mechanisms.selection import ErrorScores
from sfumato.synthesizers.dry_run import cells_of, typical_sigma
from sfumato.synthesizers.estimates import expected_counts
from sfumato.synthesizers.grouping import group_codes
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import OneWay, measure_one_way
from sfumato.synthesizers.one_way import expected_counts as expected_codes
from sfumato.synthesizers.outlook import Outlook, Scene, tree_outlook
from sfumato.synthesizers.ranges import Ranges, number_of_ranges, spread, summed
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.schedule import Schedule, groups_that_fit
from sfumato.synthesizers.structure import (
    MEAN_ABSOLUTE,
    Candidate,
    Choice,
    choose,
    nearest_step,
    portion_of,
    scales_of,
)
from sfumato.synthesizers.workload import Clique, Workload, importance_of, sets_of

Floats = npt.NDArray[np.float64]

ROW_COUNT, ONE_WAY = 0.01, 0.16
"""Shares of the budget."""
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


def _workload(value: Any) -> Any:
    return value if isinstance(value, str) else tuple(tuple(str(name) for name in each) for each in value)


@synthesizer("adaptive")
@frozen(kw_only=True)
class Adaptive:
    """Noisy error scores, batches of marginals, graphical model."""

    name: ClassVar[str] = "adaptive"
    summary: ClassVar[str] = "rounds of private error scores and the marginals that they call for"
    guarantee: ClassVar[str] = "(epsilon, delta)"

    workload: str | tuple[tuple[str, ...], ...] = field(default="all", converter=_workload)
    """What rows should get right: "all" two- and three-way marginals, "pairs", or a list of lists of
    columns."""
    target: str | None = None
    """A column whose relations to all others matter most, such as the label of a classifier."""
    weights: Mapping[str, float] = field(factory=dict, converter=dict)
    """Weight of columns, 1 by default."""
    max_cells: int | None = field(default=None)
    """Most cells of the model; default 2 million, and 10 or 16 million where the budget can use them."""
    rounds: int | None = field(default=None)
    """Rounds of scoring and measuring; by default 1 to 8, as the budget allows."""
    group: float | None = field(default=None)
    """Codes are put together until a group is expected to hold this many noise scales of a typical pair
    measurement; by default 4 for small budgets, less for large ones."""

    @workload.validator
    def _check_workload(self, _: Any, value: Any) -> None:
        if isinstance(value, str) and value not in ("all", "pairs"):
            raise ValueError('workload must be "all", "pairs", or a list of lists of columns')

    @weights.validator
    def _check_weights(self, _: Any, value: Mapping[str, float]) -> None:
        if not all(np.isfinite(weight) and weight > 0 for weight in value.values()):
            raise ValueError("weights must be finite numbers above 0")

    @group.validator
    def _check_group(self, _: Any, value: float | None) -> None:
        if value is not None and not 0 <= value < np.inf:
            raise ValueError("group must be a finite number of at least 0")

    @rounds.validator
    @max_cells.validator
    def _check_positive(self, attribute: Any, value: int | None) -> None:
        if value is not None and value < 1:
            raise ValueError(f"{attribute.name} must be at least 1")

    def split(self, columns: int) -> dict[str, float]:
        if columns < 2:
            return {"row count": ROW_COUNT, "one-way marginals": 1 - ROW_COUNT}
        # Few columns have few pairs: a table of any kind gets as much.
        one_way = max(ONE_WAY, 1 / (columns + 1))
        rest = 1 - ROW_COUNT - one_way
        return {
            "row count": ROW_COUNT,
            "one-way marginals": one_way,
            "error scores": 0.07 * rest,
            "marginals": 0.93 * rest,
        }

    def outlook(self, scene: Scene) -> Outlook:
        """What will be measured, for a plan."""
        columns = len(scene.codecs)
        split = self.split(columns)
        schedule = self.schedule(scene.signal, [codec.size for codec in scene.codecs])
        if columns < 2:
            return tree_outlook(split, scene)
        scored = len(scene.distances) <= MANY
        return Outlook(
            one_way=split["one-way marginals"],
            relations=split["marginals"],
            max_cells=schedule.max_cells,
            fits=1 + len(schedule.shares) * SWEEPS[0] / SWEEPS[1],
            candidates=(len(scene.distances) if scored else 2 * columns)
            + (len(schedule.shares) - 1) * schedule.triples_at_most,
            model=lambda: cells_of(
                scene, schedule, one_way=split["one-way marginals"], scored=scored,
                budget=(split["error scores"] + split["marginals"]) * scene.budget,
            ),
        )  # fmt: skip

    def schedule(self, signal: float, sizes: Sequence[int]) -> Schedule:
        """Rounds, shares and caps for a table of this signal, whose columns have so many codes."""
        return Schedule.of(
            signal=signal,
            groups_at_most=groups_that_fit(sizes),
            rounds=self.rounds,
            max_cells=self.max_cells,
            group=self.group,
            codes=float(np.median(sizes)) if sizes else 0.0,
        )

    def learn(self, curator: Curator, domain: Domain) -> MarginalGenerator:
        curator.ledger.adaptive = True
        codecs, budget, split = domain.codecs, curator.left, self.split(len(domain.codecs))
        goal = self._goal([codec.column for codec in codecs])
        ones = measure_one_way(
            curator,
            codecs,
            spend=split["one-way marginals"] * budget,
            total_spend=split["row count"] * budget,
        )
        if len(codecs) < 2:
            return MarginalGenerator.independent(total=ones.total, counts=ones.counts)
        return _Run(self, curator, domain, ones, budget, goal).learn()

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError, before anything is charged, when an option names none of these columns."""
        self._goal(list(names))

    def _goal(self, names: list[str]) -> Workload:
        """The workload in positions; UsageError names columns that are not modelled."""
        sets = None if isinstance(self.workload, str) else self.workload
        asked = {*self.weights, *(name for each in sets or () for name in each)}
        if self.target is not None:
            asked.add(self.target)
        unknown = sorted(asked - set(names))
        if unknown:
            raise UsageError(
                f"the options name {', '.join(map(repr, unknown))}, which no modelled column is called",
                mend=f"modelled columns: {', '.join(map(repr, names))}",
            )
        ways, sets = (2, 3), None
        if self.workload == "pairs":
            ways = (2,)
        elif not isinstance(self.workload, str):
            sets = sets_of(names, self.workload)
        return Workload(
            columns=len(names),
            ways=ways,
            sets=sets,
            importance=importance_of(names, self.weights),
            target=names.index(self.target) if self.target in names else None,
        )


class _Run:
    """One run of the method: what is known so far."""

    def __init__(
        self, recipe: Adaptive, curator: Curator, domain: Domain, ones: OneWay, budget: float, goal: Workload
    ) -> None:
        self.curator, self.ones, self.codecs = curator, ones, domain.codecs
        self.counts = list(ones.counts)
        """Expected counts of every code, from all that was measured of single columns."""
        self.single = list(zip(ones.noisy, ones.sigmas, strict=True))
        """Noisy counts of every code, and the noise of each."""
        self.distance = float(np.sqrt(curator.unit.table_l2_squared(curator.filter.relation)))
        signal = float(ones.total * np.sqrt(budget) / self.distance)
        self.plan = recipe.schedule(signal, [codec.size for codec in domain.codecs])
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
        model = self._fit(sweeps=SWEEPS[0])
        budget = self.curator.left
        for number, (scores, tables) in enumerate(self.plan.shares):
            last = number == len(self.plan.shares) - 1
            if self.wide and number == 0:
                first = scores + tables
                scores = min(WIDE_SCORES, first / 2)
                tables = first - scores
                choice = self._choose_pairs(model, scores * budget, tables * budget)
            else:
                candidates = self._candidates(number)
                choice = self._choose(model, candidates, number, scores * budget, tables * budget)
            if not choice.cliques and self.measured:
                choice = Choice(tuple(self.measured), scales_of([self._importance(c) for c in self.measured]))
                if not last:
                    continue
            if not choice.cliques:
                choice = Choice(tuple((i,) for i in range(len(self.views))), scales_of(self.sizes))
                if not last:
                    continue
            spend = self.curator.left if last else min(tables * budget, self.curator.left)
            self._measure(choice, spend)
            model = self._fit(sweeps=SWEEPS[last])
        return MarginalGenerator(
            total=self.ones.total, counts=tuple(self.counts), groups=tuple(self.groups), model=model
        )

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

    def _fit(self, sweeps: int) -> GraphicalModel:
        return fit(
            self.sizes,
            self.known,
            total=self.ones.total,
            base=[counts / self.ones.total for counts in self.coarse],
            sweeps=sweeps,
            strength=STRENGTH,
            max_cells=max(self.plan.max_cells, sum(self.sizes)),
        )

    def _choose_pairs(self, model: GraphicalModel, spend: float, tables: float) -> Choice:
        """Round 1 of many columns: only the pairs that depend on each other most are scored."""
        columns = len(self.views)
        pairs = columns * (columns - 1) // 2
        cliques: set[Clique] = set()
        if self.goal.target is not None:
            target = self.goal.target
            cliques |= {(min(a, target), max(a, target)) for a in range(columns) if a != target}
        # A choice misses the best score by about log(pairs) noise scales of sqrt(count / spend).
        screening = spend * SCREENING
        count = screening * (TOLERABLE * self.ones.total / (self.distance * np.log(pairs))) ** 2
        count = int(min(count, 2 * columns, pairs))
        if count:
            cliques |= set(
                self.curator.top_pairs(
                    self.views,
                    shares=self.coarse,
                    total=self.ones.total,
                    count=count,
                    per_cell=int(MEAN_ABSOLUTE * self.distance * np.sqrt(count / screening)),
                    spend=screening,
                    purpose="dependent pairs",
                )
            )
        return self._choose(model, sorted(cliques), 0, spend - screening, tables)

    def _choose(
        self, model: GraphicalModel, cliques: Sequence[Clique], number: int, scores: float, tables: float
    ) -> Choice:
        if not cliques or self.distance * np.sqrt(len(cliques) / scores) > HOPELESS:
            return Choice((), ())
        if number:
            estimates = expected_counts(model, cliques)
        else:
            estimates = [np.outer(self.coarse[i], self.coarse[j]) / self.ones.total for i, j in cliques]
        estimates = [
            summed(table, [self.ranges[a] for a in clique]) if clique in self.rough else table
            for clique, table in zip(cliques, estimates, strict=True)
        ]
        views = [self._seen(clique) for clique in cliques]
        errors, sigma = self.curator.errors(
            ErrorScores(cliques=views, estimates=estimates),
            spend=scores,
            purpose=f"error scores, round {number + 1}",
        )
        if not number:
            self.promise = dict(zip(cliques, errors.tolist(), strict=True))
        weights = np.array([self.goal.weight(clique) for clique in cliques])
        likely = np.argsort(-weights * errors, kind="stable")[:LIKELY]
        candidates = [
            Candidate.of(
                cliques[i], float(weights[i]), float(errors[i]), estimates[i], self._portion(cliques[i])
            )
            for i in sorted(likely.tolist())
        ]
        choice = choose(
            candidates, sizes=self.sizes, measured=self.measured, spend=tables, distance=self.distance,
            doubt=sigma * DOUBT, max_cells=self.plan.cells_in(number), thrift=self.plan.thrift,
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

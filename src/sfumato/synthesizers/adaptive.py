"""`adaptive`: rounds of private error scores, batches of marginals, and a graphical model fitted to them.

This is what a user sets; `adaptive_run` is what happens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.errors import UsageError
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.adaptive_run import MANY, SWEEPS, AdaptiveRun
from sfumato.synthesizers.dry_run import cells_of
from sfumato.synthesizers.marginal_generator import MarginalGenerator
from sfumato.synthesizers.one_way import measure_one_way
from sfumato.synthesizers.outlook import Outlook, Scene, tree_outlook
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.schedule import HEATS, Schedule, groups_that_fit
from sfumato.synthesizers.workload import Workload, importance_of, sets_of

ROW_COUNT, ONE_WAY = 0.01, 0.16
"""Shares of the budget."""


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
        rounds = len(schedule.shares)
        # Every order but one comes on top: in the fits of the heats, and in the scores that follow each.
        more = HEATS * (len(schedule.orders) - 1)
        return Outlook(
            one_way=split["one-way marginals"],
            relations=split["marginals"],
            max_cells=schedule.max_cells,
            fits=1 + (rounds + more) * SWEEPS[0] / SWEEPS[1],
            candidates=(len(scene.distances) if scored else 2 * columns)
            + (rounds - 1 + more) * schedule.triples_at_most,
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
        return AdaptiveRun(curator, domain, ones, budget=budget, goal=goal, schedule=self.schedule).learn()

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

"""`plan`: what a run would cost and give, from a schema and a number of rows. No table is opened.

The budget is converted and divided by the code that a run uses; the method says what it will measure
(`synthesizers.outlook`); `assumed` stands in for the rows; `forecast` turns noise into error, and `expense`
cells into megabytes and seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
from attrs import evolve, frozen

from sfumato.domain.stored import Stored
from sfumato.errors import SfumatoError, UsageError
from sfumato.models.assumed import DEPENDENCE, RANGES, AssumedColumn, assume, dependence, learned_cells
from sfumato.models.expense import Expense, expense_of
from sfumato.models.forecast import Errors, Forecast
from sfumato.models.model import check_rows
from sfumato.models.training import (
    accountant_for,
    accountant_of,
    budget_of,
    check_prior,
    delta_for,
    unit_of,
    with_unit,
)
from sfumato.privacy.filter import (
    NOISELESS,
    Accountant,
    PrivacyFilter,
    check_epsilon,
    check_scale,
)
from sfumato.privacy.unit import PrivacyUnit
from sfumato.sampling.choice import choose, distance_bound, remarks
from sfumato.schema import Schema, read_schema
from sfumato.synthesizers.outlook import Outlook, Scene, outlook_of
from sfumato.synthesizers.recipe import Recipe, Releases
from sfumato.synthesizers.run import make_recipe, planned_split, price_of_schema

GOAL = 0.05
"""The error for which the smallest epsilon is named."""
SMALLEST = 1e-5
ERROR = (
    "mean total variation distance over all marginals of two columns, between the rows and as many synthetic "
    f"ones; numbers whose cells are learned are compared in {RANGES} ranges with equal numbers of rows"
)


@frozen(kw_only=True)
class Outcome:
    """What is expected at one epsilon."""

    epsilon: float
    split: dict[str, float]
    """Shares of the budget, by purpose."""
    noise: float
    """Standard deviation of the noise of a count of one column, in rows."""
    error: Errors
    cells: int
    """Cells of the model."""
    cells_at_most: int
    expense: Expense
    drowned: bool
    """Whether noise adds as much error as relations between columns typically amount to, or exceeds the
    typical count in most columns."""
    warnings: tuple[str, ...]

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "epsilon": self.epsilon,
            "cells": self.cells,
            "cells_at_most": self.cells_at_most,
            "memory_mb": round(self.expense.memory_mb, 1),
            "seconds": round(self.expense.seconds, 2),
            "expected_error": self.error.main,
            "error": attrs.asdict(self.error),
            "noise_of_counts": self.noise,
            "split": self.split,
            "drowned": self.drowned,
            "warnings": list(self.warnings),
        }


@frozen(kw_only=True)
class Plan:
    """What a run would cost and give."""

    method: str
    rows: int
    delta: float
    neighbours: str
    unit: str
    columns: tuple[AssumedColumn, ...]
    outcomes: tuple[Outcome, ...]
    smallest_epsilon: float | None
    """Smallest epsilon at which the error is expected to be `GOAL`; None when there is none."""
    least_error: float
    """Error that is left without noise."""
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """One sentence on the epsilon for an error of 5 %."""
        if self.smallest_epsilon is None:
            return (
                f"no epsilon is expected to reach {GOAL:.0%} error: about {self.least_error:.1%} is left "
                "even without noise, from the drawing of rows and from relations that the model does not hold"
            )
        if self.smallest_epsilon <= SMALLEST:
            return f"{GOAL:.0%} error is expected at every epsilon that may be asked for"
        return f"smallest epsilon for {GOAL:.0%} error: about {self.smallest_epsilon:.3g}"

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        return {
            "method": self.method,
            "rows": self.rows,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "error_means": ERROR,
            "plans": [outcome.state() for outcome in self.outcomes],
            "smallest_epsilon_for_5_percent": self.smallest_epsilon,
            "error_without_noise": self.least_error,
            "verdict": self.verdict,
            "columns": [
                {"name": each.name, "codes": each.codec.size, "learned": each.learned, "assumed": each.note}
                for each in self.columns
            ],
            "notes": list(self.notes),
        }


def plan(
    schema: Schema | str | Path | Mapping[str, Any],
    *,
    rows: int | None,
    epsilons: Sequence[float],
    delta: float | None,
    method: str,
    unit: tuple[str, int] | None,
    neighbours: str | None,
    options: dict[str, Any],
    accountant: str,
) -> Plan:
    """Plan for every epsilon; UsageError and SchemaError as a run would raise them."""
    facts = read_schema(schema)
    if rows is None:
        rows = facts.rows_at_most
    if rows is None:
        raise UsageError(
            "the number of rows is not known", mend="say rows, or state rows_at_most in the schema"
        )
    check_rows(rows)
    if not epsilons:
        raise UsageError("a plan needs an epsilon")
    recipe = make_recipe(method, options)
    chosen = accountant_of(recipe, accountant)
    found_delta = delta_for(recipe, chosen, delta, facts)
    privacy = unit_of(facts, unit, neighbours)
    stored = [Stored(name=column.name, storage="untyped") for column in facts.columns]
    if privacy.column is not None and privacy.column not in facts:
        stored.append(Stored(name=privacy.column, storage="untyped"))
    facts = with_unit(facts, tuple(stored), privacy, "the schema")
    if not facts.columns:
        raise UsageError(
            "the schema declares no column, so there is nothing to plan with",
            mend="declare the columns; sfumato schema draft lists those of a file",
        )
    if (check := getattr(recipe, "check_columns", None)) is not None:
        check([column.name for column in facts.columns if column.modelled])
    job = PlannedRun(
        schema=facts, stored=tuple(stored), recipe=recipe, rows=int(rows), delta=found_delta, unit=privacy,
        accountant=accountant_for(recipe, facts, stored, chosen),
    )  # fmt: skip
    for epsilon in epsilons:
        job.spend(epsilon)
    return Plan(
        method=recipe.name,
        rows=job.rows,
        delta=found_delta,
        neighbours=privacy.neighbours,
        unit=str(privacy),
        columns=tuple(job.compared),
        outcomes=tuple(job.outcome(float(epsilon)) for epsilon in epsilons),
        smallest_epsilon=job.smallest(GOAL),
        least_error=job.least,
        notes=tuple(job.notes(epsilons)),
    )


@frozen(kw_only=True, slots=False)
class PlannedRun:
    """A run that is not going to happen."""

    schema: Schema
    stored: tuple[Stored, ...]
    recipe: Recipe
    rows: int
    delta: float
    unit: PrivacyUnit
    accountant: Accountant

    @cached_property
    def compared(self) -> list[AssumedColumn]:
        return assume(self.schema)

    @cached_property
    def forecast(self) -> Forecast:
        return Forecast(columns=tuple(self.compared), rows=float(self.rows))

    @cached_property
    def split(self) -> dict[str, float]:
        return planned_split(self.recipe, self.schema, self.stored)

    @cached_property
    def distance(self) -> float:
        return math.sqrt(self.unit.table_l2_squared(self.unit.neighbours))

    @cached_property
    def dependence(self) -> dict[tuple[int, ...], float]:
        return dependence(len(self.compared))

    def spend(self, epsilon: float) -> float:
        """What discovery and the method may spend; errors as a run would raise them."""
        check_epsilon(epsilon)
        budget = budget_of(
            self.recipe, self.schema, epsilon=epsilon, delta=self.delta, accountant=self.accountant,
            unit=self.unit, undeclared=False,
        )  # fmt: skip
        check_scale(budget, self.unit)
        limits = PrivacyFilter.open(budget, self.unit.neighbours)
        prior = price_of_schema(self.schema, self.unit)
        if prior is None:
            return limits.limit
        check_prior(prior, budget, self.unit)
        return limits.limit - limits.price(prior.cost(self.unit).under(self.unit.neighbours))

    def method_share(self) -> float:
        """Share of the budget that discovery leaves."""
        own = self.recipe.split(len(self.stored))
        return sum(share for name, share in self.split.items() if name in own)

    def scene(self, epsilon: float) -> Scene:
        spend, share = self.spend(epsilon), self.method_share()
        if self.accountant == "pure":
            # k tables with Laplace noise, for epsilon/k each, are as noisy as k Gaussian ones for this Σ mu².
            moves = self.unit.table_l1(self.unit.neighbours)
            spend = (spend * self.distance / moves) ** 2 / (2 * len(self.schema.columns))
            share **= 2
        cells = learned_cells(self.rows * math.sqrt(spend) / self.distance)
        columns = assume(self.schema, cells=cells)
        return Scene(
            rows=float(self.rows),
            codecs=tuple(column.codec for column in columns),
            counts=tuple(column.shares * self.rows for column in columns),
            distances={pair: 2 * far * self.rows for pair, far in self.dependence.items()},
            budget=spend * share,
            distance=self.distance,
        )

    def errors(self, scene: Scene, outlook: Outlook) -> Errors:
        def sigma(share: float) -> float:
            return scene.distance / math.sqrt(scene.budget * share) if share > 0 else math.inf

        return self.forecast.errors(
            ones=sigma(outlook.one_way),
            tables=sigma(outlook.relations),
            pairs=outlook.pairs,
            max_cells=outlook.max_cells,
        )

    def error(self, epsilon: float) -> float:
        """Expected error; 1 where no run is allowed."""
        try:
            scene = self.scene(epsilon)
        except SfumatoError:
            return 1.0
        if isinstance(self.recipe, Releases):
            return self.errors_of_records(epsilon, self.recipe).main
        return self.errors(scene, outlook_of(self.recipe, scene)).main

    def smallest(self, goal: float) -> float | None:
        """Smallest epsilon whose expected error is `goal`; None when there is none."""
        if self.least > goal:
            return None
        if self.error(SMALLEST) <= goal:
            return SMALLEST
        low, high = math.log(SMALLEST), math.log(NOISELESS)
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if self.error(math.exp(middle)) <= goal else (middle, high)
        return math.exp(high)

    def outcome(self, epsilon: float) -> Outcome:
        scene = self.scene(epsilon)
        outlook = outlook_of(self.recipe, scene)
        if isinstance(self.recipe, Releases):
            return self.released(epsilon, self.recipe, outlook)
        errors = self.errors(scene, outlook)
        noise = scene.distance * math.sqrt(max(len(scene.codecs), 1) / (scene.budget * outlook.one_way))
        return Outcome(
            epsilon=epsilon,
            split=self.split,
            noise=noise,
            error=errors,
            cells=outlook.cells,
            cells_at_most=outlook.max_cells,
            expense=expense_of(outlook, rows=self.rows, columns=len(self.schema.columns)),
            drowned=self.drowned(errors, noise),
            warnings=tuple(self.warnings(errors, noise)),
        )

    def errors_of_records(self, epsilon: float, recipe: Releases) -> Errors:
        """Where single records are released: uniform with probability q, and few."""
        distance = 1.0
        if (each := self.each(epsilon, recipe)) is not None:
            known = self.unit.neighbours == "replace" or self.symbols > self.rows
            sampler = recipe.releases if known else "roo"
            distance = distance_bound(sampler, n=self.rows, k=self.symbols, epsilon=each)
        return self.forecast.of_records(distance, records=recipe.records)

    def each(self, epsilon: float, recipe: Releases) -> float | None:
        """Epsilon of a record; None where the schema leaves something to be bought first."""
        if self.accountant != "pure":
            return None
        rows = self.rows if self.unit.keeps_rows and recipe.needs_public_rows else None
        return choose(
            recipe.releases, n=rows, k=self.symbols, epsilon=epsilon, m=recipe.records, delta=self.delta,
            unit=self.unit,
        ).each  # fmt: skip

    @cached_property
    def symbols(self) -> int:
        """Possible rows."""
        return math.prod(int(column.codec.allowed.sum()) for column in self.compared)

    def released(self, epsilon: float, recipe: Releases, outlook: Outlook) -> Outcome:
        errors = self.errors_of_records(epsilon, recipe)
        said = remarks(
            n=self.rows, k=self.symbols, epsilon=epsilon, delta=self.delta, m=recipe.records, unit=self.unit
        )
        return Outcome(
            epsilon=epsilon,
            split=self.split,
            noise=0.0,
            error=errors,
            cells=0,
            cells_at_most=outlook.max_cells,
            expense=expense_of(evolve(outlook, model=None), rows=self.rows, columns=len(self.schema.columns)),
            drowned=errors.main - self.least >= DEPENDENCE,
            warnings=tuple(said),
        )

    @cached_property
    def least(self) -> float:
        """The error in which noise has no part."""
        return self.error(NOISELESS)

    def below(self, noise: float) -> list[str]:
        """Columns whose typical count is less than the noise."""
        return [c.name for c in self.compared if noise > self.rows / max(int(c.codec.allowed.sum()), 1)]

    def drowned(self, errors: Errors, noise: float) -> bool:
        most = 2 * len(self.below(noise)) > len(self.compared)
        return most or errors.main - self.least >= DEPENDENCE

    def warnings(self, errors: Errors, noise: float) -> list[str]:
        """What is lost in noise."""
        found, below = [], self.below(noise)
        if self.drowned(errors, noise):
            found.append(
                f"noise will drown the signal: it adds about {errors.main - self.least:.1%} to an error "
                f"of {self.least:.1%} without it; all that relates two columns typically amounts to "
                f"{DEPENDENCE:.1%}"
            )
        if below:
            shown = ", ".join(map(repr, below[:5])) + (", …" if len(below) > 5 else "")
            found.append(
                f"noise of ±{noise:,.0f} rows is more than a typical count in {len(below)} of "
                f"{len(self.compared)} columns: {shown}"
            )
        return found

    def notes(self, epsilons: Sequence[float]) -> list[str]:
        found: list[str] = []
        if (advice := getattr(self.recipe, "advice", None)) is not None:
            for epsilon in epsilons:
                found += advice(epsilon=float(epsilon), delta=self.delta, rows=self.rows)
        if self.schema.undeclared == "draft":
            found.append("columns that the schema does not declare are not in the plan")
        if self.recipe.guarantee == "none":
            found.append(f"{self.recipe.name} has no guarantee, whatever epsilon")
        return found

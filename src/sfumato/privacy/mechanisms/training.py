"""DP-SGD as one mechanism: a whole training of fixed length is one charge, written before its first step.

A training that is interrupted stays charged in full. Price: `sfumato.privacy.subsampled`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.domain.encoder import Encoder
from sfumato.privacy.cost import Cost, Price
from sfumato.privacy.dpsgd import Plan, Program, Released, Trainer, mean_loss, pack, unpack
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.per_example import NORM_AT_MOST
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.subsampled import Schedule, epsilon_of_renyi, mu_squared, renyi
from sfumato.privacy.unit import PrivacyUnit, Relation

PROGRESS_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 256.0)


@frozen(kw_only=True, slots=False)
class DpSgd:
    """Noisy parameters of a network trained on private rows."""

    name: ClassVar[str] = "dp_sgd"
    program: Program = field(eq=False, repr=False)
    encoders: tuple[Encoder, ...] = field(converter=tuple)
    plan: Plan
    delta: float
    """Delta beside which the price in Gaussian DP holds."""
    unprotected: bool = False
    """Whether the price is infinite."""
    padded: bool = field(default=False, eq=False)
    """Whether this machine needs `dpsgd.pad_layers`."""
    report: Callable[[str], None] = field(default=lambda _: None, eq=False, repr=False)
    report_delta: float = field(default=1e-5, eq=False)
    """Delta at which epsilon is told in the course of a training."""

    @cached_property
    def size(self) -> int:
        """Number of parameters."""
        return sum(parameter.numel() for parameter in self.program.network.parameters())

    @cached_property
    def sigma(self) -> Fraction:
        """Noise scale in units of 2**-32 of the clip."""
        return self.plan.noise * NORM_AT_MOST

    def cost(self, unit: PrivacyUnit) -> Cost:
        if self.unprotected or self.plan.exposed:
            price = Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
            return Cost(add_remove=price, replace=price)
        draws = self.plan.steps * (self.size + 1)
        return Cost(
            add_remove=self._price(unit, "add-remove"),
            replace=self._price(unit, "replace"),
            draws=draws,
            distance=float(draws * RoundedGaussian(self.sigma).tv_bound),
        )

    def _price(self, unit: PrivacyUnit, relation: Relation) -> Price:
        schedule = schedule_of(self._numbers(), unit.at_most, relation)
        mu2 = mu_squared(schedule, self.delta)
        whole = schedule.unsampled_mu_squared
        delta = 0.0 if mu2 >= whole else self.delta
        return Price(shape="subsampled", mu2=mu2, rho=whole * (1 + 1e-12) / 2, delta=delta)

    def _numbers(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "steps": plan.steps,
            "rate": str(plan.rate),
            "noise": str(plan.noise),
            "clip": plan.clip,
            "group": plan.group,
        }

    def describe(self) -> dict[str, Any]:
        plan = self.plan
        facts: dict[str, Any] = {
            **self._numbers(),
            "normaliser": plan.normaliser,
            "rounds": plan.rounds,
            "parameters": self.size,
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest([self.encoders]),
            "delta": self.delta,
            "program": self.program.describe(),
        }
        if plan.group > 1:
            facts["groups"] = plan.groups
        if self.unprotected:
            facts["unprotected"] = True
        if plan.exposed:
            facts["exposed"] = list(plan.exposed)
            facts["reason"] = f"the gradient of {', '.join(plan.exposed)} is used without clip or noise"
        return facts

    def exact(self, rows: Rows) -> Trainer:
        return Trainer(rows.records(self.encoders), self.program, self.plan, padded=self.padded)

    def noisy(self, exact: Trainer) -> Answer:
        curve = renyi(schedule_of(self._numbers(), 1, "add-remove"), PROGRESS_ORDERS)
        plan = self.plan

        def report(step: int, losses: Counts) -> None:
            loss = mean_loss(losses, bound=self.program.loss_bound, normaliser=plan.normaliser)
            spent, _ = epsilon_of_renyi(
                curve * (step / plan.steps), self.report_delta, orders=PROGRESS_ORDERS
            )
            told = "infinite" if self.unprotected else f"{spent:.3g} of this training"
            self.report(f"step {step:,} of {plan.steps:,}, loss {loss:.4g}, epsilon so far {told}")

        released = exact.run(RoundedGaussian(self.sigma), report=report)
        return Answer(arrays=(pack(released.snapshots), released.losses))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (self.plan.rounds, -(-self.size // 2)), (self.plan.rounds,))

    def released(self, answer: Answer) -> Released:
        """The parameters of an answer."""
        return Released(unpack(answer.arrays[0], self.size), np.asarray(answer.arrays[1]))


def schedule_of(parameters: Mapping[str, Any], at_most: int, relation: str) -> Schedule:
    """A training as accountants see it, from its line in the ledger.

    Rows in fixed groups: a unit changes the mean of up to `at_most` groups, from one to another.
    """
    exchange = relation == "replace" or parameters["group"] > 1
    return Schedule(
        noise=float(Fraction(parameters["noise"])) * (1 - 1e-12),
        rate=min(1.0, float(Fraction(parameters["rate"])) * (1 + 1e-12)),
        steps=parameters["steps"],
        at_most=at_most,
        exchange=exchange,
    )

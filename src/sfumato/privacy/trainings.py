"""How much noise a training needs, from what it may spend. Public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import evolve

from sfumato.domain.encoder import Encoder
from sfumato.errors import Overdraft, UsageError
from sfumato.privacy.batches import rate_of
from sfumato.privacy.dpsgd import Plan, Program, check_places
from sfumato.privacy.mechanisms.training import DpSgd, schedule_of
from sfumato.privacy.rounded_gaussian import quantise_sigma
from sfumato.privacy.subsampled import SMALLEST_DELTA, Schedule, mu_squared, smallest_noise

if TYPE_CHECKING:
    from sfumato.privacy.curator import Curator

SMALLEST, LARGEST = 2.0**-10, 2.0**12
"""Noise multipliers that can be drawn."""


def plan_training(
    curator: Curator,
    program: Program,
    *,
    encoders: Sequence[Encoder],
    total: float,
    batch: float,
    steps: int,
    clip: float,
    spend: float,
    share: float,
    rounds: int,
    group: int,
    exposed: Sequence[str],
    unprotected: bool,
    noise: float | None,
    report: Callable[[str], None],
) -> DpSgd:
    """The mechanism that `Curator.train` runs; Overdraft when its noise would be out of range or, where it is
    given, costs too much; UsageError under the pure accountant.
    """
    if not 0 < share <= 1 or steps < 1 or rounds < 1 or steps % rounds or group < 1:
        raise ValueError("steps are a multiple of rounds, and a share lies in (0, 1]")
    held = curator.filter
    if held.is_pure:
        raise UsageError(
            "the noise of a training has no epsilon of its own, and the pure accountant adds up epsilons",
            mend="ask for the accountant gdp or zcdp",
        )
    groups = 0 if group == 1 else max(1, round(total / group))
    rate = rate_of(min(1.0, batch / max(groups or total, 1.0)))
    facts: dict[str, Any] = {"steps": steps, "rate": rate, "noise": 1, "group": group}
    schedule = schedule_of(facts, curator.unit.at_most, held.relation)
    delta = share * held.budget.training_delta
    if delta < SMALLEST_DELTA:
        delta = 0.0
    if not spend > 0:
        raise Overdraft("nothing is left of the privacy budget for a training")
    exact = (
        _fitting(spend, schedule, delta, held.budget.accountant)
        if noise is None
        else _given(noise, spend, schedule, delta, held.budget.accountant)
    )
    plan = Plan(
        steps=steps,
        rounds=rounds,
        rate=rate,
        noise=exact,
        clip=float(clip),
        normaliser=float(batch),
        group=group,
        groups=groups,
        exposed=tuple(exposed),
    )
    padded = check_places(program, plan, lambda rows: _made_up(encoders, rows))
    return DpSgd(
        program=program,
        encoders=tuple(encoders),
        plan=plan,
        delta=delta,
        report=report,
        unprotected=unprotected or bool(exposed),
        report_delta=held.budget.delta,
        padded=padded,
    )


def _fitting(spend: float, schedule: Schedule, delta: float, accountant: str) -> Fraction:
    """The least noise that costs at most `spend`."""
    if accountant == "zcdp":
        noise = math.sqrt(schedule.unsampled_mu_squared / spend) * (1 + 1e-9)
    else:
        noise = smallest_noise(spend, schedule, delta)
    if not noise <= LARGEST:
        raise Overdraft(
            "a training is given so little of the privacy budget that its noise is out of range",
            mend="ask for a larger epsilon, or for fewer steps",
        )
    return quantise_sigma(max(noise, SMALLEST))


def _given(noise: float, spend: float, schedule: Schedule, delta: float, accountant: str) -> Fraction:
    """`noise` as it is, where it costs at most `spend`."""
    if not SMALLEST <= noise <= LARGEST:
        raise UsageError(f"a noise multiplier lies in {SMALLEST:g} … {LARGEST:g}, not at {noise:g}")
    # A little less noise than is drawn, as in `mechanisms.training.schedule_of`.
    schedule = evolve(schedule, noise=noise * (1 - 1e-12))
    price = schedule.unsampled_mu_squared if accountant == "zcdp" else mu_squared(schedule, delta)
    if price > spend * (1 + 1e-9):
        raise Overdraft(
            f"a training at noise multiplier {noise:g} asks for {price:.3g} of the privacy budget, "
            f"{spend:.3g} is meant for it",
            mend="ask for a larger epsilon, for more noise, or for fewer steps",
        )
    return Fraction(noise)


def _made_up(encoders: Sequence[Encoder], rows: int) -> npt.NDArray[Any]:
    """Codes of no table, all of them in turn."""
    return np.stack([(7 * np.arange(rows) + 3 * i) % e.size for i, e in enumerate(encoders)], 1)

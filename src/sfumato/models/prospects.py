"""What other epsilons would give: the forecast of a plan, with what a model released in the place of
assumptions.

Codes, their frequencies and the number of rows are those of the model. How columns depend on each other is
assumed as in a plan, since the noise of a smaller epsilon would hide other relations than that of the
release. Everything is post-processing of released numbers; nothing is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import attrs
import numpy as np
from attrs import frozen

from sfumato.errors import SfumatoError
from sfumato.models.assumed import AssumedColumn, assume
from sfumato.models.model import Model
from sfumato.models.plan import Outcome, PlannedRun
from sfumato.privacy.unit import PrivacyUnit
from sfumato.schema import read_schema
from sfumato.synthesizers.outlook import Scene
from sfumato.synthesizers.run import make_recipe


def prospects(model: Model, factors: Sequence[float] = (0.5, 1.0, 2.0)) -> tuple[Outcome, ...]:
    """What the method is expected to give at multiples of the model's epsilon, where a run would be allowed.

    Empty for a model without a guarantee.
    """
    if model.void or not np.isfinite(model.statement.epsilon) or not model.codecs:
        return ()
    request = model.request
    run = _Again(
        schema=read_schema(request["schema"]),
        stored=model.stored,
        recipe=make_recipe(model.method, model.options),
        rows=max(round(model.generator.total), 1),
        delta=request["delta"],
        unit=PrivacyUnit(**model.ledger.unit),
        accountant=request["accountant"],
        model=model,
    )
    found = []
    for factor in factors:
        try:
            found.append(run.outcome(factor * request["epsilon"]))
        except SfumatoError:
            continue
    return tuple(found)


@frozen(kw_only=True, slots=False)
class _Again(PlannedRun):
    """The run that made `model`, at another epsilon."""

    model: Model

    @cached_property
    def compared(self) -> list[AssumedColumn]:
        counts = getattr(self.model.generator, "counts", None)
        if counts is None or len(counts) != len(self.model.codecs):
            return assume(self.model.schema)
        found = []
        for codec, table in zip(self.model.codecs, counts, strict=True):
            held = np.clip(np.asarray(table, dtype=np.float64), 0, None)
            shares = held / held.sum() if held.sum() > 0 else np.full(held.size, 1 / held.size)
            found.append(
                AssumedColumn(name=codec.column, codec=codec, shares=shares, compared=codec.size, wide=False)
            )
        return found

    def scene(self, epsilon: float) -> Scene:
        return attrs.evolve(
            super().scene(epsilon),
            codecs=tuple(column.codec for column in self.compared),
            counts=tuple(column.shares * self.rows for column in self.compared),
        )

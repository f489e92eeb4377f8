"""Check a model without the data: that is the proof that everything in it is post-processing.

1. the hash chain of the ledger is whole (checked on loading);
2. the whole run is repeated on the recorded answers: each question, its parameters and its recomputed
cost must be the recorded ones;
3. the schema, the codecs and every number of the generator come out the same;
4. epsilon is recomputed from the ledger, and is at most what was asked for. A method without a guarantee
fails here, with a message that says that all else holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.errors import GuaranteeError
from sfumato.models.model import Model
from sfumato.models.training import tail_share_of
from sfumato.privacy.curator import ReplayCurator, ReplayMismatch
from sfumato.privacy.filter import Budget, PrivacyFilter
from sfumato.privacy.unit import PrivacyUnit
from sfumato.schema import read_schema
from sfumato.synthesizers.recipe import Generator
from sfumato.synthesizers.run import make_recipe, planned_split, price_of_schema, run, trains

TOLERANCE = 1e-9
"""Relative difference allowed between rebuilt and stored numbers (other processors round differently)."""


@frozen(kw_only=True)
class Verification:
    """What was checked, in words, for a model that passed."""

    checks: tuple[str, ...]
    epsilon: float
    delta: float


DpAssurance = Verification
"""The name that the interface of objects gives it."""


def verify(model: Model) -> Verification:
    """Check `model`; GuaranteeError says what does not hold."""
    if model.void:
        raise GuaranteeError(f"nothing is guaranteed: {model.void}")
    try:
        curator, domain, generator = _repeat(model)
    except ReplayMismatch as mismatch:
        raise GuaranteeError(
            f"charge {mismatch.number} of the ledger is not what this method asks at this point"
        ) from None
    except Exception as fault:
        # The file may come from anybody: whatever the run stumbles over, it is not the run that was recorded.
        raise GuaranteeError("the recorded run cannot be repeated from its released answers") from fault
    if len(curator.ledger) != len(model.ledger) or (curator.ledger.adaptive, curator.ledger.limit) != (
        model.ledger.adaptive,
        model.ledger.limit,
    ):
        raise GuaranteeError("the ledger records other charges than this method makes")
    if domain.schema.to_dict() != model.schema.to_dict() or [c.state() for c in domain.codecs] != [
        c.state() for c in model.codecs
    ]:
        raise GuaranteeError("the schema or the codes are not those that the released answers give")
    planned = planned_split(
        make_recipe(model.method, model.options), read_schema(model.request["schema"]), model.stored
    )
    if model.request["split"] != planned:
        raise GuaranteeError("the stated split of the budget is not that of this method")
    rebuilt, stored = generator.arrays(), model.generator.arrays()
    if rebuilt.keys() != stored.keys() or not all(
        _same(rebuilt[key], stored[key], getattr(generator, "tolerance", TOLERANCE)) for key in stored
    ):
        raise GuaranteeError("the model's numbers are not those that the released answers give")
    statement, asked = model.statement, model.request["epsilon"]
    if statement.void:
        raise GuaranteeError(
            f"nothing is guaranteed: {statement.void}. The file itself is whole: its {len(model.ledger)} "
            "charges are those of the method, and its numbers follow from what it says was released"
        )
    if not statement.epsilon <= asked * (1 + 1e-9):
        raise GuaranteeError(
            f"the charges add up to epsilon = {statement.epsilon:.6g}, more than the {asked:.6g} asked"
        )
    return Verification(
        checks=(
            f"the hash chain over {len(model.ledger)} charges is whole",
            "every question and its cost is what the method asks",
            "schema, codes and all numbers of the model follow from the released answers alone",
            f"the charges add up to epsilon = {statement.epsilon:.6g} at delta = {statement.delta:.3g}",
        ),
        epsilon=statement.epsilon,
        delta=statement.delta,
    )


def _repeat(model: Model) -> tuple[ReplayCurator, Domain, Generator]:
    """The whole run again, on the recorded answers."""
    unit, request = PrivacyUnit(**model.ledger.unit), model.request
    schema = read_schema(request["schema"])
    recipe = make_recipe(model.method, model.options)
    prior = price_of_schema(schema, unit)
    budget = Budget(
        epsilon=request["epsilon"],
        delta=request["delta"],
        accountant=request["accountant"],
        thresholds=request["thresholds"],
        training=trains(recipe),
        prior_delta=0.0 if prior is None else prior.cost(unit).under(unit.neighbours).delta,
        tail_share=tail_share_of(recipe),
    )
    if unit.column is not None and schema[unit.column].kind != "id":
        raise ValueError("the column of persons was modelled")
    curator = ReplayCurator(
        model.transcript, model.ledger, unit=unit, budget=PrivacyFilter.open(budget, unit.neighbours)
    )
    return curator, *run(curator, recipe, schema, model.stored, decimal=request["decimal"])


def _same(one: Any, other: Any, tolerance: float) -> bool:
    return one.shape == other.shape and np.allclose(one, other, rtol=tolerance, atol=tolerance)

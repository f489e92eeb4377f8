"""Trainings under every accountant, and beside what else a ledger may hold."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.deep.programs import SCHEMA, plan, table  # noqa: E402
from tests.deep.test_training import program  # noqa: E402

from sfumato.domain.alphabet import symbols_of  # noqa: E402
from sfumato.errors import Overdraft, UsageError  # noqa: E402
from sfumato.privacy import gdp, zcdp  # noqa: E402
from sfumato.privacy.cost import Cost, draws, gaussian  # noqa: E402
from sfumato.privacy.division import mixture_epsilon  # noqa: E402
from sfumato.privacy.filter import Budget  # noqa: E402
from sfumato.privacy.ledger import Ledger, Limit  # noqa: E402
from sfumato.privacy.mechanisms.training import DpSgd, schedule_of  # noqa: E402
from sfumato.privacy.private_table import PrivateTable  # noqa: E402
from sfumato.privacy.statement import bounds  # noqa: E402
from sfumato.privacy.subsampled import epsilon  # noqa: E402
from sfumato.privacy.unit import PrivacyUnit  # noqa: E402
from sfumato.schema import read_schema  # noqa: E402

FACTS = read_schema(SCHEMA)
DELTA = 1e-5
TRAINING = DpSgd(
    program=program(), encoders=(), plan=plan(steps=20, rate=Fraction(1, 10), noise=Fraction(2)), delta=1e-8
)


def curator(accountant: str):
    budget = Budget(epsilon=1.0, delta=DELTA, accountant=accountant, training=True)
    return PrivateTable.open(table()).curator(unit=PrivacyUnit(), budget=budget)


def ledger(*costs: tuple[str, Cost], limit: Limit | None = None) -> Ledger:
    found = Ledger(unit=PrivacyUnit().describe(), limit=limit)
    for mechanism, cost in costs:
        facts = TRAINING.describe() if mechanism == "dp_sgd" else {}
        found.append(mechanism=mechanism, purpose="test", parameters=facts, cost=cost)
    return found


@pytest.mark.parametrize("accountant", ["gdp", "zcdp", "pure"])
def test_every_accountant_charges_a_training_or_refuses_it(accountant):
    held = curator(accountant)
    columns = [symbols_of(FACTS[name]) for name in ("a", "b")]
    asked = {
        "encoders": columns, "total": 60, "batch": 6.0, "steps": 4, "clip": 1.0, "spend": held.left,
        "share": 1.0, "purpose": "network",
    }  # fmt: skip
    if accountant == "pure":
        with pytest.raises(UsageError, match="pure accountant"):
            held.train(program(), **asked)
        with pytest.raises(Overdraft, match="no finite price"):
            held.release(TRAINING, purpose="network")
        assert (
            len(held.ledger) == 0
            and held.filter.spent == held.filter.delta_spent == 0
            and not held.transcript
        )
        return
    held.train(program(), **asked)
    (entry,) = held.ledger
    assert 0.9 * held.filter.limit < held.filter.spent <= held.filter.limit * (1 + 1e-9)
    assert entry.cost.add_remove.shape == "subsampled" and math.isinf(entry.cost.add_remove.own)
    found = bounds(held.ledger, delta=DELTA, relation="add-remove")
    assert found.keys() == {"gdp", "zcdp", "rdp", "pld"} and found[accountant] <= 1.0


def test_rho_and_pairs_of_a_training_hold_without_its_delta():
    price, other = TRAINING.cost(PrivacyUnit()).add_remove, gaussian(1, Fraction(3))
    found = bounds(
        ledger(("dp_sgd", TRAINING.cost(PrivacyUnit())), ("noise", Cost(add_remove=other, replace=other))),
        delta=DELTA, relation="add-remove",
    )  # fmt: skip
    schedule = schedule_of(TRAINING.describe(), 1, "add-remove")
    assert price.delta == 1e-8
    assert found["gdp"] == pytest.approx(
        gdp.epsilon(math.sqrt(price.mu2 + other.mu2), DELTA - 1e-8), rel=1e-9
    )
    assert found["zcdp"] == pytest.approx(zcdp.epsilon(price.rho + other.rho, DELTA), rel=1e-9)
    assert found["pld"] == pytest.approx(epsilon([schedule], DELTA, mu=math.sqrt(other.mu2)), rel=1e-9)


def test_draws_beside_a_training_are_taken_as_gaussians():
    price = draws(3, each=0.1, mass=0.2, delta=1e-7)
    found = bounds(
        ledger(("dp_sgd", TRAINING.cost(PrivacyUnit())), ("private_draws", Cost(add_remove=price, replace=price))),
        delta=DELTA, relation="add-remove",
    )  # fmt: skip
    schedule = schedule_of(TRAINING.describe(), 1, "add-remove")
    assert found["pld"] == pytest.approx(epsilon([schedule], DELTA, mu=math.sqrt(price.mu2)), rel=1e-9)
    assert "pure" not in found


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_training_on_a_part_of_the_rows(relation):
    whole = TRAINING.cost(PrivacyUnit())
    common = Cost(add_remove=gaussian(1, Fraction(10)), replace=gaussian(2, Fraction(10)))
    limit = Limit(
        accountant="gdp", spend=4.0, delta=1e-8, parts=(("x", 0.25, 4.0), ("y", 0.5, 4.0)), common=0.01
    )
    held = ledger(
        ("noise", common), ("dp_sgd", attrs.evolve(whole, part="x")),
        ("noise", attrs.evolve(common, part="y")), limit=limit,
    )  # fmt: skip
    found = bounds(held, delta=DELTA, relation=relation)
    mu2 = common.under(relation).mu2
    schedule = schedule_of(TRAINING.describe(), 1, relation)
    x = epsilon([schedule], DELTA, mu=math.sqrt(mu2))
    y, rest = (gdp.epsilon(math.sqrt(times * mu2), DELTA) for times in (2, 1))
    wanted = mixture_epsilon([(0.25, x), (0.5, y), (0.25, rest)]) if relation == "add-remove" else max(x, y)
    assert found["pld"] == pytest.approx(wanted, rel=1e-9)
    assert all(found["pld"] <= each for each in found.values())


def test_replacing_after_adaptive_trainings_is_removing_and_adding():
    limit = Limit(accountant="gdp", spend=0.04, delta=1e-8)
    trained = ledger(("dp_sgd", TRAINING.cost(PrivacyUnit())), limit=limit)
    noise = Cost(add_remove=gaussian(1, Fraction(10)), replace=gaussian(2, Fraction(10)))
    other = ledger(("noise", noise), limit=limit)
    for held in (trained, other):
        held.adaptive = True
    one = bounds(trained, delta=DELTA, relation="add-remove")["gdp"]
    two = bounds(trained, delta=DELTA, relation="replace")["gdp"]
    assert bounds(other, delta=DELTA, relation="add-remove")["gdp"] == one
    # Twice the epsilon that holds at 1/(1 + e^epsilon) of delta, and not the conversion of four times the limit.
    part = DELTA / (1 + math.exp(two / 2))
    again = ledger(("noise", noise), limit=limit)
    again.adaptive = True
    assert two == pytest.approx(2 * bounds(again, delta=part, relation="add-remove")["gdp"], rel=2e-2)
    assert two > bounds(other, delta=DELTA, relation="replace")["gdp"]

"""Disjoint parts of the rows: the mixture, the filter, the statement."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.domain.alphabet import CodeSymbols
from sfumato.errors import Overdraft
from sfumato.privacy import gdp
from sfumato.privacy.division import amplified, before_sampling, mixture_epsilon, part_epsilons
from sfumato.privacy.filter import Budget
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.draws import Draws
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.statement import bounds, statement_of
from sfumato.privacy.unit import RELATIONS, PrivacyUnit

FRAME = pl.DataFrame({"a": [i % 3 for i in range(3000)], "b": [i % 2 for i in range(3000)]})
SCHEMA = {"columns": {"a": {"type": "int", "min": 0, "max": 2}, "b": {"type": "int", "min": 0, "max": 1}}}


def curator(*, epsilon=1.0, delta=1e-6, unit=None, table=FRAME, accountant="gdp"):
    return PrivateTable.open(table).curator(
        unit=unit or PrivacyUnit(), budget=Budget(epsilon=epsilon, delta=delta, accountant=accountant)
    )


def codec():
    return sf.fit(FRAME, epsilon=1.0, method="independent", schema=SCHEMA).codecs[0]


def test_the_mixture_holds_for_all_mixtures_of_randomised_response():
    """Laws of one row in part j: any pair that is epsilon_j apart. Enumerated, both directions, no slack missing."""
    rng = np.random.default_rng(4)
    closest = 0.0
    for _ in range(3000):
        outcomes = int(rng.integers(2, 5))
        base = rng.dirichlet(np.ones(outcomes))
        parts = int(rng.integers(1, 4))
        shares = rng.dirichlet(np.ones(parts + 1))[:parts]
        epsilons = rng.uniform(0.05, 3, parts)
        laws = []
        for epsilon in epsilons:
            up = rng.random(outcomes) < 0.5
            moved = base * np.where(up, math.exp(epsilon / 2), math.exp(-epsilon / 2))
            laws.append(moved / moved.sum())
        # What each pair really spends.
        spent = [float(np.abs(np.log(each / base)).max()) for each in laws]
        whole = (1 - shares.sum()) * base + sum(p * each for p, each in zip(shares, laws, strict=True))
        bound = mixture_epsilon(list(zip(shares, spent, strict=True)))
        worst = float(np.abs(np.log(whole / base)).max())
        assert worst <= bound + 1e-12 and bound <= max(spent) * (1 + 1e-9)
        closest = max(closest, worst / max(bound, 1e-9))
    assert closest > 0.99


def test_amplification_and_its_inverse():
    assert amplified(1.0, 0.25) == pytest.approx(math.log(1 + 0.25 * (math.e - 1)))
    # The publication's shares: 280,000 of 1,295,000 rows.
    assert before_sampling(1.0, 280 / 1295) == pytest.approx(2.1913, abs=1e-4)
    assert amplified(before_sampling(0.1, 280 / 1295), 280 / 1295) == pytest.approx(0.1)
    assert mixture_epsilon([(0.5, 1.0), (0.5, 1.0)]) == pytest.approx(1.0)
    assert mixture_epsilon([(0.5, math.inf)]) == math.inf
    shares = {"x": 0.2, "y": 0.3}
    found = part_epsilons(1.0, common=0.1, shares=shares, weights={"x": 0.7, "y": 0.3})
    assert mixture_epsilon([*((shares[n], e) for n, e in found.items()), (0.5, 0.1)]) == pytest.approx(1.0)
    large = part_epsilons(1000.0, common=0.0, shares=shares, weights={"x": 0.7, "y": 0.3})
    assert large["x"] == pytest.approx(1000 + math.log(3.5))


def test_parts_are_disjoint_cover_what_they_should_and_stay_the_same():
    held = curator()
    held.divide({"x": 0.2, "y": 0.5})
    a = codec()
    sizes = {}
    for name in ("x", "y"):
        tables = [_count(held, name, a) for _ in range(2)]
        assert (tables[0] == tables[1]).all()
        sizes[name] = tables[0].sum()
    # Binomial, eight deviations.
    assert abs(sizes["x"] - 600) < 8 * math.sqrt(3000 * 0.2 * 0.8)
    assert abs(sizes["y"] - 1500) < 8 * math.sqrt(3000 * 0.25)


def _count(held, name, encoder):
    return held._Curator__parts[name].marginals([(encoder,)])[0]


def test_every_part_has_the_whole_budget_and_no_more():
    held, a = curator(), codec()
    held.total(spend=0.1 * held.left)
    before = held.left
    held.divide({"x": 0.3, "y": 0.7})
    assert held.left == 0
    for name in ("x", "y"):
        with held.on(name):
            assert held.left == pytest.approx(before)
            held.measure([(a,)], spend=held.left, purpose="all")
            with pytest.raises(Overdraft):
                held.measure([(a,)], spend=before / 10, purpose="more")
    with pytest.raises(ValueError, match="parts"):
        held.total(spend=1e-6)
    found = statement_of(held.ledger, delta=1e-6, unit="one row")
    assert 0.98 < found.epsilon <= 1.0
    assert found.epsilon_replace > found.epsilon
    # The chain still binds which part a charge was for.
    assert [entry.cost.part for entry in held.ledger] == ["", "x", "y"]


@pytest.mark.parametrize("accountant", ["gdp", "zcdp"])
def test_weights_divide_e_to_the_epsilon(accountant):
    held, a = curator(accountant=accountant), codec()
    held.divide({"x": 0.2, "y": 0.3}, weights={"x": 0.5, "y": 0.5})
    whole = held.filter.limit
    for name in ("x", "y"):
        with held.on(name):
            assert held.left > 1.5 * whole
            held.measure([(a,)], spend=held.left, purpose="all")
    found = statement_of(held.ledger, delta=1e-6, unit="one row")
    assert found.epsilon <= 1.0
    if accountant == "gdp":
        assert found.epsilon > 0.98
        by_hand = [
            (share, gdp.epsilon(math.sqrt(entry.cost.add_remove.mu2), 1e-6))
            for share, entry in zip((0.2, 0.3), held.ledger, strict=True)
        ]
        assert found.epsilon == pytest.approx(mixture_epsilon(by_hand), rel=1e-3)
    # An adaptive run has the limits, which say the same.
    held.ledger.adaptive = True
    assert statement_of(held.ledger, delta=1e-6, unit="one row").epsilon <= 1.0 + 1e-6


def test_epsilons_that_are_added_up_are_divided_alike():
    """Single draws under the pure filter: the whole is the mixture of what the parts may see."""
    held, shares = curator(accountant="pure"), {"x": 0.2, "y": 0.3}
    axes = (CodeSymbols(codec()),)
    held.divide(shares, weights={"x": 0.5, "y": 0.5})
    seen = {}
    for name in shares:
        with held.on(name):
            seen[name] = held.left
            for _ in range(2):
                held.draw(Draws(axes=axes, sampler="roo", epsilon=seen[name] / 2), purpose="record")
            with pytest.raises(Overdraft):
                held.draw(Draws(axes=axes, sampler="roo", epsilon=0.01), purpose="more")
    assert mixture_epsilon([(shares[n], e) for n, e in seen.items()]) == pytest.approx(1.0)
    found = {r: bounds(held.ledger, delta=1e-6, relation=r, pld=False) for r in RELATIONS}
    assert found["add-remove"]["pure"] == pytest.approx(1.0)
    assert found["replace"]["pure"] == pytest.approx(max(seen.values()))
    held.ledger.adaptive = True
    assert bounds(held.ledger, delta=1e-6, relation="add-remove")["pure"] == pytest.approx(1.0)
    assert bounds(held.ledger, delta=1e-5, relation="replace")["pure"] == pytest.approx(2.0)
    assert bounds(held.ledger, delta=1e-6, relation="replace")["pure"] == math.inf


def test_exact_noise_on_parts_needs_no_delta():
    """Delta is 0, before and after a file; a replacement is twice the dearest part, since every price is."""
    held, a = curator(delta=0.0, accountant="pure"), codec()
    held.laplace([(a,)], spends=[0.25], purpose="all rows")
    held.divide({"x": 0.2, "y": 0.3}, weights={"x": 0.5, "y": 0.5})
    for name in ("x", "y"):
        with held.on(name):
            held.laplace([(a,)], spends=[held.left], purpose="part")
            with pytest.raises(Overdraft):
                held.measure([(a,)], spend=0.01, purpose="Gaussian")
    dearest = max(limit for _, _, limit in held.ledger.limit.parts)
    assert dearest > 1.4
    for held.ledger.adaptive in (False, True):
        for ledger in (held.ledger, Ledger.from_state(held.ledger.state())):
            found = {r: bounds(ledger, delta=0.0, relation=r)["pure"] for r in RELATIONS}
            assert 0.99 < found["add-remove"] <= 1 + 1e-9
            assert found["replace"] == pytest.approx(2 * dearest, rel=0.01)


def test_weights_are_not_used_where_they_would_not_hold():
    for adaptive, relation in ((True, "add-remove"), (False, "replace")):
        held = curator(unit=PrivacyUnit(neighbours=relation))
        held.ledger.adaptive = adaptive
        held.divide({"x": 0.2, "y": 0.3}, weights={"x": 0.5, "y": 0.5})
        assert all(part.limit == held.filter.limit for part in held.filter.parts.values())


def test_parts_of_persons_with_several_rows_add_up():
    frame = FRAME.with_columns(who=pl.int_range(3000) // 2)
    held, a = curator(unit=PrivacyUnit(column="who", at_most=2), table=frame), codec()
    whole = held.left
    held.divide({"x": 0.5, "y": 0.5})
    for name in ("x", "y"):
        with held.on(name):
            assert held.left == pytest.approx(whole / 2)
            held.measure([(a,)], spend=held.left, purpose="all")
    assert held.filter.spent == pytest.approx(whole, rel=1e-2)
    assert {entry.cost.part for entry in held.ledger} == {""}


def test_bad_divisions():
    for shares in ({}, {"x": 0.0}, {"x": 0.7, "y": 0.7}):
        with pytest.raises(ValueError):
            curator().divide(shares)
    held = curator()
    for weights in ({"x": 1.0}, {"x": 0.0, "y": 1.0}, {"x": 0.9, "y": 0.9}):
        with pytest.raises(ValueError):
            held.divide({"x": 0.5, "y": 0.5}, weights=weights)
    held.divide({"x": 0.5})
    with pytest.raises(ValueError):
        held.divide({"x": 0.5})
    with pytest.raises(ValueError), held.on("z"):
        pass
    assert list(itertools.islice(held.filter.parts, 2)) == ["x"]

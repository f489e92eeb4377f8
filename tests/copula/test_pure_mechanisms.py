"""Sensitivities by enumeration: every table of few rows against each of its neighbours."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from sfumato.domain.alphabet import CodeSymbols
from sfumato.domain.codecs import codec_for
from sfumato.domain.kinds.categorical import Categorical
from sfumato.errors import Overdraft, UsageError
from sfumato.privacy.cost import pure
from sfumato.privacy.filter import Budget
from sfumato.privacy.mechanisms.draws import Draws
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.laplace_partitions import LaplacePartitions
from sfumato.privacy.mechanisms.measurement import Measurement
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.unit import PrivacyUnit
from sfumato.tables.counting import BlockCounter
from sfumato.tables.source import open_source
from sfumato.testing.curators import Recorder

LIMIT = 5
VALUES = ("p", "q")
ROWS = list(itertools.product(VALUES, repeat=3))


def _codecs():
    made = [codec_for(Categorical(name, values=list(VALUES))) for name in "abc"]
    assert all(made)
    return made


GROUPS = [[2, 0, 1], [0, 0, 1], [1, 1, 0]]
"""Of three codes each: missing and other values, p, q."""
VALUES_OF_GROUPS = [
    np.array([[LIMIT, -2], [-LIMIT, 0], [0, 0]]),
    np.array([[1, LIMIT], [LIMIT, -1], [0, 0]]),
    np.array([[-LIMIT, 3], [4, 0]]),
]


def _question(scale: Fraction = Fraction(100)) -> PairSums:
    return PairSums(encoders=_codecs(), groups=GROUPS, values=VALUES_OF_GROUPS, limit=LIMIT, scale=scale)


def _sums(rows) -> np.ndarray:
    frame = pl.DataFrame(list(rows), schema=dict.fromkeys("abc", pl.String), orient="row")
    return _question().exact(BlockCounter(open_source(frame, allow_empty=True)))


def _neighbours():
    for size in (0, 1, 2):
        for table in itertools.combinations_with_replacement(ROWS, size):
            for row in ROWS:
                yield table, (*table, row), "add-remove"
                for other in ROWS:
                    yield (*table, row), (*table, other), "replace"


def test_sums_over_pairs_move_by_no_more_than_is_charged() -> None:
    worst = {"add-remove": 0, "replace": 0}
    memo = {}

    def sums(table):
        key = tuple(sorted(table))
        if key not in memo:
            memo[key] = _sums(key)
        return memo[key]

    for one, two, relation in _neighbours():
        worst[relation] = max(worst[relation], int(np.abs(sums(one) - sums(two)).max()))
    cost = _question().cost(PrivacyUnit())
    for relation, moved in worst.items():
        assert moved / 100 <= cost.under(relation).epsilon * (1 + 1e-12)
    assert worst["add-remove"] == LIMIT  # the bound is reached: nothing is wasted
    assert worst["replace"] == 2 * LIMIT


def test_sums_over_pairs_are_those_of_the_rows() -> None:
    table = [ROWS[0], ROWS[3], ROWS[5], ROWS[5]]
    codes = [[GROUPS[i][1 + VALUES.index(row[i])] for i in range(3)] for row in table]
    wanted = [
        sum(int(values[groups[i], groups[j]]) for groups in codes)
        for (i, j), values in zip(itertools.combinations(range(3), 2), VALUES_OF_GROUPS, strict=True)
    ]
    assert _sums(table).tolist() == wanted


@pytest.mark.parametrize(
    ("place", "value"), [((0, 0), LIMIT + 1), ((2, 1), -LIMIT - 1)], ids=["above", "below"]
)
def test_values_beyond_the_limit_are_refused_before_a_charge(place, value) -> None:
    first = VALUES_OF_GROUPS[0].copy()
    first[place] = value
    with pytest.raises(ValueError, match="beyond the limit"):
        PairSums(
            encoders=_codecs(), groups=GROUPS, values=[first, *VALUES_OF_GROUPS[1:]], limit=LIMIT,
            scale=Fraction(1),
        )  # fmt: skip
    with pytest.raises(ValueError, match="integer"):
        PairSums(
            encoders=_codecs(), groups=GROUPS, values=[v / 1 for v in VALUES_OF_GROUPS], limit=LIMIT,
            scale=Fraction(1),
        )  # fmt: skip


def test_ranks_would_move_further_than_the_bound_that_is_often_claimed() -> None:
    """The reason for scores that depend on their own row alone: normal scores of ranks move by about twice
    bound²/n when one row joins.
    """
    from scipy.stats import norm, rankdata

    n = 200
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)

    def total(x, y):
        size, bound = len(x), norm.ppf((len(x) - 0.5) / len(x))
        z, w = (np.clip(norm.ppf((rankdata(v) - 0.5) / size), -bound, bound) for v in (x, y))
        return float(z @ w)

    bound = norm.ppf((n - 0.5) / n)
    moved = abs(total(x, x) - total(np.append(x, 9.0), np.append(x, -9.0)))
    assert moved > 1.5 * bound**2


def test_counts_cost_what_their_l1_distance_needs() -> None:
    (one, two, _) = _codecs()
    question = LaplaceCounts(cliques=[(one,), (one, two), ()], scales=[Fraction(4), Fraction(8), Fraction(8)])
    cost = question.cost(PrivacyUnit(column="who", at_most=3))
    assert cost.add_remove.epsilon == pytest.approx(3 * (1 / 4 + 1 / 8 + 1 / 8))
    assert cost.replace.epsilon == pytest.approx(2 * cost.add_remove.epsilon)
    assert cost.add_remove.delta == cost.add_remove.delta == 0


def test_a_price_is_never_rounded_down() -> None:
    for top in range(1, 200):
        epsilon = Fraction(top, 97)
        assert Fraction(pure(epsilon).epsilon) >= epsilon


def test_texts_cost_epsilon_and_the_delta_of_their_threshold() -> None:
    unit = PrivacyUnit()
    question = LaplacePartitions.calibrated(
        columns=["a", "b"], public_values=[[], []], sigma=Fraction(10), delta=1e-6, unit=unit
    )
    price = question.cost(unit).add_remove
    a = math.exp(-1 / 10)
    by_hand = 2 * a ** (question.threshold - 1) / (1 + a)
    assert price.epsilon == pytest.approx(2 / 10)
    assert price.delta == pytest.approx(by_hand, rel=1e-9)
    assert price.delta <= 1e-6 < by_hand / a


def _curator(budget: Budget) -> Recorder:
    table = PrivateTable.open(
        pl.DataFrame({"a": ["p"] * 9, "b": ["q"] * 9, "c": ["p"] * 9}), allow_empty=True
    )
    return Recorder.over(table.curator(unit=PrivacyUnit(), budget=budget))


def test_a_pure_filter_admits_pure_questions_only_and_no_more_than_its_epsilon() -> None:
    curator = _curator(Budget(epsilon=1.0, delta=0.0, accountant="pure"))
    with pytest.raises(Overdraft):
        curator.release(Measurement(cliques=[(_codecs()[0],)], sigma=Fraction(1000)), purpose="Gaussian")
    curator.laplace([(_codecs()[0],)], spends=[0.75], purpose="counts")
    with pytest.raises(Overdraft):
        curator.laplace([(_codecs()[0],)], spends=[0.26], purpose="counts")
    curator.laplace([(_codecs()[0],)], spends=[0.25], purpose="counts")
    assert len(curator.ledger) == len(curator.heard) == 2
    assert curator.ledger.epsilon(0.0) <= 1.0


def _draws(delta: float, *, sampler: str = "ds-roo", count: int = 1000, each: float = 0.01) -> Draws:
    axes = tuple(CodeSymbols(codec) for codec in _codecs()[:1])
    return Draws(axes=axes, sampler=sampler, epsilon=each, count=count, delta=delta)


def test_beside_thresholds_delta_is_for_nothing_else() -> None:
    """Twice the limit covers a replacement there, which draws at a delta would break."""
    from sfumato.privacy.statement import bounds

    curator = _curator(Budget(epsilon=9.0, delta=1e-6, accountant="pure", thresholds=True))
    cost = _draws(1e-8, each=0.1).cost(PrivacyUnit())
    assert cost.replace.epsilon > 2.1 * cost.add_remove.epsilon
    with pytest.raises(Overdraft):
        curator.draw(_draws(1e-8), purpose="draws")
    curator.draw(_draws(0.0, count=10), purpose="draws")
    curator.categories(["a"], public_values=[[]], spend=1.0, delta=curator.filter.delta_left, purpose="texts")
    curator.ledger.adaptive = True
    stated = {
        relation: bounds(curator.ledger, delta=1e-6, relation=relation)["pure"]
        for relation in ("add-remove", "replace")
    }
    assert stated == {"add-remove": 9.0, "replace": 18.0}


def test_without_thresholds_a_replacement_of_draws_is_two_steps() -> None:
    from sfumato.privacy.statement import bounds

    curator = _curator(Budget(epsilon=2.0, delta=1e-6, accountant="pure"))
    curator.draw(_draws(1e-7), purpose="draws")
    assert bounds(curator.ledger, delta=1e-6, relation="add-remove")["pure"] < 2.0
    curator.ledger.adaptive = True
    assert bounds(curator.ledger, delta=1e-6, relation="add-remove")["pure"] == 2.0
    needed = (1 + math.exp(2.0)) * 1e-6
    assert math.isinf(bounds(curator.ledger, delta=0.99 * needed, relation="replace")["pure"])
    assert bounds(curator.ledger, delta=needed, relation="replace")["pure"] == 4.0


def test_no_delta_means_no_thresholds() -> None:
    with pytest.raises(UsageError):
        Budget(epsilon=1.0, delta=0.0, accountant="pure", thresholds=True)
    with pytest.raises(UsageError):
        Budget(epsilon=1.0, delta=0.0, accountant="gdp")


def test_pure_charges_count_in_every_accountant() -> None:
    """A Gaussian filter admits pure questions at their price in Gaussian DP, and no statement leaves them out."""
    from sfumato.privacy.statement import bounds

    curator = _curator(Budget(epsilon=12.0, delta=1e-6))
    curator.laplace([(_codecs()[0],)], spends=[1.0], purpose="counts")
    alone = bounds(curator.ledger, delta=1e-6, relation="add-remove")
    assert set(alone) == {"gdp", "zcdp", "pld", "pure"} and alone["pure"] == 1.0
    assert all(epsilon > 0.99 for epsilon in alone.values())
    curator.total(spend=0.1)
    assert all(
        epsilon > alone[name]
        for name, epsilon in bounds(curator.ledger, delta=1e-6, relation="add-remove").items()
    )

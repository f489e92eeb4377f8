"""Every sampler is epsilon-DP: all count vectors, all neighbours, all symbols, in exact rationals; and the checks
notice what is not.
"""

import math
from fractions import Fraction
from itertools import pairwise, product

import pytest
from tests.sampling.laws import RATIOS, worst_laplace, worst_of_table

from sfumato.sampling import ds_roo, floor, geo
from sfumato.sampling.ds_roo import DsRoo, recursion
from sfumato.sampling.enumeration import neighbours, vectors, worst_ratio
from sfumato.sampling.floor import Floor, floor_of
from sfumato.sampling.geo import UNIT, Geo, growth, ramp
from sfumato.sampling.law import probabilities
from sfumato.sampling.local_minimax import LocalMinimax
from sfumato.sampling.ratios import ratio_below
from sfumato.sampling.roo import Roo
from sfumato.sampling.sub_rr import SubRR

SIZES = [
    (n, k)
    for k, ns in {
        1: (3,), 2: (1, 2, 3, 4, 5, 8, 13, 20), 3: (1, 2, 3, 4, 6, 9, 12, 16), 4: (1, 2, 4, 5, 8, 11, 13),
        5: (2, 5, 7, 10, 12), 6: (3, 6, 9, 12), 7: (7, 10), 8: (8, 9), 9: (9,), 12: (3,),
    }.items()
    for n in ns
]  # fmt: skip
INSTANCES = [(n, k, ratio) for n, k in SIZES for ratio in RATIOS]
LAWS = {
    "roo": lambda ratio, rows: Roo(ratio=ratio),
    "ds-roo": lambda ratio, rows: DsRoo(ratio=ratio, rows=rows),
    "floor": lambda ratio, rows: Floor(ratio=ratio, rows=rows),
    "geo": lambda ratio, rows: Geo(ratio=ratio, rows=rows),
    "local-minimax": lambda ratio, rows: LocalMinimax(ratio=ratio),
}


def achieved(sampler, n, k, ratio, relation="replace"):
    law = LAWS[sampler](ratio, n if relation == "replace" else None)
    return worst_ratio(law, n, k, relation)


def test_there_are_enough_instances():
    assert len(INSTANCES) >= 300 and any(k == 2 for _, k, _ in INSTANCES)


@pytest.mark.parametrize("sampler", LAWS)
def test_replacing_a_record_changes_no_probability_by_more(sampler):
    worst = {}
    for n, k, ratio in INSTANCES:
        worst[n, k, ratio] = achieved(sampler, n, k, ratio)
        assert worst[n, k, ratio] <= ratio, (n, k, ratio)
    if sampler in ("roo", "ds-roo"):  # sharp, but for two symbols, whose smallest count cannot stay as it is
        assert all(
            worst[at] == at[2] for at in worst if at[1] >= (2 if sampler == "roo" else 3) and at[0] > 1
        )
    if sampler == "ds-roo":
        assert min(math.log(worst[at]) / math.log(at[2]) for at in worst if at[1] == 2 and at[0] > 1) < 0.6
    if sampler == "floor":
        assert sorted(math.log(worst[at]) / math.log(at[2]) for at in worst)[len(worst) // 2] > 0.95


@pytest.mark.parametrize("sampler", LAWS)
def test_adding_or_removing_a_record_changes_no_probability_by_more(sampler):
    for n, k, ratio in INSTANCES[:: 5 if sampler == "local-minimax" else 1]:
        for rows in (n, 0):
            assert achieved(sampler, rows, k, ratio, "add-remove") <= ratio, (rows, k, ratio)


@pytest.mark.parametrize("sampler", ["roo", "local-minimax"])
def test_pseudo_counts_hide_a_replacement_too_where_the_number_of_records_is_private(sampler):
    for n, k, ratio in INSTANCES[::3]:
        assert worst_ratio(LAWS[sampler](ratio, None), n, k, "replace") <= ratio


@pytest.mark.parametrize("sampler", LAWS)
def test_a_replacement_is_a_removal_and_an_addition(sampler):
    for n, k, ratio in INSTANCES[::3]:
        assert worst_ratio(LAWS[sampler](ratio, None), n, k, "replace") <= ratio**2


def test_the_minimax_sampler_hides_any_change_of_the_table():
    for n, k in ((3, 2), (4, 3), (5, 4)):
        for ratio in RATIOS:
            laws = [probabilities(LocalMinimax(ratio=ratio), counts) for counts in vectors(n, k)]
            every = [p for law in laws for p in law]
            assert max(every) / min(every) <= ratio and all(sum(law) == 1 for law in laws)
            assert max(every) == ratio / (ratio + k - 1)


@pytest.mark.parametrize(
    ("n", "k", "m"), [(1, 2, 1), (2, 2, 2), (4, 2, 3), (5, 2, 2), (3, 3, 1), (3, 3, 2), (4, 3, 2), (3, 4, 2)]
)
def test_subrr_shows_m_records_for_one_epsilon(n, k, m):
    for ratio in RATIOS[2::2]:
        sampler = SubRR(ratio=ratio, symbols=k, records=n, m=m)
        worst = Fraction(1)
        for data in product(range(k), repeat=n):
            law = sampler.law(data)
            assert sum(law.values()) == 1
            for place, symbol in product(range(n), range(k)):
                other = sampler.law((*data[:place], symbol, *data[place + 1 :]))
                worst = max(worst, *(law[said] / other[said] for said in law))
            if n * k > 8 and data[0]:
                break  # tables that differ in names alone
        assert worst == ratio
        assert 1 + Fraction(m, n) * k * (1 - sampler.q) / sampler.q == ratio
        for data in product(range(k), repeat=n):  # n private: one record more, the same q
            law = sampler.law(data)
            for symbol in range(k):
                more = sampler.law((*data, symbol))
                assert all(max(law[s] / more[s], more[s] / law[s]) <= ratio for s in law)
            if n * k > 8:
                break


def test_subrr_of_one_record_is_roo():
    for n, k, ratio in [(3, 2, Fraction(2)), (4, 3, Fraction(3, 2))]:
        data = (0,) * (n - 1) + (1,)
        counts = [data.count(symbol) for symbol in range(k)]
        law = SubRR(ratio=ratio, symbols=k, records=n, m=1).law(data)
        assert [law[(symbol,)] for symbol in range(k)] == probabilities(Roo(ratio=ratio), counts)


@pytest.mark.parametrize("projection", ["laplace-euclid", "laplace-clip"])
@pytest.mark.parametrize("replace", [True, False])
def test_noisy_histograms_hide_a_record_whatever_the_projection(projection, replace):
    for n, k, root in [(1, 2, 2), (3, 2, 2), (4, 2, 3), (2, 3, 2)]:
        ratio = Fraction(root) ** (2 if replace else 1)
        worst = worst_laplace(n, k, decay=Fraction(1, root), projection=projection, replace=replace)
        assert 1 < worst <= ratio


def test_half_of_the_noise_would_be_noticed():
    worst = [
        worst_laplace(3, 2, decay=Fraction(1, 9), projection="laplace-clip", replace=replace)
        for replace in (True, False)
    ]
    assert worst[0] > 9 and worst[1] > 3


# large tables, and what is broken on purpose

LARGE = [
    (1000, 9), (100, 9), (50, 20), (500, 50), (1000, 3), (200, 4), (37, 5), (64, 7), (2000, 100), (300, 30),
    (10_000, 20),
]  # fmt: skip


@pytest.mark.parametrize(("n", "k"), LARGE)
def test_the_table_holds_on_large_alphabets(n, k):
    for epsilon in (0.05, 0.1, 0.5, 2.0) if n < 10_000 else (0.5,):
        ratio = ratio_below(epsilon)
        table = ds_roo.q_table(n, k, epsilon)
        assert len(table) == n // k + 1 and all(a >= b for a, b in pairwise(table))
        assert worst_of_table(table, n, k) <= ratio


@pytest.mark.parametrize("n", [5, 8, 12])
def test_the_check_of_large_tables_agrees_with_enumeration(n):
    for k in (3, 4):
        for ratio in RATIOS[1:5]:
            table = [*recursion(n, k, ratio), *[Fraction(0)] * n][: n // k + 1]
            every = worst_ratio(DsRoo(ratio=ratio, rows=n), n, k)
            assert worst_of_table(table, n, k) == every


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "factor"),
    [(500, 50, 0.05, 1.498787), (500, 50, 0.1, 1.446437), (5000, 100, 0.01, 1.767689)],
)
def test_without_the_crowd_privacy_breaks(monkeypatch, n, k, epsilon, factor):
    sound = worst_of_table(ds_roo.q_table(n, k, epsilon), n, k)
    assert sound <= ratio_below(epsilon)
    monkeypatch.setattr(ds_roo, "CONSTRAINTS", (ds_roo.same, ds_roo.donor))
    table = [*recursion(n, k, ratio_below(epsilon)), *[Fraction(0)] * n][: n // k + 1]
    assert math.log(worst_of_table(table, n, k)) / epsilon == pytest.approx(factor, abs=1e-5)


def test_every_constraint_is_needed(monkeypatch):
    for left in ds_roo.CONSTRAINTS:
        kept = tuple(each for each in ds_roo.CONSTRAINTS if each is not left)
        monkeypatch.setattr(ds_roo, "CONSTRAINTS", kept)
        broken = 0
        for n, k in ((12, 3), (13, 4), (300, 30)):
            for epsilon in (0.05, 0.1, 0.5, 1.0):
                ratio = ratio_below(epsilon)
                table = [*recursion(n, k, ratio), *[Fraction(0)] * n][: n // k + 1]
                broken += worst_of_table(table, n, k) > ratio
        monkeypatch.undo()
        assert broken, left.__name__


def test_no_smaller_table_will_do():
    """Lowering any q that is above 0 breaks the law, at more than two symbols."""
    for n, k, ratio in [(12, 3, Fraction(11, 10)), (13, 4, Fraction(5, 4)), (20, 5, Fraction(11, 10))]:
        table = [*recursion(n, k, ratio), *[Fraction(0)] * n][: n // k + 1]
        for m, q in enumerate(table):
            if q and n - k * (m + 1) > k:
                lower = [*table[:m], q * Fraction(999, 1000), *table[m + 1 :]]
                assert worst_of_table(lower, n, k) > ratio, (n, k, m)


def test_once_zero_the_table_stays_zero():
    for n, k, ratio in INSTANCES:
        table = recursion(n, k, ratio)
        for m in range(len(table) + 1, n // k):
            if n > k * m:
                assert all(least(n, k, ratio, m, Fraction(0)) <= 0 for least in ds_roo.CONSTRAINTS)


def test_the_floor_of_the_sketch_is_noticed(monkeypatch):
    """T/e^epsilon is too low where a record is replaced, and right where one comes or goes."""
    sketch = lambda ratio, rows: math.ceil(1 / (ratio - 1)) / ratio  # noqa: E731
    monkeypatch.setattr(floor, "floor_of", sketch)
    over = [achieved("floor", n, k, ratio) / ratio for n, k, ratio in INSTANCES if n > 2]
    assert max(over) > 1.05 and sum(each > 1 for each in over) > 20
    assert all(sketch(ratio, None) == floor_of(ratio, None) for ratio in RATIOS)


def test_geo_without_its_factor_is_noticed(monkeypatch):
    monkeypatch.setattr(geo, "growth", lambda ratio, rows: ratio)
    assert any(achieved("geo", n, k, ratio) > ratio for n, k, ratio in INSTANCES)


def test_a_pseudo_count_that_is_too_small_is_noticed(monkeypatch):
    monkeypatch.setattr(
        Roo,
        "weights",
        lambda self, tally: [1000 * value + int(999 * self.pseudo_count) for value in tally.values],
    )
    assert achieved("roo", 6, 3, Fraction(3, 2)) > Fraction(3, 2)


def test_an_alphabet_read_off_the_data_is_noticed():
    """The smallest count among symbols that occur, in place of all: a symbol appears out of nothing."""

    class Seen(DsRoo):
        def q(self, m, k):
            return super().q(max(m, 1), k)

    assert worst_ratio(Seen(ratio=Fraction(3, 2), rows=9), 9, 3) > Fraction(3, 2)


# what the proofs rest on


@pytest.mark.parametrize("rows", [None, 20, 1000])
def test_the_weights_of_geo_are_what_its_proof_needs(rows):
    for epsilon in (0.0101, 0.05, 0.1, 0.3, 1.0, 2.5):
        r = growth(ratio_below(epsilon), rows)
        if r <= 1:
            assert not Geo(ratio=ratio_below(epsilon), rows=rows).usable
            continue
        low = ramp(r)
        assert low[-1] == (len(low) - 1) * UNIT and Fraction(len(low), len(low) - 1) <= r
        for j, (one, two) in enumerate(pairwise(low)):
            assert 0 <= two - one <= UNIT and two <= r * one and one >= j * UNIT


def test_ratios_are_below_and_close():
    import mpmath

    with mpmath.workdps(400):
        for epsilon in (1e-5, 0.1, 1.0, 2.0, 50.0, 700.0, 1000.0):
            exact = mpmath.exp(mpmath.mpf(epsilon))
            found = ratio_below(epsilon)
            held = mpmath.mpf(found.numerator) / found.denominator
            assert 0 < exact - held < exact * mpmath.mpf(2) ** -120
    for wrong in (0, -1.0, 1001):
        with pytest.raises(ValueError, match="epsilon"):
            ratio_below(wrong)


def test_laws_add_up_and_do_not_depend_on_names():
    for name, make in LAWS.items():
        for counts in ((5, 0, 3, 1), (0, 0, 0, 0), (4, 4, 4, 4)):
            rows = sum(counts)
            law = probabilities(make(Fraction(3, 2), rows), counts)
            assert sum(law) == 1 and min(law) >= 0, name
            assert probabilities(make(Fraction(3, 2), rows), counts[::-1]) == law[::-1]
            assert rows or len(set(law)) == 1


def test_neighbours_are_all_there():
    for n, k in ((4, 3), (5, 2)):
        every = {tuple(sorted(c)) for c in product(range(n + 1), repeat=k) if sum(c) == n}
        assert {tuple(sorted(c)) for c in vectors(n, k)} == every
        for counts in vectors(n, k):
            found = {tuple(sorted(c)) for c in neighbours(counts, "replace")}
            moved = set()
            for i, j in product(range(k), repeat=2):
                if i != j and counts[i]:
                    other = list(counts)
                    other[i] -= 1
                    other[j] += 1
                    moved.add(tuple(sorted(other)))
            assert found == moved

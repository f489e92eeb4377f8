"""Draws from tables: the exact law of the code that runs, what is charged, and that nothing tells the branch."""

import json
import math
from collections import Counter
from fractions import Fraction

import attrs
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import sampling
from sfumato.domain.alphabet import alphabet_of, alphabet_size, symbols_of
from sfumato.errors import GuaranteeError, InputError, JobError, Overdraft, SfumatoError, UsageError
from sfumato.privacy.dataset_ledger import DatasetLedger
from sfumato.privacy.filter import Budget
from sfumato.privacy.mechanisms import draws as mechanism
from sfumato.privacy.mechanisms.draws import SAMPLERS, Draws, different, mass_of, uniform
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.three_points import epsilon_of_draws
from sfumato.privacy.unit import PrivacyUnit
from sfumato.sampling import tally as tallies
from sfumato.schema import read_schema
from sfumato.tables.dialect import CsvDialect
from sfumato.testing import record_replay

SCHEMA = {
    "columns": {
        "sex": {"type": "categorical", "values": ["f", "m"]},
        "grade": {"type": "categorical", "values": ["low", "mid", "high"], "ordered": True},
        "age": {"type": "int", "min": 0, "max": 120},
        "code": {"type": "int", "min": 0, "max": 10**6 - 1},
        "other": {"type": "int", "min": 1, "max": 10**6},
        "kind": {"type": "categorical", "values": ["only"]},
    }
}
FACTS = read_schema(SCHEMA)
TABLE = pl.DataFrame(
    {
        "sex": ["f", "m", "f", "f"], "grade": ["low", "mid", "low", "high"], "age": [3, 40, 41, 3],
        "code": [5, 6, 7, 8], "other": [1, 2, 3, 4], "kind": ["only"] * 4,
    }
)  # fmt: skip


def axes(*names):
    return tuple(symbols_of(FACTS[name]) for name in names)


def curator(table=TABLE, *, neighbours="replace", epsilon=100.0, delta=0.0, unit=None):
    unit = unit or PrivacyUnit(neighbours=neighbours)
    return PrivateTable.open(table).curator(
        unit=unit, budget=Budget(epsilon=epsilon, delta=delta, accountant="pure")
    )


# the law of the code, by going through everything that the generator can say


class Tree:
    """Stands in for the operating system's generator: every run takes another of all possible paths."""

    def __init__(self):
        self.path, self.asked, self.chance = [], [], Fraction(1)
        self.calls = []

    def choose(self, chances):
        if len(self.asked) == len(self.path):
            self.path.append(0)
        place = self.path[len(self.asked)]
        self.asked.append(len(chances))
        self.chance *= chances[place]
        return place

    def below(self, bound):
        self.calls.append(("below", bound))
        return self.choose([Fraction(1, bound)] * bound)

    def coin(self, chance):
        self.calls.append(("coin", chance))
        return bool(self.choose([1 - chance, chance]))

    def uniform(self, bound, count):
        self.calls.append(("uniform", bound, count))
        return np.array([self.choose([Fraction(1, bound)] * bound) for _ in range(count)], dtype=np.int64)

    def runs(self, work):
        while True:
            self.asked, self.chance, self.calls = [], Fraction(1), []
            yield work(), self.chance, tuple(self.calls)
            while self.path and self.path[-1] == self.asked[len(self.path) - 1] - 1:
                self.path.pop()
            if not self.path:
                return
            self.path[-1] += 1


def law_of(monkeypatch, asked, table=TABLE, neighbours="replace"):
    """Probability of every answer, and the sets of what the generator was asked."""
    tree = Tree()
    monkeypatch.setattr(mechanism, "random_below", tree.below)
    monkeypatch.setattr(mechanism, "coin", tree.coin)
    monkeypatch.setattr(mechanism, "uniform", tree.uniform)
    held = curator(table, neighbours=neighbours, epsilon=1000.0)
    law, calls = Counter(), set()

    def work():
        read = asked.exact(held._Curator__rows)
        return tuple(map(tuple, asked.noisy(read).arrays[0].tolist()))

    for answer, chance, called in tree.runs(work):
        law[answer] += chance
        calls.add(called)
    monkeypatch.undo()
    assert sum(law.values()) == 1
    return law, calls


@pytest.mark.parametrize("rows", [4, None])
def test_a_record_by_roo_has_exactly_the_law_of_roo(monkeypatch, rows):
    asked = Draws(axes=axes("sex", "grade"), sampler="roo", epsilon=0.7, rows=rows)
    law, calls = law_of(monkeypatch, asked, neighbours="replace" if rows else "add-remove")
    counts = Counter(zip(TABLE["sex"], TABLE["grade"], strict=True))
    cells = [(sex, grade) for sex in ("f", "m") for grade in ("low", "mid", "high")]
    wanted = sampling.probabilities(asked.law(), [counts[cell] for cell in cells])
    for (sex, grade), chance in zip(cells, wanted, strict=True):
        at = ("f", "m").index(sex) + 1, ("low", "mid", "high").index(grade) + 1
        assert law[(at,)] == chance
    assert len(calls) == 1, "what is asked of the generator depends on the branch"


def test_the_largest_ratio_of_the_code_is_e_to_the_epsilon(monkeypatch):
    asked = Draws(axes=axes("sex"), sampler="roo", epsilon=0.7, rows=3)
    one, _ = law_of(monkeypatch, asked, pl.DataFrame({"sex": ["f", "f", "f"]}))
    two, _ = law_of(monkeypatch, asked, pl.DataFrame({"sex": ["f", "m", "f"]}))
    worst = max(max(one[said] / two[said], two[said] / one[said]) for said in one)
    assert worst == sampling.ratio_below(0.7)


@pytest.mark.parametrize("rows", [3, None])
def test_subrr_has_exactly_its_law(monkeypatch, rows):
    table = pl.DataFrame({"sex": ["f", "m", "m"]})
    asked = Draws(axes=axes("sex"), sampler="subrr", epsilon=0.9, count=2, rows=rows, filled=0 if rows else 2)
    law, calls = law_of(monkeypatch, asked, table, neighbours="replace" if rows else "add-remove")
    held = sampling.SubRR(ratio=sampling.ratio_below(0.9), symbols=2, records=3 if rows else 2, m=2)
    for said, chance in held.law((0, 1, 1)).items():
        assert law[tuple((symbol + 1,) for symbol in said)] == chance
    assert len(calls) == 1


def test_small_tables_are_filled_up_for_subrr(monkeypatch):
    """One record, filled up to three: the others say nothing."""
    asked = Draws(axes=axes("sex"), sampler="subrr", epsilon=0.9, count=2, filled=3)
    one, _ = law_of(monkeypatch, asked, pl.DataFrame({"sex": ["f"]}), neighbours="add-remove")
    two, _ = law_of(monkeypatch, asked, pl.DataFrame({"sex": ["f", "m"]}), neighbours="add-remove")
    worst = max(max(one[said] / two[said], two[said] / one[said]) for said in one)
    assert worst <= sampling.ratio_below(0.9)


def test_what_lies_outside_counts_as_any_symbol(monkeypatch):
    for sampler in ("roo", "geo"):
        asked = Draws(axes=axes("sex"), sampler=sampler, epsilon=0.7, rows=3)
        if sampler == "roo":
            law, _ = law_of(monkeypatch, asked, pl.DataFrame({"sex": ["f", None, "x"]}))
            mixed = [sampling.probabilities(asked.law(), (1 + i, 2 - i)) for i in (0, 1, 1, 2)]
            assert law[((1,),)] == sum((part[0] for part in mixed), Fraction(0)) / 4
    held = curator(pl.DataFrame({"sex": [None] * 1000}))
    drawn = held.draw(Draws(axes=axes("sex"), sampler="ds-roo", epsilon=9.0, count=9, rows=1000), purpose="x")
    assert drawn.shape == (9, 1) and set(drawn.ravel().tolist()) <= {1, 2}


def test_no_table_and_an_empty_one_give_a_uniform_record(monkeypatch):
    asked = Draws(axes=axes("sex"), sampler="roo", epsilon=0.7)
    empty = PrivateTable.open(TABLE.select("sex").clear(), allow_empty=True)
    rows = empty.curator(unit=PrivacyUnit(), budget=Budget(epsilon=1.0, delta=0.0, accountant="pure"))
    tree = Tree()
    monkeypatch.setattr(mechanism, "random_below", tree.below)
    monkeypatch.setattr(mechanism, "coin", tree.coin)
    monkeypatch.setattr(mechanism, "uniform", tree.uniform)
    law = Counter()
    for answer, chance, _ in tree.runs(
        lambda: int(asked.noisy(asked.exact(rows._Curator__rows)).arrays[0][0, 0])
    ):
        law[answer] += chance
    assert law == {1: Fraction(1, 2), 2: Fraction(1, 2)}


def test_every_number_that_can_be_drawn_gives_its_symbol(monkeypatch):
    """Of a histogram: each symbol is given by as many numbers as its weight."""
    for counts in ([3, 0, 1, 1, 0, 0, 3], [0, 0], [2], [1, 1, 1], [0, 5, 0]):
        histogram = tallies.Histogram.of(counts)
        tally = histogram.tally
        weights = [2 * value + 1 for value in tally.values]
        total = sum(2 * count + 1 for count in counts)
        given = Counter()
        for number in range(total):
            monkeypatch.setattr(tallies, "random_below", lambda bound, n=number: n)
            given[tallies.choose(histogram, tally, weights)] += 1
        assert [given[symbol] for symbol in range(len(counts))] == [2 * count + 1 for count in counts]


def test_places_and_symbols_are_uniform(monkeypatch):
    tree = Tree()
    monkeypatch.setattr(mechanism, "random_below", tree.below)
    law = Counter()
    for found, chance, _ in tree.runs(lambda: tuple(different(2, 4))):
        law[found] += chance
    assert len(law) == 12 and set(law.values()) == {Fraction(1, 12)}
    monkeypatch.undo()
    # Words at the end of the range, where taking a remainder would prefer small numbers, are drawn again.
    words = iter([np.array([2**64 - 1, 5], np.uint64), np.array([7], np.uint64)])
    monkeypatch.setattr(mechanism, "random_words", lambda count: next(words))
    assert uniform(10, 2).tolist() == [7, 5]
    monkeypatch.undo()
    counts = np.bincount(uniform(7, 70_000), minlength=7)
    assert abs(counts - 10_000).max() < 7 * 100  # 7 deviations


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("rows", [2000, None])
def test_every_sampler_follows_the_records(sampler, rows):
    """Most records are (m, high); a large epsilon shows it. False alarms below 1e-9."""
    table = pl.DataFrame({"sex": ["m"] * 1900 + ["f"] * 100, "grade": ["high"] * 1900 + ["low"] * 100})
    held = curator(table, neighbours="replace" if rows else "add-remove", epsilon=100.0, delta=1e-9)
    asked = Draws(axes=axes("sex", "grade"), sampler=sampler, epsilon=4.0, count=25, rows=rows, filled=2000)
    drawn = held.draw(asked, purpose="x")
    assert asked.fits(held.transcript[-1])
    share = float(((drawn == [2, 3]).all(axis=1)).mean())
    assert share > 0.3


def test_rows_at_places_and_combinations_are_those_of_the_table(monkeypatch):
    """In blocks of any size, for few places and for many, densely counted or not."""
    from sfumato.tables import counting

    rng = np.random.default_rng(1)
    table = pl.DataFrame({"age": rng.integers(-3, 125, 150_000), "code": rng.integers(0, 40, 150_000)})
    held = curator(table)._Curator__rows
    both = axes("age", "code")
    every = np.stack([np.asarray(axis.encode(table[axis.column])) for axis in both], axis=1).astype(np.int64)
    for places in ([149_999, 0, 3, 3, 150_000], rng.integers(0, 160_000, 500).tolist(), []):
        found = held.records(both, places)
        assert found.shape == (len(places), 2)
        for place, line in zip(places, found, strict=True):
            assert line.tolist() == (every[place].tolist() if place < 150_000 else [0, 0])
    assert np.array_equal(held.records(both), every)
    wanted, counts = np.unique(every, axis=0, return_counts=True)
    for limit in (1 << 20, 1 << 14, 1):
        monkeypatch.setattr(counting, "_DISTINCT_ROWS", limit)
        for pair in (both, (both[0], axes("grade")[0])[:1]):
            lines, found = held.cells(pair)
            assert int(found.sum()) == 150_000
            if len(pair) == 2:
                assert np.array_equal(lines, wanted) and np.array_equal(found, counts)


def test_draws_after_the_first_do_not_count_again(monkeypatch):
    from sfumato.tables.counting import BlockCounter

    passes = []
    for name in ("cells", "marginals"):
        real = getattr(BlockCounter, name)
        monkeypatch.setattr(
            BlockCounter, name, lambda *given, real=real, name=name: passes.append(name) or real(*given)
        )
    held = curator()
    for sampler in ("geo", "floor", "geo"):
        held.draw(Draws(axes=axes("sex", "code"), sampler=sampler, epsilon=1.0, rows=4), purpose="x")
    assert sorted(passes) == ["cells", "marginals"]


# price


def test_prices_by_relation_and_unit():
    person = PrivacyUnit(column="who", at_most=3)
    for sampler in SAMPLERS:
        public = Draws(axes=axes("sex"), sampler=sampler, epsilon=0.5, rows=10)
        assert public.cost(PrivacyUnit()).replace.epsilon == 0.5
        assert public.cost(PrivacyUnit()).add_remove.shape == "revealed"
        assert public.cost(person).replace.shape == "revealed", (
            "exchanging persons changes the number of rows"
        )
        private = Draws(axes=axes("sex"), sampler=sampler, epsilon=0.5)
        alone, group = private.cost(PrivacyUnit()), private.cost(person)
        twice = 1 if sampler in ("roo", "subrr", "local-minimax") else 2
        assert (alone.add_remove.epsilon, alone.replace.epsilon) == (0.5, 0.5 * twice)
        steps = 1 if sampler == "local-minimax" else 3
        assert (group.add_remove.epsilon, group.replace.epsilon) == (0.5 * steps, 0.5 * steps * twice)
        several = attrs.evolve(private, count=4).cost(PrivacyUnit()).add_remove
        shared = sampler in ("subrr", "laplace-euclid", "laplace-clip")
        assert several.epsilon == (0.5 if shared else 2.0)


def test_many_draws_are_composed_by_their_own_pair():
    held = curator(neighbours="replace", delta=1e-3)
    for _ in range(3):
        held.draw(Draws(axes=axes("age"), sampler="roo", epsilon=0.5, count=20, rows=4), purpose="x")
    mass = mass_of("roo", symbols=121, rows=4, epsilon=0.5, group=1)
    for delta in (1e-6, 1e-9):
        assert held.ledger.epsilon(delta) == epsilon_of_draws(60, each=0.5, mass=mass, delta=delta) < 30
    assert held.ledger.epsilon(1e-9, relation="add-remove") == math.inf
    other = curator(neighbours="add-remove", delta=1e-3)
    other.draw(Draws(axes=axes("age"), sampler="geo", epsilon=0.5), purpose="x")
    assert other.ledger.epsilon(1e-12) == 0.5 and other.ledger.epsilon(1e-12, relation="replace") == 1.0


def test_the_filter_counts_epsilons_and_refuses_noise_without_one():
    held = curator(epsilon=1.0, neighbours="add-remove")
    held.draw(Draws(axes=axes("sex"), sampler="roo", epsilon=0.6), purpose="x")
    with pytest.raises(Overdraft):
        held.draw(Draws(axes=axes("sex"), sampler="roo", epsilon=0.5), purpose="x")
    with pytest.raises(Overdraft):
        held.total(spend=0.1)
    assert len(held.ledger) == 1


@pytest.mark.parametrize(
    ("sampler", "terms"),
    [
        ("subrr", {"m": 5, "neighbours": "replace"}),
        ("geo", {"columns": ["code", "other", "age", "sex"], "epsilon": 1.0, "sampler": "best"}),
        ("laplace-clip", {"columns": ["code", "other"]}),
        ("roo", {"columns": ["kind"]}),
        ("roo", {"columns": ["sex", "sex"]}),
        ("roo", {"columns": ["nothing"]}),
        ("roo", {"m": 0}),
        ("roo", {"epsilon": 0}),
        ("roo", {"delta": -1.0}),
        ("roo", {"ledger": "l"}),
        ("roo", {"columns": []}),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_it_is_charged(sampler, terms, tmp_path):
    given = {"epsilon": 1.0, "sampler": sampler, "columns": ["sex"], "schema": SCHEMA, **terms}
    if "ledger" not in terms:
        given |= {"ledger": tmp_path / "ledger", "dataset": "d"}
    with pytest.raises((UsageError, JobError)):
        sampling.draw(TABLE, **given)
    assert not (tmp_path / "ledger").exists()


# tables and arrays


def test_a_domain_of_a_million_million_cells():
    rows = 20_000
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"code": rng.integers(0, 10**6, rows), "other": rng.integers(1, 10**6, rows)})
    assert alphabet_size(axes("code", "other")) == 10**12
    for sampler, epsilon in (("roo", 1.0), ("roo", 60.0), ("ds-roo", 1.0), ("geo", 60.0), ("floor", 1.0)):
        for neighbours in ("replace", "add-remove"):
            found = sampling.draw(
                table, columns=["code", "other"], schema=SCHEMA, epsilon=epsilon, sampler=sampler, m=3,
                neighbours=neighbours,
            )  # fmt: skip
            assert found.symbols == 10**12 and found.records.shape == (3, 2)
            assert found.records["code"].is_between(0, 10**6 - 1).all()
            if epsilon == 60.0 and neighbours == "replace":  # 20 a draw: uniform less than once in 10,000
                known = set(table.rows())
                assert sum(row in known for row in found.records.rows()) >= 1


def test_alphabets_beyond_all_numbers():
    columns = {f"c{i}": {"type": "int", "min": 0, "max": 10**6} for i in range(60)}
    table = {name: [1, 2, 3] for name in columns}
    found = sampling.draw(table, schema={"columns": columns}, epsilon=1.0, m=2, delta=1e-9)
    assert found.sampler == "roo" and found.symbols > 10**359 and found.records.shape == (2, 60)
    with pytest.raises(JobError, match="too many to number"):
        sampling.draw(table, schema={"columns": columns}, epsilon=1.0, sampler="geo")


def test_arrays():
    data = np.array([2] * 900 + [0] * 100)
    drawn = sampling.sample(data, k=5, epsilon=5.0, m=50, sampler="subrr")
    assert drawn.dtype == np.int64 and drawn.shape == (50,) and (drawn == 2).sum() > 25
    for sampler in ("auto", *SAMPLERS):
        for neighbours in ("replace", "add-remove"):
            one = sampling.sample(data, k=5, epsilon=1.0, sampler=sampler, neighbours=neighbours)
            assert isinstance(one, int) and 0 <= one < 5
    assert (
        sampling.sample([], k=3, epsilon=1.0) in range(3) and sampling.sample([0, 0], k=1, epsilon=1.0) == 0
    )
    with pytest.raises(UsageError):
        sampling.sample([0.5], k=2, epsilon=1.0)


def test_other_columns_come_from_nothing_private(monkeypatch):
    asked = []
    real = Draws.exact
    monkeypatch.setattr(Draws, "exact", lambda self, rows: asked.append(self) or real(self, rows))
    given = {"columns": ["grade"], "schema": SCHEMA, "epsilon": 1.0, "complete": True, "seed": 3}
    one, two = sampling.draw(TABLE, **given), sampling.draw(TABLE.with_columns(age=pl.lit(7)), **given)
    assert one.records.columns == list(SCHEMA["columns"])
    assert one.records.drop("grade").equals(two.records.drop("grade")), "they depend on the rows"
    assert [axis.column for axis in asked[0].axes] == ["grade"] and len(one.ledger) == 1
    assert one.texts.schema == dict.fromkeys(SCHEMA["columns"], pl.String)


@pytest.mark.parametrize("sampler", ["auto", *SAMPLERS])
def test_nothing_returned_or_stored_tells_the_branch(sampler, monkeypatch, tmp_path):
    """Revealed or obscured, everything but the record is the same."""
    said = []
    for hidden in (False, True):
        monkeypatch.setattr(mechanism, "coin", lambda chance, hidden=hidden: hidden)
        ledger = tmp_path / f"{sampler}-{hidden}"
        found = sampling.draw(
            TABLE, columns=["age", "sex"], schema=SCHEMA, epsilon=1.0, sampler=sampler, neighbours="replace",
            ledger=ledger, dataset="d",
        )  # fmt: skip
        state = {**found.state(), "records": None, "ledger": found.ledger.state()}
        said.append((json.dumps(state, sort_keys=True), ledger.read_text()))
    assert said[0] == said[1]


def test_rows_of_a_file_that_drops_rows_are_not_public(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex\nf\nm,x\nf\n")
    dialect = CsvDialect(bad_rows="drop")
    found = sampling.draw(path, schema={"columns": {"sex": SCHEMA["columns"]["sex"]}}, epsilon=1.0,
                          neighbours="replace", dialect=dialect, sampler="ds-roo")  # fmt: skip
    assert found.rows is None and found.each == pytest.approx(0.5) and found.statement.epsilon <= 1.0
    with pytest.raises(UsageError, match="rows as public"):
        sf.fit(path, epsilon=1.0, method="ds-roo", schema={"columns": {"sex": SCHEMA["columns"]["sex"]}},
               neighbours="replace", dialect=dialect)  # fmt: skip
    with pytest.raises(InputError):
        held = curator(TABLE)
        held.draw(Draws(axes=axes("sex"), sampler="geo", epsilon=1.0, rows=5), purpose="x")


def test_alphabets_read_and_write_all_their_symbols():
    facts = read_schema(
        {
            "columns": {
                "a": {"type": "int", "min": 0, "max": 99_999, "special_codes": {"0": "none", "-5": "x"}, "nullable": True},
                "b": {"type": "float", "min": 0, "max": 10, "decimals": 2, "special_codes": {"na": "?"}},
                "c": {"type": "int", "min": 1, "max": 1000, "special_codes": {"1000": "top"}},
                "d": {"type": "categorical", "values": ["x", "y"], "nullable": True},
                "e": {"type": "date", "min": "1900-01-01", "max": "2030-12-31"},
                "f": {"type": "categorical", "open_set": True, "public_values": ["x"]},
                "g": {"type": "bool"},
            }
        }
    )  # fmt: skip
    sizes = {"a": 100_002, "b": 1002, "c": 1000, "d": 3, "e": 47_847, "f": 2, "g": 2}
    for name, size in sizes.items():
        axis = symbols_of(facts[name])
        assert axis.size - 1 == size
        symbols = np.unique(np.r_[np.arange(1, min(size, 200) + 1), size])
        for text in (True, False):
            decoded = axis.decode(symbols, text=text)
            if name != "f":  # OTHER stands for whatever is not listed
                assert np.asarray(axis.encode(decoded)).tolist() == symbols.tolist(), (name, text)
    assert alphabet_of(facts) == math.prod(sizes.values())
    raw = pl.Series("c", ["2000", "999", "-4", "", "x"])
    assert np.asarray(symbols_of(facts["c"]).encode(raw)).tolist() == [1000, 1000, 2, 0, 0]


# whole tables


PEOPLE = pl.DataFrame(
    {"who": [i // 2 for i in range(60)], "sex": ["f", "m"] * 30, "grade": ["low", "mid", "high"] * 20}
)
PEOPLE_SCHEMA = {
    "columns": {
        "who": {"type": "id", "format": "sequence"},
        "sex": SCHEMA["columns"]["sex"],
        "grade": SCHEMA["columns"]["grade"],
    }
}


@pytest.mark.parametrize("method", ["roo", "ds-roo"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", [None, ("who", 2)])
def test_models_of_released_records_verify(method, neighbours, unit, tmp_path):
    table, schema = (PEOPLE, PEOPLE_SCHEMA) if unit else (TABLE.drop("kind"), SCHEMA)
    if unit is None:
        schema = {
            "columns": {name: f for name, f in SCHEMA["columns"].items() if name in ("sex", "grade", "age")}
        }
        table = TABLE.select("sex", "grade", "age")
    for delta, records in ((None, 40), (1e-5, 7), (None, 1)):
        model = sf.fit(
            table, epsilon=2.0, delta=delta, method=method, schema=schema, unit=unit, neighbours=neighbours,
            options={"records": records},
        )  # fmt: skip
        path = tmp_path / "model"
        model.save(path, force=True)
        found = sf.assert_dp(path, epsilon=2.0)
        # The whole budget is used, but where one record may not cost more than all of it.
        assert 1.8 <= found.epsilon <= 2.0
        assert model.rows == records
        rows = sf.load(path).sample(5, seed=1)
        assert rows.height == 5 and set(rows["sex"]) <= {"f", "m"}
    public = method == "ds-roo" and neighbours == "replace" and unit is None
    assert ("row count is public" in str(model.statement)) == public
    assert math.isinf(model.statement.epsilon_add_remove) == public


def test_a_model_whose_price_was_lowered_does_not_verify():
    model = sf.fit(PEOPLE.drop("who"), epsilon=1.0, method="roo", options={"records": 5},
                   schema={"columns": {k: v for k, v in PEOPLE_SCHEMA["columns"].items() if k != "who"}})  # fmt: skip
    sf.verify(model)
    cheaper = attrs.evolve(model, request={**model.request, "epsilon": 0.5})
    with pytest.raises(GuaranteeError):
        sf.verify(cheaper)
    other = attrs.evolve(model.generator, records=model.generator.records[::-1].copy() * 0 + 1)
    with pytest.raises(GuaranteeError):
        sf.verify(attrs.evolve(model, generator=other))


def test_more_rows_than_records_repeat_them_evenly():
    model = sf.fit(TABLE.select("sex", "grade"), epsilon=3.0, method="roo", options={"records": 4}, schema={
        "columns": {name: SCHEMA["columns"][name] for name in ("sex", "grade")}})  # fmt: skip
    drawn = Counter(model.sample(42, seed=2).rows())
    own = Counter(model.sample(4, seed=1).rows())
    assert all(10 * own[row] <= times <= 11 * own[row] + 1 for row, times in drawn.items())
    here = next(iter(own))
    assert set(model.sample(6, where={"sex": here[0]})["sex"]) == {here[0]}


@pytest.mark.parametrize("method", ["roo", "ds-roo"])
def test_what_a_schema_leaves_open_is_bought_from_the_same_budget(method):
    table = pl.DataFrame({"word": ["a"] * 300 + ["b"] * 300, "x": list(range(600))})
    model = sf.fit(table, epsilon=3.0, method=method, options={"records": 10})
    assert len(model.ledger) > 2 and sf.verify(model).epsilon <= 3.0 * (1 + 1e-9)
    assert model.sample(3).columns == ["word", "x"]


def test_replays_notice_a_price_that_is_too_low(monkeypatch):
    """A law drawn at a larger epsilon than is charged, and rows that are read past the mechanism."""
    schema = {"columns": {name: SCHEMA["columns"][name] for name in ("sex", "grade")}}
    one = TABLE.select("sex", "grade")
    two = one.with_columns(sex=pl.Series(["m", "m", "f", "f"]))
    for method in ("roo", "ds-roo"):
        given = {
            "method": method,
            "schema": schema,
            "relation": "replace",
            "neighbours": "replace",
            "epsilon": 1.0,
        }
        record_replay(one, two, **given)
        real = Draws.law
        monkeypatch.setattr(
            Draws, "law", lambda self, real=real: attrs.evolve(real(self), ratio=real(self).ratio ** 2)
        )
        with pytest.raises(AssertionError, match="tells tables apart"):
            record_replay(one, two, **given)
        monkeypatch.undo()
    with pytest.raises((AssertionError, SfumatoError)):
        record_replay(one, one[:3], method="ds-roo", schema=schema, neighbours="replace", relation="replace")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"m": 0}, "at least 1"),
        ({"m": 1.5}, "whole number"),
        ({"m": 10**7}, "at most 1,000,000"),
        ({"sampler": "best"}, "no sampler 'best'"),
        ({"neighbours": "other"}, "neighbours must be one of"),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": math.inf}, "finite"),
        ({"delta": 1}, "between 1e-30 and 1"),
        ({"k": 0}, "at least 1"),
        ({"k": 1 << 62}, "below 2**62"),
    ],
)
@pytest.mark.parametrize("data", [[], [0, 3, 1]])
def test_wrong_arguments_are_refused_whatever_the_data(wrong, says, data):
    with pytest.raises(UsageError) as refused:
        sampling.sample(data, **{"k": 4, "epsilon": 1.0, **wrong})
    assert says in str(refused.value)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_one_record_one_symbol_and_extreme_epsilons(sampler, neighbours):
    given = {"sampler": sampler, "neighbours": neighbours}
    for epsilon in (1e-5, 1000.0):
        assert sampling.sample([3], k=5, epsilon=epsilon, **given) in range(5)
        assert sampling.sample([0, 1, 1], k=2, epsilon=epsilon, **given) in range(2)
        assert sampling.sample([0, 0], k=1, epsilon=epsilon, m=2, **given).tolist() == [0, 0]
        assert sampling.sample([-7, 99], k=5, epsilon=epsilon, **given) in range(5)
    if sampler.startswith("laplace"):
        with pytest.raises(JobError, match="noise on each"):
            sampling.sample([3], k=10**12, epsilon=1.0, **given)
    else:
        assert 0 <= sampling.sample([3], k=10**12, epsilon=1.0, **given) < 10**12
    if sampler == "subrr" and neighbours == "replace":
        with pytest.raises(JobError, match="at most once"):
            sampling.sample([3, 1], k=5, epsilon=1.0, m=3, **given)
    else:
        assert sampling.sample([3, 1], k=5, epsilon=1.0, m=3, **given).shape == (3,)


def test_noisy_histograms_are_pure(tmp_path):
    """Their noise is exact: delta stays 0, in the statement and on the ledger."""
    found = sampling.draw(TABLE, columns=["sex", "grade"], schema=SCHEMA, epsilon=0.5, m=20,
                          sampler="laplace-euclid", ledger=tmp_path / "l", dataset="d")  # fmt: skip
    assert (found.statement.epsilon, found.statement.delta) == (0.5, 0.0)
    assert "pure: delta is 0" in str(found.statement)
    # Noise for many rows of many persons is beyond what can be drawn: said before anything is charged.
    persons = PEOPLE.select("who", "sex")
    with pytest.raises(JobError, match="a draw cannot cost"):
        sampling.draw(persons, columns=["sex"], schema=PEOPLE_SCHEMA, epsilon=1e-5, unit=("who", 10**9),
                      sampler="laplace-clip", ledger=tmp_path / "m", dataset="d")  # fmt: skip
    assert not (tmp_path / "m").exists()


def test_what_was_drawn_is_stated_not_a_model():
    found = sampling.draw(TABLE, columns=["sex"], schema=SCHEMA, epsilon=1.0, neighbours="replace")
    said = str(found.statement)
    assert said.startswith("The released records are (1, 0)-differentially private") and "model" not in said
    assert said.endswith("For adding or removing one unit nothing is guaranteed.")


def test_single_records_without_delta(tmp_path):
    schema = {"columns": {name: SCHEMA["columns"][name] for name in ("sex", "grade")}}
    table = TABLE.select("sex", "grade")
    for method in ("roo", "ds-roo"):
        for neighbours in ("add-remove", "replace"):
            ledger = tmp_path / f"{method}-{neighbours}"
            DatasetLedger(ledger).limit("d", epsilon=2.5, delta=0)
            given = {"epsilon": 2.0, "delta": 0, "method": method, "schema": schema, "neighbours": neighbours,
                     "options": {"records": 9}, "ledger": ledger, "dataset": "d"}  # fmt: skip
            model = sf.fit(table, **given)
            assert (model.statement.delta, model.statement.epsilon) == (0.0, pytest.approx(2.0))
            model.save(tmp_path / "model", force=True)
            assert sf.assert_dp(tmp_path / "model", epsilon=2.0, delta=0.0).delta == 0
            assert DatasetLedger(ledger).spent("d").epsilon == 2.0
            with pytest.raises(Overdraft):
                sf.fit(table, **given)
            with pytest.raises(Overdraft, match="delta"):
                sf.fit(table, **{**given, "epsilon": 0.1, "delta": 1e-9})
    # A number in place of delta, something to be bought, and a method with Gaussian noise.
    for wrong, says in (
        ({"delta": False}, "must be a number"),
        ({"schema": None}, "leaves nothing open"),
        ({"method": "mst", "options": {}}, "no pure guarantee"),
    ):
        with pytest.raises(UsageError, match=says):
            sf.fit(table, **{**given, "ledger": None, "dataset": None, **wrong})
    found = sf.plan(schema, rows=100, epsilon=[1.0], delta=0, method="roo")
    assert found.delta == 0
    with pytest.raises(UsageError, match="no pure guarantee"):
        sf.plan(schema, rows=100, epsilon=[1.0], delta=0, method="adaptive")

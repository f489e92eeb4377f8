"""Bugs put in on purpose: each must make one of the checks fail. A check that finds nothing is no check."""

import itertools
from fractions import Fraction

import attrs
import numpy as np
import polars as pl
import pytest
from tests.privacy.pairs import worst

import sfumato as sf
from sfumato.discovery import discover as discovery
from sfumato.discovery import votes
from sfumato.domain.codecs import GridCodec, ValuesCodec
from sfumato.models import training
from sfumato.privacy import private_table, secure_random
from sfumato.privacy.curator import Curator
from sfumato.privacy.filter import PrivacyFilter
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms import interactions, measurement
from sfumato.privacy.mechanisms.base import Answer
from sfumato.privacy.mechanisms.measurement import Measurement
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.mechanisms.selection import Selection
from sfumato.privacy.mechanisms.total import Total
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import PrivacyUnit
from sfumato.synthesizers import run as running
from sfumato.tables.counting import BlockCounter
from sfumato.testing import check_noise, check_schedules, record, record_replay

ROWS = "_Curator__rows"
LABELS = [str(i) for i in range(1000)]


def replayed(name, *, schema=True, **options):
    """Replay the pair called `name`."""
    pair = worst(name)
    known = {"schema": pair.schema} if schema else {}
    chosen = {"method": "independent", **pair.options, **known, **options}
    return record_replay(pair.table, pair.neighbour, relation=pair.relation, **chosen)


def replayed_text(name, **options):
    """The same without types."""
    pair = worst(name)
    one, two = pair.as_text()
    chosen = {"method": "independent", **pair.options, **options}
    return record_replay(one, two, relation=pair.relation, **chosen)


def noise_of_fits(*, name="one more of many equal rows", fits=3, **options):
    pair = worst(name)
    chosen = {"method": "independent", "schema": pair.schema, "epsilon": 3.0, **options}
    check_noise(read for _ in range(fits) for read in record(pair.table, **chosen).heard)


def caught(check, *arguments, **options):
    with pytest.raises(AssertionError):
        check(*arguments, **options)


@pytest.fixture
def patch(monkeypatch):
    return monkeypatch.setattr


def test_the_checks_pass_without_a_bug():
    replayed("all rows in one cell", method="mst")
    replayed("the only row with missing", schema=False)
    replayed_text("a row is replaced")
    noise_of_fits()


# ---- noise ------------------------------------------------------------------------------------------


def weaker(factor):
    """Noise of another scale than the mechanism says."""
    original = measurement.add_noise
    return lambda exact, noise: original(exact, RoundedGaussian(noise.sigma * factor))


@pytest.mark.parametrize("factor", [Fraction(1, 2), Fraction(2), Fraction(0)])
def test_noise_halved_doubled_or_left_out(patch, factor):
    replacement = weaker(factor) if factor else lambda exact, noise: tuple(exact)
    patch(measurement, "add_noise", replacement)
    caught(noise_of_fits)


def test_noise_five_percent_low(patch):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"c{i}": rng.choice(LABELS, 300) for i in range(100)})
    schema = {"columns": {name: {"type": "categorical", "values": LABELS} for name in frame.columns}}
    patch(measurement, "add_noise", weaker(Fraction(95, 100)))
    caught(check_noise, record(frame, method="independent", schema=schema).heard)


def test_sigma_taken_for_its_square(patch):
    original = RoundedGaussian.draw
    patch(RoundedGaussian, "draw", lambda self, n: original(RoundedGaussian(self.sigma**2), n))
    caught(noise_of_fits)


def test_a_fixed_seed(patch):
    """Two fits have the same noise."""
    original = private_table.PrivateTable.curator

    def seeded(self, **options):
        secure_random.source = np.random.default_rng(0).bytes
        return original(self, **options)

    patch(secure_random, "source", secure_random.source)
    patch(secure_random, "is_secure", lambda: True)
    patch(private_table.PrivateTable, "curator", seeded)

    def two_fits_differ():
        pair = worst("one more of many equal rows")
        one, two = (
            sf.fit(pair.table, epsilon=1.0, method="independent", schema=pair.schema) for _ in range(2)
        )
        answers = [[a.tolist() for answer in m.transcript for a in answer.arrays] for m in (one, two)]
        assert answers[0] != answers[1]

    caught(two_fits_differ)


def test_released_numbers_are_not_integers(patch):
    original = measurement.add_noise
    patch(measurement, "add_noise", lambda exact, noise: tuple(a + 0.0 for a in original(exact, noise)))
    caught(noise_of_fits)


def test_counts_are_not_integers(patch):
    original = BlockCounter.marginals
    patch(
        BlockCounter,
        "marginals",
        lambda self, cliques: [t.astype(np.float32) for t in original(self, cliques)],
    )
    with pytest.raises(TypeError, match="64-bit integers"):
        replayed("one more of many equal rows")
    patch(measurement, "add_noise", lambda exact, noise: tuple(t.astype(np.int64) for t in exact))
    caught(replayed, "one more of many equal rows")


# ---- distances --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [lambda k: 1, lambda k: k - 1], ids=["k forgotten", "off by one"])
def test_the_number_of_tables_is_miscounted(patch, count):
    def cost(self, unit):
        counted = count(len(self.cliques))
        fewer = attrs.evolve(self, cliques=self.cliques[:counted], scales=self.scales[:counted])
        return original(fewer, unit)

    original = Measurement.cost
    patch(Measurement, "cost", cost)
    caught(replayed, "one more of many equal rows")


def test_the_rows_of_a_person_are_forgotten(patch):
    patch(PrivacyUnit, "table_l2_squared", lambda self, relation: 1 if relation == "add-remove" else 2)
    caught(replayed, "all rows in one cell")


def test_the_rows_of_a_person_count_once_in_a_total(patch):
    patch(PrivacyUnit, "total", property(lambda self: 1))
    caught(replayed, "all rows in one cell")


def test_rows_of_a_person_as_if_in_different_cells(patch):
    """m rows may lie in one cell: m², not m."""
    times = {"add-remove": 1, "replace": 2}
    patch(PrivacyUnit, "table_l2_squared", lambda self, relation: self.at_most * times[relation])
    caught(replayed, "all rows in one cell")


def test_replacing_charged_as_adding(patch):
    patch(PrivacyUnit, "table_l2_squared", lambda self, relation: self.at_most**2)
    caught(replayed, "a row is replaced", neighbours="replace")


def test_replaced_interactions_charged_as_added(patch):
    truths = pl.Series([True, False] * 200)
    table = pl.DataFrame({"a": truths, "b": truths, "c": ~truths})
    neighbour = table.with_columns(a=pl.Series([False, *truths[1:]]))
    chosen = {
        "relation": "replace", "neighbours": "replace", "method": "adaptive", "epsilon": 4.0,
        "schema": {"columns": {name: {"type": "bool"} for name in table.columns}},
    }  # fmt: skip
    record_replay(table, neighbour, **chosen)
    original = interactions.squared_distance
    patch(interactions, "squared_distance", lambda shape, unit, _: original(shape, unit, "add-remove"))
    caught(record_replay, table, neighbour, **chosen)


def test_scores_charged_as_if_for_one_row(patch):
    patch(PrivacyUnit, "score", lambda self, relation: 1)
    caught(replayed, "all rows in one cell", method="mst")


def test_a_half_is_missing_in_the_exponential_mechanism(patch):
    patch(Selection, "epsilon", lambda self, distance: float(self.rate * distance))
    caught(replayed, "unique in every column", method="mst")


def test_scores_in_other_units_than_the_rate(patch):
    original = Selection.exact
    patch(Selection, "exact", lambda self, rows: 2 * original(self, rows))
    caught(replayed, "unique in every column", method="mst")


def test_a_half_is_missing_in_a_quantile(patch):
    def asked():
        pair = worst("a row is replaced")
        frames = [frame.select("age") for frame in (pair.table, pair.neighbour)]
        facts = sf.read_schema({"columns": {"age": {"type": "int", "min": 0, "max": 120}}})["age"]
        codec = GridCodec(facts, tuple(range(0, 130, 8)))
        question = Quantile(encoder=codec, first=codec.atoms, quantile=Fraction(1, 3), rate=Fraction(1, 10))
        exact = [question.exact(BlockCounter(private_table.open_source(frame))) for frame in frames]
        moved = float(np.ptp(exact[0] - exact[1])) / 10
        assert moved <= question.cost(PrivacyUnit()).replace.epsilon

    asked()
    original = Quantile.cost

    def half(self, unit):
        cost = original(self, unit)
        return attrs.evolve(cost, replace=attrs.evolve(cost.replace, epsilon=cost.replace.epsilon / 4))

    patch(Quantile, "cost", half)
    caught(asked)


def test_a_threshold_on_the_exact_score(patch):
    """Below it, always the first candidate: a decision that nobody charges."""
    original = Selection.noisy

    def noisy(self, exact):
        if exact.max() < 10**9:
            return Answer(arrays=(np.array([self.among[int(np.argmax(exact))]]),))
        return original(self, exact)

    patch(Selection, "noisy", noisy)
    pair = worst("a row is replaced")

    def choices_follow_their_scores():
        fits = (record(pair.table, method="mst", epsilon=2.0, schema=pair.schema) for _ in range(12))
        check_noise(read for fit in fits for read in fit.heard)

    caught(choices_follow_their_scores)


def test_texts_shown_below_the_threshold(patch):
    original = PartitionSelection.noisy

    def lower(self, exact):
        return original(attrs.evolve(self, threshold=1), exact)

    patch(PartitionSelection, "noisy", lower)
    caught(noise_of_fits, name="a row is replaced")


def test_the_delta_of_texts_is_that_of_one_row(patch):
    original = PartitionSelection.cost

    def cost(self, unit):
        return original(self, attrs.evolve(unit, at_most=1))

    patch(PartitionSelection, "cost", cost)
    caught(replayed, "texts nobody has")


def test_the_bound_on_rows_of_a_person_is_not_enforced(patch):
    patch(private_table, "keep_at_most", lambda *_: None)
    caught(replayed, "more rows than are kept")


# ---- facts from the rows ----------------------------------------------------------------------------


def test_bounds_from_the_rows(patch):
    def learn(curator, columns, *, spend):
        found = getattr(curator, ROWS).value_counts([facts.name for facts in columns])
        units = [sorted(u for text in counts if (u := facts.unit_of(text)) is not None) or [0, 1]
                 for facts, counts in zip(columns, found, strict=True)]  # fmt: skip
        return [(each[0], each[-1]) for each in units]

    patch(discovery, "learn_bounds", learn)
    caught(replayed, "very large numbers", schema=False)


def test_cells_from_the_rows(patch):
    """Quantiles of the exact values."""

    def learn(curator, columns, *, spend):
        edges = []
        for facts, counts in zip(
            columns, getattr(curator, ROWS).value_counts([c.name for c in columns]), strict=True
        ):
            low, high = facts.unit_bounds()
            units = np.repeat([facts.unit_of(text) or 0 for text in counts], list(counts.values()))
            inner = np.quantile(units, [0.25, 0.5, 0.75]).astype(int) if units.size else []
            edges.append(tuple(sorted({low, *(int(u) for u in inner if low < u <= high), high + 1})))
        return edges

    patch(discovery, "learn_grids", learn)
    caught(replayed, "a row is replaced")


def test_categories_from_the_rows(patch):
    original = Curator.categories

    def categories(self, columns, **options):
        found = original(self, columns, **options)
        exact = getattr(self, ROWS).value_counts(columns)
        return [attrs.evolve(c, texts=tuple(counts)) for c, counts in zip(found, exact, strict=True)]

    patch(Curator, "categories", categories)
    caught(replayed, "a category nobody else has")


def test_types_from_the_rows(patch):
    """A text column is a number if all of its cells are."""

    def storage(source, word):
        (block,) = list(source.blocks())[:1] or [pl.DataFrame()]
        return "int" if all(c.cast(pl.Int64, strict=False).is_not_null().all() for c in block) else word

    one = {"a": [str(i) for i in range(30)]}
    chosen = {"relation": "add-remove", "method": "independent"}
    two = {"a": [*one["a"], "foo"]}
    record_replay(one, two, **chosen)
    patch(private_table, "_storage", storage)
    caught(record_replay, one, two, **chosen)


def test_votes_that_are_not_noised(patch):
    """Types and missing values from exact counts, with the noisy ones released beside them."""
    original, asked = votes.verdict, Curator.measure
    exact = []

    def measure(self, cliques, *, spend, purpose):
        if purpose == "types and missing values":
            exact[:] = getattr(self, ROWS).marginals(cliques)
        return asked(self, cliques, spend=spend, purpose=purpose)

    patch(discovery, "verdict", lambda counts, sigma: original(exact.pop(0), 0.01))
    patch(Curator, "measure", measure)
    caught(replayed, "the only row with missing cells", schema=False)


def changed_domain(change):
    """A discovery whose outcome `change` edits after a look at the rows."""
    original = running.discover

    def discover(curator, *arguments, **options):
        domain = original(curator, *arguments, **options)
        return attrs.evolve(domain, codecs=tuple(change(getattr(curator, ROWS), domain.codecs)))

    return discover


def test_missing_values_only_where_some_are_seen(patch):
    def change(rows, codecs):
        for codec in codecs:
            (counts,) = rows.marginals([(codec,)])
            yield attrs.evolve(codec, facts=attrs.evolve(codec.facts, nullable=bool(counts[0])))

    patch(running, "discover", changed_domain(change))
    caught(replayed, "the only row with missing cells")


def test_constant_columns_are_left_out(patch):
    def change(rows, codecs):
        for codec in codecs:
            (counts,) = rows.marginals([(codec,)])
            if np.count_nonzero(counts) > 1:
                yield codec

    patch(running, "discover", changed_domain(change))
    caught(replayed, "a constant column is not constant any more")


def test_values_that_nobody_has_are_left_out(patch):
    def change(rows, codecs):
        for codec in codecs:
            if isinstance(codec, ValuesCodec):
                (counts,) = rows.marginals([(codec,)])
                kept = [value for value, n in zip(codec.values, counts[1:], strict=False) if n]
                codec = attrs.evolve(codec, values=kept)
            yield codec

    patch(running, "discover", changed_domain(change))
    caught(replayed, "a row is replaced")


def test_rare_values_only_if_the_rows_have_none(patch):
    """The noise scale depends on the exact number of rows."""
    original = Curator.sigma_for

    def sigma_for(self, spend, *, tables):
        (rows,) = getattr(self, ROWS).marginals([()])
        return original(self, spend, tables=tables) * (1 + int(rows) % 2)

    patch(Curator, "sigma_for", sigma_for)
    caught(replayed, "one more of many equal rows")


def test_the_exact_number_of_rows_comes_out(patch):
    original = Curator.total

    def total(self, *, spend):
        original(self, spend=spend)
        (rows,) = getattr(self, ROWS).marginals([()])
        return int(rows), 1e-6

    patch(Curator, "total", total)
    caught(replayed, "one more of many equal rows")


def test_delta_from_the_number_of_rows(patch):
    original = training.prepare

    def prepare(table, **options):
        return original(table, **{**options, "delta": 1 / (100 + table.height)})

    patch("sfumato.testing.recordings.prepare", prepare)
    caught(replayed, "one more of many equal rows")


def test_a_value_of_the_rows_in_the_file(patch):
    original = training._model

    def model(job, curator, domain, generator):
        (counts,) = getattr(curator, ROWS).value_counts(["tag"])
        return attrs.evolve(original(job, curator, domain, generator), notes=tuple(counts))

    patch(training, "_model", model)
    caught(replayed, "a category nobody else has")


def test_an_error_where_a_row_is_odd(patch):
    original = BlockCounter.marginals

    def marginals(self, cliques):
        found = original(self, cliques)
        if any(table.size > 4 and table.ravel()[0] for table in found):
            raise ValueError("missing cells are not supported")
        return found

    patch(BlockCounter, "marginals", marginals)
    pair = worst("the only row with missing cells")
    caught(record_replay, pair.neighbour, pair.table, method="independent", schema=pair.schema)


# ---- charges ----------------------------------------------------------------------------------------


def test_a_read_without_a_charge(patch):
    """Two reads for the price of one, and the mean of both."""
    original = Curator.measure

    def measure(self, cliques, *, spend, purpose):
        first = original(self, cliques, spend=spend, purpose=purpose)
        again = self._answer(Measurement(cliques=tuple(cliques), sigma=Fraction(first.sigma)))
        tables = tuple((a + b) // 2 for a, b in zip(first.tables, again.arrays, strict=True))
        return attrs.evolve(first, tables=tables)

    patch(Curator, "measure", measure)
    caught(replayed, "one more of many equal rows")


def test_a_charge_that_is_left_out(patch):
    original = Curator.release

    def release(self, mechanism, *, purpose):
        if isinstance(mechanism, Total):
            answer = self._answer(mechanism)
            self.transcript.append(answer)
            return answer
        return original(self, mechanism, purpose=purpose)

    patch(Curator, "release", release)
    caught(replayed, "one more of many equal rows")


def test_a_charge_after_the_read(patch):
    def release(self, mechanism, *, purpose):
        answer = self._answer(mechanism)
        cost = mechanism.cost(self.unit)
        self.filter.admit(cost)
        self.ledger.append(
            mechanism=mechanism.name, purpose=purpose, parameters=mechanism.describe(), cost=cost
        )
        self.transcript.append(answer)
        return answer

    patch(Curator, "release", release)
    caught(replayed, "one more of many equal rows")


def test_a_filter_that_forgets(patch):
    patch(PrivacyFilter, "admit", lambda self, cost: None)
    caught(replayed, "one more of many equal rows")


def test_a_budget_spent_twice(patch):
    """What is left stays what it was: each question gets the whole."""
    patch(Curator, "left", property(lambda self: self.filter.limit))
    patch(PrivacyFilter, "admit", unlimited)
    caught(replayed, "one more of many equal rows", method="mst")


def unlimited(self, cost):
    price = cost.under(self.relation)
    self.spent += self.price(price)
    self.delta_spent += price.delta


def test_a_ledger_that_is_not_marked_adaptive(patch):
    """Noise scales that depend on answers, with a statement for a fixed schedule."""
    names = itertools.cycle(["the first row of all", "unique in every column", "a row is replaced"])
    pairs = [worst(next(names)) for _ in range(6)]

    def schedules():
        check_schedules(
            record(pair.table, method="adaptive", schema=pair.schema, epsilon=5.0).model for pair in pairs
        )

    schedules()
    original = Ledger.__setattr__

    def assign(self, name, value):
        original(self, name, False if name == "adaptive" else value)

    patch(Ledger, "__setattr__", assign)
    caught(schedules)

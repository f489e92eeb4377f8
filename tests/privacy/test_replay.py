"""Record a fit, replay it on a neighbour: nothing may differ but exact answers, by what was charged."""

import csv
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.pairs import ODD_CELLS, random_pair, worst

import sfumato as sf
from sfumato.discovery.votes import VoteEncoder
from sfumato.domain.codecs import GridCodec, ValuesCodec
from sfumato.domain.column import read_column
from sfumato.domain.kinds import Categorical
from sfumato.errors import SfumatoError
from sfumato.privacy.filter import Budget
from sfumato.privacy.mechanisms.interactions import Interactions
from sfumato.privacy.mechanisms.measurement import Measurement
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.total import Total
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.unit import PrivacyUnit
from sfumato.synthesizers.run import make_recipe
from sfumato.tables import limit
from sfumato.testing import (
    FakeCurator,
    check_distances,
    check_noise,
    check_synthesizer,
    fit_exactly,
    record,
    record_replay,
    replay,
    worst_neighbours,
)

NEURAL = {"dp-auto-gan", "dp-gan", "dp-wgan", "dp-vae", "dp-syn"}
"""Replayed by tests/deep, with short trainings."""
METHODS = [
    name for name, line in sf.methods().items() if not line.startswith("[none]") and name not in NEURAL
]
PAIRS = worst_neighbours()
LABELS = [str(i) for i in range(1000)]


QUICK = [pair.only("city", "tag", "age") for pair in PAIRS[::4]]
MIXED = ["independent", "mst", "independent", "mst", *METHODS]


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=[pair.name for pair in PAIRS])
def test_the_worst_neighbours(place):
    pair, method = PAIRS[place], ("independent", "mst")[place % 2]
    known = {"schema": pair.schema} if place % 3 else {}
    record_replay(pair.table, pair.neighbour, relation=pair.relation, method=method, **pair.options, **known)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_promises_on_some_of_the_worst_neighbours(method):
    check_synthesizer(method, pairs=QUICK)


def test_the_way_of_many_columns_keeps_the_promises(monkeypatch):
    monkeypatch.setattr("sfumato.synthesizers.adaptive_run.MANY", 0)
    monkeypatch.setattr("sfumato.synthesizers.adaptive_run.TOLERABLE", 100.0)
    check_synthesizer("adaptive", pairs=QUICK)
    pair = PAIRS[0]
    played = record_replay(pair.table, pair.neighbour, relation=pair.relation, method="adaptive", epsilon=3.0)
    assert "exponential_mechanism_of_pairs" in {step.mechanism.name for step in played.steps}


def test_orders_that_compete_keep_the_promises(monkeypatch):
    for limit_of_signal in ("WEAK", "STRONG", "PLENTY"):
        monkeypatch.setattr(f"sfumato.synthesizers.schedule.{limit_of_signal}", 0.0)
    check_synthesizer("adaptive", pairs=QUICK, epsilon=5.0)
    pair = PAIRS[0]
    played = record_replay(pair.table, pair.neighbour, relation=pair.relation, method="adaptive", epsilon=5.0)
    # One set of scores in round 1, one for each of two orders in rounds 2 and 3, one in round 4.
    assert [step.mechanism.name for step in played.steps].count("rounded_gaussian_errors") == 6


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_promises_on_all_of_the_worst_neighbours(method):
    check_synthesizer(method)
    check_synthesizer(method, pairs=[pair.swapped() for pair in PAIRS], epsilon=5.0)


def options_for(method, drawn):
    """A method that takes the number of rows as public promises nothing to neighbours that change it; one
    that adds up epsilon has an accountant of its own.
    """
    recipe, options = make_recipe(method, {}), dict(drawn.options)
    if getattr(recipe, "needs_public_rows", False):
        options["neighbours"] = drawn.relation
    if recipe.guarantee == "epsilon":
        del options["accountant"]
    return options


@pytest.mark.parametrize("seed", range(48))
def test_random_neighbours(seed):
    drawn = random_pair(seed)
    method = MIXED[seed % len(MIXED)]
    options = options_for(method, drawn)
    record_replay(drawn.table, drawn.neighbour, relation=drawn.relation, method=method, **options)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_more_random_neighbours(method):
    for seed in range(1000, 1300):
        drawn = random_pair(seed)
        options = options_for(method, drawn)
        record_replay(drawn.table, drawn.neighbour, relation=drawn.relation, method=method, **options)


@pytest.mark.parametrize("place", range(len(PAIRS)), ids=[pair.name for pair in PAIRS])
def test_the_same_rows_as_text(place):
    """Cells of text, where types are voted on: one way round without a schema, the other way with one."""
    pair = PAIRS[place]
    one, two = pair.as_text()
    chosen = {"relation": pair.relation, "method": "independent", **pair.options}
    if place % 2:
        record_replay(one, two, **chosen)
    else:
        record_replay(two, one, schema=pair.schema, **chosen)


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["n", "d", "t"], *rows])
    return path


TEXT_COLUMNS = {
    "n": {"type": "float", "decimals": 1, "min": -10, "max": 100, "special_codes": {"foo": ""}},
    "d": {"type": "datetime", "min": "2000-01-01", "max": "2100-01-01"},
    "t": {"type": "categorical", "values": ["a", "b"], "nullable": True},
}


@pytest.mark.parametrize("cell", ODD_CELLS)
def test_one_odd_row_in_a_text_file(cell, tmp_path):
    """A row whose cells are nothing like those of its column, quotes and line breaks included."""
    rows = [[str(i), f"20{i % 10}0-01-0{1 + i % 9}", "ab"[i % 2]] for i in range(30)]
    one = write(tmp_path / "one.csv", rows)
    two = write(tmp_path / "two.csv", [*rows[:15], [cell, cell, cell], *rows[15:]])
    if ODD_CELLS.index(cell) % 2:
        record_replay(one, two, method="independent")
    else:
        record_replay(two, one, method="independent", schema={"columns": TEXT_COLUMNS})


FACTS = [
    {"type": "int", "min": -5, "max": 5, "special_codes": {"12": "x", "foo": "y"}},
    {"type": "float", "min": -5, "max": 5, "decimals": 1},
    {"type": "float", "min": -5, "max": 5, "decimals": 1, "decimal": ","},
    {"type": "date", "min": "2000-01-01", "max": "2001-01-01"},
    {"type": "date", "min": "2000-01-01", "max": "2001-01-01", "format": "%d.%m.%Y"},
    {"type": "datetime", "min": "2000-01-01", "max": "2001-01-01"},
    {"type": "datetime", "min": "2000-01-01", "max": "2001-01-01", "timezone": "Europe/Amsterdam"},
    {"type": "duration", "min": "0s", "max": "90s"},
]
ENCODERS = [
    *(VoteEncoder(column="c", ballot="text", decimal=mark) for mark in ".,"),
    ValuesCodec(Categorical("c", open_set=True), ("a", "é", "07"), other=True),
    *(
        GridCodec(facts, tuple(range(low, high + 2, max(1, (high - low) // 5))))
        for facts in (read_column("c", each) for each in FACTS)
        for low, high in [facts.unit_bounds()]
    ),
]  # fmt: skip
texts = st.sampled_from(ODD_CELLS) | st.text(alphabet="0123456789.,:-/eETZ +amp", max_size=12) | st.none()


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda each: str(each.describe())[:60])
@given(cells=st.lists(texts, min_size=1, max_size=12))
@settings(max_examples=25, deadline=None)
def test_the_code_of_a_row_depends_on_that_row_alone(encoder, cells):
    """Otherwise one row could move all others, and no sensitivity would hold."""
    together = np.asarray(encoder.encode(pl.Series("c", cells, dtype=pl.String)))
    alone = [np.asarray(encoder.encode(pl.Series("c", [cell], dtype=pl.String)))[0] for cell in cells]
    assert together.tolist() == alone
    assert 0 <= together.min() <= together.max() < encoder.size


@pytest.mark.parametrize(
    "dtype, values",
    [
        (pl.Float64, [0.0, -0.0, 1.5, 1e300, float("inf"), float("nan"), None, 2**53 + 1.0]),
        (pl.Float32, [0.1, 1e38, float("inf"), float("nan"), None]),
        (pl.UInt64, [0, 2**64 - 1, None]),
        (pl.Int8, [-128, 127, None]),
    ],
)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_code_of_a_stored_number_depends_on_that_row_alone(dtype, values, data):
    cells = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=8))
    for encoder in [*ENCODERS[2:6], VoteEncoder(column="c", ballot="float")]:
        together = np.asarray(encoder.encode(pl.Series("c", cells, dtype=dtype))).tolist()
        alone = [int(np.asarray(encoder.encode(pl.Series("c", [cell], dtype=dtype)))[0]) for cell in cells]
        assert together == alone


# ---- persons ----------------------------------------------------------------------------------------


def kept_by_order(frame, m):
    """In place of chance: a key for each row from its person and its place among that person's rows, so that
    the rows kept of one person do not depend on anybody else.
    """
    place = pl.int_range(pl.len()).over("id")
    keyed = frame.with_columns(key=(pl.concat_str("id", place, separator=":")).hash(7))
    return keyed.sort("key").group_by("id").head(m)["row"].to_numpy()


@pytest.mark.parametrize("seed", range(8))
def test_persons_with_more_rows_than_are_kept(seed, monkeypatch):
    monkeypatch.setattr(limit, "_sample", kept_by_order)
    rng = np.random.default_rng(seed)
    n, m = 80, int(rng.integers(1, 4))
    others = pl.DataFrame(
        {
            "who": pl.Series(rng.integers(0, 12, n)).cast(pl.String),
            "a": rng.integers(0, 3, n),
            "b": pl.Series(rng.choice(["x", "y", "z"], n)),
        }
    )
    heavy = pl.DataFrame({"who": ["p"] * 25, "a": rng.integers(0, 3, 25), "b": rng.choice(["x", "q"], 25)})
    light = pl.DataFrame({"who": ["p"], "a": [0], "b": ["z"]}, schema=heavy.schema)
    one = pl.concat([others, heavy]).sample(fraction=1.0, shuffle=True, seed=seed)
    for other, relation in ((others, "add-remove"), (pl.concat([others, light]), "replace")):
        # The order of everybody else's rows is the same in both tables.
        two = pl.concat([one.filter(pl.col("who") != "p"), other.filter(pl.col("who") == "p")])
        for table, neighbour in ((one, two), (two, one)):
            record_replay(table, neighbour, relation=relation, unit=("who", m), method="mst", epsilon=4.0)


def test_a_limiter_keeps_at_most_m_rows_of_everybody():
    frame = pl.DataFrame({"who": [i % 7 for i in range(70)] + [None] * 5, "a": [1] * 75})
    curator = FakeCurator.of(frame, unit=PrivacyUnit(column="who", at_most=3))
    rows, _ = curator.total(spend=curator.left)
    assert rows == 21


# ---- what the checks see ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon, neighbours", [(1.0, "add-remove"), (10.0, "replace")])
def test_noise_in_a_fit_is_what_the_ledger_says(epsilon, neighbours):
    """10⁵ draws as they are used, for two noise scales."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"c{i}": rng.choice(LABELS, 300) for i in range(50)})
    schema = {"columns": {name: {"type": "categorical", "values": LABELS} for name in frame.columns}}
    heard = [
        read
        for _ in range(2)
        for read in record(
            frame, method="independent", epsilon=epsilon, neighbours=neighbours, schema=schema
        ).heard
    ]
    assert sum(array.size for read in heard for array in read.answer.arrays) > 100_000
    check_noise(heard)


def test_choices_in_fits_follow_their_scores():
    pair = worst("a row is replaced by one unlike it")
    heard = []
    for _ in range(12):
        heard += record(pair.table, method="mst", epsilon=2.0, schema=pair.schema).heard
    check_noise(heard)


def test_a_replay_is_told_where_the_rows_show():
    """The checks themselves: a table that is no neighbour is not taken for one."""
    pair = worst("one more of many equal rows")
    far = pl.concat([pair.table] * 3)
    recording = record(pair.table, method="independent", schema=pair.schema)
    played = replay(
        recording, far, relation="add-remove", method="independent", epsilon=1.0, schema=pair.schema
    )
    with pytest.raises(AssertionError, match="squared distance"):
        check_distances(played)
    renamed = pair.table.with_columns(pl.col("age").cast(pl.Float64))
    with pytest.raises(AssertionError, match="public facts"):
        replay(
            recording, renamed, relation="add-remove", method="independent", epsilon=1.0, schema=pair.schema
        )


def test_exact_counts_for_tests_of_methods():
    pair = worst("a row is replaced by one unlike it")
    model = fit_exactly(pair.table, method="mst", schema=pair.schema, epsilon=3.0)
    assert model.rows == pair.table.height
    assert "tests" in model.statement.void
    assert model.statement.epsilon == np.inf
    with pytest.raises(SfumatoError):
        sf.assert_dp(model)


# ---- partition selection ----------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("at_most", [1, 4])
def test_texts_of_one_person_stay_hidden_but_for_delta(relation, at_most):
    """Texts that one table lacks: the chance to show any, from the exact law, is within the charge."""
    unit = PrivacyUnit(neighbours=relation, column="who", at_most=at_most)
    shared = pl.DataFrame({"who": range(40), "t": ["common"] * 40})
    own = [
        pl.DataFrame({"who": [-1] * at_most, "t": [f"{side}{i}" for i in range(at_most)]}) for side in "xy"
    ]
    one = pl.concat([shared, own[0]])
    two = shared if relation == "add-remove" else pl.concat([shared, own[1]])
    curator = FakeCurator.of(one, unit=unit, delta=1e-3)
    curator.categories(
        ["t"], public_values=[["known"]], spend=curator.left / 2, delta=curator.filter.delta_left, purpose="t"
    )
    (read,) = curator.heard
    selection = read.mechanism
    assert isinstance(selection, PartitionSelection)
    noise = sf.privacy.rounded_gaussian.RoundedGaussian(selection.sigma)
    law = noise.table()
    shown = 1 - (1 - law.tail(selection.threshold - 1)) ** at_most
    paid = read.entry.cost.under(relation).delta
    assert shown <= paid * (1 + 1e-9) <= curator.filter.budget.threshold_delta * (1 + 1e-8)
    exact = selection.exact(PrivateRows(two))
    assert set(read.exact[0]) ^ set(exact[0]) == {
        t for frame in own[: 1 + (relation == "replace")] for t in frame["t"]
    }


class PrivateRows:
    """Value counts of a frame."""

    def __init__(self, frame):
        self.frame = frame

    def value_counts(self, columns):
        return [dict(self.frame[name].value_counts().iter_rows()) for name in columns]


def test_public_values_come_back_whatever_their_count():
    frame = pl.DataFrame({"t": ["common"] * 400})
    curator = PrivateTable.open(frame).curator(
        unit=PrivacyUnit(), budget=Budget(epsilon=1.0, delta=1e-6, thresholds=True)
    )
    (found,) = curator.categories(
        ["t"], public_values=[["never", "common"]], spend=curator.left, delta=1e-7, purpose="t"
    )
    assert set(found.texts) == {"never", "common"}


def test_public_parameters_of_every_mechanism_are_in_the_ledger():
    """Two questions that differ in any parameter have different entries."""
    facts = Categorical("c", values=("a", "b"))
    codec, other = ValuesCodec(facts, ("a", "b")), ValuesCodec(facts, ("a",))
    one, two = (sf.privacy.rounded_gaussian.quantise_sigma(s) for s in (3.0, 4.0))
    questions = [
        Measurement(cliques=[(codec,)], sigma=one), Measurement(cliques=[(codec,)], sigma=two),
        Measurement(cliques=[(other,)], sigma=one), Measurement(cliques=[(codec,), (other,)], sigma=one),
        *(
            Interactions(cliques=[(c,)], sigma=s, scales=[t])
            for c in (codec, other) for s in (one, two) for t in (Fraction(1), Fraction(2))
        ),
        Total(sigma=one), Total(sigma=two),
        *(
            PartitionSelection(columns=[c], public_values=[p], sigma=one, threshold=t)
            for c in "cd" for p in (["a"], ["b"]) for t in (9, 10)
        ),
    ]  # fmt: skip
    told = [(type(each).__name__, str(each.describe())) for each in questions]
    assert len(set(told)) == len(told)

"""The curator: charge first, then read; nothing past the budget; no seed but the void one."""

import copy
import pickle
import random
import threading
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.domain.codecs import ValuesCodec
from sfumato.domain.kinds import Categorical
from sfumato.errors import GuaranteeError, Overdraft, UsageError
from sfumato.privacy import secure_random
from sfumato.privacy.curator import Curator
from sfumato.privacy.filter import Budget, PrivacyFilter
from sfumato.privacy.insecure import seeded_noise
from sfumato.privacy.ledger import Ledger, total
from sfumato.privacy.mechanisms.measurement import Measurement, add_noise
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.mechanisms.selection import FIXED_POINT, ErrorScores, Selection
from sfumato.privacy.mechanisms.top_pairs import TopPairs
from sfumato.privacy.mechanisms.total import Total
from sfumato.privacy.mechanisms.weighted_errors import WeightedErrors
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.statement import epsilon_of
from sfumato.privacy.unit import PrivacyUnit

CODEC = ValuesCodec(Categorical("c", values=("a", "b")), ("a", "b"))
SCORES = ErrorScores(cliques=[(CODEC,)], estimates=[np.zeros(3)])
QUESTIONS = [
    Measurement(cliques=[(CODEC,)], sigma=Fraction(100)),
    Total(sigma=Fraction(100)),
    Selection(scores=SCORES, among=[0], rate=Fraction(1, 1000)),
    PartitionSelection(columns=["c"], public_values=[[]], sigma=Fraction(100), threshold=10_000),
    TopPairs(
        encoders=(CODEC, CODEC), shares=[np.ones(3)] * 2, total=9, per_cell=1, count=1, rate=Fraction(1, 900)
    ),
]
FRAME = pl.DataFrame({"a": [1, 2, 3] * 20, "b": ["x", "y"] * 30})
COLUMNS = {"a": {"type": "int", "min": 0, "max": 5}, "b": {"type": "categorical", "values": ["x", "y"]}}
SCHEMA = {"columns": COLUMNS}


class Unreadable:
    """Rows that cannot be read; counts how often somebody tried."""

    def __init__(self):
        self.tried = 0

    def marginals(self, cliques):
        self.tried += 1
        raise OSError("the disk is gone")

    value_counts = pair_tables = pair_sums = marginals


class Counted:
    """Rows that count to 7."""

    def marginals(self, cliques):
        return [np.full([encoder.size for encoder in clique], 7, dtype=np.int64) for clique in cliques]

    def pair_sums(self, encoders, groups, values):
        return np.zeros(len(encoders) * (len(encoders) - 1) // 2, dtype=np.int64)

    def pair_tables(self, encoders):
        cells = sum(encoder.size for encoder in encoders)
        return np.full((cells, cells), 7, dtype=np.int64)

    def value_counts(self, columns):
        return [{"text": 7} for _ in columns]


def curator_over(rows, *, unit=None, epsilon=1.0, delta=1e-6, accountant="gdp", progress=None):
    unit = unit or PrivacyUnit()
    budget = Budget(epsilon=epsilon, delta=delta, accountant=accountant, thresholds=True)
    held = PrivacyFilter.open(budget, unit.neighbours)
    return Curator(rows, unit=unit, budget=held, ledger=Ledger(unit=unit.describe()), progress=progress)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_a_charge_stays_when_reading_fails(question):
    rows = Unreadable()
    curator = curator_over(rows)
    with pytest.raises(OSError, match="disk"):
        curator.release(question, purpose="p")
    (entry,) = curator.ledger
    assert entry.cost == question.cost(curator.unit)
    assert curator.filter.spent == entry.cost.add_remove.mu2 > 0
    assert curator.transcript == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_an_overdraft_leaves_everything_as_it_was(question):
    rows, told = Unreadable(), []
    curator = curator_over(rows, progress=told.append)
    curator.filter.spent = curator.filter.limit
    before = copy.copy(curator.filter)
    with pytest.raises(Overdraft):
        curator.release(question, purpose="p")
    assert (len(curator.ledger), rows.tried, told, curator.filter) == (0, 0, [], before)


def test_delta_of_thresholds_is_limited_too():
    curator = curator_over(Unreadable())
    generous = PartitionSelection(columns=["c"], public_values=[[]], sigma=Fraction(100), threshold=300)
    with pytest.raises(Overdraft):
        curator.release(generous, purpose="p")
    assert len(curator.ledger) == 0


@pytest.mark.parametrize(
    "ask", ["total", "measure", "categories", "thresholds", "select", "errors", "measure_each", "top_pairs"]
)
def test_with_nothing_left_every_question_is_an_overdraft(ask):
    curator = curator_over(Counted())
    curator.filter.spent = curator.filter.limit
    questions = {
        "total": lambda: curator.total(spend=curator.left),
        "measure": lambda: curator.measure([(CODEC,)], spend=curator.left, purpose="p"),
        "measure_each": lambda: curator.measure_each(
            [(CODEC,)], scales=[Fraction(1)], spend=0.0, purpose="p"
        ),
        "categories": lambda: curator.categories(
            ["c"], public_values=[[]], spend=curator.left, delta=1e-9, purpose="p"
        ),
        "thresholds": lambda: curator.categories(
            ["c"], public_values=[[]], spend=0.1, delta=0.0, purpose="p"
        ),
        "select": lambda: curator.select(SCORES, among=[0], spend=curator.left, purpose="p"),
        "errors": lambda: curator.errors(SCORES, spend=curator.left, purpose="p"),
        "top_pairs": lambda: ASKED["top_pairs"](curator, curator.left),
    }
    with pytest.raises(Overdraft):
        questions[ask]()
    assert len(curator.ledger) == 0


ASKED = {
    "measure": lambda c, s: c.measure([(CODEC,)], spend=s, purpose="p"),
    "measure_each": lambda c, s: c.measure_each([(CODEC,)], scales=[Fraction(9)], spend=s, purpose="p"),
    "total": lambda c, s: c.total(spend=s),
    "select": lambda c, s: c.select(SCORES, among=[0], spend=s, purpose="p"),
    "errors": lambda c, s: c.errors(SCORES, spend=s, purpose="p"),
    "top_pairs": lambda c, s: c.top_pairs(
        (CODEC, CODEC), shares=[np.ones(3)] * 2, total=9, count=1, per_cell=1, spend=s, purpose="p"
    ),
    "quantile": lambda c, s: c.quantile(CODEC, first=1, quantile=Fraction(1, 3), spend=s, purpose="p"),
    "categories": lambda c, s: c.categories(["c"], public_values=[[]], spend=s, delta=1e-8, purpose="p"),
}


@pytest.mark.parametrize("at_most", [1, 10**6, 10**12])
@pytest.mark.parametrize("ask", ASKED)
def test_nothing_can_go_wrong_once_a_question_is_charged(ask, at_most):
    """However little is spent: what cannot be answered is refused, and leaves no charge."""
    unit = PrivacyUnit(column="p" if at_most > 1 else None, at_most=at_most)
    curator = curator_over(Counted(), unit=unit)
    answered = []
    for power in range(-1, -320, -40):
        try:
            ASKED[ask](curator, curator.filter.limit * 2.0 ** (power * 3.3))
        except Overdraft:
            continue
        answered.append(power)
        assert curator.ledger.entries[-1].cost.add_remove.mu2 >= 0
    assert len(curator.ledger) == len(curator.transcript) == len(answered)
    assert answered or at_most == 10**12


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Selection(scores=SCORES, among=[], rate=Fraction(1)),
        lambda: Selection(scores=SCORES, among=[1], rate=Fraction(1)),
        lambda: Selection(scores=SCORES, among=[0], rate=Fraction(-1)),
        lambda: Quantile(encoder=CODEC, first=2, quantile=Fraction(1, 2), rate=Fraction(1)),
        lambda: Quantile(encoder=CODEC, first=1, quantile=Fraction(1, 2), rate=Fraction(-1)),
        lambda: ErrorScores(cliques=[(CODEC,)], estimates=[np.zeros(2)]),
        lambda: ErrorScores(cliques=[(CODEC,)], estimates=[]),
    ],
)
def test_a_question_that_makes_no_sense_cannot_be_made(wrong):
    with pytest.raises(ValueError):
        wrong()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 1e300, -(2.0**47)])
def test_no_estimate_makes_scores_move_by_more_than_a_row(odd):
    """Estimates are computed from noise and can be anything; sums over them stay within 64 bits."""
    for estimate in ([odd, 0, 0], [odd] * 3, [odd, -odd, 5]):
        plain = ErrorScores(cliques=[(CODEC,)], estimates=[estimate])
        for weight in (1.0, 0.37):
            weighted = WeightedErrors(
                cliques=[(CODEC,)], estimates=[estimate], weights=[weight], penalties=[odd]
            )
            for scores in (plain, weighted):
                found = []
                for counts in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]):
                    rows = Counted()
                    rows.marginals = lambda _, c=counts: [np.array(c, dtype=np.int64)]
                    found.append(int(scores.of(rows)[0]))
                assert all(abs(a - b) <= FIXED_POINT for a, b in pairwise(found))


spends = st.lists(
    st.tuples(st.sampled_from(["measure", "total", "select", "categories", "errors"]), st.floats(1e-4, 1.5)),
    max_size=12,
)


@given(
    questions=spends,
    relation=st.sampled_from(["add-remove", "replace"]),
    at_most=st.integers(1, 4),
    accountant=st.sampled_from(["gdp", "zcdp"]),
)
@settings(max_examples=40, deadline=None)
def test_no_sequence_of_questions_exceeds_the_budget(questions, relation, at_most, accountant):
    """Spends are shares of the limit, in any order, refused or not."""
    unit = PrivacyUnit(neighbours=relation, column="p" if at_most > 1 else None, at_most=at_most)
    curator = curator_over(Counted(), unit=unit, epsilon=0.7, accountant=accountant)
    curator.ledger.adaptive = True
    for kind, share in questions:
        spend = share * curator.filter.limit
        before = len(curator.ledger)
        try:
            if kind == "measure":
                curator.measure([(CODEC,)], spend=spend, purpose="p")
            elif kind == "total":
                curator.total(spend=spend)
            elif kind == "select":
                curator.select(SCORES, among=[0], spend=spend, purpose="p")
            elif kind == "errors":
                curator.errors(SCORES, spend=spend, purpose="p")
            else:
                delta = share * curator.filter.budget.threshold_delta
                curator.categories(["c"], public_values=[[]], spend=spend, delta=delta, purpose="p")
        except Overdraft:
            assert len(curator.ledger) == before
        else:
            price = curator.filter.price(curator.ledger.entries[-1].cost.under(relation))
            assert price <= spend * (1 + 1e-9)
    prices = [entry.cost.under(relation) for entry in curator.ledger]
    assert sum(map(curator.filter.price, prices)) <= curator.filter.limit * (1 + 1e-9)
    assert total(curator.ledger, relation).delta <= curator.filter.budget.threshold_delta * (1 + 1e-9)
    if prices:
        assert epsilon_of(curator.ledger, delta=1e-6, relation=relation) <= 0.7


def test_reveal_is_charged_with_infinity_and_ends_the_guarantee():
    curator = curator_over(Counted())
    curator.reveal("a copy of the rows, for a comparison")
    assert curator.left == 0
    assert epsilon_of(curator.ledger, delta=1e-6, relation=None) == np.inf
    with pytest.raises(Overdraft):
        curator.total(spend=0.1)


def test_noise_is_added_to_64_bit_integers_only():
    for dtype in (np.float64, np.float32, np.int32, np.uint64, object):
        with pytest.raises(TypeError):
            add_noise([np.zeros(3, dtype=dtype)], RoundedGaussian(Fraction(1)))


def test_nothing_that_holds_rows_can_be_copied_shown_or_iterated():
    private = PrivateTable.open(pl.DataFrame({"a": ["canary-word"] * 3}))
    curator = private.curator(unit=PrivacyUnit(), budget=Budget(epsilon=1.0, delta=1e-6))
    for guarded in (private, curator):
        for copier in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="private rows"):
                copier(guarded)
        assert "canary" not in repr(guarded) + str(guarded)
        for name in ("__array__", "__len__", "__iter__", "__getitem__", "__dataframe__"):
            assert not hasattr(guarded, name)


# ---- seeds ------------------------------------------------------------------------------------------


def answers(model):
    return [[array.tolist() for array in answer.arrays] for answer in model.transcript]


def fitted(**options):
    return sf.fit(FRAME, epsilon=1.0, method="independent", schema=SCHEMA, **options)


def test_two_fits_differ_and_no_seed_outside_changes_that():
    found = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        state = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
        found.append(answers(fitted()))
        assert state == (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002
    assert found[0] != found[1]


def test_a_seed_of_sampling_fixes_the_rows_and_not_the_noise():
    model = fitted()
    assert model.sample(50, seed=3).equals(model.sample(50, seed=3))
    assert not model.sample(50).equals(model.sample(50))


def test_a_seed_of_noise_makes_the_model_void_for_good(tmp_path):
    one, two = (fitted(insecure_noise_seed=5) for _ in range(2))
    assert answers(one) == answers(two)
    assert secure_random.is_secure()
    one.save(tmp_path / "m")
    for model in (one, sf.load(tmp_path / "m")):
        assert "fixed seed" in model.statement.void
        assert "NO PRIVACY GUARANTEE" in str(model.statement)
        assert model.statement.epsilon == model.statement.epsilon_replace == np.inf
        for check in (sf.verify, sf.assert_dp):
            with pytest.raises(GuaranteeError, match="fixed seed"):
                check(model)
    # Saving again does not clear it.
    sf.load(tmp_path / "m").save(tmp_path / "n")
    assert sf.load(tmp_path / "n").statement.void
    # Nor does entering the block by oneself.
    with seeded_noise(5):
        assert "fixed seed" in fitted().statement.void
        with pytest.raises(UsageError, match="fixed seed"):
            sf.draft_schema(FRAME, epsilon=0.4)
    assert not fitted().statement.void


def test_a_seed_concerns_its_own_thread_only():
    found = []
    with seeded_noise(1):
        for _ in range(2):
            worker = threading.Thread(target=lambda: found.append(fitted()))
            worker.start()
            worker.join()
        assert not secure_random.is_secure()
    assert [model.statement.void for model in found] == ["", ""]
    assert answers(found[0]) != answers(found[1])


# ---- the adaptive flag ------------------------------------------------------------------------------


OPEN = {**COLUMNS, "b": {"type": "categorical", "open_set": True}}


@pytest.mark.parametrize(
    "method, schema, adaptive",
    [
        ("mst", SCHEMA, False),
        ("independent", {"columns": OPEN}, False),
        ("independent", {"columns": {**OPEN, "a": {"type": "int"}}}, True),
        ("independent", {"columns": {"b": OPEN["b"]}, "undeclared": "draft"}, True),
        ("independent", None, True),
        ("adaptive", SCHEMA, True),
    ],
)
def test_the_ledger_is_adaptive_where_noise_depends_on_answers(method, schema, adaptive):
    model = sf.fit(FRAME, epsilon=1.0, method=method, schema=schema)
    assert model.ledger.adaptive is adaptive


def test_a_bought_schema_makes_the_ledger_adaptive_and_is_part_of_the_sum():
    bought, _ = sf.draft_schema(FRAME, epsilon=0.4)
    model = sf.fit(FRAME, epsilon=1.0, method="independent", schema=bought)
    first = model.ledger.entries[0]
    assert (first.mechanism, model.ledger.adaptive) == ("prior_release", True)
    for relation in ("add-remove", "replace"):
        assert first.cost.under(relation).mu2 > 0
    assert first.cost.replace.delta == pytest.approx(2 * first.cost.add_remove.delta)
    assert model.statement.epsilon <= 1.0
    assert sf.verify(model).epsilon == model.statement.epsilon


def test_a_bought_schema_does_not_cover_persons_or_less_than_it_cost():
    frame = FRAME.with_columns(who=pl.int_range(FRAME.height) // 2)
    bought, _ = sf.draft_schema(frame, epsilon=0.4)
    with pytest.raises(sf.SfumatoError, match="does not cover persons"):
        sf.fit(frame, epsilon=1.0, schema=bought, unit=("who", 2))
    with pytest.raises(Overdraft):
        sf.fit(frame, epsilon=0.3, schema=bought)
    cheap = {**bought.to_dict(), "bought": {"epsilon": 0.4, "mu2": 0.0}}
    with pytest.raises(sf.SfumatoError, match="not at which price"):
        sf.fit(frame, epsilon=1.0, schema=cheap)


@pytest.mark.parametrize("undeclared", ["drop", "error", "draft"])
@pytest.mark.parametrize("where", ["argument", "schema"])
def test_the_column_of_persons_need_not_be_declared(undeclared, where):
    frame = FRAME.with_columns(who=pl.int_range(FRAME.height) // 2)
    schema = {**SCHEMA, "undeclared": undeclared}
    options = {"unit": ("who", 2)}
    if where == "schema":
        schema, options = {**schema, "unit": {"column": "who", "at_most": 2}}, {}
    model = sf.fit(frame, epsilon=1.0, method="independent", schema=schema, **options)
    assert model.statement.unit == "all rows with one value of 'who' (at most 2 kept)"
    assert model.schema["who"].kind == "id"
    assert [codec.column for codec in model.codecs] == ["a", "b"]

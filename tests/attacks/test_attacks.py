"""Attacks on generators from careless to harmless: what must be found is found, and nothing else is.

Intervals cover 95 %; where a test needs that nothing is found, it takes the lower end or allows for four standard
errors, so that a false alarm of one assertion has a chance below 1e-4 over seeds, and none with the seeds here.
"""

import numpy as np
import polars as pl
import pytest
from tests.attacks.people import noisy, population, uniform

import sfumato as sf
from sfumato.attacks.attack import AT_LEAST, SURELY, Attack, attacks, contradictions, run
from sfumato.attacks.ceiling import Guarantee
from sfumato.attacks.people import AttackSettings, People
from sfumato.errors import UsageError
from sfumato.evaluation.gather import pair_tables

ROWS = 2000
SETTINGS = AttackSettings(guarantee=Guarantee(1.0, 1e-9), targets=600)
AREAS = ("attacks.membership", "attacks.membership_outliers")


@pytest.fixture(scope="module")
def tables():
    return population(ROWS, 1), population(ROWS, 2)


def found(real, synthetic, holdout, settings=SETTINGS):
    return {each.name: each for each in run(pair_tables(real, synthetic, holdout=holdout), settings)}


@pytest.fixture(scope="module")
def results(tables):
    real, holdout = tables
    private = sf.fit(real, epsilon=1.0, method="mst").sample(ROWS, seed=1)
    made = {
        "copy": real.sample(fraction=1, shuffle=True, seed=1),
        "noisy": noisy(real, share=0.01, seed=1),
        "private": private,
        "uniform": uniform(real, seed=1),
        "others": population(ROWS, 3),
    }
    return {name: found(real, table, holdout) for name, table in made.items()}


def test_a_generator_that_adds_tiny_noise_is_caught_by_membership_inference(results):
    outcome = results["noisy"]["attacks.membership"]
    assert outcome.value > 0.9 and outcome.interval.low > outcome.facts["control interval"][1]
    assert outcome.facts["control holds"]
    assert results["noisy"]["attacks.membership_at_1"].interval.low > 0.05
    assert results["noisy"]["attacks.membership_outliers"].value > 0.95
    # No record is copied, and distances alone look harmless.
    assert results["noisy"]["attacks.exact_copies"].value == 0


def test_copies_are_found_by_every_attack(results):
    copy = results["copy"]
    assert copy["attacks.membership"].value > 0.99
    assert copy["attacks.unique_copies"].value == pytest.approx(1.0)
    assert copy["attacks.exact_copies"].interval.low > 0.9
    assert copy["attacks.attribute_inference"].interval.low > 0.2
    assert copy["attacks.attribute_inference"].facts["over baseline"] > 0.2
    names = {each.name for each in contradictions(copy.values())}
    assert {"attacks.membership", "attacks.exact_copies", "attacks.attribute_inference"} <= names


@pytest.mark.parametrize("name", ["private", "uniform", "others"])
def test_nothing_is_found_where_nothing_is_given_away(results, name):
    outcomes = results[name]
    for area in AREAS:
        each = outcomes[area]
        assert each.interval.low <= 0.53, (area, each.value)
    assert outcomes["attacks.attribute_inference"].interval.low < 0.02
    assert outcomes["attacks.unique_copies"].interval.low <= 0
    assert contradictions(outcomes.values()) == []


def test_the_order_of_generators_is_the_order_of_their_carelessness(results):
    values = [results[name]["attacks.membership"].value for name in ("copy", "noisy", "private", "uniform")]
    assert values[0] >= values[1] > values[2] + 0.2 and values[1] > values[3] + 0.2
    secrets = [
        results[name]["attacks.attribute_inference"].value for name in ("copy", "noisy", "private", "uniform")
    ]
    assert secrets[0] >= secrets[1] > max(secrets[2:]) + 0.1


def test_every_attack_tells_its_control_ceiling_interval_and_knowledge(results):
    for each in results["private"].values():
        if each.family != "attacks" or each.value is None:
            continue
        assert each.interval is not None and each.interval.low <= each.value <= each.interval.high
        assert {"control", "ceiling", "success", "knowledge", "people", "hold-out people"} <= set(each.facts)
        if each.name.startswith("attacks.singling_out"):
            assert each.facts["ceiling"] is None and each.facts["why no ceiling"]
            continue
        assert each.facts["ceiling"] is not None and each.facts[SURELY] >= each.facts["ceiling"] - 1e-12
        assert each.facts[AT_LEAST] <= each.interval.low
        assert each.measure.source and each.measure.meaning.endswith(".")
    assert results["private"]["attacks.membership"].facts["ceiling"] == pytest.approx(
        np.e / (1 + np.e), abs=1e-4
    )
    for each in results["private"].values():
        if each.name.startswith("similarity."):
            assert (
                each.family == "similarity, not privacy"
                and "Not a measure of privacy" in each.measure.meaning
            )


def test_attributes_are_held_against_other_people_by_column(results, tables):
    details = results["copy"]["attacks.attribute_inference"].details
    assert set(details.column("column")) == set(tables[0].columns)
    for row in details:
        assert row["low"] <= row["excess"] <= row["high"]
        assert row["excess"] == pytest.approx(row["people in the table"] - row["hold-out people"])
    chosen = AttackSettings(targets=100, secrets=("job",))
    outcome = found(tables[0], tables[0], tables[1], chosen)["attacks.attribute_inference"]
    assert outcome.details.column("column") == ("job",) and outcome.facts["ceiling"] is None
    with pytest.raises(UsageError, match="no column 'jbo'"):
        found(tables[0], tables[0], tables[1], AttackSettings(secrets=("jbo",)))


def test_copies_count_equal_rows_and_no_others():
    numbers = [*range(11), None]
    real = pl.DataFrame(
        {"a": [float(i) if i is not None else None for i in numbers] * 5, "b": [None, *"xyxyxyxyxyx"] * 5}
    )
    same = pl.DataFrame({"a": [-0.0, 1.0, 2.0, None], "b": [None, "x", "x", "x"]})
    other = pl.DataFrame({"a": [1.0] * 30 + [20.0] * 30, "b": ["x"] * 30 + ["y"] * 30})
    outcomes = found(real, same, other)
    copies = outcomes["attacks.exact_copies"]
    assert copies.facts["success"] == pytest.approx(3 / 12) and copies.facts["control"] == 0.5
    assert copies.value == pytest.approx(3 / 12 - 0.5)
    assert outcomes["attacks.unique_copies"].status == "not applicable because no record is unique"


def test_a_holdout_of_other_people_is_noticed(tables):
    real, holdout = tables
    older = real.with_columns(pl.col("age") + 25)
    outcomes = found(older, older, holdout)
    assert outcomes["attacks.membership"].facts["control holds"] is False
    assert contradictions(outcomes.values()) == [] and outcomes["attacks.membership"].value > 0.9


@pytest.mark.parametrize(
    ("real", "synthetic", "holdout", "part"),
    [
        (population(50, 1), population(50, 2), None, "no hold-out rows"),
        (population(50, 1), population(50, 2), population(5, 3), "fewer than 20 hold-out"),
        (population(5, 1), population(50, 2), population(50, 3), "fewer than 20 real"),
        (population(50, 1), population(50, 2).head(0), population(50, 3), "no synthetic rows"),
        (population(50, 1), pl.DataFrame({"z": [1]}), population(50, 3), "no column in common"),
    ],
)
def test_what_does_not_apply_says_why_and_has_no_value(real, synthetic, holdout, part):
    for each in run(pair_tables(real, synthetic, holdout=holdout), AttackSettings()):
        assert each.state == "not applicable" and each.value is None
        assert part in each.reason or "anonymeter" in each.reason


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.select("sex"),
        lambda t: t.with_columns(age=pl.lit(7)),
        lambda t: t.with_columns(pay=pl.lit(None, dtype=pl.Float64)),
        lambda t: pl.concat([t.head(1)] * 60),
    ],
)
def test_odd_tables_give_states_and_never_an_error(make):
    outcomes = found(make(population(60, 1)), make(population(60, 2)), make(population(60, 3)))
    assert all(each.state in ("value", "not applicable") for each in outcomes.values()), [
        (each.name, each.status) for each in outcomes.values()
    ]


def test_an_attack_that_breaks_is_failed_and_quotes_nothing():
    def broken(people):
        raise ValueError("XQ7CANARY")
        yield

    measure = attacks["copies"].measures[0]
    (outcome,) = Attack("broken", (measure,), broken).outcomes(lambda: None)
    assert outcome.state == "failed" and "CANARY" not in outcome.reason and outcome.value is None


def test_large_tables_are_attacked_on_fewer_people():
    pair = pair_tables(population(3000, 1), population(3000, 2), holdout=population(2000, 3))
    assert len(People.of(pair, AttackSettings(work=1)).members) == 200
    assert len(People.of(pair, AttackSettings()).members) == 2000
    people = People.of(pair, AttackSettings(targets=300))
    assert not set(people.others) & set(people.reference) and len(people.others) == 300


def test_anonymeter_says_why_it_is_left_out(results):
    import importlib.util

    outcome = results["private"]["attacks.linkability"]
    if importlib.util.find_spec("anonymeter") is None:
        assert outcome.status == (
            "not applicable because the package "
            "'anonymeter' is not installed (docs/methods/attacks.md says how)"
        )
    else:
        assert outcome.value is not None and results["copy"]["attacks.linkability"].value > outcome.value


def people_of(rows, seed, first):
    """A population in which each person has three rows."""
    return population(rows, seed).with_columns(who=pl.Series(np.arange(rows) // 3 + first))


def test_a_person_is_attacked_once_and_nobody_on_both_sides():
    real, holdout = people_of(300, 1, 0), people_of(300, 2, 90)  # ten persons are in both
    pair = pair_tables(real, population(200, 3).with_columns(who=0), holdout=holdout, person="who")
    people = People.of(pair, SETTINGS)
    members, others = real["who"].to_numpy()[people.members], holdout["who"].to_numpy()
    assert len(set(members)) == len(members) == 100
    known = [*others[people.others], *others[people.reference]]
    assert len(set(known)) == len(known) == 90 and not set(known) & set(real["who"])
    assert [len(each) for each in people.everybody] == [100, 90]
    assert pair.ignored == {"who": "it tells persons apart"} and "10 hold-out persons" in pair.notes[0]
    outcomes = {each.name: each for each in run(pair, SETTINGS)}
    assert outcomes["attacks.exact_copies"].facts["people"] == 100
    assert outcomes["attacks.membership"].facts["people"] == 100


def test_persons_of_a_schema_or_model_are_those_of_the_attacks():
    real, holdout = people_of(600, 1, 0), people_of(300, 2, 1000)
    model = sf.fit(real, epsilon=1.0, method="independent", unit=("who", 3))
    found = sf.attack(real, model.sample(seed=1), holdout=holdout, model=model, targets=100, shadows=8)
    assert found["attacks.membership"].facts["people"] == 100 and found["attacks.shadow"].state == "value"
    assert found["attacks.exact_copies"].facts["people"] == 200
    strangers = found.pair.notes[0]
    assert strangers == "in attacks each person counts once, with one row drawn at random"
    lacking = pair_tables(real, real, holdout=holdout.drop("who"), person="who")
    assert lacking.holdout_rows is None and "lacks" in lacking.notes[0]


def test_a_perfect_guarantee_is_not_contradicted_by_chance():
    """Rows of other people at epsilon 0: any result above chance would contradict it. A false alarm has a
    chance of 1/1000 a run, so that three in 20 runs have one of about one in a million."""
    settings = AttackSettings(guarantee=Guarantee(0.0), targets=100)
    over = [
        contradictions(found(*(population(300, 3 * seed + i) for i in range(3)), settings).values())
        for seed in range(20)
    ]
    assert sum(map(bool, over)) < 3
    assert contradictions(
        found(population(300, 1), population(300, 1), population(300, 2), settings).values()
    )

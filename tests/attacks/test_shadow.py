"""The slow attack: it catches a careless method by its releases, and nothing in rows of other people."""

import polars as pl
import pytest
from tests.attacks.people import noisy, population, uniform

import sfumato as sf
from sfumato.attacks.attack import run
from sfumato.attacks.people import AttackSettings
from sfumato.attacks.shadow import Shadows
from sfumato.errors import UsageError
from sfumato.evaluation.gather import pair_tables


@pytest.fixture(scope="module")
def tables():
    return population(400, 1), population(600, 2)


def area(real, synthetic, holdout, fit, fits=10):
    shadows = Shadows(fit=fit, fits=fits, targets=40)
    outcomes = run(
        pair_tables(real, synthetic, holdout=holdout), AttackSettings(targets=150), shadows=shadows
    )
    return outcomes[-1]


def test_a_careless_method_is_caught(tables):
    real, holdout = tables
    outcome = area(
        real,
        noisy(real, share=0.05, seed=3),
        holdout,
        lambda table, rows: noisy(table, share=0.05, seed=rows),
    )
    assert outcome.name == "attacks.shadow" and outcome.interval.low > 0.7
    assert outcome.facts["area on the shadow releases themselves"] > 0.8


def test_rows_of_nobody_give_nothing_away(tables):
    real, holdout = tables
    outcome = area(real, uniform(real, seed=3), holdout, lambda table, rows: uniform(table, seed=rows))
    assert outcome.interval.low < 0.5 < outcome.interval.high
    assert 0.3 < outcome.facts["area on the shadow releases themselves"] < 0.7


def test_a_method_of_ours_is_fitted_again(tables):
    real, holdout = tables
    model = sf.fit(real, epsilon=2.0, method="independent")
    found = sf.attack(real, model.sample(seed=1), holdout=holdout, model=model, shadows=8, targets=100)
    outcome = found["attacks.shadow"]
    assert outcome.state == "value" and outcome.facts["fits"] == 8 and outcome.facts["ceiling"] < 0.9


def test_wrong_options_are_refused_before_anything_is_read():
    with pytest.raises(UsageError, match="at least 8 fits"):
        Shadows(fit=lambda table, rows: table, fits=3)
    with pytest.raises(UsageError, match="a method and its epsilon"):
        sf.attack("none.csv", "none.csv", holdout="none.csv", shadows=8)
    with pytest.raises(UsageError, match="not both"):
        model = sf.fit(pl.DataFrame({"a": ["x", "y"] * 20}), epsilon=1.0, method="independent")
        sf.attack("none.csv", "none.csv", holdout="none.csv", model=model, epsilon=1.0)

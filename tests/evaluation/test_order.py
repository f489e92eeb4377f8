"""On Adult, tables that are better are found to be better, by measures of every family."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from tests.evaluation import adult

import sfumato as sf

pytestmark = pytest.mark.slow

NAMES = ("copy", "adaptive 10", "adaptive 1", "adaptive 0.1", "independent", "uniform")
NUMBERS = ("age", "education-num", "capital-gain", "capital-loss", "hours-per-week")


@pytest.fixture(scope="module")
def tables():
    real = adult.part("data").drop("fnlwgt", "education")
    kinds = {
        name: {"type": "int", "min": int(real[name].min()), "max": int(real[name].max())}
        if name in NUMBERS
        else {"type": "categorical", "values": sorted(real[name].unique().to_list())}
        for name in real.columns
    }
    schema = {"columns": kinds, "accept_leaks": True}
    rng = np.random.default_rng(0)
    made = {"copy": real}
    for epsilon in (10.0, 1.0, 0.1):
        model = sf.fit(real, epsilon=epsilon, schema=schema, insecure_noise_seed=1)
        made[f"adaptive {epsilon:g}"] = model.sample(real.height, seed=1)
    model = sf.fit(real, epsilon=1.0, method="independent", schema=schema, insecure_noise_seed=1)
    made["independent"] = model.sample(real.height, seed=1)
    made["uniform"] = pl.DataFrame(
        {
            name: rng.integers(facts["min"], facts["max"] + 1, real.height)
            if name in NUMBERS
            else rng.choice(facts["values"], real.height)
            for name, facts in kinds.items()
        }
    )
    return real, made, adult.part("test").select(real.columns), schema


@pytest.fixture(scope="module")
def found(tables):
    real, made, holdout, _ = tables
    return {
        name: sf.evaluate(
            real, made[name], holdout=holdout, target="income", groups=["sex", "race"], model_rows=4000,
            regression=["income", "age", "education-num", "hours-per-week", "sex"],
        )
        for name in NAMES
    }  # fmt: skip


def values(found, measure, names=NAMES):
    return [found[name][measure].value for name in names]


@pytest.mark.parametrize("measure", ["tv2", "tv3", "tvk", "js2", "hellinger3", "nist"])
def test_more_budget_gives_better_marginals(found, measure):
    """Tables of right single columns alone stand elsewhere: small sets of columns hardly need relations."""
    with_relations = [name for name in NAMES if name != "independent"]
    errors = values(found, f"marginals.{measure}", with_relations)
    assert errors == sorted(errors) and errors[0] == pytest.approx(0.0, abs=1e-12)
    alone = found["independent"][f"marginals.{measure}"].value
    assert errors[2] < alone < errors[-1]


@pytest.mark.parametrize("measure", ["cramers_v", "mutual_information", "correlation_ratio", "pearson"])
def test_relations_are_lost_in_order(found, measure):
    """Columns drawn alone and uniform columns have no relations at all: both lose the same."""
    errors = values(found, f"structure.{measure}")
    assert errors[:5] == sorted(errors[:5]) and errors[0] == pytest.approx(0.0, abs=1e-9)
    assert errors[5] == pytest.approx(errors[4], rel=0.15)


@pytest.mark.parametrize(
    "measure",
    ["distinguishing.forest", "distinguishing.auc", "prediction.loss", "prediction.dimension_wise"],
)
def test_learners_tell_the_whole_order(found, measure):
    errors = values(found, measure)
    assert all(worse > better - 0.01 for better, worse in pairwise(errors)), errors
    assert errors[4] > errors[3] and errors[3] > errors[1] + 0.03
    # Models of a target learn nothing from either table without relations: they lose all there is to lose.
    assert errors[5] > errors[4] + (0.0 if measure == "prediction.loss" else 0.05)


def test_single_columns_do_not_tell_a_table_without_relations(found):
    errors = values(found, "marginals.tv1")
    assert errors[0] == 0.0 and errors[4] < errors[3]
    assert max(errors[:5]) < errors[5] / 3


def test_a_copy_is_not_told_from_the_real_rows(found):
    for name in ("forest", "auc"):
        assert found["copy"][f"distinguishing.{name}"].value < 0.52


def test_a_table_at_epsilon_10_is_as_close_as_another_sample(found):
    outcome = found["adaptive 10"]["marginals.tv2"]
    assert outcome.value < 1.5 * outcome.facts["of the hold-out rows"]

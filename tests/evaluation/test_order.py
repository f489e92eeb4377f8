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


@pytest.mark.parametrize(
    "measure",
    ["marginals.tv2", "marginals.tv3", "marginals.tvk", "marginals.nist", "structure.mutual_information", "structure.cramers_v"],
)  # fmt: skip
def test_better_tables_have_smaller_errors(found, measure):
    values = [found[name][measure].value for name in NAMES]
    assert values == sorted(values), dict(zip(NAMES, values, strict=True))
    assert values[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "measure", ["distinguishing.forest", "distinguishing.auc", "prediction.loss", "prediction.dimension_wise"]
)
def test_learners_tell_the_same_order(found, measure):
    values = [found[name][measure].value for name in NAMES]
    assert all(b > a - 0.02 for a, b in pairwise(values)), values
    assert values[-1] > values[0] + 0.1 and values[3] > values[1]


def test_single_columns_do_not_tell_a_table_without_relations(found):
    values = {name: found[name]["marginals.tv1"].value for name in NAMES}
    assert values["copy"] == 0.0
    assert max(values[name] for name in NAMES[:-1]) < values["uniform"] / 3


def test_a_copy_cannot_be_told_from_the_real_rows(found):
    for name in ("forest", "auc"):
        interval = found["copy"][f"distinguishing.{name}"].interval
        assert interval.low - 0.02 < 0.5


def test_a_table_at_epsilon_10_is_close_to_another_sample(found):
    outcome = found["adaptive 10"]["marginals.tv2"]
    assert outcome.value < 3 * outcome.facts["of the hold-out rows"]

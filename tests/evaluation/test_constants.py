"""Published numbers: what a table of nothing but the commonest value scores on Adult, and ranges of the scores."""

import math

import numpy as np
import polars as pl
import pytest
from tests.evaluation import adult

import sfumato as sf
from sfumato.evaluation.distances import jensen_shannon, smoothed_kl

# Column: share of the commonest value, smoothed divergence and Jensen-Shannon divergence of always drawing it.
PUBLISHED = {"race": (0.8550, 0.46542, 0.053073), "native-country": (0.897424, 0.36395, 0.036937)}


@pytest.fixture(scope="module")
def real():
    return adult.whole().select("race", "native-country", "sex")


@pytest.fixture(scope="module")
def majority(real):
    """As many rows, each with the commonest value of its column."""
    return real.with_columns(pl.lit(real[name].mode()[0]).alias(name) for name in real.columns)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_table_of_the_commonest_value_scores_as_published(real, majority, name):
    share, divergence, shannon = PUBLISHED[name]
    evaluation = sf.evaluate(real.select(name), majority.select(name), families=["marginals"])
    assert real[name].value_counts()["count"].max() / real.height == pytest.approx(share, abs=5e-5)
    assert evaluation["marginals.mu_kl"].value == pytest.approx(divergence, abs=5e-6)
    assert evaluation["marginals.js1"].value == pytest.approx(shannon, abs=5e-7)


def test_the_details_have_a_row_for_each_column(real, majority):
    found = sf.evaluate(real, majority, families=["marginals"])["marginals.mu_kl"]
    rows = {row["column"]: row["divergence"] for row in found.details}
    assert rows["race"] == pytest.approx(0.46542, abs=5e-6)
    assert rows["native-country"] == pytest.approx(0.36395, abs=5e-6)
    assert found.value == pytest.approx(sum(rows.values()))


def test_the_divergence_of_the_commonest_value_by_hand():
    p, q = np.array([0.7, 0.2, 0.1]), np.array([1.0, 0.0, 0.0])
    mu = math.exp(-1 / 0.3)
    by_hand = sum((a + mu) * math.log((a + mu) / (b + mu)) for a, b in zip(p, q, strict=True))
    assert smoothed_kl(p, q) == pytest.approx(by_hand, rel=1e-12)
    assert smoothed_kl(p, q, penalty=5) > smoothed_kl(p, q, penalty=1)


def test_a_penalty_too_small_for_a_float_still_counts():
    p, q = np.array([1 - 1e-6, 1e-6]), np.array([1.0, 0.0])
    # The missing value costs p ln(p/mu) = 1e-6 (ln 1e-6 + 1e6), nearly 1: that is what mu was chosen for.
    assert smoothed_kl(p, q) == pytest.approx(1e-6 * (math.log(1e-6) + 1e6), abs=1e-5)
    assert math.isinf(smoothed_kl(np.array([1.0, 0.0]), np.array([0.0, 1.0])))
    assert smoothed_kl(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(math.log(2))


def test_scores_reach_the_ends_of_their_ranges():
    rng = np.random.default_rng(0)
    real = pl.DataFrame({name: rng.normal(size=200) for name in "abc"})
    far = real.select(pl.all() + 1000.0)
    same = sf.evaluate(real, real, families=["marginals"])
    with pytest.warns(sf.DataWarning, match="no value in common"):
        apart = sf.evaluate(real, far, families=["marginals"])
    for name, worst in (
        ("marginals.nist", 2.0),
        ("marginals.tv1", 1.0),
        ("marginals.tv3", 1.0),
        ("marginals.l1_2", 2.0),
        ("marginals.js2", math.log(2)),
        ("marginals.hellinger1", 1.0),
        ("marginals.ks", 1.0),
    ):
        assert same[name].value == pytest.approx(0.0, abs=1e-9), name
        assert apart[name].value == pytest.approx(worst), name
        assert apart[name].measure.high == pytest.approx(worst)
    assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == pytest.approx(math.log(2))

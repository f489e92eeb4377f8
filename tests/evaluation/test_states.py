"""Tables that nobody meant to compare: every measure has one of three states, and none that is a wrong number."""

import json
import math
from functools import cache

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, UsageError
from sfumato.evaluation.metric import metrics
from sfumato.evaluation.outcome import Details, Interval, Measure

RNG = np.random.default_rng(3)
NULLS = {"a": pl.Float64, "k": pl.Int64, "b": pl.String, "c": pl.String}


def table(rows):
    return pl.DataFrame(
        {
            "a": RNG.normal(size=rows),
            "k": RNG.integers(0, 100, rows),
            "b": RNG.choice(["u", "v"], rows),
            "c": RNG.choice(["x", "y", "z"], rows),
        }
    )


BASE = table(150)

CONSTANT = BASE.with_columns(a=pl.lit(1.0), k=pl.lit(3), b=pl.lit("u"), c=pl.lit("x"))
EMPTY = pl.DataFrame({name: pl.Series([None] * 150, dtype=dtype) for name, dtype in NULLS.items()})
FAR = BASE.with_columns(pl.col("a") + 99, pl.col("k") + 999, b="q" + pl.col("b"), c="q" + pl.col("c"))
ODD = {
    "identical": (BASE, BASE),
    "disjoint": (BASE, FAR),
    "no synthetic rows": (BASE, BASE.head(0)),
    "no real rows": (BASE.head(0), BASE),
    "no rows": (BASE.head(0), BASE.head(0)),
    "one row": (BASE.head(1), BASE.head(1)),
    "one synthetic row": (BASE, BASE.head(1)),
    "two rows": (BASE.head(2), BASE.head(2)),
    "constant": (CONSTANT, CONSTANT),
    "constant synthetic columns": (BASE, CONSTANT),
    "empty synthetic columns": (BASE, EMPTY),
    "empty columns": (EMPTY, EMPTY),
    "half empty": (BASE, pl.concat([BASE.head(75), EMPTY.head(75)])),
    "no common column": (BASE, BASE.rename({name: f"{name}2" for name in BASE.columns})),
    "one common column": (BASE, BASE.select("a", d="k")),
    "one number": (BASE.select("a"), BASE.select("a")),
    "one category": (BASE.select("c"), BASE.select("c")),
    "kinds mixed up": (BASE, BASE.select(a="c", k="b", b="a", c="k")),
    "numbers as texts": (BASE, BASE.select(pl.all().cast(pl.String))),
    "unseen categories": (BASE, BASE.with_columns(b=pl.lit("w"))),
    "infinite": (BASE, BASE.with_columns(a=pl.when(pl.col("k") < 50).then(math.inf).otherwise(math.nan))),
    "very large": (BASE.with_columns(pl.col("a") * 1e300), BASE.with_columns(pl.col("k") * 2**50)),
}

STRANGERS = ("disjoint", "kinds mixed up")
WITH_HOLDOUT = ("identical", "one row", "two rows", "constant", "half empty", "unseen categories")


def evaluate(real, made, **options):
    chosen = {"target": "b"} if "b" in real.columns else {}
    if {"b", "a", "c"} <= set(real.columns):
        chosen |= {"groups": ["c"], "regression": ["b", "a", "c"]}
    return sf.evaluate(real, made, model_rows=100, **chosen, **options)


@cache
def odd(name):
    if name in STRANGERS:
        with pytest.warns(sf.DataWarning, match="no value in common"):
            return evaluate(*ODD[name])
    return evaluate(*ODD[name], holdout=BASE if name in WITH_HOLDOUT else None)


@pytest.mark.parametrize("name", ODD)
def test_no_measure_fails_or_leaves_its_range(name):
    evaluation = odd(name)
    failed = {each.name: each.reason for each in evaluation if each.state == "failed"}
    assert set(failed) <= {"marginals.mu_kl"}, failed  # infinite by definition for some of these
    expected = [measure.name for each in metrics for measure in metrics[each].measures]
    names = [each.name for each in evaluation if each.name in expected]  # the others are those of attacks
    assert sorted(names) == sorted(expected)
    for each in evaluation:
        if each.value is None:
            assert each.reason
        else:
            assert each.measure.low <= each.value <= each.measure.high
            assert each.interval is None or each.interval.low <= each.interval.high
    assert json.loads(evaluation.to_json())["outcomes"]


def test_a_copy_is_perfect():
    for each in odd("identical"):
        perfect = each.family in ("marginals", "analysis", "prediction", "distinguishing") or each.name in (
            "structure.pearson",
            "structure.cramers_v",
            "structure.mutual_information",
        )
        if each.value is None or each.measure.ideal is None or each.name == "distinguishing.pmse_ratio":
            continue  # the ratio to what chance gives is 0: a copy is closer than chance
        if perfect:
            assert each.value == pytest.approx(each.measure.ideal, abs=1e-9), each.name


def test_tables_without_anything_in_common_are_as_far_as_can_be():
    found = odd("disjoint")
    for name in ("tv1", "tv2", "tv3", "tvk", "hellinger1", "ks", "invented_categories"):
        assert found[f"marginals.{name}"].value == pytest.approx(1.0), name
    for name in ("category_coverage", "range_coverage", "boundary_adherence"):
        assert found[f"marginals.{name}"].value == pytest.approx(0.0), name
    assert found["distinguishing.forest"].value > 0.97
    assert found["distinguishing.auc"].value > 0.97


@pytest.mark.parametrize("name", ["no synthetic rows", "no real rows", "no rows", "no common column"])
def test_what_cannot_be_compared_is_not_applicable(name):
    found = odd(name)
    states = {each.name: each.state for each in found}
    assert states.pop("marginals.columns") == "value"
    assert set(states.values()) == {"not applicable"}
    assert found["marginals.columns"].value == (0.0 if name == "no common column" else 1.0)
    assert "because" in found["marginals.tv1"].status


def test_an_empty_column_is_an_error_not_a_gap():
    found = odd("empty synthetic columns")
    assert found["marginals.missing"].value == 1.0
    assert found["marginals.tv1"].value == 1.0
    assert found["marginals.ks"].value == 1.0
    assert found["marginals.wasserstein1"].state == "not applicable"
    assert found["marginals.category_coverage"].value == 0.0


def test_a_collapsed_column_is_shown_not_dropped():
    found = odd("constant synthetic columns")["prediction.dimension_wise"]
    rows = {row["column"]: row for row in found.details}
    assert rows["b"]["synthetic"] == 0.5  # a model that has met one class tells nothing apart
    assert found.facts["columns without a score"] == 0


def test_columns_that_differ_are_named():
    found = sf.evaluate(BASE, BASE.select("a", "k", d="b"), families=["marginals"])
    assert found["marginals.columns"].value == 0.5
    states = dict(
        zip(*(found["marginals.columns"].details.column(name) for name in ("column", "state")), strict=True)
    )
    assert states == {"b": "absent", "c": "absent", "d": "extra"}


def test_a_metric_that_raises_is_failed_and_quotes_nothing(monkeypatch):
    from sfumato.evaluation import distances
    from sfumato.evaluation.metrics import lines

    def broken(a, b):
        raise ValueError("secret 123")

    monkeypatch.setattr(lines, "kolmogorov", broken)
    assert distances.kolmogorov is not broken
    found = sf.evaluate(BASE, BASE, families=["marginals"])
    assert found["marginals.ks"].state == found["marginals.ks_complement"].state == "failed"
    assert "secret" not in found.to_json()
    assert found["marginals.tv1"].value == 0.0


def test_without_scikit_learn_models_are_not_applicable(monkeypatch):
    import importlib.util

    spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sklearn" else spec(name))
    found = evaluate(BASE, BASE)
    for name in ("prediction.tstr", "prediction.dimension_wise", "distinguishing.auc"):
        assert found[name].state == "not applicable"
        assert "sfumato[ml]" in found[name].reason
    assert found["prediction.erm_output"].state == "value"  # needs no such package
    assert found["marginals.tv2"].state == "value"


def test_options_are_checked():
    for options, words in (
        ({"target": "nobody"}, "nobody"),
        ({"groups": ["nobody"]}, "groups"),
        ({"families": ["nothing"]}, "families"),
        ({"model_rows": 1}, "model_rows"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"seed": -1}, "seed"),
    ):
        if options == {"families": ["nothing"]}:
            words = "no family"
        with pytest.raises(UsageError, match=words):
            sf.evaluate(BASE, BASE, **options)
    with pytest.raises(InputError):
        sf.evaluate(BASE, 7)


def test_outcomes_are_one_thing_or_the_other():
    measure = Measure(name="m", title="M", family="f", meaning="…", source="…")
    assert measure.found(0.5, interval=Interval(0.4, 0.6, method="m")).status == "value"
    assert measure.found(math.nan).state == measure.found(1.5).state == "failed"
    assert measure.found(1 + 1e-12).value == 1.0
    assert measure.not_applicable("there is nothing").status == "not applicable because there is nothing"
    assert measure.failed("it broke").value is None
    with pytest.raises(ValueError, match="one cell a heading"):
        Details(("a", "b"), [(1,)])
    with pytest.raises(ValueError, match="empty"):
        Measure(name="m", title="M", family="f", meaning="…", source="…", low=1.0, high=0.0)


def test_an_evaluation_leaves_as_a_table_and_as_json(tmp_path):
    found = sf.evaluate(BASE, table(120), families=["marginals", "structure", "analysis"])
    path = tmp_path / "evaluation.json"
    text = found.to_json(path)
    assert json.loads(path.read_text()) == json.loads(text)
    assert "NaN" not in text and "Infinity" not in text
    frame = found.table()
    assert frame.height == len(found.outcomes)
    assert frame.filter(pl.col("state") == "value")["value"].null_count() == 0
    assert frame.filter(pl.col("state") != "value")["reason"].null_count() == 0
    assert list(found.families) == ["marginals", "structure", "analysis"]
    assert "marginals.tv1" in found and "marginals.nothing" not in found
    assert found.facts["rows"] == {"real": 150, "synthetic": 120, "holdout": None}


def test_the_same_call_gives_the_same_numbers():
    far = BASE.with_columns(pl.col("k") + 50)
    assert evaluate(BASE, far).outcomes == evaluate(BASE, far).outcomes


def test_progress_is_told():
    said = []
    sf.evaluate(BASE, BASE, families=["marginals"], progress=said.append)
    assert said[0] == "reading the tables" and {"marginals.2", "marginals.nist"} <= set(said)
    assert not [word for word in said if word.startswith("prediction")]

"""`adaptive`: the budget, the replay, what it finds and survives, and that it beats simpler methods."""

import itertools

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.privacy.filter import Budget
from sfumato.privacy.ledger import total


def planted(rows=20_000, seed=5):
    """a, b independent; c is mostly their exclusive or; d follows e; f, g follow each other; h is noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    c = a ^ b ^ (rng.random(rows) < 0.1)
    e = rng.integers(0, 8, rows)
    d = np.where(rng.random(rows) < 0.8, e, rng.integers(0, 8, rows))
    f = np.minimum((rng.exponential(8, rows)).astype(int), 39)
    g = np.clip(f + rng.integers(-2, 3, rows), 0, 39)
    h = rng.integers(0, 5, rows)
    return pl.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "g": g, "h": h})


def schema_of(frame, **facts):
    columns = {
        name: {"type": "int", "min": 0, "max": int(facts.get(name, frame[name].max()))}
        for name in frame.columns
    }
    return {"columns": columns}


def fitted(frame, epsilon, method="adaptive", seed=1, **more):
    return sf.fit(
        frame, epsilon=epsilon, method=method, schema=schema_of(frame), insecure_noise_seed=seed, **more
    )


def spent(model):
    budget = Budget(
        epsilon=model.request["epsilon"], delta=model.request["delta"], thresholds=model.request["thresholds"]
    )
    return total(model.ledger, "add-remove").mu2 / budget.spend


def distance(frame, rows, columns):
    real, made = (
        dict(table.group_by(columns).len().with_columns(pl.col("len") / table.height).iter_rows())
        if len(columns) == 1
        else {row[:-1]: row[-1] / table.height for row in table.group_by(columns).len().iter_rows()}
        for table in (frame, rows)
    )
    return sum(abs(real.get(key, 0) - made.get(key, 0)) for key in real.keys() | made.keys()) / 2


def mean_distance(frame, rows, ways):
    return np.mean([distance(frame, rows, list(c)) for c in itertools.combinations(frame.columns, ways)])


def measured(model):
    return {
        tuple(sorted(clique))
        for entry in model.ledger
        if entry.mechanism == "rounded_gaussian_counts"
        for clique in entry.parameters["cliques"]
        if len(clique) > 1
    }


@pytest.mark.parametrize("accountant", ["gdp", "zcdp"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_budget_is_used_up_and_the_run_can_be_repeated(accountant, neighbours):
    frame = planted(3_000)
    model = sf.fit(
        frame, epsilon=2.0, method="adaptive", schema=schema_of(frame), accountant=accountant,
        neighbours=neighbours, options={"rounds": 3},
    )  # fmt: skip
    assert model.ledger.adaptive
    assert sf.verify(model).epsilon <= 2.0
    if accountant == "gdp" and neighbours == "add-remove":
        assert 0.98 < spent(model) <= 1 + 1e-9
    assert 0.95 < model.statement.epsilon / 2.0 <= 1.0 or accountant == "zcdp"


def test_persons_with_several_rows_pay_for_them():
    frame = planted(2_000).with_columns(person=pl.Series(np.arange(2_000) // 2))
    schema = schema_of(frame.drop("person"))
    schema["columns"]["person"] = {"type": "id", "format": "sequence"}
    model = sf.fit(frame, epsilon=3.0, method="adaptive", schema=schema, unit=("person", 2))
    assert sf.verify(model).epsilon <= 3.0
    assert 0.98 < spent(model) <= 1 + 1e-9


def test_planted_relations_are_found_and_reproduced():
    frame = planted()
    model = fitted(frame, 3.0)
    found = measured(model)
    assert {("d", "e"), ("f", "g")} <= found
    assert any({"a", "b", "c"} <= set(clique) for clique in found)
    rows = model.sample(frame.height, seed=1)
    assert distance(frame, rows, ["a", "b", "c"]) < 0.03
    assert mean_distance(frame, rows, 2) < 0.03


def test_better_than_simpler_methods_where_three_columns_act_together():
    frame = planted()
    error = {
        method: mean_distance(frame, fitted(frame, 3.0, method).sample(frame.height, seed=1), 3)
        for method in ("independent", "mst", "adaptive")
    }
    assert error["adaptive"] < 0.9 * error["mst"] < error["independent"]


def test_a_target_is_served():
    """Many equal relations and a budget for few: with a target its own are measured first."""
    rng = np.random.default_rng(2)
    rows = 4_000
    columns = {}
    for pair in range(4):
        columns[f"x{pair}"] = rng.integers(0, 12, rows)
        columns[f"y{pair}"] = (columns[f"x{pair}"] + rng.integers(0, 3, rows)) % 12
    label = (columns["x0"] + rng.integers(0, 6, rows)) % 12
    frame = pl.DataFrame({**columns, "t": label})
    far = {
        target: np.mean([
            distance(
                frame,
                fitted(frame, 0.4, seed=seed, options={"target": target}).sample(rows, seed=1),
                ["t", "x0"],
            )
            for seed in range(4)
        ])
        for target in ("t", None)
    }  # fmt: skip
    assert far["t"] < far[None]


def test_a_workload_of_named_columns_is_all_that_is_measured():
    frame = planted(5_000)
    model = fitted(frame, 3.0, options={"workload": [["a", "b", "c"], ["d", "e"]], "weights": {"d": 2.0}})
    assert measured(model) <= {("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"), ("d", "e")}
    assert ("d", "e") in measured(model)


@pytest.mark.parametrize("cap", [1, 400, 5_000])
def test_the_cap_on_cells_is_honoured(cap):
    frame = planted(5_000)
    model = fitted(frame, 10.0, options={"max_cells": cap})
    alone = sum(model.generator.model.sizes)
    assert model.generator.model.cells <= max(cap, alone)


def tiny_tables():
    rng = np.random.default_rng(3)
    one = pl.DataFrame({"a": [1], "b": [0], "c": [3]})
    constant = pl.DataFrame({"a": np.zeros(50, int), "b": np.zeros(50, int), "c": rng.integers(0, 3, 50)})
    yield "one row", one, {"a": 4, "b": 1, "c": 5}
    yield "one column", planted(100).select("e"), {}
    yield "two columns", planted(100).select("d", "e"), {}
    yield "three columns", planted(100).select("a", "b", "c"), {}
    yield "constant columns", constant, {}
    yield "equal columns", pl.DataFrame({"a": [1, 2] * 50, "b": [1, 2] * 50}), {}
    yield "wide range", planted(60).select("f", "g"), {"f": 900, "g": 900}


def test_a_budget_of_almost_nothing_and_options_survive_a_file(tmp_path):
    frame = planted(100)
    options = {"workload": [["a", "b"], ["d", "e", "f"]], "weights": {"d": 2.0}, "target": "e"}
    model = sf.fit(frame, epsilon=1e-5, method="adaptive", schema=schema_of(frame), options=options)
    model.save(tmp_path / "model")
    assert sf.verify(tmp_path / "model").epsilon <= 1e-5 * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 10.0])
@pytest.mark.parametrize("case", tiny_tables(), ids=lambda case: case[0])
def test_tiny_and_drowned_tables_give_a_valid_model(case, epsilon):
    _, frame, bounds = case
    model = sf.fit(frame, epsilon=epsilon, method="adaptive", schema=schema_of(frame, **bounds))
    rows = model.sample(30, seed=1)
    assert rows.columns == frame.columns
    assert rows.height == 30
    assert sf.verify(model).epsilon <= epsilon


def test_texts_without_a_schema_that_all_become_other():
    frame = pl.DataFrame({"s": [f"name {i}" for i in range(40)], "t": ["x", "y"] * 20, "n": range(40)})
    model = sf.fit(frame, epsilon=0.5, method="adaptive")
    assert model.sample(10, seed=1).height == 10
    assert sf.verify(model).epsilon <= 0.5


def test_forty_columns():
    rng = np.random.default_rng(4)
    hidden = rng.integers(0, 4, (500, 10))
    frame = pl.DataFrame({f"c{i}": (hidden[:, i // 4] + (rng.random(500) < 0.1)) % 4 for i in range(40)})
    model = fitted(frame, 5.0)
    assert model.generator.model.cells <= 2_000_000
    assert model.sample(50, seed=1).width == 40


def test_orders_compete_and_the_better_one_goes_on(monkeypatch):
    """Six columns of eight values and ten of two all follow one that is not shown; cells are few."""
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 8, 20_000)
    noise = [rng.random(hidden.size) < 0.2 for _ in range(16)]
    large = {f"x{i}": np.where(noise[i], rng.integers(0, 8, hidden.size), hidden) for i in range(6)}
    small = {f"y{i}": np.where(noise[6 + i], rng.integers(0, 2, hidden.size), hidden % 2) for i in range(10)}
    frame = pl.DataFrame(large | small)
    monkeypatch.setattr("sfumato.synthesizers.schedule.PLENTY", 0.0)
    far = {}
    for orders in ((0.0,), (4.0,), (4.0, 0.0)):
        monkeypatch.setattr("sfumato.synthesizers.schedule.ORDERS", orders)
        model = fitted(frame, 10.0, options={"max_cells": 600})
        assert spent(model) == pytest.approx(1, abs=2e-3)
        far[orders] = mean_distance(frame, model.sample(frame.height, seed=1), 2)
    assert far[4.0, 0.0] < (far[0.0,] + far[4.0,]) / 2


def test_many_columns_and_a_large_budget(monkeypatch):
    monkeypatch.setattr("sfumato.synthesizers.adaptive_run.MANY", 3)
    model = fitted(planted(), 10.0)
    assert (
        ("b", "c") in measured(model) or ("a", "b", "c") in measured(model) or ("d", "e") in measured(model)
    )
    assert spent(model) == pytest.approx(1, abs=1e-3)


def test_many_columns_keep_their_strongest_relations(monkeypatch):
    monkeypatch.setattr("sfumato.synthesizers.adaptive_run.MANY", 300)
    rng = np.random.default_rng(9)
    rows, columns = 20_000, 30
    values = (rng.random((rows, columns)) < 0.3).astype(int)
    for i in range(0, 20, 2):
        values[:, i + 1] = np.where(rng.random(rows) < 0.8, values[:, i], values[:, i + 1])
    values[:, 29] = np.where(rng.random(rows) < 0.6, values[:, 28], values[:, 29])
    frame = pl.DataFrame({f"c{i}": values[:, i] for i in range(columns)})
    model = fitted(frame, 1.0, options={"target": "c29"})
    assert {"dependent pairs", "error scores, round 1"} <= {entry.purpose for entry in model.ledger}
    made = model.sample(rows, seed=1)
    planted_pairs = [[f"c{i}", f"c{i + 1}"] for i in (*range(0, 20, 2), 28)]
    found = [distance(frame, made, pair) < 0.05 for pair in planted_pairs]
    assert sum(found) >= 9 and found[-1], "independent columns are 0.17 apart"
    assert spent(model) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "options", [{"workload": "most"}, {"rounds": 0}, {"max_cells": 0}, {"group": -1.0}, {"roundz": 2}]
)
def test_wrong_options_are_refused_before_anything_is_charged(options):
    with pytest.raises(SfumatoError):
        sf.fit(planted(10), epsilon=1.0, method="adaptive", options=options)


def test_an_unknown_target_is_refused():
    with pytest.raises(SfumatoError, match="income"):
        fitted(planted(10), 1.0, options={"target": "income"})

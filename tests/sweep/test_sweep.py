"""Sweeps: the grid, going on, the price, the advice and the page."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UsageError
from sfumato.privacy.dataset_ledger import DatasetLedger
from sfumato.sweeps.compare import compare
from sfumato.sweeps.points import Store, grid
from sfumato.sweeps.result import Price, SweepResult

SCHEMA = {
    "columns": {
        "a": {"type": "float", "decimals": 2, "min": 0, "max": 100},
        "b": {"type": "float", "decimals": 2, "min": 0, "max": 100},
    }
}


def _table(rows: int = 500, seed: int = 1) -> pl.DataFrame:
    z = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=rows)
    return pl.DataFrame(np.round(50 + 10 * z, 2), schema=["a", "b"])


def _result(values: dict, *, metric: str = "tvd2", price: Price | None = None, **more) -> SweepResult:
    """A result with these means: {(method, epsilon): [value of each seed]}."""
    rows = [
        {
            "method": method, "epsilon": epsilon, "seed": seed, "status": "done", "error": "", "delta": 0.0,
            "stated_epsilon": epsilon, "fit_seconds": 1.0, "metrics": {metric: value, **more},
        }
        for (method, epsilon), each in values.items()
        for seed, value in enumerate(each)
    ]  # fmt: skip
    price = price or Price(on="real", fits=len(rows), sum=3.0, recorded=False)
    return SweepResult(rows=rows, metrics=(metric, *more), label="t", price=price)


def test_the_grid_has_methods_without_a_guarantee_once() -> None:
    points = grid(["dp-copula", "gaussian-copula", "dp-copula"], [2, 1, 1], [0, 1])
    assert [(p.method, p.epsilon, p.seed) for p in points] == [
        ("dp-copula", 1.0, 0), ("dp-copula", 1.0, 1), ("dp-copula", 2.0, 0), ("dp-copula", 2.0, 1),
        ("gaussian-copula", None, 0), ("gaussian-copula", None, 1),
    ]  # fmt: skip


def test_every_fit_is_charged_once_and_a_sweep_goes_on_where_it_stopped(tmp_path: Path) -> None:
    chosen = {
        "schema": SCHEMA, "seeds": [0, 1], "ledger": tmp_path / "ledger", "dataset": "d", "workers": 1,
        "resume": tmp_path / "points.jsonl",
    }  # fmt: skip
    first = sf.sweep(_table(), epsilons=[1.0], **chosen)
    assert DatasetLedger(tmp_path / "ledger").spent("d").epsilon == pytest.approx(2.0)
    heard: list[str] = []
    second = sf.sweep(_table(), epsilons=[1.0, 3.0], progress=heard.append, **chosen)
    assert second.rows[:2] == first.rows
    assert heard[0] == "2 of 4 fits are done already"
    assert len(heard) == 3
    spent = DatasetLedger(tmp_path / "ledger").spent("d")
    assert (spent.runs, spent.epsilon) == (4, pytest.approx(8.0))
    assert second.price.ledger_epsilon == pytest.approx(8.0)
    assert "compose to epsilon = 8" in str(second.price)


def test_what_the_limit_refuses_is_a_failed_point_and_is_tried_again(tmp_path: Path) -> None:
    ledger = DatasetLedger(tmp_path / "ledger")
    ledger.limit("d", epsilon=1.5, delta=1e-9)
    chosen = {
        "schema": SCHEMA, "ledger": tmp_path / "ledger", "dataset": "d", "workers": 1, "epsilons": [1.0, 2.0],
        "resume": tmp_path / "points.jsonl",
    }  # fmt: skip
    result = sf.sweep(_table(), **chosen)
    assert [row["status"] for row in result.rows] == ["done", "failed"]
    assert "limit is 1.5" in result.rows[1]["error"]
    assert "1 of 2 fits failed" in result.recommendation()
    assert ledger.spent("d").runs == 1
    ledger.limit("d", epsilon=4, delta=1e-9)
    assert [row["status"] for row in sf.sweep(_table(), **chosen).rows] == ["done", "done"]
    assert ledger.spent("d").runs == 2


def test_a_stand_in_costs_nothing(tmp_path: Path) -> None:
    model = sf.fit(_table(), epsilon=1.0, method="dp-copula", schema=SCHEMA)
    model.save(tmp_path / "m")
    for given in (model, tmp_path / "m"):
        result = sf.sweep(given, on="standin", epsilons=[2.0], workers=1, schema=SCHEMA)
        assert result.rows[0]["status"] == "done"
        assert "Nothing" in str(result.price)
    with pytest.raises(UsageError, match="costs nothing"):
        sf.sweep(model, on="standin", ledger=tmp_path / "ledger", dataset="d")
    assert not (tmp_path / "ledger").exists()
    with pytest.warns(sf.PrivacyWarning):
        free = sf.fit(_table(), method="gaussian-copula", schema=SCHEMA)
    with pytest.raises(UsageError, match="no stand-in"):
        sf.sweep(free, on="standin")


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"epsilons": [0.0]}, "epsilon"),
        ({"methods": ["dp-copla"]}, "did you mean 'dp-copula'"),
        ({"methods": []}, "needs a method"),
        ({"metrics": ["nonsense"]}, "no metric"),
        ({"holdout": 1.0}, "holdout"),
        ({"on": "both"}, "standin"),
        ({"options": {"dp-copula": {"margins_fraction": 0.9, "corr_fraction": 0.9}}}, "at most 1"),
        ({"ledger": "x"}, "name of the data set"),
        ({"workers": 0}, "workers"),
    ],
)
def test_mistakes_are_found_before_the_first_fit(tmp_path: Path, wrong: dict, part: str) -> None:
    heard: list[str] = []
    with pytest.raises(UsageError, match=part):
        sf.sweep(_table(), resume=tmp_path / "p", progress=heard.append, **{"epsilons": [1.0], **wrong})
    assert not heard
    assert not (tmp_path / "p").exists()


def test_processes_give_what_one_process_gives() -> None:
    result = sf.sweep(_table(200), epsilons=[1.0, 2.0], schema=SCHEMA, workers=2)
    assert [(row["epsilon"], row["status"]) for row in result.rows] == [(1.0, "done"), (2.0, "done")]


def test_a_half_written_point_is_one_that_did_not_finish(tmp_path: Path) -> None:
    store = Store(tmp_path / "p")
    store.add("one", {"status": "done"})
    with (tmp_path / "p").open("a") as stream:
        stream.write('{"key": "two", "ro')
    assert set(store.read()) == {"one"}
    store.add("three", {"status": "done"})
    assert set(store.read()) == {"one", "three"}


def test_the_best_tradeoff_is_the_smallest_epsilon_that_is_good_enough() -> None:
    result = _result(
        {("m", 0.5): [0.4, 0.5], ("m", 1.0): [0.2, 0.22], ("m", 5.0): [0.1, 0.1], ("free", None): [0.0]}
    )
    assert result.best_tradeoff("tvd2", 0.25).epsilon == 1.0
    assert result.best_tradeoff().epsilon == 5.0  # within 10 % of the best
    assert result.best_tradeoff("tvd2", 0.01) is None
    text = result.recommendation(threshold=0.25)
    assert "Take epsilon = 1 with m" in text
    assert "at most 0.25" in text
    assert "At epsilon = 0.5 it is 0.45" in text
    assert "2.7% of those present at 1% false alarms" in text
    assert "No epsilon that was tried reaches" in result.recommendation(threshold=0.01)


def test_the_measured_risk_is_named() -> None:
    text = _result({("m", 1.0): [0.2]}, membership_auc=0.512).recommendation()
    assert "AUC 0.512" in text
    assert "proves nothing" in text
    assert "one fit" in text


def test_the_gap_to_the_baselines_is_positive_when_privacy_costs_something() -> None:
    result = sf.benchmark(_table(), epsilons=[0.5, 5.0], schema=SCHEMA, workers=1)
    assert math.isinf(result.price.sum)
    assert result.utility_gap(0.5) == result.dp_value(0.5) - result.baseline_value()
    assert [epsilon for epsilon, _ in result.curve()] == [0.5, 5.0]
    assert result.best_dp_point().epsilon in (0.5, 5.0)
    for wrong in ({"methods": ["gaussian-copula"]}, {"baselines": ["mst"]}):
        with pytest.raises(UsageError, match="guarantee"):
            sf.benchmark(_table(), **wrong)


def test_epsilons_are_refused_for_methods_without_a_guarantee(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'gaussian-copula'(.|\n)*dp-copula"):
        sf.sweep(
            _table(),
            methods=["dp-copula", "gaussian-copula"],
            epsilons=[1.0],
            ledger=tmp_path / "l",
            dataset="d",
        )
    assert not (tmp_path / "l").exists()


def test_a_sweep_with_other_options_does_not_go_on_from_that_one(tmp_path: Path) -> None:
    """All its fits would be charged again, which nobody who resumes expects."""
    chosen = {"schema": SCHEMA, "workers": 1, "resume": tmp_path / "points.jsonl"}
    sf.sweep(_table(100), epsilons=[1.0], **chosen)
    with pytest.raises(UsageError, match="charged again"):
        sf.sweep(_table(100), epsilons=[1.0], holdout=0.4, ledger=tmp_path / "l", dataset="d", **chosen)
    assert not (tmp_path / "l").exists()
    more = sf.sweep(_table(100), epsilons=[1.0, 2.0], **chosen)
    assert [row["epsilon"] for row in more.rows] == [1.0, 2.0]


def test_a_number_of_rows_below_one_is_refused_before_a_fit() -> None:
    with pytest.raises(UsageError, match="at least 1, not 0"):
        sf.sweep(_table(100), epsilons=[1.0], rows=0, schema=SCHEMA, workers=1)


def test_a_script_without_a_guard_is_told_about_it(tmp_path: Path) -> None:
    """Processes that fit start by importing the script anew."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sfumato as sf\n"
        "table = {'x': [float(i % 7) for i in range(60)], 'y': [float(i % 5) for i in range(60)]}\n"
        "try:\n"
        "    sf.sweep(table, epsilons=[1.0, 2.0], workers=2)\n"
        "except sf.errors.JobError as fault:\n"
        "    print(fault)\n"
    )
    ran = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env=os.environ
    )
    assert "__main__" in ran.stdout and "workers=1" in ran.stdout, ran.stderr


def test_names_of_the_interface_of_objects() -> None:
    swept = sf.run_epsilon_sweep(_table(200), (1.0,), schema=SCHEMA, generator_kwargs={"bins": 32}, workers=1)
    assert swept.rows[0]["status"] == "done"
    compared = sf.run_benchmark(_table(200), (1.0,), schema=SCHEMA, num_rows=50, workers=1)
    assert {row["method"] for row in compared.rows} == {"dp-copula", "gaussian-copula"}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onload", "onclick"} & {name for name, _ in attrs}

    def handle_data(self, data) -> None:
        self.text += data


def test_the_page_says_what_it_is_and_loads_nothing(tmp_path: Path) -> None:
    result = _result(
        {("<script>alert(1)</script>", 0.5): [0.4], ("<script>alert(1)</script>", 2.0): [0.3], ("free", None): [0.1]},
        membership_auc=0.5,
    )  # fmt: skip
    result.save_report(tmp_path / "page.html", threshold=0.35)
    page = _Tags()
    page.feed((tmp_path / "page.html").read_text())
    assert "script" not in page.tags
    assert page.tags.count("svg") == 2
    assert page.tags.count("polyline") == 4
    assert "Choosing by looking is itself a release" in page.text
    assert "nobody has recorded that" in page.text
    assert "Take epsilon = 2" in page.text
    with pytest.raises(sf.SfumatoError):
        result.save_report(tmp_path / "page.html")


def test_the_csv_has_a_line_for_every_fit(tmp_path: Path) -> None:
    result = _result({("m", 0.5): [0.4, 0.5], ("free", None): [0.1]})
    lines = result.to_csv(tmp_path / "t.csv").splitlines()
    assert lines == (tmp_path / "t.csv").read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("method,epsilon,seed,status")
    assert result.table().height == 3


def test_measures_of_two_tables() -> None:
    one = pl.DataFrame({"n": list(range(400)), "c": ["x", "y"] * 200})
    same = compare(one, one, one, metrics=["tvd1", "tvd2", "membership_auc"])
    assert same == {"tvd1": 0.0, "tvd2": 0.0, "membership_auc": 0.5}
    shuffled = pl.DataFrame({"n": one["n"], "c": ["x"] * 200 + ["y"] * 200})
    found = compare(one, shuffled, None, metrics=["tvd1", "tvd2", "membership_auc"])
    assert found["tvd1"] == 0.0
    assert found["tvd2"] == pytest.approx(0.5)
    assert found["membership_auc"] is None
    as_text = one.select(pl.all().cast(pl.String))
    assert compare(as_text, one, None, metrics=["tvd2"]) == {"tvd2": 0.0}


def test_copies_of_the_rows_are_found_out() -> None:
    rng = np.random.default_rng(3)
    fitted, held = (pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"]) for _ in range(2))
    assert compare(fitted, fitted, held, metrics=["membership_auc"])["membership_auc"] > 0.99
    fresh = pl.DataFrame(rng.normal(size=(400, 3)), schema=["a", "b", "c"])
    assert abs(compare(fitted, fresh, held, metrics=["membership_auc"])["membership_auc"] - 0.5) < 0.15


def test_points_are_plain_json(tmp_path: Path) -> None:
    sf.sweep(_table(200), epsilons=[1.0], schema=SCHEMA, workers=1, resume=tmp_path / "p")
    (line,) = (tmp_path / "p").read_text().splitlines()
    assert set(json.loads(line)["row"]["metrics"]) == {"tvd1", "tvd2", "membership_auc"}


def test_the_bound_on_attacks_is_that_of_the_best_test_of_two_neighbours() -> None:
    """Against randomised response, which reaches it: present is said with e^ε/(1+e^ε), else with 1/(1+e^ε)."""
    from sfumato.sweeps.advice import most_found

    for epsilon in (0.1, 1.0, 4.0):
        alarm = 1 / (1 + math.exp(epsilon))
        assert most_found(epsilon, 0.0, alarm) == pytest.approx(math.exp(epsilon) * alarm)
    assert most_found(0.0, 0.0) == pytest.approx(0.01)
    assert 0.99 < most_found(5.0, 1e-9) < 0.994
    assert most_found(1000.0, 1e-9) == pytest.approx(1.0)


def test_measures_of_an_evaluation_are_looked_up_by_name() -> None:
    from sfumato.sweeps.compare import check_metrics, lower_is_better

    table, names = _table(200), ["tvd1", "marginals.ks", "marginals.ks_complement", "attacks.exact_copies"]
    check_metrics(names)
    same = compare(table, table, None, metrics=names)
    assert same == {**dict.fromkeys(names[:2], 0.0), "marginals.ks_complement": 1.0, names[3]: None}
    held = compare(table.head(100), table.head(100), table.tail(100), metrics=names[3:])
    assert (
        held[names[3]]
        == sf.evaluate(table.head(100), table.head(100), holdout=table.tail(100), families=["attacks"])[
            names[3]
        ].value
    )
    assert [lower_is_better(name) for name in names] == [True, True, False, True]
    with pytest.raises(UsageError, match=r"no metric 'marginals\.kz'.*"):
        check_metrics(["tvd1", "marginals.kz"])

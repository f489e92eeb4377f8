"""Plans: from public facts alone, in the right order of magnitude, and honest about noise."""

import builtins
import io
import json
import math
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.end_to_end.tables import TABLES
from tests.shared_data import ROOT

import sfumato as sf
from sfumato.domain.codecs import GridCodec, grid_edges
from sfumato.errors import Overdraft, SchemaError, UsageError
from sfumato.models import plan as module
from sfumato.models.assumed import RANGES
from sfumato.synthesizers.outlook import Outlook
from sfumato.synthesizers.recipe import synthesizers
from sfumato.tables.source import open_source

COLUMNS = {
    "age": {"type": "int", "min": 0, "max": 90},
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "job": {"type": "categorical", "open_set": True, "public_values": ["clerk"]},
    "pay": {"type": "float", "min": 0, "max": 1e6},
    "seen": {"type": "date"},
    "zone": {"type": "categorical", "values": [str(i) for i in range(12)], "nullable": True},
    "key": {"type": "id", "format": "uuid4"},
}
FACTS = {"columns": COLUMNS}
SMALL = {"columns": {f"c{i}": {"type": "categorical", "values": ["a", "b", "c"]} for i in range(6)}}
METHODS = ("adaptive", "aim", "independent", "mst")


def errors(plan):
    return [outcome.error for outcome in plan.outcomes]


@pytest.mark.parametrize("method", METHODS)
def test_more_budget_and_more_rows_never_add_error(method):
    scale = [10 ** (k / 3) for k in (-9, -6, -4, -3, -2, -1, 0, 1, 2, 3, 5)]
    by_epsilon = errors(sf.plan(FACTS, rows=20_000, epsilon=scale, method=method))
    by_rows = [
        errors(sf.plan(FACTS, rows=rows, epsilon=1.0, method=method))[0]
        for rows in (1, 10, 1_000, 10_000, 1_000_000, 10**9)
    ]
    for series in (by_epsilon, by_rows):
        for ways in ("one_way", "two_way", "three_way"):
            values = [getattr(error, ways) for error in series]
            assert all(0 <= value <= 1 for value in values)
            assert all(a >= b - 1e-12 for a, b in pairwise(values)), (ways, values)


def test_error_grows_with_the_unit_and_the_neighbours():
    base = {"rows": 20_000, "epsilon": 1.0}
    one, person, replace = (
        errors(sf.plan(FACTS, **base, **more))[0].two_way
        for more in ({}, {"unit": ("key", 5)}, {"neighbours": "replace"})
    )
    assert one < replace < person


@pytest.mark.parametrize("method", METHODS)
def test_the_smallest_epsilon_is_the_one_with_that_error(method):
    # Columns of few values are within 5 % at some epsilon only where they are related by measured tables.
    plan = sf.plan(SMALL, rows=50_000, epsilon=1.0, method=method)
    if plan.smallest_epsilon is None:
        assert plan.least_error > 0.05 and "no epsilon" in plan.verdict
        return
    there = sf.plan(SMALL, rows=50_000, epsilon=plan.smallest_epsilon, method=method)
    assert errors(there)[0].two_way == pytest.approx(0.05, rel=0.01)
    assert f"{plan.smallest_epsilon:.3g}" in plan.verdict


def test_at_least_one_method_reaches_the_goal():
    assert sf.plan(SMALL, rows=50_000).smallest_epsilon is not None


def test_no_epsilon_makes_up_for_few_rows():
    plan = sf.plan(FACTS, rows=100, epsilon=1.0)
    assert plan.smallest_epsilon is None and plan.least_error > 0.05
    assert "no epsilon" in plan.verdict


def test_noise_that_drowns_the_signal_is_told():
    tiny, ample = sf.plan(SMALL, rows=20_000, epsilon=[0.001, 10.0]).outcomes
    assert tiny.drowned and any("drown the signal" in text for text in tiny.warnings)
    assert not ample.drowned and not ample.warnings
    assert tiny.noise > 1_000 > 100 > ample.noise
    assert all(sf.plan(FACTS, rows=rows, epsilon=1e-4).outcomes[0].drowned for rows in (1, 100, 10_000))


def test_what_is_not_stated_is_assumed_and_said():
    plan = sf.plan(FACTS, rows=5_000)
    notes = {column.name: column.note for column in plan.columns}
    assert "key" not in notes and notes["age"] == notes["sex"] == ""
    assert "categories are learned" in notes["job"] and "cells are learned" in notes["pay"]
    assert "bounds are learned" in notes["seen"]
    assert set(plan.outcomes[0].split) >= {"bounds", "categories", "cells", "one-way marginals"}
    stated = sf.plan({"columns": {k: COLUMNS[k] for k in ("age", "sex", "zone")}}, rows=5_000)
    assert "cells" not in stated.outcomes[0].split


def test_the_state_is_plain_and_whole():
    state = sf.plan(FACTS, rows=5_000, epsilon=(0.5, 1, 3)).state()
    again = json.loads(json.dumps(state, allow_nan=False))
    assert [each["epsilon"] for each in again["plans"]] == [0.5, 1, 3]
    for each in again["plans"]:
        assert set(each["error"]) == {"one_way", "two_way", "three_way"}
        assert 0 < each["cells"] <= each["cells_at_most"] and each["memory_mb"] > 50 and each["seconds"] > 0
        assert sum(each["split"].values()) == pytest.approx(1)


def test_rows_come_from_the_schema_when_not_given():
    assert sf.plan({"rows_at_most": 4_000, **SMALL}).rows == 4_000
    with pytest.raises(UsageError, match="number of rows"):
        sf.plan(SMALL)


def test_no_file_but_the_schema_is_opened(monkeypatch, tmp_path):
    (tmp_path / "schema.toml").write_text(
        'table = "t"\n[columns]\na = {type = "bool"}\nb = {type = "int", min = 0, max = 9}\n'
    )
    sf.plan(SMALL, rows=10)
    opened = []
    real = io.open

    def watch(file, *rest, **more):
        opened.append(str(file))
        return real(file, *rest, **more)

    monkeypatch.setattr(io, "open", watch)
    monkeypatch.setattr(builtins, "open", watch)
    sf.plan(tmp_path / "schema.toml", rows=1_000)
    assert [Path(name).name for name in opened] == ["schema.toml"]


@pytest.mark.parametrize(
    ("schema", "more", "error"),
    [
        ({"columns": {"a": {"type": "intt"}}}, {}, SchemaError),
        ({"columns": {"a": {"type": "bool"}}}, {"rows": 0}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"epsilon": -1.0}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"epsilon": math.nan}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"epsilon": []}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"delta": 2.0}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"method": "mts"}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"accountant": "rdp"}, UsageError),
        ({"columns": {"a": {"type": "bool"}}}, {"options": {"target": "b"}}, UsageError),
        ({"undeclared": "draft"}, {}, UsageError),
        (
            {"bought": {"mu2": 9, "mu2_replace": 18, "delta_spent": 0, "delta_spent_replace": 0}, **SMALL},
            {},
            Overdraft,
        ),
    ],
)
def test_what_a_run_would_refuse_is_refused(schema, more, error):
    with pytest.raises(error):
        sf.plan(schema, **{"rows": 100, **more})


@pytest.mark.parametrize("columns", [{}, {"a": {"type": "bool"}}])
def test_no_column_and_one_column_have_a_plan(columns):
    facts = {"columns": {"key": {"type": "id", "format": "uuid4"}, **columns}}
    plan = sf.plan(facts, rows=10_000, epsilon=[0.01, 1.0])
    assert errors(plan)[0].two_way == 0.0
    if columns:
        assert errors(plan)[0].one_way > errors(plan)[1].one_way > 0


def test_a_method_says_itself_what_it_will_measure(monkeypatch):
    class Plain:
        name, summary, guarantee = "plain", "", "(epsilon, delta)"

        def split(self, columns):
            return {"one-way marginals": 0.5, "pairs": 0.5}

    class Knowing(Plain):
        def outlook(self, scene):
            return Outlook(one_way=1.0, relations=0.0, pairs=0, model=lambda: 123)

    found = []
    for made in (Plain, Knowing):
        monkeypatch.setattr(module, "make_recipe", lambda *_, made=made: made())
        found.append(sf.plan(SMALL, rows=10_000).outcomes[0])
    assert found[1].cells == 123 and found[0].error.two_way < found[1].error.two_way
    assert set(METHODS) <= set(synthesizers)


def test_many_columns_are_planned_too():
    facts = {"columns": {f"c{i}": {"type": "int", "min": 0, "max": 30} for i in range(400)}}
    plan = sf.plan(facts, rows=10_000)
    assert 400 * 8 < plan.outcomes[0].cells <= 2_000_000


BUNDLED = {"acs_ma2019": 7_634, "visits": 2_466}
REAL = ("titanic", "telco", "adult", "bank", "credit", "shoppers")


def measured(source, schema, *, dialect=None, epsilon, method, seed):
    """Mean distances of pairs and of columns between the rows of a file and as many synthetic ones."""
    model = sf.fit(
        source, epsilon=epsilon, schema=schema, dialect=dialect, method=method, insecure_noise_seed=seed
    )
    table = model_rows(source, dialect, [codec.column for codec in model.codecs])
    made = model.generator.sample(table.height, np.random.default_rng(seed))
    pairs = [compared(codec, table, codes) for codec, codes in zip(model.codecs, made, strict=True)]
    two_way = [distance(a, b) for a, b in combinations(pairs, 2)]
    return float(np.mean(two_way)), float(np.mean([distance(a) for a in pairs]))


def model_rows(source, dialect, columns):
    frames = open_source(source, dialect=dialect).blocks(columns)
    return pl.concat(list(frames))


def compared(codec, table, codes):
    """Codes of the rows and of the synthetic ones; cells that were learned in ranges of equal mass."""
    real = codec.encode(table[codec.column]).astype(np.int64)
    label = np.arange(codec.size)
    if isinstance(codec, GridCodec) and grid_edges(codec.facts) is None:
        held = np.bincount(real, minlength=codec.size)[codec.atoms :]
        before = np.cumsum(held) - held
        label[codec.atoms :] = codec.atoms + before * RANGES // max(int(held.sum()), 1)
    return label[real], label[np.asarray(codes, dtype=np.int64)]


def distance(*columns):
    """Total variation distance of the joint distribution of (rows, synthetic rows) columns."""
    both = [np.zeros(side.size, dtype=np.int64) for side in columns[0]]
    for sides in columns:
        both = [index * 100_000 + side for index, side in zip(both, sides, strict=True)]
    _, index = np.unique(np.concatenate(both), return_inverse=True)
    shares = [np.bincount(part, minlength=index.max() + 1) / part.size for part in np.split(index, 2)]
    return np.abs(shares[0] - shares[1]).sum() / 2


def assert_close(expected, found):
    """Predicted and measured errors, within a factor of 2."""
    for one, other in zip(expected, found, strict=True):
        assert other / 2 <= one <= other * 2, (expected, found)


@pytest.mark.parametrize(("name", "epsilon"), [("acs_ma2019", 0.5), ("visits", 0.3), ("visits", 5.0)])
def test_bundled_tables_come_out_as_planned(name, epsilon):
    folder = ROOT / "examples"
    schema = folder / f"{name}.toml"
    error = sf.plan(schema, rows=BUNDLED[name], epsilon=epsilon).outcomes[0].error
    found = np.mean(
        [
            measured(folder / f"{name}.csv.gz", schema, epsilon=epsilon, method="adaptive", seed=seed)
            for seed in range(1 if name == "acs_ma2019" else 4)
        ],
        axis=0,
    )
    assert_close((error.two_way, error.one_way), found)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", REAL)
def test_real_tables_come_out_as_planned(name, epsilon):
    table = TABLES[name]
    rows = model_rows(table.path, table.dialect, None).height
    error = sf.plan(table.schema, rows=rows, epsilon=epsilon).outcomes[0].error
    found = measured(
        table.path, table.schema, dialect=table.dialect, epsilon=epsilon, method="adaptive", seed=5
    )
    assert_close([error.two_way], found[:1])


@pytest.mark.parametrize("kinds", ["numbers", "labels", "both"])
def test_the_noise_of_a_copula_is_that_of_its_margins(kinds: str) -> None:
    """Parts of a pure epsilon are divided plainly, and not as squares."""
    numbers = {f"n{i}": {"type": "int", "min": 0, "max": 9} for i in range(4)}
    labels = {f"c{i}": {"type": "categorical", "values": ["x", "y", "z"]} for i in range(2)}
    columns = {"numbers": numbers, "labels": labels, "both": numbers | labels}[kinds]
    schema = {"columns": columns}
    table = {name: ([1, 2, 3] if name in numbers else ["x", "y", "z"]) * 100 for name in columns}
    (outcome,) = sf.plan(schema, rows=300, epsilon=1.0, method="dp-copula").outcomes
    model = sf.fit(table, epsilon=1.0, method="dp-copula", schema=schema)
    scales = {
        clique[0]: float(Fraction(scale))
        for entry in model.ledger
        for clique, scale in zip(
            entry.parameters.get("cliques", ()), entry.parameters.get("scales", ()), strict=False
        )
        if len(clique) == 1
    }
    assert set(scales) == set(columns)
    assert outcome.noise == pytest.approx(math.sqrt(2) * sum(scales.values()) / len(columns), rel=0.05)

"""Real tables, with and without a schema: exact rows, columns in order, types as they were, a model that verifies.

A few run always. The whole grid of tables, methods, budgets and ways in, with as many rows as the table has, is
marked slow; one method of it, with the seconds of every run:

    SFUMATO_DATA=/path/to/tables python -m pytest tests/end_to_end/test_round_trips.py -m slow -k mst --durations=0 -v
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import sfumato
from tests.end_to_end.hostile import rows_of
from tests.end_to_end.tables import TABLES, RealTable

import sfumato as sf
from sfumato.schema import lint, read_schema

ROWS = 300
METHODS, EPSILONS, WAYS = (
    ("adaptive", "mst", "independent"),
    (0.1, 1.0, 10.0),
    ("pandas", "polars", "arrow", "dict"),
)
FAST = [
    ("titanic", "mst"), ("telco", "mst"), ("survey", "independent"), ("acs", "independent"),
    ("loans", "independent"), ("adult", "independent"),
]  # fmt: skip


def names_of(table: RealTable, *, schema: bool) -> list[str]:
    """Columns of the output: those of the input, less what the schema drops."""
    if table.path.suffix == ".parquet":
        names = list(pl.read_parquet_schema(table.path))
    else:
        names = list(table.names) or pl.read_csv(table.path, n_rows=0).columns
    return [name for name in names if not (schema and name in table.dropped)]


def by_command(
    table: RealTable, folder: Path, *, method: str, epsilon: float, schema: bool, rows: int = ROWS
) -> None:
    suffix = ".parquet" if table.path.suffix == ".parquet" else ".csv"
    out, model = folder / f"out{suffix}", folder / "model.sfumato"
    words = ["--epsilon", epsilon, "--method", method, "--rows", rows, "--model", model, *table.words]
    if schema:
        words += ["--schema", table.schema]
    ran = sfumato("generate", table.path, "-o", out, *words)
    # A column of the survey that is missing for nine in ten may look empty beside much noise.
    warned = [line for line in ran.err.splitlines() if "WARNING" in line]
    assert all("nearly all of its cells are missing" in line for line in warned), ran.err
    assert ran.code == 0 and "error:" not in ran.err, ran.err
    frame = pl.read_parquet(out) if suffix == ".parquet" else rows_of(folder)
    assert frame.height == rows and frame.columns == names_of(table, schema=schema)
    if suffix == ".parquet":
        assert_types(pl.read_parquet(table.path), frame)
    assert sfumato("verify", model).code == 0
    assert sfumato("assert-dp", model, "--epsilon", epsilon).code == 0
    again = folder / f"again{suffix}"
    assert sfumato("sample", model, "-o", again, "--rows", ROWS, "--seed", 1, "--quiet").code == 0
    if schema:
        assert_within(table, pl.read_parquet(out) if suffix == ".parquet" else frame)


def assert_within(table: RealTable, frame: pl.DataFrame) -> None:
    """Every synthetic value is one that the schema allows: reading it back makes nothing missing."""
    for column in read_schema(table.schema).columns:
        if column.dropped or not column.modelled:
            continue
        series = frame[column.name]
        assert column.nullable or series.null_count() == 0, column.name
        if column.measured:
            units, atoms = column.parse(series)
            low, high = column.unit_bounds()
            assert ((atoms != 0) == series.is_not_null().to_numpy()).all(), column.name
            assert ((atoms != -1) | ((units >= low) & (units <= high))).all(), column.name
        elif not getattr(column, "open_set", False):
            assert set(series.cast(pl.String).drop_nulls()) <= set(column.values), column.name


def assert_types(real: Any, made: Any) -> None:
    """The synthetic table has the column types of the real one."""
    assert type(made) is type(real)
    if isinstance(real, dict):
        assert all(made[name].dtype.kind == real[name].dtype.kind for name in made)
    elif isinstance(real, pl.DataFrame):
        found = {name: dtype.base_type() for name, dtype in made.schema.items()}
        assert found == {name: real.schema[name].base_type() for name in made.columns}
    elif hasattr(real, "schema"):
        assert {f.name: f.type for f in made.schema} == {
            n: real.schema.field(n).type for n in made.column_names
        }
    else:
        assert {n: t.name for n, t in made.dtypes.items()} == {n: real.dtypes[n].name for n in made.columns}


def in_memory(table: RealTable, way: str) -> Any:
    if way == "pandas":
        return table.pandas()
    frame = table.polars()
    if way == "polars":
        return frame
    if way == "arrow":
        return frame.to_arrow()
    return {name: frame[name].to_numpy() for name in frame.columns}


def by_python(
    table: RealTable, way: str, folder: Path, *, method: str, epsilon: float, schema: bool, rows: int = ROWS
) -> None:
    real = in_memory(table, way)
    model = sf.fit(real, epsilon=epsilon, method=method, schema=table.schema if schema else None)
    made = model.sample(rows, seed=2)
    columns = (
        list(made) if isinstance(made, dict) else getattr(made, "column_names", None) or list(made.columns)
    )
    assert columns == names_of(table, schema=schema)
    lengths = {len(made[name]) for name in columns}
    assert lengths == {rows}
    assert_types(real, made)
    model.save(folder / "model.sfumato")
    assert sf.assert_dp(folder / "model.sfumato", epsilon=epsilon).epsilon <= epsilon


@pytest.mark.parametrize("schema", [False, True], ids=["bare", "schema"])
@pytest.mark.parametrize(("name", "method"), FAST)
def test_from_the_command_line(name, method, schema, tmp_path):
    by_command(TABLES[name], tmp_path, method=method, epsilon=1.0, schema=schema)


@pytest.mark.filterwarnings("ignore:.*nearly all of its cells are missing:sfumato.DataWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["titanic", "survey"])
def test_from_python(name, way, tmp_path):
    for schema in (False, True):
        folder = tmp_path / str(schema)
        folder.mkdir()
        by_python(TABLES[name], way, folder, method="independent", epsilon=1.0, schema=schema)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [False, True], ids=["bare", "schema"])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TABLES)
def test_the_whole_grid_from_the_command_line(name, method, epsilon, schema, tmp_path):
    rows = TABLES[name].polars().height
    by_command(TABLES[name], tmp_path, method=method, epsilon=epsilon, schema=schema, rows=rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*nearly all of its cells are missing:sfumato.DataWarning")
@pytest.mark.parametrize("schema", [False, True], ids=["bare", "schema"])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", TABLES)
def test_the_whole_grid_from_python(name, method, way, epsilon, schema, tmp_path):
    rows = TABLES[name].polars().height
    by_python(TABLES[name], way, tmp_path, method=method, epsilon=epsilon, schema=schema, rows=rows)


@pytest.mark.parametrize("name", TABLES)
def test_schemas_are_written_with_care(name):
    schema = read_schema(TABLES[name].schema)
    assert schema.rows_at_most and schema.table
    enforced = {"is kept, but not enforced yet"}
    warnings = [n for n in lint(schema) if n.severity == "warning" and n.what not in enforced]
    assert not warnings, warnings


@pytest.mark.parametrize("name", ["titanic", "telco", "acs"])
def test_marginals_come_out_right_at_a_large_budget(name):
    """At epsilon 10 the shares of every declared category are close to the real ones."""
    table = TABLES[name]
    real = pl.read_csv(table.path, infer_schema=False)
    model = sf.fit(table.path, epsilon=10, schema=table.schema, method="independent")
    made = pl.concat(model.frames(real.height, seed=0, text=True))
    for column in model.schema.columns:
        if (
            column.kind not in ("categorical", "bool")
            or not column.modelled
            or getattr(column, "open_set", False)
        ):
            continue
        shares = [frame[column.name].value_counts(normalize=True) for frame in (real, made)]
        one, two = ({row[0]: row[1] for row in counts.rows()} for counts in shares)
        distance = 0.5 * sum(abs(one.get(key, 0) - two.get(key, 0)) for key in {*one, *two})
        assert distance < 0.02 + 10 / np.sqrt(real.height) / 10, column.name

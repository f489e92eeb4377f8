"""How far single columns of synthetic rows are from real ones, from raw files: total variation distance (TVD).

    SFUMATO_DATA=/path/to/tables python benchmarks/utility/one_way.py --epsilon 0.1 1 10 --seeds 1

Tables are those of the round trips in the tests, fitted as the files are, with a schema and without; as many rows
are drawn as the table has. Columns are all that the schema models. Printed are means over columns and seeds:
  tvd1    a number, date or duration falls in one of 20 bins of one width between its declared ends
  full    every value as it is spelled; columns with more than 1,000 values in the real rows left out
  floor   of `full`, between the real rows and as many drawn from them with replacement: what chance alone does
and the worst column by tvd1. `falls` says whether tvd1 falls with every step of epsilon, for the lines of a table.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.printing import Lines
from tests.end_to_end.tables import TABLES, RealTable

import sfumato as sf
from sfumato.domain.column import Column
from sfumato.schema import read_schema

BINS, MANY = 20, 1_000


def binned(column: Column, series: pl.Series) -> pl.Series:
    """The bins of a measured column, with an atom for what is missing or a special code; else the values."""
    if not column.measured:
        return spelled(series)
    units, atoms = column.parse(series)
    bounds = column.unit_bounds()
    assert bounds is not None, column.name
    low, high = bounds
    width = (high - low + 1) / BINS
    inside = np.clip((units - low) / width, 0, BINS - 1).astype(np.int64)
    return pl.Series(np.where(atoms == -1, inside, -1 - atoms))


def spelled(series: pl.Series) -> pl.Series:
    return series.cast(pl.String).fill_null("")


def distance(real: pl.Series, made: pl.Series) -> float:
    """TVD of two columns of labels."""
    shares = [
        side.rename("label").value_counts().select("label", pl.col("count") / side.len())
        for side in (real, made)
    ]
    both = shares[0].join(shares[1], on="label", how="full", suffix="_made", coalesce=True).fill_null(0)
    return float((both["count"] - both["count_made"]).abs().sum() / 2)


def fitted(table: RealTable, real: pl.DataFrame, schema: bool, seed: int, **options: Any) -> pl.DataFrame:
    """As many synthetic rows as the table has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sf.fit(
            str(table.path), dialect=table.dialect, schema=str(table.schema) if schema else None,
            insecure_noise_seed=seed, **options,
        )  # fmt: skip
        return pl.concat(model.frames(real.height, seed=seed, text=table.path.suffix != ".parquet"))


def rows_of(table: RealTable) -> pl.DataFrame:
    if table.path.suffix == ".parquet":
        return pl.read_parquet(table.path)
    names = {"has_header": False, "new_columns": list(table.names)} if table.names else {}
    rows = pl.read_csv(table.path, infer_schema=False, **names)  # type: ignore[arg-type]
    rows = rows.filter(~pl.all_horizontal(pl.all().is_null()))
    return rows.select(pl.all().str.strip_chars()) if table.names else rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--methods", nargs="+", default=["adaptive", "mst", "independent"])
    parser.add_argument("--schema", nargs="+", default=["with", "without"], choices=["with", "without"])
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    if "SFUMATO_DATA" not in os.environ:
        parser.error("SFUMATO_DATA does not name the folder of the tables")
    lines = Lines(
        table=12, rows=7, method=12, schema=7, epsilon=7, tvd1=6, full=6, floor=6, falls=5, worst_column=32
    )
    for name, method, schema in itertools.product(asked.tables, asked.methods, asked.schema):
        table, before = TABLES[name], np.inf
        real = rows_of(table)
        columns = [column for column in read_schema(table.schema).columns if column.modelled]
        known = {
            column.name: (binned(column, real[column.name]), spelled(real[column.name])) for column in columns
        }
        few = [each for each in known if known[each][1].n_unique() <= MANY]
        drawn = np.random.default_rng(0).integers(real.height, size=real.height)
        floor = np.mean([distance(known[each][1], known[each][1][drawn]) for each in few])
        for epsilon in sorted(asked.epsilon):
            near = np.zeros((asked.seeds, len(columns)))
            full = np.zeros((asked.seeds, len(few)))
            for seed in range(asked.seeds):
                made = fitted(table, real, schema == "with", seed, epsilon=epsilon, method=method, delta=1e-9)
                near[seed] = [
                    distance(known[column.name][0], binned(column, made[column.name])) for column in columns
                ]
                full[seed] = [distance(known[each][1], spelled(made[each])) for each in few]
            worst = int(near.mean(axis=0).argmax())
            lines.add(
                name, str(real.height), method, schema, f"{epsilon:g}", f"{near.mean():.4f}", f"{full.mean():.4f}",
                f"{floor:.4f}", "" if before == np.inf else "yes" if near.mean() < before else "NO",
                f"{columns[worst].name} {near.mean(axis=0)[worst]:.3f}",
            )  # fmt: skip
            before = near.mean()


if __name__ == "__main__":
    main()

"""A population with numbers and categories, and generators from careless to harmless."""

from __future__ import annotations

import numpy as np
import polars as pl

NAMES = ("age", "pay", "gain", "job", "town", "sex")


def population(rows: int, seed: int) -> pl.DataFrame:
    """Rows of one law: numbers that depend on each other, a column that is mostly 0, three categories."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    pay = np.round(200 * age + rng.gamma(2.0, 6000, rows), 2)
    gain = np.where(rng.random(rows) < 0.9, 0, rng.integers(1, 20_000, rows))
    job = np.array(["clerk", "nurse", "driver", "cook"])[np.minimum((pay / 15_000).astype(int), 3)]
    town = rng.choice(["A", "B", "C", "D", "E"], rows, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    sex = rng.choice(["F", "M"], rows)
    columns = {"age": age, "pay": pay, "gain": gain, "job": job, "town": town, "sex": sex}
    return pl.DataFrame({name: pl.Series(name, values.tolist()) for name, values in columns.items()})


def noisy(table: pl.DataFrame, *, share: float, seed: int) -> pl.DataFrame:
    """An overfitted generator: every record, with noise of a `share` of each column's spread on its numbers."""
    rng = np.random.default_rng(seed)
    return table.with_columns(
        pl.Series(name, table[name].to_numpy() + rng.normal(size=table.height) * share * table[name].std())
        for name in table.columns
        if table[name].dtype.is_numeric()
    ).sample(fraction=1, shuffle=True, seed=seed)


def uniform(table: pl.DataFrame, *, seed: int) -> pl.DataFrame:
    """Values drawn evenly and apart from each other."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for name in table.columns:
        values = table[name].unique().sort()
        drawn[name] = values[rng.integers(0, len(values), table.height)]
    return pl.DataFrame(drawn)

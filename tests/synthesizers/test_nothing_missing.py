"""Columns that may not be missing have a value in every synthetic row, however loud the noise."""

import numpy as np
import polars as pl
import pytest

import sfumato as sf


@pytest.mark.parametrize("method", ["adaptive", "aim", "independent", "mst"])
def test_values_that_noise_puts_at_zero(method):
    """With `aim`, seed 6 expects no row of the first value of c, and then finds some."""
    rng = np.random.default_rng(0)
    codes = {"a": rng.integers(0, 2, 2_000), "b": np.zeros(2_000, int), "c": rng.integers(0, 3, 2_000)}
    frame = pl.DataFrame({name: values.astype(str) for name, values in codes.items()})
    schema = {
        "columns": {
            name: {"type": "categorical", "values": ["0", "1", "2"][: 2 + (name == "c")]} for name in codes
        }
    }
    for seed in range(5, 9):
        model = sf.fit(
            frame, epsilon=0.05, delta=1e-9, method=method, schema=schema, insecure_noise_seed=seed
        )
        assert sum(model.sample(3_000, seed=seed).null_count().row(0)) == 0

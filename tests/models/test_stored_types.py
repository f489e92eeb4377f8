"""Synthetic rows from a typed file come in the types of that file, whichever rows were drawn."""

import polars as pl
import pytest

import sfumato as sf

FACTS = {
    "a": {"type": "int", "min": 0, "max": 100},
    "b": {"type": "int", "min": 0, "max": 1000, "special_codes": {"-9": "unknown"}},
    "c": {"type": "int", "min": 0, "max": 70_000},
    "d": {"type": "float", "decimals": 1, "min": 0, "max": 5},
    "e": {"type": "categorical", "values": ["x", "y"]},
    "f": {"type": "int", "min": 0, "max": 9},
    "g": {"type": "date", "format": "%Y%m%d", "min": "20200101", "max": "20201231"},
}
FRAME = pl.DataFrame(
    {"a": [1, 2], "b": [-9, 3], "c": [1, 2], "d": [0.5, 1.5], "e": ["x", "y"], "f": [1.0, 2.0], "g": [20200101, 20200202]},
    schema={"a": pl.Int8, "b": pl.Int16, "c": pl.UInt16, "d": pl.Float32, "e": pl.Categorical, "f": pl.Float64, "g": pl.Int32},
)  # fmt: skip


@pytest.mark.parametrize("saved", [False, True])
def test_a_file_gives_its_types(tmp_path, saved):
    FRAME.sample(200, with_replacement=True, seed=0).write_parquet(tmp_path / "t.parquet")
    model = sf.fit(tmp_path / "t.parquet", epsilon=5, schema={"columns": FACTS}, method="independent")
    if saved:
        model.save(tmp_path / "m.sfumato")
        model = sf.load(tmp_path / "m.sfumato")
    frame = model.sample(400)
    assert frame["c"].dtype == pl.Int64, "70,000 does not fit"
    assert frame["g"].dtype == pl.Int64 and frame["g"].is_between(20200101, 20201231).all()
    assert frame.schema == {**FRAME.schema, "c": pl.Int64, "g": pl.Int64}
    text = next(iter(model.frames(5, text=True)))
    assert set(text.dtypes) == {pl.String}

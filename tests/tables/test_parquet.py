"""Parquet files: streamed, typed by their schema alone, refused without internals when damaged."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import HeaderError, InputError
from sfumato.tables.engines import parquet
from sfumato.tables.source import open_source


@pytest.fixture
def path(tmp_path):
    frame = pl.DataFrame(
        {
            "i": np.arange(300_000),
            "s": pl.Series(["a", None, "XQSECRET"] * 100_000),
            "c": pl.Series(["x", "y", None] * 100_000, dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=40_000)
    return tmp_path / "t.parquet"


def test_rows_come_in_order_and_chosen_columns_only(path, monkeypatch):
    monkeypatch.setattr(parquet, "_CELLS", 100_000)
    source = open_source(path)
    assert [(column.name, column.dtype, column.storage) for column in source.columns] == [
        ("i", pl.Int64, "int"),
        ("s", pl.String, "string"),
        ("c", pl.String, "categorical"),
    ]
    for _ in range(2):
        blocks = list(source.blocks(["c", "i"]))
        assert len(blocks) > 1
        whole = pl.concat(blocks)
        assert whole.columns == ["c", "i"]
        assert whole["i"].equals(pl.Series("i", np.arange(300_000)))
        assert whole["c"].head(3).to_list() == ["x", "y", None]
    first = next(source.blocks())  # a pass may be left early
    assert first.columns == ["i", "s", "c"]


def test_damage_is_an_input_error_without_internals(path, tmp_path):
    whole = path.read_bytes()
    damaged = tmp_path / "d.parquet"
    rng = np.random.default_rng(3)
    cases = [b"", b"PAR1", b"PAR1PAR1", whole[:1000], whole[1000:], whole[:-4] + b"PARE", b"x,y\n1,2\n"]
    for _ in range(40):
        changed = bytearray(whole)
        start = int(rng.integers(4, len(whole) - 50))
        changed[start : start + 40] = rng.bytes(40)
        cases.append(bytes(changed))
    for content in cases:
        damaged.write_bytes(content)
        try:
            for _ in open_source(damaged).blocks():
                pass
        except InputError as error:
            message = str(error)
            assert "d.parquet" in message
            assert "XQSECRET" not in message
            assert len(message) < 200


def test_other_refusals(tmp_path, path):
    nested = tmp_path / "n.parquet"
    pq.write_table(pa.table({"a": [[1]], "b": [{"x": 1}], "c": [1]}), nested)
    with pytest.raises(InputError, match=r"(?s)2 faults.*'a'.*'b'"):
        open_source(nested)
    pq.write_table(pa.table({"": [1], "b": [1]}), nested)
    with pytest.raises(HeaderError, match="column 1"):
        open_source(nested)
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), nested)
    with pytest.raises(InputError, match="same name"):
        open_source(nested)
    pq.write_table(pa.table({"a": pa.array([], pa.int8())}), nested)
    with pytest.raises(InputError, match="no rows"):
        open_source(nested)
    assert list(open_source(nested, allow_empty=True).blocks()) == []
    path.rename(tmp_path / "t.csv")
    with pytest.raises(InputError, match="holds Parquet"):
        open_source(tmp_path / "t.csv")


def test_a_file_that_changes_is_noticed(path):
    source = open_source(path)
    pl.DataFrame({"i": [1]}).write_parquet(path)
    with pytest.raises(InputError, match="changed while"):
        list(source.blocks())

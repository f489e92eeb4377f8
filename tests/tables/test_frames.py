"""Frames, Arrow tables and dicts: types come from the container, rows come out exact, and go back alike."""

import datetime as dt
import gc
import subprocess
import sys
import types

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import HeaderError, InputError
from sfumato.tables.source import open_source, storage_word

ROWS = 6


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "i": np.arange(ROWS),
            "i8": np.arange(ROWS, dtype=np.int8),
            "f": [1.5, np.nan, 2, 3, 4, 5],
            "o": pd.Series(["a", None, 3, 1.5, True, pd.NA], dtype=object),
            "s": pd.Series(["a", None, "b", "c", "d", "e"], dtype="str"),
            "st": pd.Series(["a", None, "b", "c", "d", "e"], dtype="string"),
            "I": pd.array([1, None, 3, 4, 5, 2**53 + 1], dtype="Int64"),
            "B": pd.array([True, None, False] * 2, dtype="boolean"),
            "b": [True, False] * 3,
            "c": pd.Categorical(["x", "y", None, "x", "y", "z"]),
            "ci": pd.Categorical([3, 1, 2, 3, 1, None], ordered=True),
            "d": pd.date_range("2020-01-01", periods=ROWS),
            "dz": pd.date_range("2020-03-28 23:30", periods=ROWS, freq="h", tz="Europe/Amsterdam"),
            "ns": np.arange(ROWS).astype("M8[ns]"),
            "td": pd.to_timedelta(np.arange(ROWS), unit="s"),
            "a": pd.Series(["a", None] * 3, dtype=pd.ArrowDtype(pa.string())),
            "p": pd.period_range("2020-01", periods=ROWS, freq="M"),
            "iv": pd.cut(np.arange(ROWS), 3),
            "sp": pd.arrays.SparseArray([0, 0, 1, 0, 0, 2]),
            7: np.arange(ROWS, dtype=np.uint64) + 2**63,
        }
    )
    frame.index = pd.Index(list("uvwxyz"))
    return frame


def test_pandas_comes_in_by_dtype_and_goes_back_alike():
    frame = pandas_frame()
    source = open_source(frame)
    (block,) = source.blocks()
    assert {column.name: column.dtype for column in source.columns} == dict(block.schema)
    words = {column.name: column.storage for column in source.columns}
    expected = {"i": "int", "f": "float", "o": "string", "c": "categorical", "ci": "categorical", "7": "int"}
    expected |= {"d": "datetime", "td": "duration", "b": "bool", "B": "bool", "I": "int", "iv": "categorical"}
    assert words.items() >= expected.items()
    assert block["o"].to_list() == ["a", None, "3", "1.5", "True", None]
    assert block["ci"].to_list() == ["3", "1", "2", "3", "1", None]
    assert block["f"].to_list() == [1.5, None, 2, 3, 4, 5]
    assert block["I"].to_list() == [1, None, 3, 4, 5, 2**53 + 1]
    assert block["7"].to_list() == [2**63 + i for i in range(ROWS)]
    restored = source.restore(block)
    expected = frame.reset_index(drop=True).drop(columns=["o", "sp", "iv"])
    pd.testing.assert_frame_equal(restored.drop(columns=["o", "sp", "iv"]), expected)
    assert restored["iv"].tolist() == frame["iv"].astype(str).tolist()
    assert restored["o"].dtype == object
    assert any("whole numbers" in note for note in source.notes)


def test_pandas_gets_types_that_hold_what_was_made():
    made = pl.DataFrame(
        {
            "i": [1, None],
            "i8": [1, 1000],
            "b": [True, None],
            "B": ["true", None],
            "I": [1, None],
            "c": ["x", "OTHER"],
            "ci": ["2", "1"],
            "d": [dt.datetime(2020, 1, 1), None],
            "dz": [dt.datetime(2020, 1, 1, 12), None],
            "ns": [dt.datetime(9999, 1, 1), None],
            "7": [3, 4],
            "new": ["p", None],
        }
    )
    restored = open_source(pandas_frame()).restore(made)
    assert restored.dtypes.astype(str).to_dict() == {
        "i": "float64", "i8": "int64", "b": "object", "B": "boolean", "I": "Int64", "c": "category",
        "ci": "category", "d": "datetime64[us]", "dz": "datetime64[us, Europe/Amsterdam]",
        "ns": "datetime64[us]",
        7: "uint64", "new": "str",
    }  # fmt: skip
    assert restored["i8"].tolist() == [1, 1000]
    assert list(restored["c"].cat.categories) == ["OTHER", "x"]  # only labels that occur: z stays private
    assert list(restored["ci"].cat.categories) == [1, 2]
    assert restored["ci"].cat.ordered
    assert restored["dz"][0] == pd.Timestamp("2020-01-01 12:00", tz="UTC")


def test_the_labels_that_a_dtype_lists_make_no_difference():
    texts = pl.DataFrame({"p": ["b", None, "10", "9"], "q": ["9", "10", "9", None]})
    for made in (texts, texts.head(2)):
        found = []
        for more in ([], ["b", "OTHER"], ["z"] * 3):
            column = pd.Categorical(["a", *more], ordered=True)
            frame = pd.DataFrame({"p": column, "q": pd.Categorical([len(more)] * len(column), ordered=True)})
            found.append(open_source(frame).restore(made))
            pd.testing.assert_frame_equal(found[-1], found[0])
            labels = pl.Enum(["a", *sorted(set(more) - {"a"})])
            typed = pl.DataFrame({"p": ["a"], "q": ["a"]}, schema={"p": labels, "q": labels})
            restored = open_source(typed).restore(made)
            assert restored.dtypes == [pl.Enum(made[c].drop_nulls().unique().sort()) for c in "pq"]
            assert restored.cast(pl.String).equals(made)
        assert list(found[0]["q"].cat.categories) == [9, 10] and found[0]["q"].cat.ordered


def test_pandas_needs_no_pyarrow(monkeypatch):
    frame = pandas_frame().drop(columns=["a", "st", "s"])
    frame["s"] = pd.array(["a", None] * 3, dtype=pd.StringDtype("python"))
    for module in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)
    source = open_source(frame)
    (block,) = source.blocks()
    assert source.restore(block).shape == frame.shape


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "i": pl.Series([1, 2, None], dtype=pl.Int16),
            "f": pl.Series([1.5, float("nan"), None], dtype=pl.Float32),
            "s": ["a", "", None],
            "b": [True, False, None],
            "c": pl.Series(["x", "y", None], dtype=pl.Categorical),
            "e": pl.Series(["x", "y", None], dtype=pl.Enum(["x", "y"])),
            "d": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
            "t": pl.Series([1, 2, None]).cast(pl.Datetime("ms", "Asia/Tokyo")),
            "u": pl.Series([1, 2, None]).cast(pl.Duration("ns")),
            "w": pl.Series([1, 2, None]).cast(pl.Datetime("ns")),
            "k": [dt.time(1, 2, 3, 4), dt.time(0), None],
            "m": pl.Series(["1.50", "2.00", None]).cast(pl.Decimal(10, 2)),
            "h": pl.Series([2**100, 1, None], dtype=pl.Int128),
            "n": pl.Series([None, None, None], dtype=pl.Null),
        }
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_comes_back_alike(lazy):
    frame = polars_frame()
    source = open_source(frame.lazy() if lazy else frame)
    (block,) = source.blocks()
    assert {column.name: column.dtype for column in source.columns} == dict(block.schema)
    assert block["h"].to_list() == [str(2**100), "1", None]
    assert block["m"].to_list() == ["1.50", "2.00", None]
    assert block["e"].dtype == pl.String
    restored = source.restore(block)
    assert isinstance(restored, pl.LazyFrame) == lazy
    restored = restored.collect() if lazy else restored
    assert restored.equals(frame)
    assert restored.schema == frame.schema


def test_polars_gets_types_that_hold_what_was_made():
    made = {
        "i": (pl.Series([1.0, 2.0]), pl.Int16),
        "f": (pl.Series([1, 2]), pl.Float32),
        "b": (pl.Series(["False", "true"]), pl.Boolean),
        "c": (pl.Series(["x", "OTHER"]), pl.Categorical),
        "e": (pl.Series(["x", "x"]), pl.Enum(["x"])),
        "t": (pl.Series([dt.datetime(2020, 1, 1)] * 2), pl.Datetime("ms", "Asia/Tokyo")),
        "w": (pl.Series([dt.datetime(2020, 1, 1)] * 2), pl.Datetime("ns")),
        "d": (pl.Series(["2020-01-01", None]), pl.Date),
        "new": (pl.Series([1, 2]), pl.Int64),
    }
    source = open_source(polars_frame())
    restored = source.restore(pl.DataFrame({name: series for name, (series, _) in made.items()}))
    assert dict(restored.schema) == {name: dtype for name, (_, dtype) in made.items()}
    assert restored["t"].dt.convert_time_zone("UTC")[0] == dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    odd = {
        "i": (pl.Series([1, 10**6]), pl.Int64),
        "f": (pl.Series([2**53 + 1, 1]), pl.Int64),
        "b": (pl.Series(["yes", "no"]), pl.String),
        "e": (pl.Series(["x", "OTHER"]), pl.Enum(["OTHER", "x"])),
        "d": (pl.Series(["20200101", "x"]), pl.String),
        "w": (pl.Series([dt.datetime(9999, 1, 1), None]), pl.Datetime("us")),
    }
    restored = source.restore(pl.DataFrame({name: series for name, (series, _) in odd.items()}))
    assert dict(restored.schema) == {name: dtype for name, (_, dtype) in odd.items()}


def test_arrow_comes_back_alike():
    table = polars_frame().drop("h", "e").with_columns(pl.col("f").fill_nan(None)).to_arrow()
    table = table.set_column(4, "c", pa.array(["x", "y", None]).dictionary_encode())
    table = table.append_column("z", pa.array([1, 2, None], pa.timestamp("s", tz="UTC")))
    table = table.append_column("d32", pa.array([1, 2, None], pa.date32()))
    source = open_source(table)
    (block,) = source.blocks()
    assert {column.name: column.storage for column in source.columns}["c"] == "categorical"
    assert source.restore(block).equals(table)
    batch = table.to_batches()[0]
    assert open_source(batch).restore(block).equals(batch)


def test_dicts_come_back_as_arrays():
    table = {
        "i": np.array([1, 2, 3], np.int16),
        "big": np.array([1, 2, 3], ">i4"),
        "f": np.array([1.5, np.nan, 3], np.float16),
        "u": np.array(["a", "b", "c"]),
        "o": np.array([1, None, "b"], object),
        "D": np.array(["2020-01-01", "NaT", "2020-01-02"], "M8[D]"),
        "s": np.array(["2020-01-01", "NaT", "2020-01-02"], "M8[s]"),
        "b": np.array([True, False, True]),
        "list": [1, None, float("nan")],
        "half": ["\ud800", "x", "y"],
    }
    source = open_source(table)
    (block,) = source.blocks()
    assert {column.name: column.dtype for column in source.columns} == dict(block.schema)
    assert block["list"].to_list() == ["1", None, None]
    restored = source.restore(block)
    for name in ("i", "big", "f", "u", "D", "s", "b"):
        assert restored[name].dtype == table[name].dtype
        np.testing.assert_array_equal(restored[name], table[name])
    restored = source.restore(
        pl.DataFrame({"i": [1, None], "b": [True, None], "u": ["a", None], "list": [1, 2]})
    )
    assert [restored[name].dtype for name in ("i", "b", "u", "list")] == ["f8", "O", "O", "i8"]


def test_a_cell_never_decides_the_type_of_a_list():
    for cells in ([1, 2], [1, "x"], [None, 2.5]):
        assert open_source({"a": cells}).columns == open_source({"a": [1]}).columns


def test_other_frames_come_in_through_narwhals():
    source = open_source(duckdb.sql("select 1 as a, 'x' as b"))
    assert [block.rows() for block in source.blocks()] == [[(1, "x")]]


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"ok": [1], "a": [[1]], "b": [b"x"]}),
        pl.DataFrame({"a": [{"x": 1}], "b": pl.Series([object()], dtype=pl.Object)}),
        pa.table({"a": pa.array([[1]]), "b": pa.array([b"x"])}),
        {"a": np.zeros((2, 2)), "b": np.zeros(2, complex), "ok": [1, 2]},
        {"a": np.zeros(1, "S3"), "b": np.zeros(1, [("x", int)])},
        pd.DataFrame(
            {"a": np.zeros(2, complex), "b": pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int8())))}
        ),
    ],
)
def test_cells_of_many_values_are_refused(table):
    with pytest.raises(InputError, match=r"(?s)2 faults.*column 'a'.*column 'b'.*single values"):
        open_source(table)


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({1: [1]}, "not text but int"),
        ({}, "no columns"),
        (pl.DataFrame(), "no columns"),
        (pd.DataFrame(), "no columns"),
        ({"a": [1], "b": [1, 2]}, "'b' is not as long as column 'a'"),
        ({"a": "text"}, "not an array or a list"),
        ({"a": []}, "no rows"),
        (pl.DataFrame({"a": [1]}).clear(), "no rows"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pa.table({"a": pa.array([], pa.int8())}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 1 and 2"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "columns 1 and 2"),
        (pd.DataFrame({("a", "b"): [1]}), "not text but tuple"),
        (pa.table([[1], [2]], names=["a", "a"]), "columns 1 and 2"),
        (pl.DataFrame({" ": [1], "": [1]}), "2 faults"),
        (pl.DataFrame({"a": [1]}).lazy().select("b"), "cannot be computed"),
        (pl.DataFrame({"a": ["XQSECRET"]}).lazy().select(pl.col("a").cast(pl.Int8)), "cannot be computed"),
        (object(), "type object"),
        ([1, 2], "type list"),
    ],
)
def test_what_is_not_a_table_is_refused(table, part):
    with pytest.raises(InputError, match=part) as caught:
        list(open_source(table).blocks())
    assert "XQSECRET" not in str(caught.value)


def test_names_of_frames_follow_the_same_rules():
    with pytest.raises(HeaderError, match="rename the columns"):
        open_source(pd.DataFrame({"a\x00": [1]}))
    assert open_source(pl.DataFrame({"free, text\nline": [1]})).columns[0].name == "free, text\nline"


def test_large_frames_come_in_several_blocks():
    frame = pl.DataFrame({name: np.arange(1_100_000) for name in "ab"})
    for table in (frame, frame.to_pandas(), {name: frame[name].to_numpy() for name in "ab"}):
        source = open_source(table)
        blocks = list(source.blocks(["b"]))
        assert len(blocks) > 1
        assert pl.concat(blocks)["b"].equals(frame["b"])
        assert source.restore(frame.head(3)) is not None


def test_no_row_can_be_reached_from_what_restores():
    frame = pl.DataFrame({"a": np.arange(5000), "b": ["x"] * 5000})
    arrays = {name: frame[name].to_numpy() for name in frame.columns}
    for table in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        arrays,
        arrays | {"b": ["x"] * 5000},
    ):
        source = open_source(table)
        assert [block.height for block in source.blocks()] == [5000]
        waiting, seen = [source.restore], set()
        while waiting:
            thing = waiting.pop()
            if id(thing) in seen or isinstance(thing, type | types.ModuleType | types.FunctionType):
                continue
            seen.add(id(thing))
            assert not isinstance(
                thing, pl.DataFrame | pl.LazyFrame | pl.Series | pd.DataFrame | pd.Series | pa.Table
            )
            assert not isinstance(thing, np.ndarray | list | dict) or len(thing) < 5000
            waiting += gc.get_referents(thing)


def test_a_source_is_a_source_already():
    source = open_source({"a": [1]})
    assert open_source(source) is source


def test_importing_the_parts_brings_no_frame_library():
    code = "import sys; from sfumato.tables import source, counting, output, dialect; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"polars", "pandas", "pyarrow", "narwhals"} & set(found.stdout.split())


def test_storage_words_of_all_types():
    assert storage_word(pl.Decimal(10, 0)) == "int"
    assert storage_word(pl.Binary()) is None
    assert storage_word(pl.Null()) == "string"


INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
NOON = pd.Timestamp("2020-06-01 12:00", tz=INDIA)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"at": [NOON, pd.NaT]}),
        pd.DataFrame({"at": pd.array([NOON, None], dtype=pd.ArrowDtype(pa.timestamp("us", tz="+05:30")))}),
        pa.table({"at": pa.array([NOON, None], pa.timestamp("us", tz="+05:30"))}),
    ],
    ids=["pandas", "pandas-arrow", "arrow"],
)
def test_a_fixed_offset_is_read_in_utc_and_comes_back(table):
    source = open_source(table)
    (block,) = source.blocks()
    assert block["at"].dtype == source.columns[0].dtype and block["at"].dtype.time_zone == "UTC"
    assert block["at"].to_list() == [NOON, None]
    back = source.restore(block)
    kind, expected = (
        each["at"].type if isinstance(each, pa.Table) else each["at"].dtype for each in (back, table)
    )
    assert kind == expected
    assert (back["at"].to_pylist() if isinstance(back, pa.Table) else back["at"].tolist())[0] == NOON


class Unspeakable:
    """Fails in every way an object can when it is looked at."""

    def fail(self, *_):
        raise RuntimeError("secret")

    __ne__ = __str__ = __repr__ = fail


@pytest.mark.parametrize("way", [pd.DataFrame, dict], ids=["pandas", "arrays"])
def test_objects_that_cannot_be_spelled_are_missing_and_huge_numbers_stay_huge(way):
    values = [10**5000, -(10**5000), Unspeakable(), "a"]
    source = open_source(way({"o": np.array(values, object), "x": np.arange(4)}))
    (block,) = source.blocks()
    assert block["o"].to_list() == ["9" * 300, "-" + "9" * 300, None, "a"]


class Torn(list):
    """A sequence that has a length and no elements."""

    def __getitem__(self, _):
        raise RuntimeError("secret")


def test_a_column_that_cannot_be_read_is_named_before_anything_is_charged(tmp_path):
    table = {"x": np.arange(3), "torn": Torn("abc")}
    with pytest.raises(InputError, match="column 'torn' holds something that cannot be read") as caught:
        sf.fit(table, epsilon=1, ledger=tmp_path / "l", dataset="d")
    assert "secret" not in str(caught.value) and caught.value.__suppress_context__
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(
    ("table", "synthetic"),
    [
        (pd.DataFrame({"c": pd.array([None], dtype=pd.ArrowDtype(pa.null()))}), pl.Series(["a"])),
        (pd.DataFrame({"c": pd.array([1], dtype="Int8")}), pl.Series([300])),
        (pd.DataFrame({"c": np.array([1], "m8[s]")}), pl.Series(["a"])),
        ({"c": np.array([1], "m8[M]")}, pl.Series([dt.timedelta(days=40)])),
        ({"c": np.array([1], "m8[Y]")}, pl.Series([dt.timedelta(days=40), None])),
        (pa.table({"c": pa.nulls(1)}), pl.Series(["a"])),
    ],
)
def test_values_that_a_type_cannot_hold_keep_their_own(table, synthetic):
    back = open_source(table).restore(synthetic.alias("c").to_frame())["c"]
    assert (back.to_pylist() if isinstance(back, pa.ChunkedArray) else back.tolist()) == synthetic.to_list()

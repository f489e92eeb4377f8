"""Planted words, numbers and a row count: none of them may turn up in anything that leaves a fit."""

import gc
import getpass
import json
import os
import pickle
import re
import socket
import struct
import traceback
import types

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.models.training import Job
from sfumato.privacy.curator import Curator
from sfumato.privacy.filter import Budget
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.unit import PrivacyUnit
from sfumato.tables.counting import BlockCounter
from sfumato.testing import record

METHODS = [
    name for name, line in sf.methods().items() if not line.startswith("[none]") and "torch" not in line
]
ROWS = 7919
PLANTED = 200
WORDS = [f"cnry-{i:03d}-{(i * 2654435761) % 2**32:08x}" for i in range(PLANTED)]
NUMBERS = [7_312_345_678_901 + 10_007 * i * i + i for i in range(PLANTED)]
DAY = "1903-04-17"
EPSILON = 0.05


def table():
    """Most rows are alike; some hold a word or a number that no other row has."""
    rng = np.random.default_rng(0)
    rest = ROWS - PLANTED
    return pl.DataFrame(
        {
            "word": [*WORDS, *rng.choice(["red", "green"], rest).tolist()],
            "number": [*NUMBERS, *rng.integers(0, 1000, rest).tolist()],
            "day": [DAY, *["2020-02-03"] * (ROWS - 1)],
            "flag": rng.random(ROWS) < 0.3,
        },
        schema_overrides={"number": pl.Int64},
    )


SCHEMA = {
    "columns": {
        "word": {"type": "categorical", "open_set": True, "public_values": ["red"]},
        "number": {"type": "int", "min": 0, "max": 10**13},
        "day": {"type": "date", "min": "1900-01-01", "max": "2030-12-31"},
        "flag": {"type": "bool"},
    }
}


def planted(content):
    """Which canaries are in some bytes."""
    if isinstance(content, str):
        content = content.encode()
    found = [word for word in WORDS if word.encode() in content]
    for number in NUMBERS:
        forms = (str(number).encode(), struct.pack("<q", number), struct.pack("<d", number))
        found += [number for form in forms if form in content]
    return found


def counts_rows(content):
    """Whether the number of rows is among the numbers in some bytes, written out or in binary."""
    if isinstance(content, str):
        content = content.encode()
    written = re.search(rb"(?<![\d.])%d(?![\d.])" % ROWS, content) is not None
    return written or struct.pack("<q", ROWS) in content or struct.pack("<d", ROWS) in content


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("private-folder") / "private-file.csv"
    table().write_csv(path)
    return path


def artefacts(model, folder, capsys):
    """Everything that can be had from a model without the rows, by name."""
    path = folder / "model.sfumato"
    model.save(path, force=True)
    found = {"file": path.read_bytes(), "pickle": pickle.dumps(model), "repr": repr(model)}
    found["statement"] = str(model.statement) + repr(model.statement)
    for command in (["inspect"], ["inspect", "--json"], ["inspect", "--charges"], ["verify"]):
        assert run([command[0], str(path), *command[1:]]) == 0
        told = capsys.readouterr()
        found[" ".join(command)] = (told.out + told.err).replace(str(folder), "")
    for name in ("rows.csv", "rows.parquet"):
        out = folder / name
        assert run(["sample", str(path), "-o", str(out), "--rows", "3000", "--force"]) == 0
        told = capsys.readouterr()
        found[f"messages of {name}"] = (told.out + told.err).replace(str(folder), "")
        found[name] = out.read_bytes()
    found["rows of parquet"] = pl.read_parquet(folder / "rows.parquet").write_csv()
    return found


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["declared", "discovered"])
@pytest.mark.parametrize("method", METHODS)
def test_nothing_planted_turns_up(method, schema, source, tmp_path, capsys):
    seen = []
    for kind in (source, table().with_columns(pl.col("day").str.to_date())):
        model = sf.fit(kind, epsilon=EPSILON, method=method, schema=schema)
        found = artefacts(model, tmp_path, capsys)
        assert {name: planted(content) for name, content in found.items() if planted(content)} == {}
        assert str(source.parent).encode() not in found["file"] + found["pickle"]
        assert source.name.encode() not in found["file"] + found["pickle"]
        seen.append({name for name, content in found.items() if counts_rows(content)})
    # A noisy number may happen to be that of the rows, but not twice in the same place.
    assert seen[0] & seen[1] == set()


FORBIDDEN = re.compile(
    r"^(n|n_rows|num_rows|size|elapsed|duration|seconds|time|timestamp|created|started|path|file|folder|host\w*|"
    r"user\w*|seed|random_state|input\w*|fingerprint|checksum|missing_rate|mean|std|loss|score|sample)$"
)


@pytest.mark.parametrize("method", METHODS)
def test_a_file_has_no_field_for_what_it_must_not_hold(method, source, tmp_path):
    model = sf.fit(source, epsilon=EPSILON, method=method)
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    manifest = json.loads(header["__metadata__"]["manifest"])

    def keys(value):
        if isinstance(value, dict):
            yield from value
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(item)

    assert [key for key in keys(manifest) if FORBIDDEN.match(key)] == []
    for word in (socket.gethostname(), getpass.getuser(), os.getcwd()):  # noqa: PTH109
        assert len(word) < 6 or word.encode() not in content
    # No clock either: the same model gives the same bytes.
    model.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == content


# ---- messages ---------------------------------------------------------------------------------------


def bad_csv(tmp_path, line):
    path = tmp_path / "bad.csv"
    good = f"{WORDS[0]},1,x\n"
    path.write_bytes(b"word,number,other\n" + good.encode() * 5 + line + good.encode())
    return path


def failures(tmp_path):
    """Runs that must fail, on tables full of canaries."""
    word = WORDS[1].encode()
    frame = table()
    lines = {
        "ragged": word + b",1,2,3\n",
        "short": word + b"\n",
        "open quote": b'"' + word + b",1,2\n",
        "stray quote": word + b'"x,1,2\n',
        "encoding": word + b"\xff,1,2\n",
        "nul": word + b"\x00,1,2\n",
        "return": word + b"\r,1,2\n",
    }
    for name, line in lines.items():
        yield name, bad_csv(tmp_path, line), {}
    cut = tmp_path / "cut.parquet"
    frame.write_parquet(cut)
    content = cut.read_bytes()
    cut.write_bytes(content[:200] + bytes(400) + content[600:])
    yield "damaged", cut, {}
    yield "nested", pl.DataFrame({"a": [[word] for word in WORDS]}), {}
    yield "lazy", frame.lazy().with_columns(pl.col("word").cast(pl.Int64)), {}
    yield "dtype", frame, {"schema": {"columns": {**SCHEMA["columns"], "flag": {"type": "date"}}}}
    yield "undeclared", frame, {"schema": {"columns": {"word": SCHEMA["columns"]["word"]}}}
    yield "missing", frame, {"schema": {"columns": {**SCHEMA["columns"], "more": {"type": "bool"}}}}
    yield "unit", frame, {"unit": ("person", 2)}
    few = {**SCHEMA["columns"], "word": {"type": "id", "pattern": "[a-c]"}}
    yield "keys", frame, {"schema": {"columns": few}, "rows": 10}
    yield "names", frame.rename({"word": "number "}), {"schema": SCHEMA}


def test_no_message_quotes_a_cell(tmp_path, capsys):
    tried = 0
    for name, kind, options in failures(tmp_path):
        with pytest.raises(sf.SfumatoError) as caught:
            sf.fit(kind, epsilon=1.0, method="independent", **options)
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert planted(told) == [], name
        tried += 1
        if not options and hasattr(kind, "suffix"):
            out = tmp_path / "m"
            assert run(["fit", str(kind), "--epsilon", "1", "-o", str(out)]) == 2, name
            shown = capsys.readouterr()
            assert planted(shown.out + shown.err) == [], name
            assert "Traceback" not in shown.err
            assert not out.exists()
    assert tried > 12


def test_no_message_about_a_model_quotes_a_cell():
    model = sf.fit(table(), epsilon=EPSILON, method="independent", schema=SCHEMA)
    for where in ({"word": WORDS[3]}, {"number": "many"}, {"none": 1}):
        with pytest.raises(sf.SfumatoError) as caught:
            model.sample(3, where=where)
        asked = str(caught.value).replace(WORDS[3], "")
        assert planted(asked) == []


def test_what_holds_rows_shows_none(source):
    private = PrivateTable.open(source)
    curator = private.curator(unit=PrivacyUnit(), budget=Budget(epsilon=EPSILON, delta=1e-9))
    curator.total(spend=curator.left / 2)
    job = record(table(), epsilon=EPSILON, method="independent", schema=SCHEMA).job
    for shown in (private, curator, job, job.budget, curator.ledger, curator.filter):
        assert planted(repr(shown) + str(shown)) == []
        assert not counts_rows(repr(shown))
    assert isinstance(job, Job)
    with pytest.raises(TypeError, match="private rows"):
        pickle.dumps(job)


# ---- memory -----------------------------------------------------------------------------------------


def reachable(start):
    """Everything that an object holds on to, short of code."""
    stop = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.FrameType)
    waiting, seen = [start], set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen or (isinstance(found, stop) and not isinstance(found, types.BuiltinMethodType)):
            continue
        seen.add(id(found))
        yield found
        waiting += [found.__self__] if isinstance(found, types.MethodType) else []
        waiting += gc.get_referents(found)


SIZED = (pl.Series, pl.DataFrame, list, tuple, dict, set, str, bytes)


def pandas_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({name: column.to_list() for name, column in table().to_dict(as_series=True).items()})
    frame["word"] = frame["word"].astype("category")
    return frame


def enum_table():
    return table().with_columns(pl.col("word").cast(pl.Enum(sorted({*WORDS, "red", "green"}))))


def arrow_table():
    pytest.importorskip("pyarrow")
    return enum_table().to_arrow()


@pytest.mark.parametrize("make", [table, enum_table, pandas_table, arrow_table, lambda: table().to_dict()])
@pytest.mark.parametrize("method", ["independent", "mst"])
def test_a_model_holds_no_row(make, method):
    model = sf.fit(make(), epsilon=EPSILON, method=method, schema=SCHEMA)
    model.sample(20)
    held = list(reachable(model))
    assert not [each for each in held if isinstance(each, Curator | PrivateTable | BlockCounter)]
    assert not [each for each in held if type(each).__module__.startswith("sfumato.tables.engines")
                and type(each).__name__.endswith("Source")]  # fmt: skip
    arrays = [each for each in held if isinstance(each, np.ndarray)]
    assert arrays
    assert not [each for each in arrays if each.size == ROWS]
    assert not [each for each in held if isinstance(each, SIZED) and len(each) == ROWS]
    texts = [each for each in held if isinstance(each, str)]
    assert planted("\n".join(texts)) == []
    again = pickle.loads(pickle.dumps(model))
    assert planted(pickle.dumps(model)) == []
    assert again.restore is None
    assert again.sample(5, seed=1).shape[0] == 5
    assert sf.verify(again).epsilon == model.statement.epsilon


@pytest.mark.parametrize("make", [enum_table, pandas_table, arrow_table])
def test_the_type_of_a_synthetic_column_lists_no_label_of_the_rows(make):
    model = sf.fit(make(), epsilon=EPSILON, method="independent", schema=SCHEMA)
    made = model.sample(500)
    assert type(made) is type(make())
    assert planted(pickle.dumps(made)) == []


def test_a_schema_that_was_bought_shows_nothing_planted(source):
    schema, notes = sf.draft_schema(source, epsilon=0.1)
    assert planted(schema.to_toml() + schema.to_json() + repr(schema) + repr(notes)) == []
    assert not counts_rows(schema.to_toml())
    free, notes = sf.draft_schema(source)
    assert planted(free.to_toml() + repr(free) + repr(notes)) == []

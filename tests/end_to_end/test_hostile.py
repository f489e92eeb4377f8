"""Hostile inputs, numbered as in the threat list: refused before the first charge, or fitted to a valid model.

Each is run from the command line; `tests.end_to_end.hostile` says what must hold either way.
"""

import json
import os

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import CANARY, charged, left_behind, sfumato
from tests.end_to_end.hostile import accepted, attempt, refused

import sfumato as sf
from sfumato.errors import InputError, UsageError

LARGE = 10.0
"""An epsilon at which noise hides little, to see what comes out."""


@pytest.fixture
def folder(tmp_path):
    """Where outputs go."""
    path = tmp_path / "outputs"
    path.mkdir()
    return path


@pytest.fixture
def write(tmp_path):
    """Writes a table beside it."""

    def put(content, name="visits.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def lines(header, *rows, times=1):
    return "\n".join([header, *rows * times]) + "\n"


def test_01_an_empty_file(folder, write):
    refused(folder, write(""), parts=("visits.csv", "is empty"))


def test_02_no_rows(folder, write):
    table = write("x,y\n")
    refused(folder, table, parts=("visits.csv", "a header but no rows"))
    with pytest.raises(InputError, match="no rows"):
        sf.fit(pl.DataFrame({"x": []}, schema={"x": pl.Int64}), epsilon=1)
    model = sf.fit(table, epsilon=1, allow_empty=True)
    assert sf.verify(model).epsilon <= 1 and len(model.sample(5)) == 5


def test_03_one_row(folder, write):
    assert accepted(folder, write(lines("x,y", f"1,{CANARY}"))).columns == ["x", "y"]


def test_04_fewer_rows_than_a_person_may_have(folder, write):
    table = write(lines("who,x", f"{CANARY},1", f"{CANARY},2"))
    accepted(folder, table, "--unit", "who", "--at-most", 50)


def test_05_a_constant_column(folder, write):
    frame = accepted(folder, write(lines("x,y", "7,a", "7,b", times=2000)), epsilon=LARGE)
    assert set(frame["x"]) == {"7"} or frame["x"].value_counts(sort=True)["x"][0] == "7"


def test_06_a_column_without_values(folder, write):
    frame = accepted(folder, write(lines("x,y", ",a", ",b", times=300)))
    assert frame["x"].null_count() in (0, frame.height) or set(frame["x"].drop_nulls()) <= {"OTHER", "0", "1"}
    schema = write(
        '[columns]\nx = {type = "int"}\ny = {type = "categorical", values = ["a", "b"]}\n', "s.toml"
    )
    for path in folder.iterdir():
        path.unlink()
    accepted(folder, write(lines("x,y", ",a", ",b", times=300)), "--schema", schema)


@pytest.mark.parametrize("method", ["independent", "mst", "adaptive"])
def test_06_a_table_without_values(folder, write, method):
    accepted(folder, write(lines("x,y,z", ",,", times=300)), "--method", method)


def test_07_columns_of_one_name(folder, write):
    refused(folder, write(lines("age,b,age,c", "1,2,3,4")), parts=("columns 1 and 3", "'age'", "--names"))


def test_08_names_that_cannot_be_used(folder, write):
    table = write(lines('a,, ,"b\x07",' + "x" * 10_000, "1,2,3,4,5"))
    refused(folder, table, parts=("4 faults", "column 2", "column 3", "column 4", "column 5", "256"))


def test_08_names_that_differ_in_case(folder, write):
    ran = attempt(folder, write(lines("Age,age", "1,2", times=50)))
    assert ran.code == 0 and "differ only in case" in ran.err


def test_09_very_many_categories(folder, write):
    rows = [f"v{i},common" for i in range(60_000)] + ["often,common"] * 3000
    frame = accepted(folder, write(lines("x,y", *rows)), epsilon=2)
    assert set(frame["x"]) == {"often", "OTHER"} and "common" in set(frame["y"]) <= {"common", "OTHER"}


def test_10_all_values_distinct(folder, write):
    ran = attempt(folder, write(lines("key,x", *(f"{CANARY}{i},{i % 3}" for i in range(3000)))))
    assert ran.code == 0 and "'key'" in ran.err and '{type = "id"' in ran.err
    assert set(pl.read_csv(folder / "out.csv")["key"]) == {"OTHER"}


def test_11_free_text_and_huge_cells(folder, write):
    rows = [f"{CANARY} text {i},1" for i in range(50)] + [
        "x" * 1_000_000 + ",2",
        f'"{CANARY}\n{"y" * 70_000}",3',
    ]
    assert set(accepted(folder, write(lines("note,x", *rows)))["note"]) == {"OTHER"}


def test_12_what_is_not_a_finite_number(folder, write):
    schema = write(
        '[columns]\nx = {type = "float", decimals = 1, min = 0, max = 5, nullable = true}\n', "s.toml"
    )
    table = write(lines("x", "NaN", "inf", "-inf", "1e999", "-1e999", "2.5", times=200))
    frame = accepted(folder, table, "--schema", schema, epsilon=LARGE)
    values = frame["x"].cast(pl.Float64)
    assert values.drop_nulls().is_between(0, 5).all()
    assert values.null_count() / len(values) == pytest.approx(1 / 6, abs=0.05)  # infinities are at the bounds


def test_12_not_a_number_in_a_frame():
    frame = pl.DataFrame({"x": [float("nan"), float("inf"), -float("inf"), 1.5, None] * 200})
    made = sf.generate(frame, epsilon=LARGE, method="independent")
    assert made.schema == frame.schema and made["x"].is_finite().fill_null(value=True).all()


@pytest.mark.parametrize("value", [str(2**63), str(-(2**63) - 1), "9" * 40, "9" * 5000])
def test_13_whole_numbers_beyond_64_bits(folder, write, value):
    schema = write('[columns]\nx = {type = "int", min = 0, max = 9}\n', "s.toml")
    table = write(lines("x", value, "5", times=200))
    frame = accepted(folder, table, "--schema", schema, epsilon=LARGE)
    edge = "0" if value[0] == "-" else "9"
    assert frame["x"].is_in([edge, "5"]).mean() > 0.95
    for path in folder.iterdir():
        path.unlink()
    accepted(folder, table)


def test_14_whole_numbers_stay_exact_beside_missing_ones():
    big = 2**53 + 1
    facts = {"columns": {"x": {"type": "int", "min": big - 2, "max": big + 2, "nullable": True}}}
    for frame in (
        pl.DataFrame({"x": [big, None] * 500}),
        pl.DataFrame({"x": [big, None] * 500}).to_pandas(use_pyarrow_extension_array=True),
    ):
        made = sf.generate(frame, epsilon=LARGE, schema=facts, method="independent")
        values = made["x"].to_list() if isinstance(made, pl.DataFrame) else made["x"].dropna().tolist()
        assert {value for value in values if isinstance(value, int)} >= {big}
        assert type(made) is type(frame) and made["x"].dtype == frame["x"].dtype


def test_15_mixed_types(folder, write):
    table = write(lines("x", "1", "foo", "2.5", times=500))
    frame = accepted(folder, table, epsilon=LARGE)
    assert frame.height > 1000
    for path in folder.iterdir():
        path.unlink()
    schema = write('[columns]\nx = {type = "int", min = 0, max = 9, nullable = true}\n', "s.toml")
    frame = accepted(folder, table, "--schema", schema, epsilon=LARGE)
    assert (
        frame["x"].is_in(["1", None], nulls_equal=True).mean() > 0.95
        and 0.6 < frame["x"].null_count() / frame.height < 0.72
    )


def test_15_one_row_does_not_change_a_type(folder, write):
    rows = ["1,a"] * 1500 + ["2,b"] * 1500
    frame = accepted(folder, write(lines("x,y", *rows, f"{CANARY},c")), epsilon=LARGE)
    assert all(text.lstrip("-").isdecimal() for text in frame["x"])


def test_16_leading_zeros(folder, write):
    frame = accepted(folder, write(lines("zip", "02139", "00501", times=2000)), epsilon=LARGE)
    assert set(frame["zip"]) - {"OTHER"} == {"02139", "00501"}


def test_17_words_that_other_readers_take_for_missing(folder, write):
    words = ("NA", "None", "null", "nan", "N/A", "-")
    frame = accepted(
        folder, write(lines("land,x", *(f"{word},1" for word in words), times=400)), epsilon=LARGE
    )
    assert set(frame["land"]) - {"OTHER"} == set(words)


def test_18_yes_and_no(folder, write):
    rows = ("yes,TRUE,T", "no,FALSE,F")
    frame = accepted(folder, write(lines("a,b,c", *rows, times=1000)), epsilon=LARGE)
    for name, words in {"a": {"yes", "no"}, "b": {"TRUE", "FALSE"}, "c": {"T", "F"}}.items():
        assert set(frame[name]) - {"OTHER"} == words


DATES = ("2021-04-05", "05/04/2021", "0001-01-01", "9999-12-31", "2021-02-30", "2021-03-28T02:30:00", "soon")


def test_19_dates_of_all_sorts(folder, write):
    table = write(lines("day", *DATES, times=300))
    accepted(folder, table, epsilon=LARGE)
    for path in folder.iterdir():
        path.unlink()
    schema = write('[columns]\nday = {type = "date", min = "2020-01-01", max = "2022-12-31", nullable = true}\n', "s.toml")  # fmt: skip
    frame = accepted(folder, table, "--schema", schema, epsilon=LARGE)
    days = frame["day"].drop_nulls().str.to_date()
    assert days.is_between(pl.date(2020, 1, 1), pl.date(2022, 12, 31)).all()
    assert {"2020-01-01", "2022-12-31", "2021-04-05"} <= set(frame["day"])


def test_19_moments_that_do_not_exist(folder, write):
    facts = '{type = "datetime", timezone = "Europe/Amsterdam", min = "2021-03-27", max = "2021-03-29", nullable = true}'
    schema = write(f"[columns]\nat = {facts}\n", "s.toml")
    table = write(
        lines("at", "2021-03-28 02:30:00", "2021-03-28 03:30:00", "2021-10-31T02:30:00+02:00", times=200)
    )
    accepted(folder, table, "--schema", schema, epsilon=LARGE)


def test_20_decimal_commas(folder, write):
    rows = [f"{i % 9},25;{i % 4}.000,5" for i in range(3000)]
    table = write(lines("x;y", *rows))
    frame = accepted(folder, table, "--delimiter", ";", "--decimal", ",", epsilon=LARGE)
    assert frame.height > 2000
    written = (folder / "out.csv").read_text().splitlines()[1:]
    amounts = [line.split(";")[0] for line in written]
    assert all("." not in amount for amount in amounts)
    assert np.mean([float(amount.replace(",", ".")) for amount in amounts]) == pytest.approx(4.25, abs=0.5)


def test_20_without_the_option_nothing_is_guessed(folder, write):
    frame = accepted(folder, write(lines("x", '"1,5"', '"2,5"', times=500)), epsilon=LARGE)
    assert set(frame["x"]) - {"OTHER"} == {"1,5", "2,5"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_21_22_byte_order_marks(folder, write, encoding):
    text = lines("straße,x", "é,1", "ö,2", times=900)
    bom = "\ufeff" if encoding == "utf-16-le" else ""
    frame = accepted(folder, write((bom + text).encode(encoding)), epsilon=LARGE)
    assert frame.columns == ["straße", "x"] and set(frame["straße"]) - {"OTHER"} == {"é", "ö"}


def test_22_utf_16_without_a_mark(folder, write):
    refused(folder, write(lines("x,y", f"{CANARY},1").encode("utf-16-le")), parts=("NUL", "encoding utf-16"))


def test_23_latin_1(folder, write):
    table = write(lines("x,y", "1,a", f"2,{CANARY}é").encode("latin-1"))
    refused(folder, table, parts=("visits.csv, line 3", "UTF-8", "latin-1"))
    accepted(folder, write(lines("x,y", "1,é", "2,e", times=99).encode("latin-1")), "--encoding", "latin-1")


def test_24_nul_bytes(folder, write):
    refused(folder, write(lines("x,y", "1,a", f"2,{CANARY}\0")), parts=("visits.csv, line 3", "NUL"))


def test_25_a_long_row_deep_in_the_file(folder, write):
    rows = ["1,a"] * 30_000 + [f"2,{CANARY},3"] + ["1,b"] * 10
    table = write(lines("x,y", *rows))
    refused(folder, table, parts=("visits.csv, line 30002", "3 fields", "2 fields", "bad"))
    frame = accepted(folder, table, "--bad-rows", "drop")
    assert 29_000 < frame.height < 31_000


def test_26_every_row_longer_than_the_header(folder, write):
    table = write(lines("x,y", f"{CANARY},1,a", "2,3,b", times=9))
    refused(folder, table, parts=("visits.csv, line 2", "3 fields", "index column"))


def test_27_a_short_row(folder, write):
    table = write(lines("x,y", "1,a", CANARY, "2,b"))
    refused(folder, table, parts=("visits.csv, line 3", "1 field"))
    accepted(folder, table, "--bad-rows", "drop")


def test_28_quotes_and_other_delimiters(folder, write):
    frame = accepted(folder, write(lines("x,y", '"a\nb","c ""d"""', times=900)), epsilon=LARGE)
    assert {"a\nb"} <= set(frame["x"]) <= {"a\nb", "OTHER"}
    assert {'c "d"'} <= set(frame["y"]) <= {'c "d"', "OTHER"}
    for path in folder.iterdir():
        path.unlink()
    refused(folder, write(lines("x,y", "1,a", f'2,"{CANARY}', "3,b")), parts=("line 3", "quote"))
    refused(folder, write(lines("x;y", f"1;{CANARY}")), parts=("visits.csv", "';'"))


def test_29_formulas(folder, write):
    table = write(lines("x,y", "=cmd|' /C calc'!A0,-1", "@SUM(1),+2", times=900))
    frame = accepted(folder, table, "--csv-safe", epsilon=LARGE)
    assert {text[:2] for text in frame["x"]} - {"OT"} == {"'=", "'@"}
    assert not any(text.startswith("'") for text in frame["y"])


def test_30_escapes_in_names_and_labels(folder, write):
    table = write(lines("a\u202eb,y", "\x1b[31mred,1", "\u2066x,2", times=900))
    ran = attempt(folder, table, epsilon=LARGE)
    shown = sfumato("inspect", folder / "model.sfumato")
    assert ran.code == shown.code == 0
    for text in (ran.printed, shown.printed):
        assert not {"\x1b", "\u202e", "\u2066"} & set(text)
    frame = pl.read_csv(folder / "out.csv", infer_schema=False)
    assert frame.columns[0] == "a\u202eb" and "\x1b[31mred" in set(frame["a\u202eb"])


def parquet(tmp_path, frame, name="visits.parquet"):
    path = tmp_path / name
    frame.write_parquet(path)
    return path


def test_31_nested_columns(folder, tmp_path):
    frame = pl.DataFrame({"x": [[1, 2]], "y": [{"a": CANARY}], "z": [1], "b": [CANARY.encode()]})
    refused(folder, parquet(tmp_path, frame), parts=("visits.parquet", "'x'", "'y'", "'b'"))


def test_31_labels_that_are_listed_but_not_used(folder, tmp_path):
    labels = pl.Enum(["a", "b", CANARY])
    frame = pl.DataFrame({"x": pl.Series(["a", "b"] * 2000, dtype=labels)})
    made = accepted(folder, parquet(tmp_path, frame), epsilon=LARGE)
    assert set(made["x"]) - {"OTHER"} == {"a", "b"}
    pandas = frame.to_pandas()
    made = sf.generate(pandas, epsilon=LARGE, method="independent")
    assert made["x"].dtype.name == "category" and CANARY not in list(made["x"].cat.categories)


@pytest.mark.parametrize(
    ("content", "name", "part"),
    [
        (b"PARE" + b"x" * 99 + b"PARE", "t.parquet", "encrypted"),
        (b"x,y\n1,2\n", "t.parquet", "not a Parquet file"),
        (b"PAR1" + b"x" * 99 + b"PAR1", "t.csv", "Parquet"),
        (b"PK\x03\x04", "t.xlsx", "spreadsheet"),
        (b"{}", "t.json", "JSON"),
        (b"x", "t.pkl", "pickle"),
        (b"\x1f\x8bxxx", "t.csv", "gzip"),
        (b"x,y\n1,2\n", "t.csv.gz", "not gzip"),
        (b"PAR1" + b"\xff" * 60 + b"\xff\xff\xff\x7fPAR1", "t.parquet", "damaged"),
    ],
)
def test_31_files_of_another_kind(folder, write, content, name, part):
    refused(folder, write(content, name), parts=(name, part))


def test_32_damage_inside_a_parquet_file(folder, tmp_path):
    """Pages are damaged, the footer is whole: the rows are looked at before anything is charged."""
    frame = pl.DataFrame({"x": range(5000), "y": [f"{CANARY}{i * i}" for i in range(5000)]})
    path = parquet(tmp_path, frame)
    content = bytearray(path.read_bytes())
    content[8 : len(content) // 2] = os.urandom(len(content) // 2 - 8)
    path.write_bytes(content)
    refused(folder, path, parts=("visits.parquet", "damaged"))
    path.write_bytes(bytes(content)[: len(content) // 2])
    refused(folder, path, parts=("visits.parquet", "cut short"))


def test_32_a_file_that_grows_while_it_is_read(monkeypatch, folder, write):
    """It cannot be known before: the run is charged, and ends without an artefact and without a value."""
    from sfumato.privacy.curator import Curator

    table = write(lines("x,y", "1,a", times=50))
    release, calls = Curator.release, []

    def grow(self, mechanism, *, purpose):
        calls.append(purpose)
        if len(calls) == 2:
            with table.open("a") as stream:
                stream.write(f"2,{CANARY}\n")
        return release(self, mechanism, purpose=purpose)

    monkeypatch.setattr(Curator, "release", grow)
    words = ("--epsilon", 1, "--ledger", folder / "ledger", "--dataset", "d")
    ran = sfumato("generate", table, "-o", folder / "out.csv", *words)
    assert ran.code == 2 and "changed while it was being read" in ran.err and CANARY not in ran.err
    assert left_behind(folder) == {"ledger"} and charged(folder / "ledger") == 1


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    frame = pl.DataFrame({"x": ["a", "b"] * 200, "y": list(range(10)) * 40})
    facts = {
        "columns": {
            "x": {"type": "categorical", "values": ["a", "b"]},
            "y": {"type": "int", "min": 0, "max": 9},
        }
    }
    sf.fit(frame, epsilon=1, schema=facts, method="independent").save(place / "m.sfumato")
    return place / "m.sfumato"


def test_33_places_that_are_no_files(folder, tmp_path, model, write):
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    table = write(lines("x", "1", times=9))
    for place, part in (("link.csv", "symbolic link"), ("pipe.csv", "not a regular file"), (".", "kind")):
        ran = sfumato("generate", table, "-o", tmp_path / place, "--epsilon", 1, "--force")
        assert ran.code == 2 and part in ran.err
    assert not (tmp_path / "elsewhere.csv").exists()
    for place, part in ((tmp_path / "pipe.csv", "not a regular file"), (tmp_path, "not a regular file")):
        ran = sfumato("inspect", place)
        assert ran.code == 2 and part in ran.err
    assert sfumato("generate", "/dev/stdin", "-o", folder / "o.csv", "--epsilon", 1).code == 2
    assert sfumato("generate", "../../etc/none.csv", "-o", folder / "o.csv", "--epsilon", 1).code == 2


def rewritten(model, change):
    """The bytes of a model file with its manifest changed by `change`."""
    content = model.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    facts = json.loads(header["__metadata__"]["manifest"])
    text = change(facts)
    header["__metadata__"]["manifest"] = text if isinstance(text, str) else json.dumps(facts)
    packed = json.dumps(header).encode()
    return len(packed).to_bytes(8, "little") + packed + content[8 + size :]


def test_34_headers_that_claim_too_much(tmp_path, model):
    content = model.read_bytes()
    path = tmp_path / "m.sfumato"
    for head in ((1 << 62), (1 << 63) - 1, (1 << 64) - 1, len(content), 1 << 27):
        path.write_bytes(head.to_bytes(8, "little") + content[8:])
        ran = sfumato("verify", path)
        assert ran.code == 2 and "not a model file, or it is cut short" in ran.err
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    name = next(key for key in header if key != "__metadata__")
    header[name]["shape"], header[name]["data_offsets"] = [1 << 60], [0, 1 << 63]
    packed = json.dumps(header).encode()
    path.write_bytes(len(packed).to_bytes(8, "little") + packed + content[8 + size :])
    assert sfumato("verify", path).code == 2


def _charge(facts):
    facts["ledger"]["entries"][0]["cost"]["add-remove"]["mu2"] = 0.0


def _twice(facts):
    return json.dumps(facts)[:-1] + ', "method": "independent"}'


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda facts: facts.update(version=99), "version 99"),
        (lambda facts: facts.update(version=0), "version 0"),
        (lambda facts: facts.update(format="other"), "not a model file of sfumato"),
        (lambda facts: facts.update(more=1), "more"),
        (lambda facts: facts.pop("notes"), "notes"),
        (_charge, "entry 0 does not match its hash"),
        (_twice, "twice"),
        (lambda facts: json.dumps(facts).replace("1e-09", "NaN", 1), "NaN"),
        (lambda facts: json.dumps(facts).replace("1e-09", "Infinity", 1), "Infinity"),
        (lambda facts: json.dumps(facts)[:-1] + ', "x": ' + "9" * 5000 + "}", ""),
        (lambda facts: json.dumps(facts)[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}", ""),
        (lambda facts: facts.update(codecs=[]), ""),
        (lambda facts: facts.update(statement={**facts["statement"], "epsilon": 0.1}), "stated guarantee"),
        (lambda facts: facts.update(generator="none"), ""),
        (lambda facts: "", ""),
        (lambda facts: "[1, 2]", ""),
    ],
)
def test_35_models_that_were_altered(tmp_path, model, change, part):
    path = tmp_path / "m.sfumato"
    path.write_bytes(rewritten(model, change))
    for words in (("verify", path), ("sample", path, "-o", tmp_path / "o.csv"), ("inspect", path)):
        ran = sfumato(*words)
        assert ran.code == 2 and "m.sfumato" in ran.err and part in ran.err, ran.err
    assert left_behind(tmp_path) == {"m.sfumato"}
    with pytest.raises(sf.SfumatoError, match=r"m\.sfumato"):
        sf.load(path)


def test_35_numbers_that_were_altered_fail_verification(tmp_path, model):
    """The high bytes of ten of the last numbers, one by one."""
    content, path = model.read_bytes(), tmp_path / "m.sfumato"
    for place in range(len(content) - 1, len(content) - 240, -24):
        changed = bytearray(content)
        changed[place] ^= 0x40
        path.write_bytes(changed)
        assert sfumato("verify", path).code in (2, 3)


def test_35_cut_or_torn_models(tmp_path, model):
    content, path = model.read_bytes(), tmp_path / "m.sfumato"
    for piece in (
        b"",
        content[:7],
        content[:100],
        content[:-1],
        content + b"x",
        b"\0" * 500,
        os.urandom(3000),
    ):
        path.write_bytes(piece)
        assert sfumato("inspect", path).code == 2


SCHEMAS = [
    ('[columns]\nx = {type = "int", min = 5, max = 1}\n', "columns.x"),
    ('[columns]\nx = {type = "int", min = 0, max = inf}\n', "columns.x.max"),
    ('[columns]\nx = {type = "categorical", values = []}\n', "columns.x.values"),
    ('[columns]\nx = {type = "categorical", values = ["a", "a"]}\n', "columns.x.values"),
    ('[columns]\nx = {type = "categorical"}\n', "columns.x.values"),
    ('[columns]\nx = {type = "int", min = 0, max = 1}\nx = {type = "bool"}\n', "line 3"),
    (
        '[columns]\nx = {type = "int"}\nage = {type = "bool"}\n',
        "columns.age: is declared, but the table has no",
    ),
    ('[columns]\nX = {type = "int"}\n', "did you mean 'x'?"),
    ('[columns]\nx = {type = "int"}\n', "columns.y: is in the table, but not declared"),
    (
        'unit = {column = "z", at_most = 1}\n[columns]\nx = {type = "int"}\ny = {type = "int"}\n',
        "unit.column",
    ),
    ("[columns\n", "line 1"),
    ('[columns]\nx = {type = "flot"}\n', "'float'"),
    ('[columns]\nx = {type = "int", source = "leaks"}\ny = {type = "int"}\n', "accept_leaks"),
]


@pytest.mark.parametrize(("text", "part"), SCHEMAS, ids=[part for _, part in SCHEMAS])
def test_36_schemas_with_faults(folder, write, text, part):
    table, schema = write(lines("x,y", f"1,{CANARY}", times=9)), write(text, "s.toml")
    refused(folder, table, "--schema", schema, parts=(part, "fault"))


def test_36_a_schema_is_read_before_the_table(folder, write, tmp_path):
    schema = write('[columns]\nx = {type = "int", min = 5, max = 1}\n', "s.toml")
    refused(folder, tmp_path / "none.csv", "--schema", schema, parts=("columns.x",))


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "1.0", True, 1e9])
def test_37_epsilons(epsilon, tmp_path):
    with pytest.raises(UsageError, match="epsilon"):
        sf.fit(tmp_path / "none.csv", epsilon=epsilon)


@pytest.mark.parametrize("delta", [0, -1e-9, 1, 2, float("nan"), "1e-9"])
def test_37_deltas(delta, tmp_path):
    with pytest.raises(UsageError, match="delta"):
        sf.fit(tmp_path / "none.csv", epsilon=1, delta=delta)


def test_37_large_values_are_warned_of_in_python():
    frame = pl.DataFrame({"x": [1, 2] * 20})
    facts = {"rows_at_most": 100, "columns": {"x": {"type": "int", "min": 1, "max": 2}}}
    with pytest.warns(sf.PrivacyWarning, match="epsilon = 50 is large"):
        sf.fit(frame, epsilon=50, schema=facts, method="independent")
    with pytest.warns(sf.PrivacyWarning, match="over 1 in 100 rows"):
        sf.fit(frame, epsilon=1, delta=0.1, schema=facts, method="independent")

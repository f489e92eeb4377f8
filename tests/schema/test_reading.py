"""Schema files: what is written reads back equal, and every fault is named with its path, all at once."""

import csv
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared_data import case, case_names
from tests.strategies import columns, labels

from sfumato.domain.codecs import codec_for
from sfumato.domain.kinds import Categorical, Id, Int, kinds
from sfumato.errors import SchemaError
from sfumato.schema import Rule, Schema, Unit, from_json, from_toml, lint, read_schema

_names = (labels | st.sampled_from(["a.b", "1", "x,\ny", "_id", "type", "columns", "ü"])).filter(
    lambda name: name.strip() and "\0" not in name
)


@st.composite
def schemas(draw):
    names = draw(st.lists(_names, unique=True, min_size=1, max_size=3))
    made = [draw(columns(name)) for name in names]
    rules = []
    if len(names) > 1:
        allowed = draw(st.sampled_from([None, (tuple(_a_value(column) for column in made),)]))
        rules.append(Rule("fixed_combinations", tuple(names), allowed=allowed))
    return Schema(
        made,
        table=draw(st.text(max_size=5)),
        neighbours=draw(st.sampled_from(["add-remove", "replace"])),
        rows_at_most=draw(st.none() | st.integers(1, 10**12)),
        unit=draw(st.none() | st.builds(Unit, column=_names, at_most=st.integers(1, 9))),
        undeclared=draw(st.sampled_from(["error", "draft", "drop"])),
        accept_leaks=draw(st.booleans()),
        bought=draw(
            st.none()
            | st.dictionaries(
                st.sampled_from(["epsilon", "delta", "mu2"]), st.floats(0, 1e9) | st.just("1/3")
            )
        ),
        rules=rules,
        note=draw(st.sampled_from(["", "said\n\"so\" \\ \t'''"])),
    )


def _a_value(column):
    return column.values[0] if isinstance(column, Categorical) and column.values else "x"


@given(schema=schemas())
@settings(max_examples=60, deadline=None)
def test_a_schema_reads_back_equal_from_toml_json_and_its_own_values(schema):
    text = schema.to_toml()
    assert from_toml(text) == schema, text
    assert from_toml(text).to_toml() == text
    assert from_json(schema.to_json()) == schema
    assert read_schema(schema.to_dict()) == schema and read_schema(schema) is schema
    assert [row.column for row in schema.show()] == list(schema.names)
    assert all(note.severity in ("warning", "advice", "info") for note in lint(schema))


_WORDS = """type min max values special_codes format pattern unit rules columns source nullable storage int
float categorical date datetime duration id text bool at_most less_or_equal allowed bought leaks %Y%m%d a b"""
_words = st.sampled_from(_WORDS.split())
_plain = st.none() | st.booleans() | st.integers() | st.floats() | _words | st.text(max_size=3)
_anything = st.recursive(
    _plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=12,
)
_column = st.dictionaries(_words, _anything, max_size=4).flatmap(
    lambda facts: st.sampled_from(sorted(kinds)).map(lambda word: {**facts, "type": word})
)
_table = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("table", "unit", "rules", "bought", "rows_at_most", "note"), _anything)
)


@given(columns=st.dictionaries(_words, _column | _anything, max_size=3) | _anything, rest=_table)
@settings(max_examples=300, deadline=None)
def test_whatever_a_file_holds_it_is_a_schema_or_a_list_of_faults(columns, rest):
    try:
        schema = read_schema({"columns": columns, **rest})
    except SchemaError as error:
        assert error.faults and all(fault.where and fault.what for fault in error.faults)
    else:
        assert from_toml(schema.to_toml()) == schema
        lint(schema)


def faults_of(source, read=from_toml):
    with pytest.raises(SchemaError) as caught:
        read(source)
    return {fault.where: f"{fault.what} | {fault.mend}" for fault in caught.value.faults}


def test_all_faults_of_a_file_are_listed_at_once():
    found = faults_of(
        """
        tabel = "x"
        neighbours = "both"
        rows_at_most = 0
        unit = {column = "p", at_mst = 2}
        [columns]
        age = {type = "int", min = 90, max = 18, mx = 3}
        b = {type = "flot"}
        c = 3
        d = {type = "date", min = 2021-04-05, max = 2020-04-05}
        e = {type = "int", min = 0}
        f = {type = "int", source = "leaks"}
        g = {type = "bool", source = {spelling = "leaks"}}
        w = {type = "duration"}
        [[rules]]
        less_or_eqal = ["e", "f"]
        [[rules]]
        less_or_equal = ["e", "g"]
        [[rules]]
        less_or_equal = ["e", "age"]
        [[rules]]
        fixed_combinations = ["e", "ee"]
        [[rules]]
        less_than = ["e", "w"]
        """
    )
    expected = {
        "tabel": "did you mean 'table'",
        "neighbours": "expected one of 'add-remove', 'replace'",
        "rows_at_most": "expected 1 or more",
        "unit.at_mst": "known: column, at_most",
        "unit.at_most": "is missing",
        "columns.age.min": "above max",
        "columns.age.mx": "did you mean 'max'",
        "columns.b.type": "did you mean 'float'",
        "columns.c": "expected a table of facts",
        "columns.d.min": "above max",
        "columns.f": "read off the private rows",
        "columns.g.spelling": "accept_leaks = true",
        "rules[0].less_or_eqal": "did you mean 'less_or_equal'",
        "rules[0]": "names no rule",
        "rules[1].less_or_equal": "'g' has no order",
        "rules[3].fixed_combinations": "column 'ee' is not declared | did you mean 'e'",
        "rules[4].less_than": "different kinds: duration, number",
    }
    assert {where: word for where, word in expected.items() if word not in found.get(where, "")} == {}, found
    assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "columns", "none is declared"),
        ("a = 1\nb = [\n", "end of document", "is not TOML"),
        ("[columns]\na = {type = 'int'}\na = {type = 'int'}\n", "line 3, column", "is not TOML"),
        ("columns = 3", "columns", "expected a table from column"),
        ("rules = 3\n[columns]\na = {type = 'int'}", "rules", "expected a list"),
        ("unit = 'a'\n[columns]\na = {type = 'int'}", "unit", "expected a table"),
        ("unit = {column = 'a', at_most = 0}\n[columns]\na = {type = 'int'}", "unit.at_most", "1 or more"),
        ("bought = {epsilon = -1}\n[columns]\na = {type = 'int'}", "bought", "0 or more"),
        ("bought = {epsilon = nan}\n[columns]\na = {type = 'int'}", "bought", "0 or more"),
        ("[columns]\n' ' = {type = 'int'}", "columns", "called ' '"),
        (
            "[columns.a]\ntype = 'int'\n[[rules]]\nless_or_equal = ['a']",
            "rules[0].less_or_equal",
            "two column",
        ),
        (
            "[columns.a]\ntype = 'int'\n[[rules]]\nless_or_equal = ['a', 'a']",
            "rules[0].less_or_equal",
            "twice",
        ),
        ("[columns.a]\ntype = 'int'\n[[rules]]\nnote = 'x'", "rules[0]", "names no rule"),
        ("[columns.a]\ntype = 'int'\nmin = " + "9" * 5000, "file", "number too large"),
        ("[columns]\na = " + "[" * 5000 + "]" * 5000, "file", "nested too deeply"),
        ("[columns.a]\ntype = 'date'\nformat = '%Y%m%d'\nmin = 2021-02-30", "line", "is not TOML"),
    ],
)
def test_a_file_that_makes_no_sense_says_where(text, where, what):
    found = faults_of(text)
    assert any(place.startswith(where) and what in said for place, said in found.items()), found


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"columns": {"a": {"type": "int"}, "a": {"type": "int"}}}', "'a' twice"),
        ('{"columns": {"a": {"type": "float", "min": NaN}}}', "NaN"),
        ('{"columns": {"a": {"type": "float", "min": -Infinity}}}', "Infinity"),
        ('{"columns": {"a": {"type": "float", "min": 1e999}}}', "finite"),
        ('{"columns": {"a": {"type": "int", "min": %s}}}' % ("9" * 5000), "too large"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ('{"a":' * 3_000 + "1" + "}" * 3_000, "expected a table of facts|nested too deeply|has no type"),
        ("[1]", "expected a table"),
        ('{"columns": ', "is not JSON"),
    ],
)
def test_hostile_json_is_refused_in_good_order(text, what):
    found = faults_of(text, from_json)
    assert any(word in said for word in what.split("|") for said in found.values()), found


def test_files_are_read_by_their_name_and_refused_by_their_name(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbf[columns]\na = {type = 'int'}\n")
    (tmp_path / "b.json").write_text('{"a": {"type": "int"}}')
    (tmp_path / "c.txt").write_text(' {"a": {"type": "int"}}')
    one, *others = (read_schema(tmp_path / name) for name in ("a.toml", "b.json", "c.txt"))
    assert all(other == one for other in others) and one.names == ("a",)
    (tmp_path / "latin.toml").write_bytes(b"[columns]\n'\xe9' = {type = 'int'}")
    (tmp_path / "big.toml").write_bytes(b"#" * ((16 << 20) + 1))
    for name, what in (
        ("none.toml", "cannot be read"),
        ("latin.toml", "UTF-8"),
        ("big.toml", "16 MiB"),
        (".", "read"),
    ):
        with pytest.raises(SchemaError, match=what):
            read_schema(str(tmp_path / name))
    with pytest.raises(SchemaError, match=r"cannot be read|UTF-8"):
        read_schema("a\0b.toml")


def test_the_short_form_and_notes_are_understood():
    facts = {"type": "int", "_why": "told", "min": None}
    short = read_schema({"a": facts, "_run": {"epsilon": 1}, "columns": {"type": "bool"}})
    assert short.names == ("a", "columns") and short["a"] == Int("a")
    full = read_schema(
        {"table": "t", "_note": 1, "columns": {"a": facts, "_b": facts, "table": {"type": "int"}}}
    )
    assert full.names == ("a", "_b", "table") and full.table == "t"
    assert read_schema({"columns": {"a": Int("a"), "b": Int("x")}}).names == ("a", "b")
    assert read_schema({"columns": {"v": {"type": "categorical", "values": [1, 2]}}})["v"].values == (
        "1",
        "2",
    )
    assert "age" in faults_of({"age": {"typ": "int"}}, read_schema).popitem()[0]


def test_leaks_need_a_signature():
    facts = {
        "a": {"type": "int", "min": 0, "source": {"min": "leaks"}},
        "b": {"type": "bool", "source": "leaks"},
    }
    rules = [{"fixed_combinations": ["a", "b"], "source": "leaks"}]
    found = faults_of({"columns": facts, "rules": rules}, read_schema)
    assert set(found) == {"columns.a.min", "columns.b", "rules[0]"}
    signed = read_schema({"columns": facts, "rules": rules, "accept_leaks": True})
    assert signed.leaks() == ("columns.a.min", "columns.b", "rules[0]")
    assert sum(note.severity == "warning" and "read off" in note.what for note in lint(signed)) == 3


def test_columns_of_a_table_are_compared_with_those_declared():
    schema = read_schema(
        {
            "unit": {"column": "person", "at_most": 2},
            "columns": {"Age": {"type": "int"}, "b": {"type": "bool"}},
        }
    )
    with pytest.raises(SchemaError) as caught:
        schema.check_columns(["age", "b", "c"])
    found = {fault.where: fault.mend for fault in caught.value.faults}
    assert set(found) == {"columns.Age", "columns.age", "columns.c", "unit.column"}
    assert found["columns.Age"] == "did you mean 'age'?" and found["columns.age"] == "did you mean 'Age'?"
    assert schema.check_columns(["person", "b", "Age"]) == ("person",)
    lenient = read_schema({"undeclared": "drop", "columns": {"b": {"type": "bool"}}})
    assert lenient.check_columns(["x", "b", "y"]) == ("x", "y")
    with pytest.raises(KeyError):
        lenient["x"]


def test_a_stored_type_that_cannot_be_read_is_found_before_the_rows_are():
    schema = read_schema(
        {
            "day": {"type": "date"},
            "coded": {"type": "date", "format": "%Y%m%d"},
            "n": {"type": "int"},
            "wait": {"type": "duration"},
            "c": {"type": "categorical", "open_set": True},
            "flag": {"type": "bool"},
            "note": {"type": "text"},
        }
    )
    stored = dict.fromkeys(schema.names, pl.Int64())
    with pytest.raises(SchemaError) as caught:
        schema.check_storage(stored)
    assert [fault.where for fault in caught.value.faults] == ["columns.day.type", "columns.wait.type"]
    assert "%Y%m%d" in caught.value.faults[0].mend
    schema.check_storage(dict.fromkeys(schema.names, pl.String()))
    with pytest.raises(SchemaError, match="3 faults"):
        schema.check_storage(
            {"n": pl.Date(), "c": pl.List(pl.Int8), "flag": pl.Duration(), "note": pl.Binary()}
        )


@pytest.mark.parametrize("name", case_names() or ["01"])
def test_the_facts_of_every_case_are_read(name):
    folder = case(name)
    facts = json.loads((folder / "facts.json").read_text())
    schema = read_schema(folder / "facts.json")
    assert schema.names == tuple(key for key in facts if not key.startswith("_"))
    assert from_toml(schema.to_toml()) == schema


def test_a_schema_checks_itself_when_made_by_hand():
    with pytest.raises(SchemaError, match="declared twice"):
        Schema((Int("a"), Int("a")))
    with pytest.raises(SchemaError, match="expected facts of a column"):
        Schema(("a",))
    with pytest.raises(SchemaError, match="'c' is not a value of 'a'"):
        pair = (Categorical("a", values=("x", "b")), Id("k", format="uuid4"))
        Schema(pair, rules=(Rule("fixed_combinations", ("a", "k"), allowed=(("c", "1"),)),))
    assert Schema(undeclared="draft").columns == ()


@pytest.mark.parametrize("name", case_names() or ["01"])
def test_no_cell_of_a_case_is_lost_under_its_facts(name):
    folder = case(name)
    schema = read_schema(folder / "facts.json")
    lines = csv.reader((folder / "input.csv").read_text().splitlines())
    header, *rows = lines
    for column in schema.columns:
        codec = codec_for(column)
        if codec is not None and header.count(column.name) == 1:
            place = header.index(column.name)
            cells = pl.Series([row[place] or None for row in rows], dtype=pl.String)
            assert ((codec.encode(cells) == 0) == cells.is_null().to_numpy()).all(), column

"""Each command does what its help page says, with the exit code that it says."""

import re

import polars as pl
import pytest
from tests.cli.runner import charged, left_behind, sfumato

import sfumato as sf
from sfumato.schema import read_schema

FAST = ("--epsilon", "1", "--method", "independent")


def test_generate_writes_rows_and_keeps_the_model(table, schema, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "m.sfumato"
    ran = sfumato(
        "generate", table, "-o", out, "--model", model, "--rows", 50, *FAST, "--schema", schema, "--seed", 3
    )
    assert ran.code == 0 and ran.out == ""
    assert "independent on visits.csv: epsilon 1, delta 1e-09" in ran.err
    assert (
        "50 rows written to" in ran.err
        and "model saved to" in ran.err
        and "differentially private" in ran.err
    )
    frame = pl.read_csv(out)
    assert frame.columns == ["sex", "age", "grade"] and frame.height == 50
    assert left_behind(tmp_path) == {"visits.csv", "visits.toml", "out.csv", "m.sfumato"}

    again = tmp_path / "again.csv"
    assert sfumato("sample", model, "-o", again, "--rows", 50, "--seed", 3).code == 0
    assert again.read_bytes() == out.read_bytes()
    assert sf.load(model).sample(50, seed=3).equals(frame)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_the_kind_of_output_follows_from_its_name(table, schema, tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    assert sfumato("generate", table, "-o", out, "--rows", 20, *FAST, "--schema", schema).code == 0
    if suffix == ".parquet":
        frame = pl.read_parquet(out)
        assert frame.schema == {"sex": pl.String, "age": pl.Int64, "grade": pl.String}
    else:
        frame = pl.read_csv(out, separator="\t" if suffix == ".tsv" else ",")
    assert frame.columns == ["sex", "age", "grade"] and frame.height == 20


def test_a_file_is_written_as_it_is_read(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text(
        "naam;bedrag\n" + "".join(f"é{i % 3};{i % 40},5\n" for i in range(900)), encoding="latin-1"
    )
    words = ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")
    out = tmp_path / "out.csv"
    ran = sfumato("generate", table, "-o", out, "--epsilon", 50, "--rows", 60, *words)
    assert ran.code == 0, ran.err
    lines = out.read_text(encoding="latin-1").splitlines()
    assert lines[0] == "naam;bedrag"
    names, amounts = zip(*(line.split(";") for line in lines[1:]), strict=True)
    assert set(names) <= {"é0", "é1", "é2", "OTHER"} and all(
        re.fullmatch(r"\d+,\d", text) for text in amounts
    )


def test_a_schema_without_a_decimal_mark_reads_the_one_of_the_file(tmp_path):
    table, schema = tmp_path / "t.csv", tmp_path / "t.toml"
    table.write_text("x;y\n" + "".join(f"{i % 10},5;a\n" for i in range(500)))
    schema.write_text('[columns]\nx = {type = "float", decimals = 1, min = 0, max = 20, nullable = true}\n'
                      'y = {type = "categorical", values = ["a"]}\n')  # fmt: skip
    out = tmp_path / "out.csv"
    words = ("--delimiter", ";", "--decimal", ",", "--schema", schema, "--rows", 100)
    assert sfumato("generate", table, "-o", out, "--epsilon", 20, *words).code == 0
    cells = [line.split(";")[0] for line in out.read_text().splitlines()[1:]]
    assert sum(cell.endswith(",5") for cell in cells) > 90


@pytest.mark.parametrize("words", [("--null", "-"), ("--null", "-", "--null", "?")])
def test_words_that_mean_missing(tmp_path, words):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "".join(f"{'-' if i % 2 else i % 7},{i % 3}\n" for i in range(3000)))
    out = tmp_path / "out.csv"
    assert sfumato("generate", table, "-o", out, "--epsilon", 10, *words).code == 0
    missing = pl.read_csv(out)["x"]
    assert missing.dtype == pl.Int64 and 0.4 < missing.null_count() / len(missing) < 0.6


def test_fit_then_everything_that_reads_a_model(model, tmp_path):
    ran = sfumato("inspect", model)
    assert ran.code == 0 and ran.err == "" and "(2, 1e-09)" not in ran.out
    for part in ("method mst", "sex", "categorical", "one-way marginals", "share of mu²"):
        assert part in ran.out
    assert ran.out.count("one-way marginals") == 1
    assert "0: row count" in sfumato("inspect", model, "--charges").out
    facts = sfumato("inspect", model, "--json").json()
    assert facts["format"] == "sfumato-model" and facts["statement"]["epsilon"] <= 2

    ran = sfumato("verify", model)
    assert ran.code == 0 and ran.out.startswith("ok  ") and ran.err == ""
    assert sfumato("verify", model, "--json").json()["verified"] is True

    assert sfumato("assert-dp", model, "--epsilon", 2).code == 0
    assert sfumato("assert-dp", model, "--epsilon", 2, "--json").json()["holds"] is True
    ran = sfumato("assert-dp", model, "--epsilon", 0.5)
    assert ran.code == 3 and "not epsilon = 0.5" in ran.err and ran.out == ""
    assert sfumato("assert-dp", model, "--epsilon", 1, "--tolerance", 1).code == 0


def test_rows_are_conditioned_not_rejected(model, tmp_path):
    out = tmp_path / "out.csv"
    words = ("--where", "sex=F", "--where", "age=33")
    assert sfumato("sample", model, "-o", out, "--rows", 500, *words).code == 0
    frame = pl.read_csv(out)
    assert frame.height == 500 and set(frame["sex"]) == {"F"} and set(frame["age"]) == {33}
    for where, part in [
        ("sex=X", "it may be one of: F, M"),
        ("size=1", "cannot fix 'size'"),
        ("sex=", "cannot be missing"),
        ("sex", "COLUMN=VALUE"),
        ("age=99", "cannot be '99'"),
        ("age=many", "cannot be 'many'"),
    ]:
        ran = sfumato("sample", model, "-o", tmp_path / "no.csv", "--where", where)
        assert ran.code == 2 and part in ran.err, ran.err
    ran = sfumato("sample", model, "-o", tmp_path / "no.csv", "--where", "sex=F", "--where", "sex=M")
    assert ran.code == 2 and "twice" in ran.err
    assert left_behind(tmp_path) == {"out.csv"}


def test_draft_lint_show(table, tmp_path):
    ran = sfumato("schema", "draft", table)
    assert ran.code == 0 and '# sex = {type = "?"}' in ran.out and "lack" not in ran.err
    draft, ledger = tmp_path / "d.toml", tmp_path / "ledger"
    words = ("--ledger", ledger, "--dataset", "visits")
    ran = sfumato("schema", "draft", table, "-o", draft, "--epsilon", 5, *words)
    assert ran.code == 0 and ran.out == "" and charged(ledger) == 1
    bought = read_schema(draft)
    assert bought.names == ("sex", "age", "grade") and 0 < bought.bought["epsilon"] <= 5
    facts = sfumato("schema", "draft", table, "--json").json()
    assert facts["output"] is None and "[columns]" in facts["toml"]

    assert sfumato("schema", "lint", draft).code == 0
    assert sfumato("schema", "lint", draft, "--json").json()["faults"] == []
    ran = sfumato("schema", "show", draft)
    assert ran.code == 0 and "column" in ran.out.splitlines()[1] and "grade" in ran.out
    assert set(sfumato("schema", "show", draft, "--json").json()["columns"]) == {"sex", "age", "grade"}

    draft.write_text('[columns]\nage = {type = "int", min = 9, max = 1}\nsize = {type = "flot"}\n')
    ran = sfumato("schema", "lint", draft)
    assert ran.code == 2 and "2 faults" in ran.err and "columns.age" in ran.err and "'float'" in ran.err


def test_a_bought_schema_is_charged_again_by_the_fit(table, tmp_path):
    draft, out = tmp_path / "d.toml", tmp_path / "out.csv"
    assert sfumato("schema", "draft", table, "-o", draft, "--epsilon", 0.5).code == 0
    ran = sfumato("generate", table, "-o", out, "--epsilon", 2, "--schema", draft, "--json")
    assert ran.code == 0
    assert 0.5 < ran.json()["statement"]["epsilon"] <= 2
    ran = sfumato("generate", table, "-o", tmp_path / "no.csv", "--epsilon", 0.4, "--schema", draft)
    assert ran.code == 1 and "budget" in ran.err and not (tmp_path / "no.csv").exists()


def test_the_ledger_of_a_data_set(table, schema, tmp_path):
    ledger, out = tmp_path / "ledger", tmp_path / "out.csv"
    ran = sfumato("ledger", "limit", ledger, "--dataset", "visits", "--epsilon", 1.2)
    assert ran.code == 0 and ran.out == "visits: limit (1.2, 1e-08)\n"
    words = ("--ledger", ledger, "--dataset", "visits", "--schema", schema, "--force", *FAST)
    assert sfumato("generate", table, "-o", out, *words).code == 0 and charged(ledger) == 1
    ran = sfumato("generate", table, "-o", out, *words)
    assert ran.code == 1 and "the limit is 1.2" in ran.err and charged(ledger) == 1
    ran = sfumato("ledger", "show", ledger)
    name, runs, one, row, relation, epsilon, delta, limit = ran.out.splitlines()[1].split()
    assert (name, runs, one, row, relation) == ("visits", "1", "one", "row,", "add-remove")
    assert (delta, limit) == ("1e-08", "1.2") and 0.8 < float(epsilon) < 1
    facts = sfumato("ledger", "show", ledger, "--json").json()
    assert facts["total"]["visits"]["runs"] == 1 and len(facts["lines"]) == 2
    assert sfumato("ledger", "show", tmp_path / "none").code == 2
    ledger.write_bytes(ledger.read_bytes().replace(b"1.2", b"9.2"))
    ran = sfumato("ledger", "show", ledger)
    assert ran.code == 2 and "line 1" in ran.err


@pytest.mark.parametrize("content", ["my only copy", "a,b\n1,2\n", '{"dataset', "{}\n"])
def test_a_file_that_is_no_ledger_is_left_alone(table, tmp_path, content):
    ledger = tmp_path / "notes.txt"
    ledger.write_text(content)
    ran = sfumato("ledger", "limit", ledger, "--dataset", "d", "--epsilon", 1)
    if content == '{"dataset':  # what a killed run may leave
        assert ran.code == 0 and ledger.read_text().count("\n") == 1
        return
    assert ran.code == 2 and "notes.txt" in ran.err and ledger.read_text() == content
    words = (*FAST, "--ledger", ledger, "--dataset", "d")
    assert sfumato("generate", table, "-o", tmp_path / "o.csv", *words).code == 2
    assert ledger.read_text() == content and not (tmp_path / "o.csv").exists()


def test_options_of_a_method(table, schema, tmp_path):
    out = tmp_path / "out.csv"
    words = ("generate", table, "-o", out, "--epsilon", 1, "--schema", schema, "--force")
    assert sfumato(*words, "--method", "mst", "--set", "rare=5").code == 0
    for setting, part in [
        ("rar=5", "did you mean 'rare'?"),
        ("rare=true", "must be a number"),
        ("rare=many", "must be a number"),
        ("rare=-1", "rare"),
        ("rare=nan", "must be a number"),
        ("rare", "KEY=VALUE"),
        ("=5", "KEY=VALUE"),
    ]:
        ran = sfumato(*words, "--method", "mst", "--set", setting)
        assert ran.code == 2 and part in ran.err, ran.err
    assert sfumato(*words, "--method", "mst", "--set", "rare=1", "--set", "rare=2").code == 2


def test_methods_are_listed_with_guarantee_and_options():
    ran = sfumato("methods")
    assert ran.code == 0 and "mst: rare=3.0" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 130 and "generator_dim=[256,256]" in ran.out
    facts = sfumato("methods", "--json").json()
    assert facts.keys() == sf.methods().keys() and facts["independent"]["guarantee"]


def test_persons_instead_of_rows(tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "out.csv"
    table.write_text("who,x\n" + "".join(f"p{i // 4},{i % 5}\n" for i in range(2000)))
    words = ("generate", table, "-o", out, "--epsilon", 5, "--json", "--unit", "who")
    ran = sfumato(*words, "--at-most", 2)
    assert ran.code == 0 and "at most 2 kept" in ran.json()["statement"]["unit"]
    frame = pl.read_csv(out)
    assert frame["who"].is_unique().all() and 800 < frame.height < 1200
    assert sfumato(*words, "--at-most", 0, "--force").code == 2


def test_noise_from_a_seed_is_marked_everywhere(table, schema, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "m.sfumato"
    words = (*FAST, "--schema", schema, "--insecure-noise-seed", 7, "--model", model)
    ran = sfumato("generate", table, "-o", out, *words)
    assert ran.code == 0 and "WARNING" in ran.err and "NO PRIVACY GUARANTEE" in ran.err
    assert "NO PRIVACY GUARANTEE" in sfumato("inspect", model).out
    assert sfumato("verify", model).code == 3
    assert sfumato("assert-dp", model, "--epsilon", 100).code == 3
    again = sfumato("sample", model, "-o", tmp_path / "s.csv", "--quiet")
    assert again.code == 0 and "NO PRIVACY GUARANTEE" in again.err


def test_bounds_that_were_learned_are_told_after_the_run(table, schema, tmp_path):
    out = tmp_path / "out.csv"
    words = ("generate", table, "-o", out, "--epsilon", 20, "--method", "independent", "--force")
    ran = sfumato(*words)
    found = re.search(r"^learned: age (\d+) to (\d+) \(", ran.err, re.MULTILINE)
    assert ran.code == 0 and found and int(found[1]) <= 20 and int(found[2]) >= 49
    assert "learned:" not in sfumato(*words, "--quiet").err
    bounds = sfumato(*words, "--json").json()["learned"]
    assert set(bounds) == {"age"} and bounds["age"]["min"] <= 20 and bounds["age"]["max"] >= 49
    assert "learned:" not in sfumato(*words, "--schema", schema).err
    ran = sfumato("fit", table, "-o", tmp_path / "m", "--epsilon", 20, "--json")
    assert set(ran.json()["learned"]) == {"age"}


def test_a_column_that_is_not_as_declared_is_a_warning_even_when_quiet(table, tmp_path):
    schema = tmp_path / "wrong.toml"
    schema.write_text(
        '[columns]\nsex = {type = "int", min = 0, max = 1}\nage = {type = "int", min = 18, max = 60}\n'
        'grade = {type = "categorical", values = ["low", "mid", "high"]}\n'
    )
    words = ("--epsilon", 4, "--schema", schema, "--method", "independent", "--force")
    for command in ("generate", "fit"):
        for more in ("--quiet", "--json"):
            ran = sfumato(command, table, "-o", tmp_path / "o.csv", *words, more)
            assert (
                ran.code == 0
                and ran.err.startswith("WARNING: 'sex': most of its cells")
                and ("mend its type" in ran.err and ran.err.count("\n") == 1)
            )
    assert ran.json()["warnings"] == [ran.err.removeprefix("WARNING: ").rstrip()]
    assert "WARNING: 'sex'" in sfumato("inspect", tmp_path / "o.csv").out


def test_what_the_schema_leaves_open_is_said(table, schema, tmp_path):
    draft, out = tmp_path / "d.toml", tmp_path / "o.csv"
    assert sfumato("schema", "draft", table, "-o", draft).code == 0
    words = ("generate", table, "-o", out, "--force", *FAST)
    assert "no schema: types, bounds" in sfumato(*words).err
    ran = sfumato(*words, "--schema", draft)
    assert ran.code == 0 and "no schema" not in ran.err
    assert "the schema leaves 3 of 3 columns open: their types" in ran.err
    draft.write_text(draft.read_text() + 'sex = {type = "categorical", values = ["F", "M"]}\n')
    assert "the schema leaves 2 of 3 columns open" in sfumato(*words, "--schema", draft).err
    ran = sfumato(*words, "--schema", schema)
    assert "no schema" not in ran.err and "the schema leaves" not in ran.err


def test_the_examples_at_the_head_of_a_draft_are_right(table, tmp_path):
    text = sfumato("schema", "draft", table).out
    examples = re.findall(r"^#   (\w+ = \{.*\})$", text, re.MULTILINE)
    assert len(examples) >= 4 and text.index(examples[0]) < text.index("[columns]")
    path = tmp_path / "s.toml"
    path.write_text("[columns]\n" + "\n".join(examples) + "\n")
    assert len(read_schema(path).columns) == len(examples)
    path.write_text(text)
    assert read_schema(path).columns == ()


def test_a_wrong_delimiter_is_refused_before_anything_is_charged(table, tmp_path):
    ledger, before = tmp_path / "ledger", left_behind(tmp_path)
    words = ("--delimiter", ";", *FAST, "--ledger", ledger, "--dataset", "d")
    for command in ("generate", "fit"):
        ran = sfumato(command, table, "-o", tmp_path / "o.csv", *words)
        assert ran.code == 2 and "3 with ','" in ran.err and "--delimiter ','" in ran.err
    assert left_behind(tmp_path) == before
    assert sfumato("evaluate", table, table, "--delimiter", ";").code == 2

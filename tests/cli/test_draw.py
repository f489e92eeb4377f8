"""`sfumato draw`: records on standard output or in a file, charged once, with nothing that tells the branch."""

import csv
import json

import polars as pl
import pytest
from tests.cli.runner import CANARY, charged, left_behind, sfumato
from tests.end_to_end.tables import ADULT
from tests.shared_data import ROOT
from tests.shared_data import table as shared_table

from sfumato.privacy.dataset_ledger import DatasetLedger

FACTS = """
[columns]
sex = {type = "categorical", values = ["f", "m"]}
age = {type = "int", min = 0, max = 120}
day = {type = "date", min = "2000-01-01", max = "2030-12-31"}
note = {type = "text", policy = "drop"}
word = {type = "categorical", open_set = true}
"""


@pytest.fixture
def files(tmp_path):
    table, schema = tmp_path / "t.csv", tmp_path / "t.toml"
    rows = [f"{'fm'[i % 2]},{20 + i % 50},2010-01-{1 + i % 28:02d},{CANARY},{CANARY}" for i in range(300)]
    table.write_text("sex,age,day,note,word\n" + "\n".join(rows) + "\n")
    schema.write_text(FACTS)
    return table, schema


def test_a_record_is_printed_as_csv(files):
    table, schema = files
    ran = sfumato("draw", table, "--columns", "sex,age", "--epsilon", 1, "--schema", schema)
    header, record = csv.reader(ran.out.splitlines())
    assert ran.code == 0 and header == ["sex", "age"] and record[0] in "fm" and 0 <= int(record[1]) <= 120
    assert "geo over 242 combinations" in ran.err and "(1, 0)-differentially private" in ran.err
    assert CANARY not in ran.printed


def test_many_records_go_to_a_file(files, tmp_path):
    table, schema = files
    for suffix in (".csv", ".parquet"):
        out = tmp_path / f"out{suffix}"
        words = (
            "draw",
            table,
            "--columns",
            "day,sex",
            "--epsilon",
            2,
            "--schema",
            schema,
            "-n",
            7,
            "-o",
            out,
        )
        ran = sfumato(*words, "--sampler", "roo", "--delta", 1e-6, "--quiet")
        assert ran.code == 0 and ran.printed == ""
        frame = pl.read_csv(out, try_parse_dates=True) if suffix == ".csv" else pl.read_parquet(out)
        assert frame.shape == (7, 2) and frame.schema["day"] == pl.Date
        before = out.read_bytes()
        assert sfumato(*words).code == 2 and out.read_bytes() == before


def test_json_says_what_was_drawn_and_what_it_cost(files, tmp_path):
    table, schema = files
    ledger = tmp_path / "ledger"
    words = ("draw", table, "--columns", "sex", "--epsilon", 0.5, "--schema", schema, "--json")
    words = (*words, "--ledger", ledger, "--dataset", "d", "--neighbours", "replace")
    found = sfumato(*words, "-n", 3, "--sampler", "subrr").json()
    assert [set(record) for record in found["records"]] == [{"sex"}] * 3
    assert (found["sampler"], found["rows"], found["symbols"]) == ("subrr", 300, 2)
    assert found["statement"]["epsilon"] == 0.5 and found["statement"]["epsilon_add_remove"] == "infinity"
    assert charged(ledger) == 1
    spent = DatasetLedger(ledger).spent("d")
    assert (spent.epsilon, spent.delta) == (0.5, 0.0)
    assert sfumato(*words).code == 0 and DatasetLedger(ledger).spent("d").epsilon == 1.0
    assert sfumato("ledger", "limit", ledger, "--dataset", "d", "--epsilon", 1.2, "--delta", 1e-9).code == 0
    assert sfumato(*words).code == 1 and charged(ledger) == 2
    allowed = {
        "records",
        "columns",
        "sampler",
        "why",
        "symbols",
        "epsilon_of_a_draw",
        "rows",
        "distance_at_most",
    }
    assert set(found) == allowed | {"output", "statement", "notes"}


def test_the_other_columns_are_added_on_request(files):
    table, schema = files
    ran = sfumato(
        "draw", table, "--columns", "age", "--epsilon", 1, "--schema", schema, "--complete", "--seed", 1
    )
    header, record = csv.reader(ran.out.splitlines())
    assert header == ["sex", "age", "day", "word"] and record[0] in "fm" and record[3] == ""
    assert CANARY not in ran.printed


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--columns", "word"), "does not tell what column 'word' can hold"),
        (("--columns", "note"), "does not tell"),
        (("--columns", "sex,no"), "declares no column 'no'"),
        (("--columns", "sex", "--sampler", "dsroo"), "there is no sampler 'dsroo'"),
        (("--columns", "sex", "-n", "0"), "at least 1"),
        (("--columns", "sex", "-n", "1.5"), "not a whole number"),
        (("--columns", "sex", "--at-most", "2"), "--at-most needs --unit"),
        (("--columns", "sex", "--delta", "2"), "delta must lie"),
        (("--columns", "sex", "--ledger", "l"), "--ledger needs --dataset"),
        ((), "does not tell what column"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_charged(files, tmp_path, words, says):
    table, schema = files
    ledger = () if "--ledger" in words else ("--ledger", tmp_path / "ledger", "--dataset", "d")
    ran = sfumato("draw", table, "--epsilon", 1, "--schema", schema, *words, *ledger)
    assert ran.code == 2 and says in ran.err and ran.out == "" and CANARY not in ran.printed
    assert left_behind(tmp_path) == {"t.csv", "t.toml"}


def test_a_schema_is_needed(files):
    ran = sfumato("draw", files[0], "--columns", "sex", "--epsilon", 1)
    assert ran.code == 2 and "needs --schema" in ran.err


def test_persons(files, tmp_path):
    table = tmp_path / "p.csv"
    table.write_text("who,sex\n" + "".join(f"{i // 3},{'fm'[i % 2]}\n" for i in range(90)))
    words = (
        "draw",
        table,
        "--columns",
        "sex",
        "--epsilon",
        1,
        "--schema",
        files[1],
        "--unit",
        "who",
        "--json",
    )
    found = sfumato(*words, "--at-most", 3, "--neighbours", "replace", "--sampler", "roo").json()
    assert found["rows"] is None and found["statement"]["epsilon"] <= 1
    assert found["epsilon_of_a_draw"] == pytest.approx(1 / 3)
    assert sfumato(*words[:3], "who", *words[4:]).code == 2


def test_a_fixed_seed_voids_the_statement(files):
    table, schema = files
    words = (
        "draw",
        table,
        "--columns",
        "sex,age",
        "--epsilon",
        1,
        "--schema",
        schema,
        "--insecure-noise-seed",
        5,
    )
    one, two = sfumato(*words), sfumato(*words)
    assert one.out == two.out and "NO PRIVACY GUARANTEE" in one.err and "WARNING" in one.err


def test_a_real_table():
    path = shared_table("adult_raw/adult.data")
    words = ("--no-header", "--names", ",".join(ADULT), "--trim")
    words = ("draw", path, *words, "--schema", ROOT / "tests/end_to_end/schemas/adult.toml", "--epsilon", 1)
    for more in ((), ("--neighbours", "replace"), ("--sampler", "roo", "-n", 5, "--delta", 1e-9)):
        ran = sfumato(*words, "--columns", "education,sex,race", *more)
        header, record, *_ = csv.reader(ran.out.splitlines())
        assert ran.code == 0 and header == ["education", "sex", "race"] and record[1] in ("Female", "Male")
    whole = sfumato(*words, "--json").json()
    assert whole["sampler"] == "roo" and whole["symbols"] > 10**27 and set(whole["records"][0]) == set(ADULT)
    assert json.dumps(whole)

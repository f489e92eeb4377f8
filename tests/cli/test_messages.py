"""What is printed, where: results on standard output, the rest beside it, progress on a terminal only."""

import json
import os
import pty
import subprocess
import sys

import pytest
from tests.cli.runner import sfumato

from sfumato.cli.console import Progress, visible

FAST = ("--epsilon", "1", "--method", "independent")


@pytest.mark.parametrize("command", ["generate", "fit"])
def test_json_is_one_object_and_the_only_output(table, schema, tmp_path, command):
    out = tmp_path / "out.csv"
    ran = sfumato(command, table, "-o", out, *FAST, "--schema", schema, "--json")
    facts = ran.json()
    assert ran.code == 0 and ran.err == ""
    assert facts["output"] == str(out) and facts["method"] == "independent" and facts["charges"] == 2
    assert facts["statement"]["epsilon"] <= 1 and facts["statement"]["text"]
    assert abs(sum(facts["split"].values()) - 1) < 1e-9


def test_json_of_a_sample_and_of_a_limit(model, tmp_path):
    ran = sfumato("sample", model, "-o", tmp_path / "s.csv", "--rows", 7, "--json")
    assert ran.json()["rows"] == 7 and ran.err == ""
    ran = sfumato("ledger", "limit", tmp_path / "l", "--dataset", "d", "--epsilon", 1, "--json")
    assert ran.json() == {"dataset": "d", "epsilon": 1.0, "delta": 1e-8} and ran.err == ""


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("generate", "TABLE", "-o", "OUT", "--epsilon", "1", "--method", "x"), 2, "no method 'x'"),
        (("generate", "TABLE", "--epsilon", "1", "--colour"), 2, "--colour"),
        (("fit", "none.csv", "-o", "OUT", "--epsilon", "1"), 2, "none.csv"),
        (("sample", "MODEL", "-o", "OUT", "--where", "sex=X"), 2, "F, M"),
        (("assert-dp", "MODEL", "--epsilon", "0.1"), 3, "not epsilon = 0.1"),
        (("dpcheck", "MODEL", "--epsilon", "0.1"), 3, "not epsilon = 0.1"),
        (("verify", "TABLE"), 2, "not a model file"),
        (("inspect", "TABLE"), 2, "not a model file"),
        (("schema", "lint", "none.toml"), 2, "none.toml"),
        (("ledger", "show", "none.jsonl"), 2, "none.jsonl"),
        (("plan",), 2, "--schema"),
        (("evaluate", "TABLE"), 2, "SYNTHETIC"),
        (("attack", "TABLE", "TABLE"), 2, "--holdout"),
        (("draw", "TABLE", "--epsilon", "1"), 2, "--schema"),
        (("sweep",), 2, "TABLE"),
        (("benchmark", "TABLE", "-o", "OUT", "--epsilons", "x"), 2, "not a list of numbers"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_json_errors_are_one_object_on_standard_error(table, model, tmp_path, words, code, part):
    places = {"TABLE": table, "MODEL": model, "OUT": tmp_path / "o.csv"}
    ran = sfumato(*(places.get(word, word) for word in words), "--json")
    assert ran.code == code and ran.out == "" and ran.err.count("\n") == 1
    found = json.loads(ran.err)
    assert set(found) == {"error", "exit_code"} and found["exit_code"] == code and part in found["error"]


def test_json_of_a_fault_in_the_program(monkeypatch, table, tmp_path, capsys):
    from sfumato.cli import main

    monkeypatch.setattr("sfumato.models.training.prepare", lambda *_, **__: 1 // 0)
    words = ["generate", str(table), "-o", str(tmp_path / "o.csv"), "--epsilon", "1", "--json"]
    assert main(words) == 1
    assert json.loads(capsys.readouterr().err)["error"].startswith("a fault in sfumato (ZeroDivisionError)")


def test_quiet_prints_nothing_but_warnings(table, schema, model, tmp_path):
    words = ("--schema", schema, "--force", "--quiet", "--method", "independent")
    for command in ("generate", "fit"):
        ran = sfumato(command, table, "-o", tmp_path / "o.csv", "--epsilon", 1, *words)
        assert (ran.code, ran.printed) == (0, "")
    assert sfumato("sample", model, "-o", tmp_path / "s.csv", "--quiet").printed == ""
    assert sfumato("schema", "draft", table, "-o", tmp_path / "d.toml", "--quiet").printed == ""
    assert sfumato("verify", model, "--quiet").printed == ""
    assert sfumato("assert-dp", model, "--epsilon", 2, "--delta", 1e-9, "--quiet").printed == ""
    ran = sfumato("assert-dp", model, "--epsilon", 2, "--delta", 1e-10, "--quiet")
    assert ran.code == 3 and ran.err.endswith("not delta = 1e-10\n")
    ran = sfumato("generate", table, "-o", tmp_path / "o.csv", "--epsilon", 15, *words)
    assert ran.code == 0 and ran.out == "" and ran.err.startswith("WARNING: epsilon = 15 is large")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--epsilon", "11"), "epsilon = 11 is large"),
        (("--epsilon", "200"), "noise is calibrated to epsilon = "),
        (("--epsilon", "1", "--delta", "0.1"), "over 1 in 1,000 rows"),
    ],
)
def test_weak_guarantees_are_said_loudly(table, schema, tmp_path, options, part):
    schema.write_text("rows_at_most = 1_000\n" + schema.read_text())
    words = ("--schema", schema, "--method", "independent", "--json")
    ran = sfumato("generate", table, "-o", tmp_path / "o.csv", *options, *words)
    assert ran.code == 0 and part in ran.err and ran.err.startswith("WARNING")
    assert ran.json()["statement"]["epsilon"] <= float(options[1])


def test_progress_is_for_terminals(table, schema, tmp_path):
    code = "import sys; from sfumato.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "generate", str(table), *FAST, "--schema", str(schema)]
    leader, follower = pty.openpty()
    with open(follower, "wb") as terminal:
        ran = subprocess.run([*words, "-o", str(tmp_path / "a.csv")], stderr=terminal, check=False)
        shown = b""
        while b"differentially private" not in shown:
            shown += os.read(leader, 1 << 16)
    os.close(leader)
    assert ran.returncode == 0
    assert "one-way marginals …".encode() in shown and b"checking the rows" in shown and b"\x1b[2K" in shown
    plain = sfumato("generate", table, "-o", tmp_path / "b.csv", *FAST, "--schema", schema)
    assert plain.code == 0 and "\x1b" not in plain.err and "…" not in plain.err


def test_progress_never_shows_control_characters(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = Progress(quiet=False)
    progress("a\x1b]0;title\x07b")
    assert "\x1b]" not in capsys.readouterr().err
    Progress(quiet=True)("quiet")
    assert capsys.readouterr().err == ""


def test_names_cannot_move_the_cursor(tmp_path):
    assert visible("a\x1b[31m\u202eb\x9b\u2066c\td") == "a\\x1b[31m\\u202eb\\x9b\\u2066c\td"
    schema = tmp_path / "s.toml"
    schema.write_text('[columns]\n"a\\u202eb" = {type = "categorical", values = ["\\u001b[31m", "y"]}\n')
    for command in ("show", "lint"):
        ran = sfumato("schema", command, schema)
        assert ran.code == 0 and not {"\x1b", "\u202e"} & set(ran.printed)
    assert json.loads(sfumato("schema", "show", schema, "--json").out)["columns"]["a\u202eb"]


def test_a_closed_pipe_is_no_fault():
    code = "import sys; from sfumato.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", code, "methods", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 1


def test_debug_shows_the_traceback_and_nothing_else_does(table, tmp_path):
    words = ("generate", table, "-o", tmp_path / "o.csv", "--epsilon", 1, "--method", "x")
    assert sfumato(*words).code == 2
    with pytest.raises(Exception, match="no method 'x'"):
        sfumato(*words, "--debug")


def test_an_unexpected_fault_is_named_by_type_alone(monkeypatch, table, tmp_path, capsys):
    from sfumato.cli import main

    def fail(*_, **__):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("sfumato.models.training.prepare", fail)
    assert main(["generate", str(table), "-o", str(tmp_path / "o.csv"), "--epsilon", "1"]) == 1
    printed = capsys.readouterr()
    assert (
        printed.err.startswith("error: a fault in sfumato (ZeroDivisionError)")
        and "secret" not in printed.err
    )


def test_an_interrupted_run_ends_with_130(monkeypatch, table, tmp_path, capsys):
    from sfumato.cli import main

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.privacy.curator.Curator.release", stop)
    ledger = tmp_path / "ledger"
    words = ["generate", table, "-o", tmp_path / "o.csv", *FAST, "--ledger", ledger, "--dataset", "d"]
    assert main([str(word) for word in words]) == 130
    assert "what was charged stays charged" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists() and ledger.read_text().count("\n") == 1

"""Output files appear whole or not at all, never over an input, and never over a file that was not given up."""

import errno
import os
import subprocess
import sys
import time

import pytest
from tests.cli.runner import charged, left_behind, sfumato

import sfumato as sf

FAST = ("--epsilon", "1", "--method", "independent")


def full_disk(monkeypatch):
    """Writing to disk fails as on a full one."""

    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)


def test_existing_files_need_force(table, schema, model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    runs = [
        ("generate", table, "-o", out, *FAST),
        ("generate", table, "-o", tmp_path / "new.csv", "--model", out, *FAST),
        ("fit", table, "-o", out, *FAST),
        ("sample", model, "-o", out),
        ("schema", "draft", table, "-o", out),
    ]
    for words in runs:
        ran = sfumato(*words)
        assert ran.code == 2 and "'" + str(out) + "' exists" in ran.err and "--force" in ran.err
        assert out.read_text() == "mine" and not (tmp_path / "new.csv").exists()
    for words in runs:
        assert sfumato(*words, "--force").code == 0
        assert out.read_bytes() != b"mine"
        out.write_text("mine")


def test_no_output_in_the_place_of_an_input(table, schema, model, tmp_path):
    before = table.read_bytes(), schema.read_bytes(), model.read_bytes()
    link, ledger = tmp_path / "link.csv", tmp_path / "ledger"
    link.symlink_to(table)
    hard = tmp_path / "hard.csv"
    os.link(table, hard)
    draft = ("schema", "draft", table, "--epsilon", 1)
    runs = [
        ("generate", table, "-o", table, *FAST),
        ("generate", link, "-o", table, *FAST),
        ("generate", table, "-o", hard, *FAST),
        ("generate", table, "-o", tmp_path / "o.csv", "--model", table, *FAST),
        ("generate", table, "-o", tmp_path / "o.csv", "--model", tmp_path / "o.csv", *FAST),
        ("generate", table, "-o", tmp_path / "o.csv", "--schema", schema, "--model", schema, *FAST),
        ("generate", table, "-o", tmp_path / "o.csv", "--ledger", table, "--dataset", "d", *FAST),
        ("generate", table, "-o", tmp_path / "o.csv", "--ledger", tmp_path / "o.csv", "--dataset", "d", *FAST),
        ("fit", table, "-o", table, *FAST),
        ("sample", model, "-o", model),
        (*draft, "-o", table),
        (*draft, "--ledger", table, "--dataset", "d"),
    ]  # fmt: skip
    for words in runs:
        ran = sfumato(*words, "--force")
        assert ran.code == 2 and ("the same file" in ran.err or "not known" in ran.err), ran.err
        assert before == (table.read_bytes(), schema.read_bytes(), model.read_bytes())
    assert not ledger.exists() and not (tmp_path / "o.csv").exists()


def test_links_and_folders_are_not_written_to(table, model, tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere.csv")
    (tmp_path / "folder.csv").mkdir()
    for name, part in [("link.csv", "symbolic link"), ("folder.csv", "not a regular file")]:
        for words in (("generate", table, *FAST), ("sample", model)):
            ran = sfumato(*words, "-o", tmp_path / name, "--force")
            assert ran.code == 2 and part in ran.err
    assert not (tmp_path / "elsewhere.csv").exists()
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
        ran = sfumato("sample", model, "-o", tmp_path / "closed" / "o.csv")
        assert ran.code == 2 and "permission denied" in ran.err


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_full_disk_leaves_nothing(monkeypatch, table, model, tmp_path, suffix):
    before = left_behind(tmp_path)
    full_disk(monkeypatch)
    for words in (("generate", table, *FAST), ("sample", model)):
        ran = sfumato(*words, "-o", tmp_path / f"out{suffix}")
        assert ran.code == 2 and "no space left" in ran.err and left_behind(tmp_path) == before
    ran = sfumato("fit", table, "-o", tmp_path / "m.sfumato", *FAST)
    assert ran.code == 2 and left_behind(tmp_path) == before


def test_a_full_disk_keeps_the_file_that_was_there(monkeypatch, model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    full_disk(monkeypatch)
    assert sfumato("sample", model, "-o", out, "--force").code == 2
    assert out.read_text() == "mine" and left_behind(tmp_path) == {"out.csv"}


def test_a_failure_in_the_middle_of_the_rows_leaves_nothing(monkeypatch, model, tmp_path):
    from sfumato.models.model import Model

    def broken(self, *_, **__):
        yield next(Model._draw(self, 5, __import__("numpy").random.default_rng(0), {}, text=True))
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Model, "frames", broken)
    ran = sfumato("sample", model, "-o", tmp_path / "out.csv")
    assert ran.code == 2 and "input/output error" in ran.err and left_behind(tmp_path) == set()


def test_a_model_that_is_paid_for_is_not_lost_with_the_rows(monkeypatch, table, tmp_path):
    from sfumato.tables import sinks

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sinks, "_write_csv", fail)
    kept, ledger = tmp_path / "m.sfumato", tmp_path / "ledger"
    words = ("--model", kept, "--ledger", ledger, "--dataset", "d", *FAST)
    ran = sfumato("generate", table, "-o", tmp_path / "out.csv", *words)
    assert ran.code == 2 and str(kept) in ran.err and "sfumato sample" in ran.err
    assert charged(ledger) == 1 and sf.verify(kept).epsilon <= 1
    assert left_behind(tmp_path) == {"visits.csv", "m.sfumato", "ledger"}


def test_texts_that_a_spreadsheet_would_run(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + '"=cmd|calc",-5\n@a,3\n"+1 and 2",-4\n' * 400)
    words = ("--epsilon", 20, "--rows", 90)
    plain, safe = tmp_path / "plain.csv", tmp_path / "safe.csv"
    assert sfumato("generate", table, "-o", plain, *words).code == 0
    assert sfumato("generate", table, "-o", safe, *words, "--csv-safe").code == 0
    texts = {line.split(",")[0] for line in plain.read_text().splitlines()[1:]}
    assert {"=cmd|calc", "@a", "+1 and 2"} <= texts
    texts = {line.split(",")[0] for line in safe.read_text().splitlines()[1:]}
    assert {"'=cmd|calc", "'@a", "'+1 and 2"} <= texts and not any(text[0] in "=@+" for text in texts)
    assert any(line.endswith(",-5") for line in safe.read_text().splitlines())


def test_a_terminated_run_leaves_nothing(model, tmp_path):
    words = [sys.executable, "-m", "sfumato", "sample", model, "-o", tmp_path / "rows.csv", "--rows", "1e9"]
    run = subprocess.Popen([str(word) for word in words], stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not left_behind(tmp_path):
        time.sleep(0.05)
    run.terminate()
    _, said = run.communicate()
    assert run.returncode == 143 and said == "error: terminated; what was charged stays charged\n"
    assert left_behind(tmp_path) == set()

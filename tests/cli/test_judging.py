"""`sfumato evaluate`, `sfumato attack` and `generate --report`."""

import polars as pl
import pytest
from tests.attacks.people import noisy, population
from tests.cli.runner import CANARY, left_behind, sfumato


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Real rows, hold-out rows, and synthetic rows of two generators."""
    folder = tmp_path_factory.mktemp("desk")
    real = population(600, 1)
    real.write_csv(folder / "real.csv")
    population(400, 2).write_csv(folder / "holdout.csv")
    population(600, 3).write_csv(folder / "others.csv")
    noisy(real, share=0.01, seed=1).write_csv(folder / "noisy.csv")
    return folder


def test_evaluate_writes_a_page_and_prints_every_measure(desk):
    page = desk / "internal.html"
    words = (
        "--holdout",
        desk / "holdout.csv",
        "--family",
        "marginals",
        "--family",
        "attacks",
        "--epsilon",
        1,
    )
    ran = sfumato("evaluate", desk / "real.csv", desk / "others.csv", *words, "-o", page)
    assert ran.code == 0, ran.err
    assert "marginals.tv1" in ran.out and "attacks.membership" in ran.out and "not private" in ran.err
    assert page.read_text().startswith("\n<!DOCTYPE html>") or page.read_text().lstrip().startswith(
        "<!DOCTYPE html>"
    )
    again = sfumato("evaluate", desk / "real.csv", desk / "others.csv", *words, "-o", page)
    assert again.code == 2 and "--force" in again.err
    page.unlink()


def test_both_tables_can_be_named_by_options(desk):
    words = ("--family", "marginals", "--json")
    expected = sfumato("evaluate", desk / "real.csv", desk / "others.csv", *words)
    for real, synthetic in (("-r", "-s"), ("--real", "--synthetic")):
        ran = sfumato("evaluate", synthetic, desk / "others.csv", real, desk / "real.csv", *words)
        assert ran.code == 0, ran.err
        assert _measured(ran) == _measured(expected)
    mixed = sfumato("evaluate", desk / "real.csv", "-s", desk / "others.csv", *words)
    assert _measured(mixed) == _measured(expected)


def _measured(ran):
    return [(found["name"], found.get("value")) for found in ran.json()["outcomes"]]


def test_evaluate_for_machines(desk):
    words = ("--holdout", desk / "holdout.csv", "--family", "marginals", "--json")
    ran = sfumato("evaluate", desk / "real.csv", desk / "others.csv", *words)
    assert ran.code == 0 and ran.err == ""
    found = ran.json()
    assert "not private" in found["warning"] and found["facts"]["rows"]["synthetic"] == 600
    assert {each["state"] for each in found["outcomes"]} <= {"value", "not applicable", "failed"}


def test_attack_finds_an_overfitted_generator_and_says_so(desk):
    words = ("--holdout", desk / "holdout.csv", "--epsilon", "0.5", "--targets", "200")
    ran = sfumato("attack", desk / "real.csv", desk / "noisy.csv", *words)
    assert ran.code == 3 and "more than the stated guarantee allows: " in ran.err and "Membership" in ran.err
    assert "Membership inference" in ran.out and "ceiling" in ran.out
    fine = sfumato("attack", desk / "real.csv", desk / "others.csv", *words, "--json")
    assert fine.code == 0 and fine.err == ""
    area = next(each for each in fine.json()["outcomes"] if each["name"] == "attacks.membership")
    assert area["interval"]["low"] < 0.53 and area["facts"]["ceiling"] == pytest.approx(0.6225, abs=1e-3)


def test_a_page_stays_away_from_a_release(desk, table, schema, tmp_path):
    release = tmp_path / "release"
    release.mkdir()
    words = ("--epsilon", 2, "--schema", schema, "--method", "mst", "--quiet")
    made = sfumato(
        "generate", table, "-o", release / "rows.csv", *words, "--model", release / "m.sfumato", "--report",
        release / "page.html",
    )  # fmt: skip
    assert made.code == 0, made.err
    page = (release / "page.html").read_text()
    assert "PUBLISHABLE" in page and "epsilon 1." in page and len(page.encode()) < 300_000
    before = left_behind(release)
    words = (
        "evaluate",
        table,
        release / "rows.csv",
        "--family",
        "marginals",
        "--model",
        release / "m.sfumato",
    )
    refused = sfumato(*words, "-o", release / "internal.html")
    assert refused.code == 2 and "private data" in refused.err and left_behind(release) == before
    assert sfumato(*words, "-o", release / "internal.html", "--force").code == 0
    assert sfumato(*words, "-o", tmp_path / "internal.html").code == 0
    assert "half: 1" in (tmp_path / "internal.html").read_text()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("attack", "REAL", "OTHERS"), "--holdout"),
        (("attack", "REAL", "OTHERS", "--holdout", "none.csv"), "none.csv"),
        (("attack", "REAL", "OTHERS", "--holdout", "REAL", "--epsilon", "-1"), "epsilon"),
        (("attack", "REAL", "OTHERS", "--holdout", "REAL", "--delta", "0.1"), "delta without epsilon"),
        (("attack", "REAL", "OTHERS", "--holdout", "REAL", "--secret", "pya"), "no column 'pya'"),
        (("attack", "REAL", "OTHERS", "--holdout", "REAL", "--targets", "1"), "at least 20"),
        (("attack", "REAL", "OTHERS", "--holdout", "REAL", "--shadows", "8"), "a method and its epsilon"),
        (("evaluate", "REAL"), "SYNTHETIC"),
        (("evaluate", "REAL", "OTHERS", "-r", "REAL"), "given twice"),
        (("evaluate", "-s", "OTHERS"), "--real"),
        (("evaluate", "REAL", "OTHERS", "-o", "page.txt"), ".html"),
        (("evaluate", "REAL", "OTHERS", "-o", "REAL"), "the same file"),
        (("evaluate", "REAL", "OTHERS", "--target", "pya"), "pya"),
        (("evaluate", "REAL", "OTHERS", "--family", "beauty"), "no family 'beauty'"),
    ],
)
def test_wrong_words_are_refused(desk, words, part):
    paths = {"REAL": desk / "real.csv", "OTHERS": desk / "others.csv"}
    before = left_behind(desk)
    ran = sfumato(*(paths.get(word, word) for word in words))
    assert ran.code == 2 and part in ran.err and left_behind(desk) == before


def test_tables_that_have_nothing_in_common(desk):
    other, far = desk / "other.csv", desk / "far.csv"
    other.write_text("height,weight\n" + "1,2\n" * 50)
    frame = pl.read_csv(desk / "real.csv")
    away = frame.with_columns(
        pl.col(pl.Int64, pl.Float64) + 1e6, pl.col(pl.String).str.to_lowercase().str.zfill(9)
    )
    away.write_csv(far)
    before = left_behind(desk)
    for command, more in (("evaluate", ()), ("attack", ("--holdout", desk / "others.csv"))):
        ran = sfumato(command, desk / "real.csv", other, *more, "--quiet")
        assert ran.code == 2 and ran.out == "" and "none of the real table's columns" in ran.err
        ran = sfumato(command, desk / "real.csv", far, *more, "--quiet", "--json")
        assert ran.code == 0 and ran.json()
        assert ran.err.startswith("WARNING: the tables have the same columns and no value in common")
        ran = sfumato(command, desk / "real.csv", desk / "others.csv", *more, "--quiet")
        assert ran.code == 0 and ran.err == ""
    assert sfumato("evaluate", desk / "real.csv", other, "-o", desk / "page.html").code == 2
    assert left_behind(desk) == before


def test_no_value_of_the_table_is_printed(desk):
    real = population(60, 1).with_columns(town=None).select("age", "sex")
    rows = [f"{age},{CANARY}{i}" for i, age in enumerate(real["age"])]
    path = desk / "canary.csv"
    path.write_text("age,name\n" + "\n".join(rows) + "\n")
    ran = sfumato("attack", path, path, "--holdout", path)
    assert ran.code in (0, 3) and CANARY not in ran.printed
    path.unlink()

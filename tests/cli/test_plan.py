"""`sfumato plan`: a table for people, one object for machines, and exit code 2 for what makes no sense."""

import pytest
from tests.cli.runner import left_behind, sfumato


def test_plan_for_people(schema, tmp_path):
    ran = sfumato("plan", "--schema", schema, "--rows", "1e4", "--epsilon", "0.001,1, 10")
    assert ran.code == 0
    head, *lines = ran.out.splitlines()
    assert head.split() == ["epsilon", "error", "one-way", "three-way", "cells", "memory", "seconds"]
    assert [line.split()[0] for line in lines[:3]] == ["0.001", "1", "10"]
    assert "total variation" in lines[3] and "smallest epsilon for 5% error: about" in lines[4]
    assert "drowned in noise" in lines[0] and "drowned" not in lines[2]
    assert "WARNING: epsilon 0.001: noise will drown the signal" in ran.err and "epsilon 10:" not in ran.err
    assert "10,000 rows" in ran.err and left_behind(tmp_path) == {"visits.toml"}
    quiet = sfumato("plan", "--schema", schema, "--rows", "10000", "--epsilon", "0.001", "--quiet")
    assert quiet.err.startswith("WARNING")


def test_plan_for_machines(schema):
    words = ("--rows", 5_000, "--epsilon", "0.5,3", "--json", "--method", "mst", "--set", "rare=2")
    ran = sfumato("plan", "--schema", schema, *words)
    assert ran.code == 0 and ran.err == ""
    found = ran.json()
    assert found["method"] == "mst" and found["rows"] == 5_000
    assert [each["epsilon"] for each in found["plans"]] == [0.5, 3]
    assert {"cells", "memory_mb", "seconds", "error", "expected_error", "warnings"} <= set(found["plans"][0])
    assert found["smallest_epsilon_for_5_percent"] > 0


def test_plan_takes_the_terms_of_a_run(schema):
    def noise(*words):
        words = ("--schema", schema, "--rows", 5_000, "--epsilon", 1, "--json", *words)
        return sfumato("plan", *words).json()["plans"][0]["noise_of_counts"]

    base = noise()
    assert noise("--neighbours", "replace") == pytest.approx(2**0.5 * base)
    assert noise("--delta", "1e-3") < base < noise("--accountant", "zcdp") < 1.1 * base
    assert noise("--unit", "who", "--at-most", 4) == pytest.approx(4 * base)


def test_plan_says_when_single_records_are_dear(tmp_path):
    schema = tmp_path / "s.toml"
    schema.write_text(
        '[columns]\nsex = {type = "categorical", values = ["f", "m"]}\nage = {type = "int", min = 0, max = 99}\n'
    )
    words = ("plan", "--schema", schema, "--rows", 20_000, "--method", "roo")
    many = sfumato(*words, "--epsilon", 1, "--delta", 0)
    assert many.code == 0
    assert "a noisy histogram would be cheaper (sfumato draw --sampler laplace-euclid)" in many.err
    assert "SubRR, with --rows-at-least 20000 would be cheaper" in many.err
    public = sfumato(*words, "--epsilon", 1, "--neighbours", "replace", "--delta", 0, "--json").json()
    assert public["delta"] == 0
    assert any(text.startswith("SubRR would be cheaper") for text in public["plans"][0]["warnings"])
    # For one record at a large epsilon neither is.
    assert sfumato(*words, "--epsilon", 3, "--set", "records=1").err.count("cheaper") == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "--schema"),
        (("--schema", "none.toml", "--rows", "10"), "none.toml"),
        (("--schema", "BAD", "--rows", "10"), "2 faults"),
        (("--schema", "GOOD"), "rows_at_most"),
        (("--schema", "GOOD", "--rows", "0"), "at least 1"),
        (("--schema", "GOOD", "--rows", "1.5"), "not a whole number"),
        (("--schema", "GOOD", "--rows", "10", "--epsilon", "1,x"), "'x' is not a number"),
        (("--schema", "GOOD", "--rows", "10", "--epsilon", "1,0"), "above 0"),
        (("--schema", "GOOD", "--rows", "10", "--epsilon", "nan"), "finite"),
        (("--schema", "GOOD", "--rows", "10", "--method", "mts"), "did you mean 'mst'?"),
        (("--schema", "GOOD", "--rows", "10", "--set", "target=wage"), "wage"),
        (("--schema", "GOOD", "--rows", "10", "--at-most", "3"), "--unit"),
        (("--schema", "GOOD", "--rows", "10", "--ledger", "l"), "--ledger"),
    ],
)
def test_wrong_words(schema, tmp_path, words, part):
    bad = tmp_path / "bad.toml"
    bad.write_text('[columns]\na = {type = "intt"}\nb = {type = "categorical"}\n')
    places = {"GOOD": schema, "BAD": bad}
    ran = sfumato("plan", *(places.get(word, word) for word in words))
    assert ran.code == 2 and ran.out == "" and ran.err.startswith("error: ") and part in ran.err, ran.err

"""The cases that broke other tools, from the command line and from Python, each with its own checks.

facts.json is handed over as it is; check.py of a case is run on the synthetic file.
"""

import contextlib
import io
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import CANARY, Ran, charged, left_behind, sfumato
from tests.shared_data import case

import sfumato as sf
from sfumato.errors import HeaderError, KeySpaceError
from sfumato.privacy.insecure import seeded_noise
from sfumato.privacy.rounded_gaussian import RoundedGaussian

WAYS = ("command", "pandas", "polars")


def run_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "facts.json").read_text())["_run"]


def synthetic(
    folder: Path, way: str, out: Path, *, rows: int | None = None, source: str = "input.csv"
) -> Path:
    """Synthetic rows of a case, written to `out` as CSV."""
    run = run_of(folder)
    facts, table = folder / "facts.json", folder / source
    rows = rows or run["rows"]
    if way == "command":
        delta = ("--delta", run["delta"]) if "delta" in run else ()
        words = ("--epsilon", run["epsilon"], "--rows", rows, "--schema", facts, *delta)
        ran = sfumato("generate", table, "-o", out, *words)
        assert ran.code == 0 and ran.out == "", ran.err
        return out
    options = {"epsilon": run["epsilon"], "delta": run.get("delta"), "schema": facts, "rows": rows}
    if way == "polars":
        made = sf.generate(pl.read_csv(table), **options)
        made.write_csv(out)
    else:
        import pandas as pd

        made = sf.generate(pd.read_csv(table), **options)
        made.to_csv(out, index=False)
    return out


def check(folder: Path, out: Path) -> None:
    """Run the case's own checks on a file."""
    said = io.StringIO()
    before = sys.argv
    sys.argv = ["check.py", str(out)]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(folder / "check.py"), run_name="__main__")
    except SystemExit as stop:
        assert not stop.code, said.getvalue()
    finally:
        sys.argv = before
    assert "PASS" in said.getvalue()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["01", "02", "04", "10", "11", "18"])
def test_the_checks_of_the_case_hold(name, way, tmp_path):
    folder = case(name)
    with seeded_noise(0):
        out = synthetic(folder, way, tmp_path / "out.csv")
    check(folder, out if way == "command" else respelled(folder, out))


def test_a_thin_tail_mostly_comes_out(tmp_path):
    """Case 16: four rows lie beyond the quantile 0.99 that is checked, fewer than the noise of a cell; of 120 samples of
    40 fits 9 miss it by more than is allowed.
    """
    folder, out, held = case("16"), tmp_path / "out.csv", 0
    options = {"epsilon": run_of(folder)["epsilon"], "schema": folder / "facts.json"}
    for seed in range(12):
        model = sf.fit(folder / "input.csv", **options, insecure_noise_seed=seed)
        model.sample(run_of(folder)["rows"], seed=seed).write_csv(out)
        with contextlib.suppress(AssertionError):
            check(folder, out)
            held += 1
    assert held >= 10


def respelled(folder: Path, out: Path) -> Path:
    """What a frame wrote, by its own types, with numbers spelled as in the input: 1 for 1.0 where the input has whole numbers."""
    texts = pl.read_csv(out, infer_schema=False)
    real = pl.read_csv(folder / "input.csv", infer_schema=False)
    for name in texts.columns:
        if not real[name].str.contains(".", literal=True).any():
            texts = texts.with_columns(pl.col(name).str.strip_suffix(".0"))
    texts.write_csv(out)
    return out


# 06: neighbours


def structure(model: sf.Model) -> Any:
    """All of a model but its noisy numbers."""
    from sfumato.models.file import manifest

    facts = manifest(model)
    charges = [(entry["mechanism"], entry["purpose"], entry["cost"]) for entry in facts["ledger"]["entries"]]
    shapes = [array.shape for answer in model.transcript for array in answer.arrays]
    hidden = ("ledger", "transcript")
    return {key: value for key, value in facts.items() if key not in hidden}, charges, shapes


@pytest.mark.parametrize("way", WAYS)
def test_neighbours_expose_the_same_domain(way, tmp_path):
    """The rare job and the income of the one person who differs show in nothing that is released."""
    folder = case("06")
    printed = []
    for source in ("input.csv", "input_neighbour.csv"):
        out = synthetic(folder, way, tmp_path / f"{way}-{source}", source=source)
        check(folder, out)
        printed.append(out.read_text())
    assert not any("astronaut" in text or "9400000" in text for text in printed)


def test_neighbours_give_artefacts_of_the_same_structure(monkeypatch, tmp_path):
    """Without noise: model file, schema, bins, report, messages and the shape of the output agree."""
    folder = case("06")
    monkeypatch.setattr(RoundedGaussian, "draw", lambda _, size: np.zeros(size, dtype=np.int64))
    seen: list[Any] = []
    for source in ("input.csv", "input_neighbour.csv"):
        place = tmp_path / source.removesuffix(".csv")
        place.mkdir()
        (place / "input.csv").write_bytes((folder / source).read_bytes())
        words = ("--epsilon", 1, "--rows", 800, "--schema", folder / "facts.json", "--method", "independent")
        model = place / "m.sfumato"
        ran = sfumato("generate", place / "input.csv", "-o", place / "out.csv", "--model", model, *words)
        shown = sfumato("inspect", model)
        assert ran.code == shown.code == 0
        (place / "printed").write_text(ran.printed + shown.printed)
        for path in place.iterdir():
            content = path.read_bytes()
            assert path.name == "input.csv" or not (b"astronaut" in content or b"9400000" in content)
        out = pl.read_csv(place / "out.csv")
        report = re.sub(r"about \d+ rows", "about N rows", shown.out)
        seen.append((structure(sf.load(model)), report, ran.err.replace(str(place), ""), out.schema))
    assert seen[0] == seen[1]


# 11: identifiers


def test_more_rows_than_keys_are_refused_before_any_charge(tmp_path):
    folder = case("11")
    ledger, out = tmp_path / "ledger", tmp_path / "out.csv"
    words = ("--epsilon", 1, "--rows", 3000, "--schema", folder / "facts.json")
    ran = sfumato(
        "generate", folder / "input.csv", "-o", out, *words, "--ledger", ledger, "--dataset", "staff"
    )
    assert ran.code == 1 and "'badge'" in ran.err and "2,600" in ran.err and "at most 2,600 rows" in ran.err
    assert charged(ledger) == 0 and left_behind(tmp_path) <= {"ledger"}
    frame = pl.read_csv(folder / "input.csv")
    for table in (frame, frame.to_pandas()):
        with pytest.raises(KeySpaceError, match="'badge' has only 2,600"):
            sf.generate(table, epsilon=1, rows=3000, schema=folder / "facts.json")
    with pytest.raises(KeySpaceError, match="2,600"):
        sf.fit(frame, epsilon=1, schema=folder / "facts.json", method="independent").sample(3000)


# 14: headers


RENAMED = ("1", "2", "blank", "age", "age 2", "free, text\nline")


def test_all_faults_of_a_header_are_told_at_once_before_any_charge(tmp_path):
    folder = case("14")
    ledger = tmp_path / "ledger"
    words = ("--epsilon", 1, "--ledger", ledger, "--dataset", "d")
    ran = sfumato("generate", folder / "input.csv", "-o", tmp_path / "out.csv", *words)
    assert ran.code == 2
    for part in ("2 faults", "column 3: the name is empty", "columns 4 and 5", "'age'", "--names"):
        assert part in ran.err
    assert charged(ledger) == 0 and left_behind(tmp_path) <= {"ledger"}
    with pytest.raises(HeaderError, match="column 3"):
        sf.fit(folder / "input.csv", epsilon=1)


def test_odd_names_are_written_back_byte_for_byte(tmp_path):
    folder = case("14")
    facts = json.loads((folder / "facts.json").read_text())
    facts["_undeclared"] = "the others are learned"
    schema = tmp_path / "s.json"
    schema.write_text(json.dumps({"undeclared": "draft", "columns": {k: facts[k] for k in ("1", "2")}}))
    names = ",".join(f'"{name}"' if "," in name else name for name in RENAMED)
    out, again = tmp_path / "out.csv", tmp_path / "again.csv"
    words = ("--epsilon", 1, "--rows", 200, "--names", names, "--schema", schema)
    ran = sfumato("generate", folder / "input.csv", "-o", out, *words)
    assert ran.code == 0, ran.err
    assert out.read_bytes().startswith(b'1,2,blank,age,age 2,"free, text\nline"\n')
    frame = pl.read_csv(out, infer_schema=False)
    assert tuple(frame.columns) == RENAMED and frame.height == 200
    assert set(frame["1"]) <= {"0", "1", "2", "3", "4"} and set(frame["2"]) <= {"0", "1", "2"}
    # What was written is read again without renaming.
    assert sfumato("generate", out, "-o", again, "--epsilon", 1, "--rows", 9, "--schema", schema).code == 0
    assert again.read_bytes().startswith(b'1,2,blank,age,age 2,"free, text\nline"\n')


def test_odd_names_of_frames_come_back(tmp_path):
    import pandas as pd

    folder = case("14")
    frame = pd.read_csv(folder / "input.csv", header=0, names=list(RENAMED))
    frame = frame.rename(columns={"1": 1, "2": 2})
    made = sf.generate(frame, epsilon=1, rows=50, method="independent")
    assert made.columns.tolist() == [1, 2, *RENAMED[2:]] and len(made) == 50
    made = sf.generate(pl.from_pandas(frame.rename(columns=str)), epsilon=1, rows=50, method="independent")
    assert made.columns == list(RENAMED)


# 18: tiny


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 100])
def test_any_epsilon_is_calibrated_for_eight_rows(epsilon, tmp_path):
    folder = case("18")
    out = tmp_path / "out.csv"
    words = ("--rows", 8, "--schema", folder / "facts.json", "--delta", 1e-5)
    assert sfumato("generate", folder / "input.csv", "-o", out, "--epsilon", epsilon, *words).code == 0
    check(folder, out)


def test_two_runs_differ_and_a_seed_is_marked():
    folder = case("18")
    options = {"epsilon": 0.01, "delta": 1e-5, "schema": folder / "facts.json"}
    one, two = (sf.fit(folder / "input.csv", **options) for _ in range(2))
    arrays = [[array.tolist() for answer in m.transcript for array in answer.arrays] for m in (one, two)]
    assert arrays[0] != arrays[1] and not one.void
    seeded = [sf.fit(folder / "input.csv", **options, insecure_noise_seed=7) for _ in range(2)]
    arrays = [[array.tolist() for answer in m.transcript for array in answer.arrays] for m in seeded]
    assert arrays[0] == arrays[1]
    assert "not private against anyone who knows the seed" in str(seeded[0].statement)
    with pytest.raises(sf.SfumatoError, match="not private"):
        sf.assert_dp(seeded[0], epsilon=1000)


def test_nothing_of_a_case_is_quoted_in_a_message(tmp_path):
    """A damaged copy of a case is refused without its values."""
    folder = case("01")
    table = tmp_path / "t.csv"
    table.write_bytes((folder / "input.csv").read_bytes() + f"20210405,{CANARY},4,5\n".encode())
    ran: Ran = sfumato("generate", table, "-o", tmp_path / "o.csv", "--epsilon", 1)
    assert ran.code == 2 and "t.csv, line 602" in ran.err and CANARY not in ran.err


# On Linux what getrusage tells is at least what the process that started this one had.
PEAK = (
    "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    if sys.platform == "linux"
    else "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


@pytest.mark.parametrize("name", ["10", "18"])
def test_the_limits_of_the_case_hold(name, tmp_path):
    """In a process of its own: the seconds and the memory that the case allows."""
    folder = case(name)
    run = run_of(folder)
    code = f"import sys; from sfumato.cli import main; code = main(); {PEAK}; sys.exit(code)"
    words = ["--epsilon", run["epsilon"], "--delta", run["delta"], "--rows", run["rows"], "--quiet"]
    words += ["--schema", folder / "facts.json", "-o", tmp_path / "out.csv"]
    command = [sys.executable, "-c", code, "generate", folder / "input.csv", *words]
    ran = subprocess.run(
        [str(word) for word in command], capture_output=True, timeout=run["limits"]["seconds"], check=True
    )
    kibibytes = int(ran.stdout) / (1024 if sys.platform == "darwin" else 1)
    assert 0 < kibibytes < run["limits"]["memory_gib"] * (1 << 20)

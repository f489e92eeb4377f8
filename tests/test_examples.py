"""The examples run, and so do the commands of the README and the examples of the documentation."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.schema import from_toml

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"^(\.venv/bin/)?sfumato\s")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with nothing in it but the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def _steps() -> list[str]:
    """Commands of the shell blocks that call sfumato, in order; of the set-up only what calls it."""
    steps = []
    for block in _blocks("README.md", "sh"):
        lines = block.replace("\\\n", " ").splitlines()
        parts = [part.strip() for line in lines for part in line.split(" && ")]
        if any(COMMAND.match(part) for part in parts):
            steps += [part for part in parts if not re.match(r"python3 -m venv|\.venv/bin/pip", part)]
    return steps


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, folder, capsys):
    runpy.run_path(str(folder / "examples" / path.name), run_name="__main__")
    assert capsys.readouterr().out


def test_commands_of_the_readme_run(folder, capfd):
    (point,) = entry_points(group="console_scripts", name="sfumato")
    main = point.load()
    steps = _steps()
    assert sum(bool(COMMAND.match(step)) for step in steps) >= 8, "the blocks of the README are not found"
    for step in steps:
        if COMMAND.match(step):
            assert main(shlex.split(step)[1:]) == 0, f"{step}\n{capfd.readouterr().err}"
        else:
            subprocess.run(step, shell=True, check=True, env={**os.environ, "LC_ALL": "C"})
    written = {path.name for path in folder.iterdir()}
    assert {"synthetic.csv", "acs.sfumato", "visits.csv", "surgery.parquet", "from_raw.csv"} <= written
    rules = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line[:1] == "/"]
    made = written - {"examples"}
    assert {name for name in made if not any(fnmatch(name, rule) for rule in rules)} == set()


def test_python_of_the_readme_runs(folder, capsys):
    (block,) = _blocks("README.md", "python")
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert "differentially private" in capsys.readouterr().out
    assert type(names["frame"]).__module__.startswith("polars")


def test_schemas_of_the_documents_are_read():
    blocks = [*_blocks("README.md", "toml"), *_blocks("docs/guide.md", "toml")]
    assert len(blocks) > 9, "the blocks are not found"
    for block in blocks:
        schema = from_toml(block)
        assert from_toml(schema.to_toml()) == schema


TRIAL = """
import polars as pl
import sfumato as sf

paid = {"type": "month", "min": "2020-01", "max": "2020-12"}
facts = {"paid": paid, "n": {"type": "int", "min": 1, "max": 12}}
table = pl.DataFrame({"paid": [f"2020-{n:02d}" for n in range(1, 13)] * 50, "n": list(range(1, 13)) * 50})
model = sf.fit(table, epsilon=100, method="chain", schema={"columns": facts})
model.save("chain.sfumato")
sf.verify("chain.sfumato")
march = sf.load("chain.sfumato").sample(40, where={"paid": "2020-03"})
assert march["paid"].unique().to_list() == ["2020-03"] and march["n"].mode().to_list() == [3]
"""


def test_the_method_and_the_kind_of_the_contribution_guide_work(folder):
    blocks = [block for block in _blocks("CONTRIBUTING.md", "python") if "@" in block]
    assert len(blocks) == 2, "the blocks are not found"
    for name, block in zip(("chain", "month"), blocks, strict=True):
        (folder / f"{name}.py").write_text(block)
    (folder / "trial.py").write_text(f"import chain, month\n{TRIAL}")
    subprocess.run([sys.executable, "trial.py"], check=True)


def test_files_that_the_documents_link_to_exist():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"


def test_every_method_and_mechanism_is_documented():
    readme, trust = ((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/trust.md"))
    assert set(re.findall(r"^\| `([a-z-]+)`.*\|$", readme, flags=re.MULTILINE)) == set(sf.methods())
    files = (ROOT / "src/sfumato/privacy/mechanisms").glob("*.py")
    names = {
        name
        for path in files
        for name in re.findall(r'^    name: ClassVar\[str\] = "(\w+)"$', path.read_text(), flags=re.MULTILINE)
    }
    assert len(names) >= 6
    assert names <= set(re.findall(r"^\| `(\w+)` \|", trust, flags=re.MULTILINE))

"""A virtual environment for a script that must not share ours: made once, from what the script asks for.

A script says so in two tuples at its top, which are read without running it:
  REQUIREMENTS = ("mbi==1.1.0", …)     installed by pip
  ALONE = ("smartnoise-synth==1.0.8",) installed by pip without what they depend on; optional
Environments lie in one folder, each named after the first requirement and a digest of them all.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

DEFAULT = Path("~/.cache/sfumato-benchmarks").expanduser()


class NotInstalledError(Exception):
    """What pip said last."""


def requirements(script: Path) -> dict[str, tuple[str, ...]]:
    """The tuples REQUIREMENTS and ALONE of a script, without running it; empty where it has none."""
    found: dict[str, tuple[str, ...]] = {"REQUIREMENTS": (), "ALONE": ()}
    for statement in ast.parse(script.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in found:
                found[name] = tuple(ast.literal_eval(statement.value))
    return found


def interpreter(script: Path, folder: Path) -> Path:
    """The Python that runs `script`: ours if it asks for nothing, else that of its environment."""
    asked = requirements(script)
    lines = asked["ALONE"] + asked["REQUIREMENTS"]
    if not lines:
        return Path(sys.executable)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
    home = folder / f"{re.split('[^a-zA-Z0-9_-]', lines[0])[0]}-{digest}"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"making {home} ({', '.join(lines)})", file=sys.stderr, flush=True)
        shutil.rmtree(home, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(home)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--prefer-binary"]
        if asked["REQUIREMENTS"]:
            _run([*pip, *asked["REQUIREMENTS"]])
        if asked["ALONE"]:
            _run([*pip, "--no-deps", *asked["ALONE"]])
        (home / "ready").write_text("\n".join(lines) + "\n")
    return python


def _run(words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [
            f"exit {done.returncode}"
        ]
        raise NotInstalledError(said[-1])

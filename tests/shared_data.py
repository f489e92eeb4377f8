"""Where the tests that need files outside the repository find them; each skips with a reason without them.

Cases: one folder each, with facts.json and input.csv, under SFUMATO_CASES (default ../shared/cases beside the
repository). Tables: under SFUMATO_DATA (default ../shared/data).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _folder(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable, ROOT.parent / "shared" / name))


def case_names() -> list[str]:
    """Names of the cases that are there; none when the folder is not."""
    return sorted(path.parent.name for path in _folder("SFUMATO_CASES", "cases").glob("*/facts.json"))


def case(name: str) -> Path:
    """The folder of the case called `name`, or whose name starts with it."""
    folder = _folder("SFUMATO_CASES", "cases")
    found = sorted(path for path in folder.glob(f"{name}*") if path.is_dir())
    if not found:
        pytest.skip(f"no case {name!r} under {folder}: set SFUMATO_CASES")
    return found[0]


def table(name: str) -> Path:
    """The file or folder called `name`, such as "titanic/titanic.csv"."""
    path = _folder("SFUMATO_DATA", "data") / name
    if not path.exists():
        pytest.skip(f"no table {name!r} under {path.parent}: set SFUMATO_DATA")
    return path

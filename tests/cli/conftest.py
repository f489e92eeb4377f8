"""A small table, a schema for it, and a model of it."""

from pathlib import Path

import pytest
from tests.cli.runner import sfumato

ROWS = "".join(f"{'FM'[i % 2]},{20 + i % 30},{('low', 'mid', 'high')[i % 3]}\n" for i in range(300))
SCHEMA = """table = "visits"
[columns]
sex = {type = "categorical", values = ["F", "M"]}
age = {type = "int", min = 18, max = 60}
grade = {type = "categorical", values = ["low", "mid", "high"], ordered = true}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("sex,age,grade\n" + ROWS)
    return path


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "visits.toml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "visits.csv").write_text("sex,age,grade\n" + ROWS)
    (folder / "visits.toml").write_text(SCHEMA)
    path = folder / "visits.sfumato"
    words = ("--epsilon", "2", "--method", "mst", "--schema", folder / "visits.toml", "--quiet")
    assert sfumato("fit", folder / "visits.csv", "-o", path, *words).code == 0
    return path

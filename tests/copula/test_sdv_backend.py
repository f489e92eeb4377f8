"""`backend = "sdv"`: what SDV is given and what is made of its rows, with a stand-in in its place."""

from __future__ import annotations

import math
import sys
from importlib.metadata import version as real_version
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from tests.cli.runner import sfumato

import sfumato as sf
from sfumato.errors import GuaranteeError, JobError, UsageError
from sfumato.synthesizers import sdv_backend

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.api.PrivacyWarning")
SCHEMA = {
    "columns": {
        "n": {"type": "int", "min": 0, "max": 50, "nullable": True, "special_codes": {"-1": "refused"}},
        "x": {"type": "float", "decimals": 1, "min": 0, "max": 10},
        "c": {"type": "categorical", "values": ["a", "b", "c"]},
    }
}


def _table(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    n: list = rng.integers(0, 51, rows).tolist()
    n[::10], n[1::10] = [None] * len(n[::10]), [-1] * len(n[1::10])
    return pl.DataFrame(
        {"n": n, "x": np.round(rng.uniform(0, 10, rows), 1), "c": rng.choice(["a", "b"], rows)}
    )


class _Synthesizer:
    """Gives its rows back in another order, as many as asked for."""

    made: list[_Synthesizer] = []
    named = True

    def __init__(self, metadata, **options) -> None:
        self.metadata, self.options = metadata, options
        _Synthesizer.made.append(self)

    def fit(self, data) -> None:
        self.frame = data["rows"] if self.named else data

    def sample(self, count: int):
        drawn = self.frame.sample(count, replace=True, random_state=1).reset_index(drop=True)
        return {"rows": drawn} if self.named else drawn


@pytest.fixture(params=["2.0.0", "1.24.0"])
def stand_in(request, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    package, table, metadata = ModuleType("sdv"), ModuleType("sdv.single_table"), ModuleType("sdv.metadata")
    for name in sdv_backend.CLASSES.values():
        setattr(table, name, _Synthesizer)
    metadata.Metadata = type("Metadata", (), {"load_from_dict": staticmethod(lambda facts: facts)})
    package.single_table, package.metadata = table, metadata
    for module in (package, table, metadata):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        sdv_backend, "version", lambda name: request.param if name == "sdv" else real_version(name)
    )
    monkeypatch.setattr(_Synthesizer, "named", request.param.startswith("2"))
    monkeypatch.setattr(_Synthesizer, "made", [])
    return _Synthesizer


@pytest.mark.parametrize("method", list(sdv_backend.CLASSES))
def test_rows_go_there_and_back(method: str, stand_in, tmp_path: Path) -> None:
    epochs = {} if method == "gaussian-copula" else {"epochs": 3}
    model = sf.fit(_table(), method=method, schema=SCHEMA, options={"backend": "sdv", **epochs})
    (made,) = stand_in.made
    assert made.options.get("epochs") == epochs.get("epochs")
    kinds = made.metadata["tables"]["rows"]["columns"]
    assert {name: facts["sdtype"] for name, facts in kinds.items()} == {
        "label0": "categorical", "number0": "numerical", "number1": "numerical", "label2": "categorical",
    }  # fmt: skip
    assert list(made.frame.columns) == list(kinds) and not made.frame.isna().to_numpy().any()
    drawn = model.sample(300, seed=1)
    # Missing and special codes keep their shares, and no value leaves its column's domain.
    assert 10 < drawn["n"].null_count() < 60 and 10 < (drawn["n"] == -1).sum() < 60
    assert drawn["n"].drop_nulls().is_between(-1, 50).all() and drawn["x"].is_between(0, 10).all()
    assert drawn["c"].is_in(["a", "b"]).all()
    model.save(tmp_path / "m")
    again = sf.load(tmp_path / "m")
    assert again.sample(300, seed=1).equals(drawn)
    assert math.isinf(again.statement.epsilon) and "of the package SDV" in str(again.statement)
    with pytest.raises(GuaranteeError, match="nothing is guaranteed"):
        sf.verify(again)
    assert again.sample(20, seed=0, where={"c": "b"})["c"].to_list() == ["b"] * 20


def test_as_many_rows_are_kept_as_will_be_asked_for(stand_in) -> None:
    options = {"backend": "sdv"}
    model = sf.fit(_table(), method="gaussian-copula", schema=SCHEMA, options=options, rows=700)
    assert model.sample(700, seed=0).height == 700
    with pytest.raises(JobError, match="sdv_rows"):
        model.sample(701)
    with pytest.raises(UsageError, match="sdv_rows"):
        sf.fit(_table(), method="gaussian-copula", schema=SCHEMA, options={**options, "sdv_rows": 5}, rows=9)


def test_codes_that_a_row_cannot_have_are_drawn_anew(stand_in, monkeypatch) -> None:
    """A number beyond its bounds goes to the nearest, a missing label to one that occurs."""
    real = stand_in.sample

    def odd(self, count: int):
        drawn = real(self, count)
        frame = drawn["rows"] if self.named else drawn
        frame.loc[:, "number1"] = 1e9
        frame.loc[:, "label2"] = "0"
        return drawn

    monkeypatch.setattr(stand_in, "sample", odd)
    model = sf.fit(_table(), method="gaussian-copula", schema=SCHEMA, options={"backend": "sdv"})
    drawn = model.sample(100, seed=0)
    assert (drawn["x"] == 10).all() and drawn["c"].is_in(["a", "b"]).all()


def test_a_table_without_rows_is_refused(stand_in) -> None:
    with pytest.raises(JobError, match="without rows"):
        sf.fit(
            _table()[:0],
            method="gaussian-copula",
            schema=SCHEMA,
            options={"backend": "sdv"},
            allow_empty=True,
        )


@pytest.mark.parametrize("method", list(sdv_backend.CLASSES))
def test_without_sdv_the_command_to_install_it_is_told_and_nothing_is_charged(
    method: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "sdv", None)
    with pytest.raises(UsageError, match="pip install sdv"):
        sf.fit(
            _table(),
            method=method,
            schema=SCHEMA,
            options={"backend": "sdv"},
            ledger=tmp_path / "l",
            dataset="d",
        )
    assert not (tmp_path / "l").exists()
    _table().write_csv(tmp_path / "t.csv")
    words = ("generate", tmp_path / "t.csv", "-m", method, "--set", "backend=sdv", "-o", tmp_path / "o.csv")
    ran = sfumato(*words)
    assert ran.code == 2 and "pip install sdv" in ran.err and not (tmp_path / "o.csv").exists()
    assert sfumato(*words[:-4], "--set", "backend=other", *words[-2:]).code == 2

"""`gaussian-copula`: what it learns, and that it promises nothing."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import GuaranteeError, UsageError


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    z = rng.multivariate_normal([0, 0, 0], [[1, 0.7, -0.4], [0.7, 1, 0], [-0.4, 0, 1]], size=6000)
    return pl.DataFrame(
        {
            "a": np.round(np.exp(z[:, 0]), 4),
            "b": np.round(z[:, 1], 4),
            "c": np.where(z[:, 2] > 0.5, "hi", "lo"),
        }
    )


def test_it_learns_margins_and_relations() -> None:
    table = _table()
    with pytest.warns(sf.PrivacyWarning):
        model = sf.fit(table, method="gaussian-copula")
    drawn = model.sample(20_000, seed=1)
    assert (
        abs(
            np.corrcoef(np.log(drawn["a"] + 0.01), drawn["b"])[0, 1]
            - np.corrcoef(np.log(table["a"] + 0.01), table["b"])[0, 1]
        )
        < 0.03
    )
    assert abs((drawn["c"] == "hi").mean() - (table["c"] == "hi").mean()) < 0.02
    for q in (0.05, 0.5, 0.95):
        assert abs(drawn["a"].quantile(q) / table["a"].quantile(q) - 1) < 0.1


def test_it_guarantees_nothing_and_says_so(tmp_path: Path) -> None:
    with pytest.warns(sf.PrivacyWarning, match="no privacy guarantee"):
        model = sf.fit(_table(), method="gaussian-copula")
    assert math.isinf(model.statement.epsilon)
    assert "NO PRIVACY GUARANTEE" in str(model.statement)
    model.save(tmp_path / "m")
    with pytest.raises(GuaranteeError):
        sf.assert_dp(tmp_path / "m", epsilon=1e9)
    assert sf.load(tmp_path / "m").sample(5, seed=1).height == 5


def test_an_epsilon_is_refused_with_the_methods_that_have_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no guarantee(.|\n)*adaptive(.|\n)*dp-copula"):
        sf.fit(_table(), epsilon=1.0, method="gaussian-copula", ledger=tmp_path / "l", dataset="d")
    assert not (tmp_path / "l").exists()
    with pytest.raises(UsageError, match="needs epsilon"):
        sf.fit(_table(), method="dp-copula")


def test_the_disk_ledger_counts_it_as_infinite(tmp_path: Path) -> None:
    from sfumato.privacy.dataset_ledger import DatasetLedger

    with pytest.warns(sf.PrivacyWarning):
        sf.fit(_table(), method="gaussian-copula", ledger=tmp_path / "l", dataset="d")
    assert math.isinf(DatasetLedger(tmp_path / "l").spent("d").epsilon)

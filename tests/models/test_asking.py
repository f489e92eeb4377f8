"""What is asked for in Python: the unit of privacy, budgets that are too small, how a model shows itself."""

import re

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import UsageError

FRAME = pl.DataFrame({"patient": [f"secret-{i // 2}" for i in range(60)], "a": [0, 1, 2] * 20})
SCHEMA = {"columns": {"a": {"type": "int", "min": 0, "max": 3}}, "undeclared": "drop"}


def fitted(**options):
    return sf.fit(FRAME, **{"epsilon": 1.0, "method": "independent", "schema": SCHEMA, **options})


@pytest.mark.parametrize(
    "unit",
    ["patient", "ab", ("patient",), ("patient", "1"), ("patient", True), (1, "patient"), ("a", 1, 2), 7, {}],
)
def test_a_unit_is_a_column_and_a_number_of_rows(unit):
    with pytest.raises(UsageError, match=re.escape('for example unit=("patient", 1)')):
        fitted(unit=unit)


def test_a_unit_that_cannot_be_protected_is_refused_before_anything_is_charged(tmp_path):
    for unit in (("patient", 0), ("patient", -1)):
        with pytest.raises(UsageError, match="at most"):
            fitted(unit=unit)
    for rows in (10**7, 10**400):
        with pytest.raises(UsageError, match="too small where up to"):
            fitted(unit=("patient", rows), epsilon=1e-5, ledger=tmp_path / "l", dataset="d")
    assert not (tmp_path / "l").exists()
    assert fitted(unit=["patient", 10**6]).statement.epsilon <= 1.0


def test_a_model_shows_itself_in_a_line():
    shown = repr(fitted(unit=("patient", 2)))
    assert re.fullmatch(
        r"Model\(method='independent', rows=\d+, columns=2, epsilon=(1|0\.\d+), delta=1e-09, "
        r"unit=\"all rows with one value of 'patient' \(at most 2 kept\)\"\)",
        shown,
    )
    assert "epsilon=inf" in repr(fitted(insecure_noise_seed=1))

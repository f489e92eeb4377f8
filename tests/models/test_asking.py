"""What is asked for in Python: the unit of privacy, budgets that are too small, how a model shows itself."""

import json
import re

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import GuaranteeError, OutputError, SchemaError, UsageError

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


def test_numbers_of_numpy_count_as_numbers():
    plain = fitted(
        epsilon=np.int64(2), delta=np.float32(1e-6), rows=np.int64(9), unit=("patient", np.int32(2))
    )
    assert plain.statement.epsilon <= 2 and plain.sample(np.int64(7)).height == 7
    assert json.dumps(plain.request)
    plan = sf.plan(SCHEMA, rows=np.int64(100), epsilon=np.float32(1), method="independent")
    assert len(plan.outcomes) == 1


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"epsilon": 10**400}, "epsilon must be a finite number"),
        ({"epsilon": -(10**5000)}, "epsilon must be a finite number"),
        ({"delta": 10**5000}, "delta must lie between"),
        ({"rows": 10**400}, "the number of rows must be"),
        ({"rows": -(10**5000)}, "the number of rows must be"),
        ({"insecure_noise_seed": -(10**5000)}, "a seed must be"),
        ({"schema": {**SCHEMA, "rows_at_most": 10**400}}, "rows_at_most"),
        ({"schema": [1]}, "is of type list: expected a path"),
        ({"schema": 5}, "is of type int: expected a path"),
        ({"method": "mst", "options": {"rare": 10**400}}, "'rare' is too large"),
        ({"dataset": 5}, "name of the data set"),
        ({"dataset": ""}, "name of the data set"),
        ({"dataset": " visits"}, "name of the data set"),
        ({"schema": {"columns": {"patient": {"type": "text"}, "a": {"type": "text"}}}}, "no column would come out"),
        ({"schema": {"undeclared": "drop", "columns": {"a": {"type": "text"}}}}, "open_set = true"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_charged(options, part, tmp_path):
    with pytest.raises((UsageError, SchemaError), match=re.escape(part)):
        fitted(**{"ledger": tmp_path / "l", "dataset": "d", **options})
    assert not (tmp_path / "l").exists()


def test_text_that_is_dropped_is_no_fault_beside_other_columns():
    schema = {"columns": {"patient": {"type": "text"}, "a": SCHEMA["columns"]["a"]}}
    assert fitted(schema=schema).sample(3).columns == ["a"]
    persons = {"columns": {"a": {"type": "text"}, "patient": {"type": "text"}}}
    assert fitted(schema=persons, unit=("patient", 2)).sample(3).columns == ["patient"]


def test_a_delta_is_compared_with_the_rows_or_said_to_be_large():
    with pytest.warns(sf.PrivacyWarning, match="fewer than 1,000 rows"):
        model = fitted(delta=1e-3)
    with pytest.raises(GuaranteeError, match="not delta = 1e-09"):
        sf.assert_dp(model, epsilon=1, delta=1e-9)
    assert sf.assert_dp(model, epsilon=1, delta=1e-3).delta == 1e-3


def test_a_file_is_replaced_by_force_only(tmp_path):
    model = fitted()
    model.save(tmp_path / "m")
    with pytest.raises(OutputError, match="force=True"):
        model.save(tmp_path / "m")
    model.save(tmp_path / "m", force=True)

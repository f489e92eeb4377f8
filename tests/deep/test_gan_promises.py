"""What `dp-gan` must not do: read the encoding off the rows, keep values of rows, let a batch's size show, or
state a price that its file does not carry.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import attrs
import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from tests.cli.runner import sfumato
from tests.deep.programs import SCHEMA, table

import sfumato as sf
from sfumato.errors import GuaranteeError, UsageError
from sfumato.synthesizers.deep.common import power_of_two
from sfumato.synthesizers.deep.encoding import Encoding
from sfumato.synthesizers.deep.modules import HeadModule
from sfumato.synthesizers.deep.nets import chain, initial
from sfumato.testing import record, replay
from sfumato.testing.recordings import fit_exactly

UNIFORM = {"epochs": 2, "batch": 16.0, "hidden": 8, "numeric": "uniform"}
MODE = {"epochs": 2, "batch": 16.0, "hidden": 8}


def _fit(options: dict, rows: pl.DataFrame | None = None, **facts):
    given = {"epsilon": 1.0, "delta": 1e-5, "schema": SCHEMA} | facts
    return sf.fit(table() if rows is None else rows, method="dp-gan", options=options, **given)


@pytest.mark.parametrize("options", [UNIFORM, MODE], ids=["uniform", "mode"])
def test_one_row_moves_the_encoding_of_no_other(options: dict) -> None:
    """Given the same answers, places, modes, condition and frequencies are the same without a row: each is made
    of noisy answers alone.
    """
    rows, chosen = (
        table(),
        {"method": "dp-gan", "options": options, "schema": SCHEMA, "delta": 1e-5, "epsilon": 1.0},
    )
    recording = record(rows, **chosen)
    # `replay` fails where a question, an encoder or a number of the generator is not the recorded one.
    played = replay(recording, rows[:-1], relation="add-remove", **chosen)
    assert sum(step.mechanism.name == "dp_sgd" for step in played.steps) == 1
    exact = fit_exactly(rows, **chosen)
    codes = np.stack([np.arange(40) % codec.size for codec in exact.codecs], 1)
    ours, other = (each.generator for each in (recording.model, exact))
    # And it does follow the noise: with exact answers both are others.
    places, others = ours.encoding.rows(codes), other.encoding.rows(codes)
    assert places.shape != others.shape or not np.allclose(places, others)
    assert ours.condition.shape != other.condition.shape or not np.allclose(ours.condition, other.condition)


def test_no_number_of_a_row_is_in_the_model() -> None:
    """Neither sorted columns nor their ends, in whatever unit."""
    rng = np.random.default_rng(9)
    values = np.round(rng.uniform(1_000, 90_000, 400), 3)
    schema = {"columns": {"x": {"type": "float", "decimals": 3, "min": 0, "max": 100_000}}}
    model = _fit(UNIFORM, pl.DataFrame({"x": values}), schema=schema, epsilon=8.0)
    held = [array for answer in model.transcript for array in answer.arrays]
    held += list(model.generator.arrays().values())
    numbers = np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in held])
    numbers = np.concatenate([numbers, np.array(model.codecs[0].edges, dtype=np.float64)])
    for scale in (1.0, 1e3):
        assert not np.isin(np.round(numbers / scale, 6), np.round(values * 1e3 / scale, 6)).any()
    # Nor do rows that are drawn lie at the values of rows, as they would on a line through them.
    drawn = model.sample(5_000, seed=0)["x"].to_numpy()
    assert np.isin(drawn, values).mean() < 0.02


def test_bounds_can_be_told_for_each_column() -> None:
    options = {**UNIFORM, "ecdf_bounds": {"c": [10, 20], "e": [5, 6]}, "rectify_marginals": True}
    drawn = _fit(options, table(300)).sample(300, seed=1)
    assert drawn["c"].is_between(9, 21).mean() > 0.95
    assert drawn["e"].drop_nulls().is_between(4.8, 6.2).mean() > 0.95
    for wrong, word in (
        ({"zz": [1, 2]}, "zz"),
        ({"c": [3, 1]}, "smaller one first"),
        ({"a": [0, 1]}, "no number"),
    ):
        with pytest.raises(UsageError, match=word):
            _fit({**UNIFORM, "ecdf_bounds": wrong})


def test_the_generators_batch_has_a_public_size() -> None:
    from sfumato.synthesizers.deep.encoding import labels
    from sfumato.synthesizers.deep.programs import Discriminator

    codec = _fit(MODE).codecs[0]
    encoding = Encoding(columns=(labels(codec, full=True),))
    program = Discriminator(
        encoding, chain(encoding.width, 8, 1 + encoding.width), initial(chain(4 + encoding.width, 8, encoding.width), np.random.default_rng(0)),
        HeadModule(encoding.head), optimiser=_adam, generator_optimiser=_adam, labels=(0, encoding.width), weight=1.0,
        smoothing=0.0, pool=power_of_two(16.0), seed=0, generator_steps=1, facts={},
    )  # fmt: skip
    sizes = {len(program.companions(step)) for step in range(50)}
    assert sizes == {16}


def _adam(parameters):
    import torch

    return torch.optim.Adam(parameters)


def test_batches_without_a_row_leave_numbers_numbers() -> None:
    """A rate of 1 in 30 rows leaves most batches empty."""
    model = _fit({"epochs": 2, "batch": 0.5, "hidden": 8, "rows": 15}, table(15))
    rate = next(entry.parameters["rate"] for entry in model.ledger if entry.mechanism == "dp_sgd")
    assert eval_fraction(rate) < 0.05
    assert all(np.isfinite(array).all() for array in model.generator.arrays().values())
    assert model.sample(20, seed=0).height == 20


def eval_fraction(text: str) -> float:
    from fractions import Fraction

    return float(Fraction(text))


def test_a_condition_with_missing_values_has_shares_that_sum_to_one() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    schema["columns"]["b"]["nullable"] = True
    rows = table(80).with_columns(
        pl.when(pl.int_range(80) % 3 == 0).then(None).otherwise(pl.col("b")).alias("b")
    )
    model = _fit({**MODE, "condition": "b"}, rows, schema=schema)
    assert math.isclose(model.generator.condition.sum(), 1.0) and model.generator.condition.size == 3
    assert model.sample(30, seed=0).height == 30


def test_the_accountant_that_is_named_is_the_one_that_counted() -> None:
    for accountant in ("gdp", "zcdp"):
        model = _fit(MODE, accountant=accountant)
        assert model.request["accountant"] == model.ledger.limit.accountant == accountant
        other = attrs.evolve(
            model, request={**model.request, "accountant": {"gdp": "zcdp"}.get(accountant, "gdp")}
        )
        with pytest.raises(GuaranteeError):
            sf.verify(other)


@pytest.mark.parametrize(
    "pattern, put",
    [(r'\\"steps\\": (\d+)', "1"), (r'\\"noise\\": \\"([0-9/]+)\\"', "9"), (r'\\"clip\\": ([\d.]+)', "9")],
)
def test_altered_steps_noise_and_clips_end_with_3(pattern: str, put: str, tmp_path: Path) -> None:
    table().write_csv(tmp_path / "t.csv")
    model = _fit(MODE)
    model.save(tmp_path / "m")
    assert sfumato("assert-dp", tmp_path / "m", "--epsilon", 1).code == 0
    content = (tmp_path / "m").read_bytes()
    found = list(re.finditer(pattern.encode(), content))
    assert found, "the fact is not in the file"
    for match in found:
        start, end = match.span(1)
        # As long as before, so that the file stays whole.
        other = (
            (put * (end - start)).encode()
            if put.encode() * (end - start) != match[1]
            else b"8" * (end - start)
        )
        (tmp_path / "m").write_bytes(content[:start] + other + content[end:])
        for words in (("assert-dp", tmp_path / "m", "--epsilon", 1e6), ("dpcheck", tmp_path / "m")):
            ran = sfumato(*words)
            assert ran.code == 3 and ran.err.startswith("error: "), (match, ran.err)

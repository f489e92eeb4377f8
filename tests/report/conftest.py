"""Tables with hostile labels, an evaluation of them with attacks, and a model."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf

HOSTILE = (
    "<script>document.title='XQ7OWNED'</script>", "<img src=x onerror=\"document.title='XQ7OWNED'\">",
    "\"></svg><b>bold</b>", "{{ 7 * 7 }}", "a & b", "'quoted'",
)  # fmt: skip
NAME = 'col<i>umn"</title><script>alert(1)</script>'


def table(rows: int, seed: int) -> pl.DataFrame:
    """Two numbers, three categories; labels and a column name hold HTML."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    pay = np.round(rng.gamma(2, 900, rows) + 20 * age, 1)
    label = np.array(HOSTILE)[rng.integers(0, len(HOSTILE), rows)]
    job = np.array(["clerk", "nurse", "cook"])[np.minimum(age // 27, 2)]
    return pl.DataFrame({
        "age": age, "pay": pay, NAME: pl.Series(label.tolist()), "job": pl.Series(job.tolist()),
        "sex": pl.Series(rng.choice(["F", "M"], rows).tolist()),
    })  # fmt: skip


@pytest.fixture(scope="session")
def model():
    return sf.fit(table(900, 1), epsilon=1.0, method="mst")


@pytest.fixture(scope="session")
def evaluation(model):
    return sf.evaluate(
        table(900, 1), model.sample(900, seed=1), holdout=table(500, 2), target="job", model=model, model_rows=200,
        families=["marginals", "structure", "distinguishing", "attacks"],
    )  # fmt: skip

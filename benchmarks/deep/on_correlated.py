"""Correlated rows: how close distributions of numbers come, and what is learnt of a correlation."""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
from benchmarks.common.printing import Lines
from benchmarks.deep.store import Record, Store

import sfumato as sf
from sfumato.evaluation.distances import kolmogorov

DELTA = 1e-5
BOUNDS = {"age": (18, 90), "income": (0, 200_000), "score": (0, 100)}
SCHEMA = {
    "columns": {name: {"type": "int", "min": low, "max": high} for name, (low, high) in BOUNDS.items()}
    | {"plan": {"type": "categorical", "values": ["basic", "gold"]}}
}
MARGINALS = 0.8
"""Of epsilon, what the noisy distributions get of `dp-gan`."""


def table(rows: int) -> pl.DataFrame:
    """Three numbers and a label, the same rows at each call."""
    rng = np.random.default_rng(0)
    shape = np.array([[1, 0.6, 0.3], [0.6, 1, 0.0], [0.3, 0.0, 1]])
    z = rng.multivariate_normal(np.zeros(3), shape, size=rows)
    return pl.DataFrame(
        {
            "age": np.clip(45 + 12 * z[:, 0], 18, 90).round().astype(int),
            "income": np.clip(np.exp(10 + 0.5 * z[:, 1]), 0, 200_000).round().astype(int),
            "score": np.clip(50 + 15 * z[:, 2], 0, 100).round().astype(int),
            "plan": np.where(z[:, 1] + rng.normal(size=len(z)) > 1, "gold", "basic"),
        }
    )


def correlated(asked: argparse.Namespace) -> None:
    """A line for each method and epsilon: the least Kolmogorov-Smirnov complement of any number in any training,
    and what was learnt of each correlation.
    """
    frame, store = table(asked.rows or 1_500), Store(asked.results, asked.at_most)
    pairs = [("age", "income"), ("age", "score"), ("income", "score")]
    lines = Lines(
        epsilon=7, method=10, seeds=5, ks_least=8, age=6, income=6, score=6, age_income=26, age_score=10,
        income_score=12,
    )  # fmt: skip
    for epsilon in asked.epsilon:
        for method in asked.methods:
            if method not in sf.methods():
                continue
            runs = [_run(store, frame, method, epsilon, seed, asked.options) for seed in range(asked.seeds)]
            close = {name: [run["close"][name] for run in runs] for name in BOUNDS}
            learned = [[run["correlation"][a + "," + b] for run in runs] for a, b in pairs]
            lines.add(
                f"{epsilon:g}", method, str(asked.seeds), f"{min(min(each) for each in close.values()):.4f}",
                *(f"{np.mean(each):.3f}" for each in close.values()),
                f"{np.mean(learned[0]):.3f} ({', '.join(f'{each:.2f}' for each in learned[0])})",
                *(f"{np.mean(each):.3f}" for each in learned[1:]),
            )  # fmt: skip
    real = [f"{np.corrcoef(frame[a], frame[b])[0, 1]:.3f}" for a, b in pairs]
    lines.add("real", "", "", "", "", "", "", *real)


def _run(
    store: Store, frame: pl.DataFrame, method: str, epsilon: float, seed: int, options: Record
) -> Record:
    share = {
        "numeric": "uniform",
        "rectify_marginals": True,
        "ecdf_epsilon": MARGINALS * epsilon,
        "initial": seed,
    }
    given = share | options if method == "dp-gan" else {}

    def make() -> Record:
        model = sf.fit(frame, epsilon=epsilon, delta=DELTA, method=method, schema=SCHEMA, options=given)
        made = model.sample(frame.height, seed=seed)
        names = list(BOUNDS)
        return {
            "close": {
                name: 1
                - kolmogorov(frame[name].to_numpy().astype(float), made[name].to_numpy().astype(float))
                for name in BOUNDS
            },
            "correlation": {
                f"{a},{b}": float(np.corrcoef(made[a], made[b])[0, 1]) for a in names for b in names if a < b
            },
        }

    return store.record(
        make, method=method, epsilon=epsilon, seed=seed, rows=frame.height, options=given, what="correlated"
    )

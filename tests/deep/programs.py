"""Small programs, trainers and tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from sfumato.privacy.dpsgd import Plan

SCHEMA: dict[str, Any] = {
    "columns": {
        "a": {"type": "categorical", "values": [f"v{i}" for i in range(4)]},
        "b": {"type": "categorical", "values": ["no", "yes"]},
        "c": {"type": "int", "min": 0, "max": 60},
        "e": {"type": "float", "min": 0, "max": 20, "decimals": 1, "nullable": True},
    }
}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "dp-auto-gan": [
        {"autoencoder_steps": 6, "critic_steps": 9, "critic_per_generator": 3},
        {"autoencoder_steps": 6, "critic_steps": 6, "critic_per_generator": 3, "encoder_mode": "frozen", "group": 2},
        {"autoencoder_steps": 6, "critic_steps": 6, "critic_per_generator": 3, "numeric": "ranks", "rows": 60, "rectify_marginals": True},
    ],
    "dp-gan": [
        {"epochs": 2, "batch": 16.0, "hidden": 16},
        {"epochs": 2, "batch": 16.0, "hidden": 16, "numeric": "uniform", "rectify_marginals": True,
         "condition": "a", "ecdf_epsilon": 0.3, "ecdf_bounds": [5, 55], "label_smoothing": 0.1, "discriminator_steps": 2},
        {"epochs": 2, "batch": 8.0, "hidden": 16, "aux_lambda": 0.0, "generator_steps": 1, "group": 3, "rows": 60},
    ],
    "dp-wgan": [{"steps": 10, "hidden": 16, "batch": 16.0}, {"steps": 5, "hidden": 16, "rows": 60, "group": 2}],
    "dp-vae": [{"steps": 8, "hidden": 16, "batch": 16.0}, {"steps": 5, "numeric": "ranks", "decode": "argmax"}],
    "dp-syn": [{"steps": 6, "iterations": 3, "batch": 16.0, "components": 2}],
}  # fmt: skip
"""Short trainings of every method, all options among them."""


def table(rows: int = 60, seed: int = 0) -> pl.DataFrame:
    """Rows in which something goes on."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    e = np.round(rng.uniform(0, 20, rows), 1)
    return pl.DataFrame(
        {
            "a": [f"v{i}" for i in a],
            "b": [("no", "yes")[i % 2] for i in a],
            "c": np.clip(10 * a + rng.integers(0, 20, rows), 0, 60),
            "e": [None if i % 7 == 0 else float(x) for i, x in enumerate(e)],
        }
    )


def plan(**facts: Any) -> Plan:
    """Public numbers of a training, in which every row is in about every other batch."""
    given: dict[str, Any] = {
        "steps": 4, "rounds": 1, "rate": Fraction(1, 2), "noise": Fraction(1), "clip": 1.0, "normaliser": 8.0,
    }  # fmt: skip
    return Plan(**(given | facts))

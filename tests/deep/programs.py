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
        {"autoencoder_steps": 6, "critic_steps": 6, "critic_per_generator": 3, "encoder_mode": "frozen", "group": 2,
         "decode": "argmax", "autoencoder_share": 0.3, "autoencoder_decay": 0.01, "initial": 3},
        {"autoencoder_steps": 6, "critic_steps": 6, "critic_per_generator": 3, "numeric": "ranks", "rows": 60,
         "rectify_marginals": True, "marginals_share": 0.2, "activation": "tanh", "generator_steps": 2,
         "noise_multiplier": 80.0,
         "autoencoder_clip": 0.5, "autoencoder_batch": 20.0, "critic_clip": 0.5, "critic_batch": 30.0},
    ],
    "dp-gan": [
        {"epochs": 2, "batch": 16.0, "hidden": 16},
        {"epochs": 2, "batch": 16.0, "hidden": 16, "numeric": "uniform", "rectify_marginals": True,
         "condition": "a", "ecdf_epsilon": 0.3, "ecdf_bounds": [5, 55], "label_smoothing": 0.1, "discriminator_steps": 2},
        {"epochs": 2, "batch": 8.0, "hidden": 16, "aux_lambda": 0.0, "generator_steps": 1, "group": 3, "rows": 60, "noise_multiplier": 90.0,
         "num_modes": 2, "clip": 0.3, "decode": "argmax", "initial": 1},
    ],
    "dp-wgan": [
        {"steps": 10, "hidden": 16, "batch": 16.0},
        {"steps": 4, "hidden": 16, "rows": 60, "group": 2, "clip": 0.5, "critic_per_generator": 2, "decode": "argmax",
         "initial": 1, "noise_multiplier": 40.0},
    ],
    "dp-vae": [
        {"steps": 8, "hidden": 16, "batch": 16.0},
        {"steps": 5, "numeric": "ranks", "decode": "argmax", "rectify_marginals": True, "marginals_share": 0.2, "rows": 60,
         "group": 2, "clip": 0.5, "initial": 1, "noise_multiplier": 40.0},
    ],
    "dp-syn": [
        {"steps": 6, "iterations": 3, "batch": 16.0, "components": 2},
        {"steps": 4, "iterations": 2, "components": 1, "label": "b", "rows": 60, "autoencoder_share": 0.3, "clip": 0.5,
         "decode": "argmax", "initial": 1, "noise_multiplier": 60.0},
    ],
}  # fmt: skip
"""Short trainings of every method, all options among them that decide what is read or charged."""
SHAPES = {
    "activation", "autoencoder_rate", "code", "critic_hidden", "critic_rate", "generator_rate", "hidden", "noise_dim",
    "rate", "weight_clamp",
}  # fmt: skip
"""Options of networks and optimisers, which public code takes as they are."""


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

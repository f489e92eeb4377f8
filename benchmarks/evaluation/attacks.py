"""How like the real rows of Adult the rows of generators from careless to harmless are, and what they give away.

    SFUMATO_DATA=/path/to/tables python -m benchmarks.evaluation.attacks [--targets 600]

The table is adult.data (32,561 rows), hold-out people are those of adult.test. Careless generators: the table itself,
and each record with normal noise of 1 or 5 % of a standard deviation on its numbers. Fits know no schema. Prints, a
line a generator: total variation of one and two columns; the area of membership inference with its interval; members
found at 1 % false alarms; a value guessed from all others, for people in the table and for hold-out people; unique
records that occur again; and the ceilings of epsilon where there is one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.common.printing import Lines

import sfumato as sf
from sfumato.attacks.attack import contradictions

NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def adult(folder: Path, part: str) -> pl.DataFrame:
    """One part of the table, numbers as such."""
    lines = (folder / "adult_raw" / f"adult.{part}").read_text().splitlines()
    rows = [[cell.strip().rstrip(".") for cell in line.split(",")] for line in lines if line.count(",") == 14]
    return pl.DataFrame(rows, schema=NAMES, orient="row").with_columns(pl.col(NUMBERS).cast(pl.Int64))


def noisy(table: pl.DataFrame, share: float) -> pl.DataFrame:
    """Every record, with noise of a share of each number's spread."""
    rng = np.random.default_rng(1)
    return table.with_columns(
        pl.Series(name, table[name].to_numpy() + rng.normal(size=table.height) * share * table[name].std())
        for name in NUMBERS
    )


def uniform(table: pl.DataFrame) -> pl.DataFrame:
    """The values of each column, evenly and apart from each other."""
    rng = np.random.default_rng(1)
    values = {name: table[name].unique().sort() for name in table.columns}
    return pl.DataFrame(
        {name: each[rng.integers(0, len(each), table.height)] for name, each in values.items()}
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--targets", type=int, default=600, help="people attacked on each side")
    chosen = words.parse_args()
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        print("SFUMATO_DATA does not name the folder of the tables", file=sys.stderr)
        return 1
    real, holdout = adult(Path(folder), "data"), adult(Path(folder), "test")

    def fitted(epsilon: float, method: str) -> Callable[[], pl.DataFrame]:
        return lambda: sf.fit(real, epsilon=epsilon, method=method).sample(real.height, seed=1)

    made: dict[str, tuple[float | None, Callable[[], pl.DataFrame]]] = {
        "copy": (None, lambda: real),
        "noise of 1 %": (None, lambda: noisy(real, 0.01)),
        "noise of 5 %": (None, lambda: noisy(real, 0.05)),
        **{f"adaptive, {epsilon:g}": (epsilon, fitted(epsilon, "adaptive")) for epsilon in (10.0, 1.0, 0.1)},
        "independent, 1": (1.0, fitted(1.0, "independent")),
        "uniform": (None, lambda: uniform(real)),
    }
    lines = Lines(
        rows=16, columns_off=11, pairs_off=9, membership=24, ceiling=7, at_1_percent=12, guessed=7, hold_out=8,
        unique_copies=13, contradictions=14,
    )  # fmt: skip
    for name, (epsilon, make) in made.items():
        table = make()
        like = sf.evaluate(real, table, families=["marginals"])
        stated = {} if epsilon is None else {"epsilon": epsilon, "delta": 1e-9}
        found = sf.attack(real, table, holdout=holdout, targets=chosen.targets, **stated)
        area, guessed = found["attacks.membership"], found["attacks.attribute_inference"]
        assert area.interval is not None
        lines.add(
            name, f"{like['marginals.tv1'].value:.4f}", f"{like['marginals.tv2'].value:.4f}",
            f"{area.value:.3f} ({area.interval.low:.3f} to {area.interval.high:.3f})",
            "" if epsilon is None else f"{area.facts['ceiling']:.3f}",
            f"{found['attacks.membership_at_1'].value:.3f}",
            f"{guessed.facts['success']:.3f}", f"{guessed.facts['control']:.3f}",
            f"{found['attacks.unique_copies'].facts['success']:.3f}",
            str(len(contradictions(found.outcomes))),
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What an evaluation costs: seconds and memory of `sf.evaluate` with its defaults, by metric.

    SFUMATO_DATA=/path/to/tables python benchmarks/evaluation/run.py [--holdout]

The real table is the San Francisco fire calls of the NIST challenge (305,119 rows of 32 columns), or, without
SFUMATO_DATA or with --made, as many made rows with 16 numbers and 16 categories. The synthetic table has the
columns of the real one, each shuffled alone, a tenth of its rows kept together. Everything that needs an option is
asked for: a target, groups, a regression; with --holdout (a third as many further rows, made ones or, of the fire
calls, drawn again) the attacks as well. The page is written, too. Prints the CPU and wall seconds of each metric, the
peak memory of the process, and whether the limits (2 minutes of CPU time on one core, 2 GB) hold.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf

SECONDS_LIMIT = 120.0
MEMORY_LIMIT = 2.0
FIRE = "nist2018_sf_fire_discrete/fire.parquet"


def made(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """16 numbers that go together, and 16 categories that depend on them."""
    numbers = rng.standard_normal((rows, 16)) @ rng.standard_normal((16, 16))
    columns = {f"number {i}": np.round(numbers[:, i] * 100, 2) for i in range(16)}
    for i in range(16):
        edges = np.quantile(numbers[:, i], np.linspace(0, 1, 2 + 2 * i + 1)[1:-1])
        codes = np.searchsorted(edges, numbers[:, i] + rng.standard_normal(rows))
        columns[f"category {i}"] = np.char.add("level ", codes.astype(str))
    return pl.DataFrame(columns)


def shuffled(real: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Nine tenths of the rows with each column shuffled alone, one tenth as it is."""
    kept = real.head(real.height // 10)
    rest = real.tail(real.height - kept.height)
    return pl.concat(
        [kept, pl.DataFrame([column.shuffle(seed=int(rng.integers(1 << 30))) for column in rest])]
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    words.add_argument("--rows", type=int, default=300_000, help="of the made table")
    words.add_argument("--made", action="store_true", help="take the made table")
    words.add_argument("--holdout", action="store_true", help="attack as well")
    words.add_argument("--json", type=Path, help="write the evaluation here")
    words.add_argument("--page", type=Path, help="keep the page here")
    chosen = words.parse_args()
    rng = np.random.default_rng(0)
    folder = os.environ.get("SFUMATO_DATA")
    if folder and not chosen.made:
        real = pl.read_parquet(Path(folder) / FIRE)
        holdout = real.sample(real.height // 3, with_replacement=True, seed=1)
        options = {"target": "ALS Unit", "groups": ["City"]}
        regression = ["ALS Unit", "Battalion", "Call Type Group", "Number of Alarms"]
    else:
        rows = made(chosen.rows * 4 // 3, rng)
        real, holdout = rows.head(chosen.rows), rows.tail(chosen.rows // 3)
        options = {"target": "category 0", "groups": ["category 3"]}
        regression = ["category 0", "number 1", "number 2", "category 1"]
    synthetic = shuffled(real, rng)
    if chosen.holdout:
        options["holdout"] = holdout
    print(f"{real.height:,} x {real.width} rows, {synthetic.height:,} synthetic, "
          f"{holdout.height if chosen.holdout else 0:,} hold-out")  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        page = chosen.page or Path(temporary) / "page.html"
        before, started = time.process_time(), time.perf_counter()
        evaluation = sf.evaluate(real, synthetic, regression=regression, **options)
        evaluation.to_html(page, force=True)
        cpu, wall = time.process_time() - before, time.perf_counter() - started
    if chosen.json:
        evaluation.to_json(chosen.json)
    print("| metric | seconds |\n|---|--:|")
    for name, seconds in sorted(evaluation.facts["seconds"].items(), key=lambda pair: -pair[1]):
        print(f"| {name} | {seconds:.1f} |")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    states = [outcome.state for outcome in evaluation]
    print(f"| **all**, wall | {wall:.1f} |\n| **all**, CPU | {cpu:.1f} |\n| peak memory, GB | {memory:.2f} |")
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    print(f"{counts}; {platform.machine()}, numpy {version('numpy')}, scikit-learn {version('scikit-learn')}")
    holds = cpu <= SECONDS_LIMIT and memory <= MEMORY_LIMIT
    print(
        f"limits ({SECONDS_LIMIT:.0f} s of CPU time, {MEMORY_LIMIT:g} GB): {'hold' if holds else 'DO NOT HOLD'}"
    )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

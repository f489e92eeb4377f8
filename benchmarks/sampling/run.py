"""Rows a second from a fitted `mst` model of 15 mixed columns, streamed to Parquet and to CSV.

    python benchmarks/sampling/run.py --rows 2000000

The model is fitted on a table made here (6 numbers, 8 categories, 1 date), so nothing has to be at hand.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.tables.sinks import write_table


def table(rows: int) -> tuple[pl.DataFrame, dict]:
    """A table and its schema."""
    rng = np.random.default_rng(1)
    base = rng.random(rows)
    columns: dict[str, pl.Series | np.ndarray] = {}
    facts: dict[str, dict] = {}
    for i in range(8):
        labels = [f"value {i}-{j}" for j in range(3 + 5 * i)]
        codes = ((0.5 * base + 0.5 * rng.random(rows)) ** 2 * len(labels)).astype(int)
        columns[f"category{i}"] = pl.Series(labels).gather(codes)
        facts[f"category{i}"] = {"type": "categorical", "values": labels}
    for i in range(4):
        columns[f"count{i}"] = (100 * base * rng.random(rows)).astype(np.int64)
        facts[f"count{i}"] = {"type": "int", "min": 0, "max": 99}
    for i in range(2):
        columns[f"amount{i}"] = np.round(np.exp(3 + 5 * base * rng.random(rows)), 2)
        facts[f"amount{i}"] = {"type": "float", "decimals": 2, "min": 0, "max": 10_000}
    columns["day"] = pl.Series((365 * 5 * base).astype(np.int32) + 18_000).cast(pl.Date)
    facts["day"] = {"type": "date", "min": "2019-01-01", "max": "2024-12-31"}
    return pl.DataFrame(columns), {"columns": facts}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    options = parser.parse_args()
    frame, schema = table(100_000)
    print(f"python {sys.version.split()[0]}, numpy {version('numpy')}, polars {version('polars')}")
    started = time.perf_counter()
    model = sf.fit(frame, epsilon=1.0, method="mst", schema=schema)
    print(f"fit of 100,000 rows: {time.perf_counter() - started:.2f} s")
    print(f"{'output':<8} {'rows':>10} {'seconds':>8} {'rows/s':>10} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("parquet", False), ("csv", True)):
            started = time.perf_counter()
            frames = model.frames(options.rows, seed=1, text=text)
            write_table(frames, Path(folder) / f"out.{name}")
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            speed = options.rows / seconds
            print(f"{name:<8} {options.rows:>10,} {seconds:>8.2f} {speed:>10,.0f} {peak:>8.0f}")


if __name__ == "__main__":
    main()

"""Fit `independent` on a Parquet file of any number of rows, and show that memory does not grow with it.

    python benchmarks/scale/run.py --rows 10000000 100000000

For each size: makes the file (15 integer-coded columns, written in row groups), then, each in a process of
its own:
  sfumato   sf.fit(file, method="independent"), end to end
  count     the counting pass alone: 15 one-way tables
  bincount  numpy's bincount on the same columns, read the same way, one column at a time
  duckdb    15 GROUP BY queries on the file
and prints seconds, CPU seconds, peak memory, and ns per row and marginal. Two threads everywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

SIZES = (73, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
GROUP = 1 << 20


def make(path: Path, rows: int) -> None:
    """Columns c0 … c14 with skewed codes, written block by block."""
    import numpy as np
    import polars as pl

    from sfumato.tables.sinks import write_table

    def blocks():
        rng = np.random.default_rng(1)
        for start in range(0, rows, GROUP):
            n = min(GROUP, rows - start)
            yield pl.DataFrame(
                {f"c{i}": (rng.random(n) ** 2 * size).astype(np.uint8) for i, size in enumerate(SIZES)}
            )

    write_table(blocks(), path, force=True)


def schema() -> dict:
    """What is public of the file."""
    return {"columns": {f"c{i}": {"type": "int", "min": 0, "max": size - 1} for i, size in enumerate(SIZES)}}


def run_sfumato(path: Path) -> None:
    import sfumato as sf

    sf.fit(path, epsilon=1.0, method="independent", schema=schema())


def run_count(path: Path) -> None:
    from sfumato.domain.codecs import codec_for
    from sfumato.schema import read_schema
    from sfumato.tables.counting import BlockCounter
    from sfumato.tables.source import open_source

    codecs = [codec_for(column) for column in read_schema(schema()).columns]
    BlockCounter(open_source(path)).marginals([(codec,) for codec in codecs])


def run_bincount(path: Path) -> None:
    import numpy as np

    from sfumato.tables.source import open_source

    tables = [np.zeros(size, dtype=np.int64) for size in SIZES]
    for block in open_source(path).blocks():
        for table, column in zip(tables, block.iter_columns(), strict=True):
            table += np.bincount(column.to_numpy(), minlength=table.size)


def run_duckdb(path: Path) -> None:
    import duckdb

    link = duckdb.connect()
    link.execute("SET threads = 2")
    for i in range(len(SIZES)):
        link.execute(f"SELECT c{i}, count(*) FROM read_parquet('{path}') GROUP BY c{i}").fetchall()


JOBS = {"sfumato": run_sfumato, "count": run_count, "bincount": run_bincount, "duckdb": run_duckdb}


def child(job: str, path: Path) -> None:
    started = time.perf_counter()
    JOBS[job](path)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - started,
                "cpu": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss / 1024,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--child", nargs=2)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    print(
        f"python {sys.version.split()[0]}, "
        + ", ".join(f"{p} {version(p)}" for p in ("numpy", "polars", "duckdb"))
    )
    print(
        f"{'rows':>12} {'job':<9} {'seconds':>8} {'cpu s':>8} {'peak MB':>8} {'ns/row/marginal':>16} {'ratio':>6}"
    )
    for rows in options.rows:
        path = options.folder / f"rows_{rows}.parquet"
        if not path.exists():
            make(path, rows)
        base = None
        for job in JOBS:
            environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
            done = subprocess.run(
                [sys.executable, __file__, "--child", job, str(path)],
                capture_output=True, text=True, check=True, env=environment,
            )  # fmt: skip
            facts = json.loads(done.stdout.splitlines()[-1])
            ns = facts["seconds"] / rows / len(SIZES) * 1e9
            base = base or ns
            print(
                f"{rows:>12,} {job:<9} {facts['seconds']:>8.2f} {facts['cpu']:>8.2f} "
                f"{facts['peak_mb']:>8.0f} {ns:>16.2f} {ns / base:>6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

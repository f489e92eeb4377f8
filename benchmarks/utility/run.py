"""How far synthetic rows are from real ones: total variation distance of all two- and three-way marginals.

    SFUMATO_DATA=/path/to/tables python benchmarks/utility/run.py --tables adult nltcs --epsilon 0.1 1 10

Tables hold codes 0 … k-1, with a domain file {"column": k, …} or {"column": {"domain": k}, …}. Names in the
list below are looked up in the folder SFUMATO_DATA and skipped, with the reason, when they are not there;
any other table is given as rows.csv:domain.json (CSV, gzipped CSV or Parquet). Columns with 64 to 160 codes
are taken as numbers, others as categories.

Each fit runs in a process of its own, end to end (`sfumato.fit`, then as many rows as the table has). Printed
are means over seeds:
  tvd2, tvd3   mean TVD over all two-way and all three-way marginals, at full resolution
  tvd3s        the same over the three-way marginals with at most 10,000 cells
  seconds      of the fit;  peak MB of the process
With more than --marginals three-way marginals a fixed random subset of so many is taken.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

TABLES = {
    "adult": ("adult_discrete/adult.csv.gz", "adult_discrete/adult-domain.json"),
    "nltcs": ("nltcs/nltcs.csv.gz", "nltcs/domain.json"),
    "acs": ("privbayes_acs/acs.csv.gz", "privbayes_acs/domain.json"),
    "br2000": ("privbayes_br2000/br2000.csv.gz", "privbayes_br2000/domain.json"),
    "fire": ("nist2018_sf_fire_discrete/fire.parquet", "nist2018_sf_fire_discrete/fire-domain.json"),
    "msnbc": ("msnbc/msnbc.parquet", "msnbc/msnbc-domain.json"),
    "stroke": ("ist_stroke_discrete/stroke.parquet", "ist_stroke_discrete/stroke-domain.json"),
}
METHODS = ("independent", "mst", "aim", "adaptive")
SMALL = 10_000
NUMBERS = range(64, 161)


def find(name: str) -> tuple[Path, Path] | str:
    """The files of a table, or the reason why there are none."""
    if name in TABLES:
        folder = os.environ.get("SFUMATO_DATA")
        if not folder:
            return "SFUMATO_DATA does not name the folder of the tables"
        files = (Path(folder) / TABLES[name][0], Path(folder) / TABLES[name][1])
    elif ":" in name:
        files = (Path(name.rsplit(":", 1)[0]), Path(name.rsplit(":", 1)[1]))
    else:
        return f"not one of {', '.join(TABLES)}, nor rows.csv:domain.json"
    missing = [str(path) for path in files if not path.exists()]
    return f"{' and '.join(missing)} not found" if missing else files


def read(files: tuple[Path, Path], rows: int | None):
    """The frame to fit, its schema, its codes (one array a column) and their sizes."""
    import polars as pl

    domain = {
        name: int(size["domain"] if isinstance(size, dict) else size)
        for name, size in json.loads(files[1].read_text()).items()
    }
    frame = pl.read_parquet(files[0]) if files[0].suffix == ".parquet" else pl.read_csv(files[0])
    frame = frame.select(list(domain))
    if rows is not None and rows < frame.height:
        frame = frame.sample(rows, seed=1)
    codes = [frame[name].to_numpy().astype(np.int32) for name in domain]
    columns, series = {}, []
    for name, size in domain.items():
        if size in NUMBERS or size == 1:
            columns[name] = {"type": "int", "min": 0, "max": size - 1}
            series.append(pl.col(name).cast(pl.Int16))
        else:
            columns[name] = {"type": "categorical", "values": [str(code) for code in range(size)]}
            series.append(pl.col(name).cast(pl.String))
    return frame.select(series), {"columns": columns}, codes, tuple(domain.values())


def cliques(columns: int, ways: int, at_most: int) -> list[tuple[int, ...]]:
    """All sets of `ways` columns, or a fixed random subset of `at_most` of them, in order."""
    found = list(itertools.combinations(range(columns), ways))
    if len(found) <= at_most:
        return found
    chosen = np.random.default_rng(0).choice(len(found), at_most, replace=False)
    return [found[i] for i in sorted(chosen)]


def distances(real, made, sizes, sets) -> np.ndarray:
    """TVD of each marginal, exactly: counts where the table is small, else counts of the cells that occur."""
    answers = np.empty(len(sets))
    prefix: tuple[int, ...] = ()
    heads = [np.zeros(0, np.int64)] * 2
    for number, clique in enumerate(sets):
        if clique[:-1] != prefix:
            prefix = clique[:-1]
            heads = [_index(table, prefix, sizes) for table in (real, made)]
        cells = int(np.prod([sizes[a] for a in clique]))
        last = clique[-1]
        both = [head * sizes[last] + table[last] for head, table in zip(heads, (real, made), strict=True)]
        if cells > 4 * sum(index.size for index in both):
            cells, both = _compact(both)
        shares = [np.bincount(index, minlength=cells) / max(index.size, 1) for index in both]
        answers[number] = np.abs(shares[0] - shares[1]).sum() / 2
    return answers


def _index(table, clique, sizes) -> np.ndarray:
    index = table[clique[0]].astype(np.int64)
    for a in clique[1:]:
        index = index * sizes[a] + table[a]
    return index


def _compact(both) -> tuple[int, list[np.ndarray]]:
    """The same indices numbered without gaps."""
    known, index = np.unique(np.concatenate(both), return_inverse=True)
    return known.size, np.split(index, [both[0].size])


def child(task: dict) -> None:
    """One fit; prints its facts as JSON."""
    import polars as pl

    import sfumato as sf

    frame, schema, codes, sizes = read((Path(task["rows"]), Path(task["domain"])), task["limit"])
    started = time.perf_counter()
    model = sf.fit(
        frame, epsilon=task["epsilon"], delta=1e-9, method=task["method"], schema=schema,
        options=task["options"], insecure_noise_seed=task["seed"],
    )  # fmt: skip
    seconds = time.perf_counter() - started
    rows = model.sample(frame.height, seed=task["seed"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    made = [rows[name].cast(pl.Int32).to_numpy() for name in frame.columns]
    pairs, triples = (cliques(len(sizes), ways, task["marginals"]) for ways in (2, 3))
    far = distances(codes, made, sizes, triples)
    small = np.array([np.prod([float(sizes[a]) for a in clique]) <= SMALL for clique in triples], dtype=bool)
    facts = {
        "tvd2": float(distances(codes, made, sizes, pairs).mean()) if pairs else 0.0,
        "tvd3": float(far.mean()) if far.size else 0.0,
        "tvd3s": float(far[small].mean()) if small.any() else 0.0,
        "seconds": seconds,
        "peak": peak,
    }
    print(json.dumps(facts))


def one(task: dict, limit: float) -> dict | str:
    """The facts of one fit, or why there are none."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--child", json.dumps(task)],
            capture_output=True, text=True, timeout=limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"stopped after {limit:g} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    return json.loads(done.stdout.splitlines()[-1])


def line(*fields: str) -> None:
    widths = (10, 8, 12, 5, 8, 8, 8, 8, 8)
    print(" ".join(f"{text:>{width}}" for text, width in zip(fields, widths, strict=False)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="take a random subset of so many rows")
    parser.add_argument("--marginals", type=int, default=5_000)
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds that one fit may take")
    parser.add_argument("--options", type=json.loads, default={}, help="of the method, as JSON")
    parser.add_argument("--child", type=json.loads)
    asked = parser.parse_args()
    if asked.child:
        child(asked.child)
        return
    line("table", "epsilon", "method", "seeds", "tvd2", "tvd3", "tvd3s", "seconds", "peak MB")
    for name in asked.tables:
        files = find(name)
        if isinstance(files, str):
            print(f"{name}: skipped, {files}")
            continue
        for epsilon, method in itertools.product(asked.epsilon, asked.methods):
            known = defaultdict(list)
            for seed in range(asked.seeds):
                facts = one(
                    {
                        "rows": str(files[0]), "domain": str(files[1]), "limit": asked.rows, "seed": seed,
                        "epsilon": epsilon, "method": method, "options": asked.options,
                        "marginals": asked.marginals,
                    },
                    asked.limit,
                )  # fmt: skip
                if isinstance(facts, str):
                    print(f"{name} {epsilon:g} {method} seed {seed}: {facts}", flush=True)
                    break
                for key, value in facts.items():
                    known[key].append(value)
            if known:
                means = {key: float(np.mean(values)) for key, values in known.items()}
                line(
                    name, f"{epsilon:g}", method, f"n={len(known['tvd2'])}",
                    *(f"{means[key]:.4f}" for key in ("tvd2", "tvd3", "tvd3s")),
                    f"{means['seconds']:.1f}", f"{means['peak']:.0f}",
                )  # fmt: skip


if __name__ == "__main__":
    main()

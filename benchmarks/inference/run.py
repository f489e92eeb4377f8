"""The engine of this library against mbi's on the same noisy measurements of the same table.

    SFUMATO_DATA=/path/to/tables python benchmarks/inference/run.py --table adult --sigma 5 30 100 400

Measured are pairs and triples of columns, the most dependent ones first, while the junction tree stays below
--cells; the noise is Gaussian and the same for both. Every engine runs in a process of its own, mbi (its
mirror descent, with its defaults) in a virtual environment made on first use. Printed:
  loss       mean over the measured tables of the squared error in noise scales, per cell: 1 is the noise itself
  measured   mean TVD of the measured tables to the real ones
  pairs      mean TVD of all pairs of columns to the real ones
  apart      largest TVD between the tables of an engine and those of the first line, over all pairs
  seconds    from before the engine is imported; CPU s on all cores
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environments import DEFAULT, NotInstalledError, interpreter
from benchmarks.common.printing import Lines
from benchmarks.common.processes import NothingError, run
from benchmarks.common.tables import Table, find

from sfumato.graphical import CellCounter

HERE = Path(__file__).parent
ENGINES = (
    ("mbi mirror descent", "mbi_descent.py", "", 1_000),
    ("mirror descent", "ours.py", "mirror-descent", 1_000),
    ("pis", "ours.py", "pis", 12),
    ("pis", "ours.py", "pis", 30),
)


def counts(table: Table, clique: tuple[int, ...]) -> np.ndarray:
    shape = [table.sizes[a] for a in clique]
    index = np.ravel_multi_index([table.codes[:, a] for a in clique], shape)
    return np.bincount(index, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def chosen(table: Table, most: int, cells: int) -> list[tuple[int, ...]]:
    """Pairs by their distance to independence, then triples of chosen pairs, while the tree has room."""
    rows = len(table.codes)
    ones = [counts(table, (a,)) / rows for a in range(len(table.sizes))]
    ranked = sorted(
        itertools.combinations(range(len(table.sizes)), 2),
        key=lambda pair: (
            -float(np.abs(counts(table, pair) / rows - np.outer(*(ones[a] for a in pair))).sum())
        ),
    )
    counter, taken = CellCounter(table.sizes), []
    triples = (tuple(sorted({*a, *b})) for a, b in itertools.combinations(ranked[:12], 2) if {*a} & {*b})
    for clique in dict.fromkeys(itertools.chain(ranked, triples)):
        if len(taken) < most and counter.fits(clique, cells):
            counter.add(clique)
            taken.append(clique)
    return taken


def distance(found: np.ndarray, real: np.ndarray) -> float:
    return float(np.abs(found / found.sum() - real / real.sum()).sum() / 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", default="adult")
    parser.add_argument("--sigma", nargs="+", type=float, default=[5.0, 30.0, 100.0, 400.0])
    parser.add_argument("--marginals", type=int, default=28)
    parser.add_argument("--cells", type=int, default=160_000)
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds that one run may take")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of mbi's one")
    asked = parser.parse_args()
    table = find(asked.table)
    cliques = chosen(table, asked.marginals, asked.cells)
    pairs = list(itertools.combinations(range(len(table.sizes)), 2))
    real = {clique: counts(table, clique) for clique in {*cliques, *pairs}}
    print(
        f"{asked.table}: {len(table.codes)} rows, {len(cliques)} tables of {sum(real[c].size for c in cliques)} cells"
    )
    lines = Lines(sigma=5, engine=18, sweeps=6, loss=6, measured=8, pairs=6, apart=6, seconds=7, CPU_s=6)
    for sigma in asked.sigma:
        rng = np.random.default_rng(1)
        noisy = {str(i): real[c] + rng.normal(0, sigma, real[c].shape) for i, c in enumerate(cliques)}
        first: dict[tuple[int, ...], np.ndarray] = {}
        for name, script, method, sweeps in ENGINES:
            task = {
                "sizes": table.sizes, "cliques": cliques, "asked": [*cliques, *pairs], "sigma": sigma,
                "total": float(len(table.codes)), "method": method, "sweeps": sweeps,
            }  # fmt: skip
            start = (f"{sigma:g}", name, str(sweeps))
            with tempfile.TemporaryDirectory() as folder:
                given, answer = Path(folder) / "measured.npz", Path(folder) / "answer.npz"
                np.savez(given, **noisy)
                try:
                    python = interpreter(HERE / script, asked.environments)
                    run(
                        [str(python), str(HERE / script), str(given), str(answer), json.dumps(task)],
                        asked.limit,
                    )
                except (NothingError, NotInstalledError) as error:
                    lines.add(*start, str(error))
                    continue
                with np.load(answer) as facts:
                    seconds, processor = float(facts["seconds"]), float(facts["processor"])
                    found = {tuple(clique): facts[str(i)] for i, clique in enumerate(task["asked"])}
            first = first or found
            loss = np.mean(
                [np.square((found[c] - noisy[str(i)]) / sigma).mean() for i, c in enumerate(cliques)]
            )
            near, far = (np.mean([distance(found[c], real[c]) for c in sets]) for sets in (cliques, pairs))
            lines.add(
                *start, f"{loss:.3f}", f"{near:.4f}", f"{far:.4f}",
                f"{max(distance(found[c], first[c]) for c in pairs):.4f}", f"{seconds:.2f}", f"{processor:.1f}",
            )  # fmt: skip


if __name__ == "__main__":
    main()

"""How well `dp-copula` learns a correlation, and what the rows drawn from it show.

    python benchmarks/copula/run.py [--repeats 20] [--rows 1500] [--columns 3] [--epsilon 1]

Columns are normal (mean 50, standard deviation 10, 3 decimals) with a correlation of 0.6 between every two;
bounds 0 … 100 are public. Every repeat has rows of its own. "Truth" is 0.6; a sample of n rows has it to
0.64/√n only, so learned values are held against the correlation of the rows as well.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import sfumato as sf

RHO = 0.6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--columns", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    size = chosen.columns
    matrix = np.full((size, size), RHO) + (1 - RHO) * np.eye(size)
    pairs = np.triu_indices(size, 1)
    names = [f"x{i}" for i in range(size)]
    facts = {name: {"type": "float", "decimals": 3, "min": 0, "max": 100} for name in names}
    learned, drawn, own = [], [], []
    for repeat in range(chosen.repeats):
        rng = np.random.default_rng(repeat)
        z = rng.multivariate_normal(np.zeros(size), matrix, size=chosen.rows)
        table = {name: np.round(50 + 10 * z[:, i], 3) for i, name in enumerate(names)}
        model = sf.fit(table, epsilon=chosen.epsilon, method="dp-copula", schema={"columns": facts})
        rows = model.sample(50_000, seed=repeat)
        learned.append(model.generator.correlation[pairs])
        drawn.append(np.corrcoef(np.stack([rows[name] for name in names]))[pairs])
        own.append(np.corrcoef(np.stack(list(table.values())))[pairs])
    learned, drawn, own = map(np.array, (learned, drawn, own))
    off = learned - own
    print(
        f"rows {chosen.rows} columns {size} epsilon {chosen.epsilon:g}: mean learned {learned.mean():.3f}, "
        f"off the rows' own: mean {off.mean():+.4f}, RMS {np.sqrt((off**2).mean()):.4f}, "
        f"within 0.02 {np.mean(np.abs(off) <= 0.02):.0%}; "
        f"rows drawn: mean {drawn.mean():.3f}, RMS off {np.sqrt(((drawn - own) ** 2).mean()):.4f}"
    )


if __name__ == "__main__":
    main()

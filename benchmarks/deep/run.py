"""Deep generators against published figures.

    accounting    epsilons of DP-auto-GAN's trainings by four accounts
    speed         one epoch of DP-SGD, ours and every mode of Opacus
    adult         measures of DP-auto-GAN's paper, and figures
    wide          shares and predictions of a table of zeros and ones, and figures
    gan           distributions and correlations on made rows

With --results a run that is stopped goes on where it was. Figures are drawn with --figures.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.common.environments import DEFAULT

EPSILONS = {"adult": (0.36, 0.51, 1.01), "wide": (0.81, 1.33, 2.7), "gan": (1.0, 5.0, 25.0)}
METHODS = {
    "adult": ("dp-auto-gan", "adaptive"),
    "wide": ("dp-auto-gan",),
    "gan": ("dp-gan", "dp-copula", "adaptive"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("accounting", "speed", "adult", "wide", "gan"))
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="take a random subset of so many rows")
    parser.add_argument("--trees", type=int, default=800)
    parser.add_argument("--options", type=json.loads, default={}, help="of the deep method, as JSON")
    parser.add_argument("--table", type=Path, help="a Parquet file of zeros and ones")
    parser.add_argument("--prevalence", type=float, default=0.025, help="of the codes that are predicted")
    parser.add_argument("--columns", type=int, help="codes that are predicted, at most")
    parser.add_argument("--results", type=Path, help="folder in which results are kept")
    parser.add_argument("--at-most", type=int, help="new results, after which the program ends")
    parser.add_argument("--figures", type=Path, help="folder for figures")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--piece", type=int, default=4, help="steps of a mode at a time")
    parser.add_argument("--modes", nargs="*", help="of Opacus; all by default")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of environments")
    asked = parser.parse_args()
    asked.epsilon = asked.epsilon or EPSILONS.get(asked.what)
    asked.methods = asked.methods or METHODS.get(asked.what)
    match asked.what:
        case "accounting":
            from benchmarks.deep.accounts import accounting

            accounting()
        case "speed":
            from benchmarks.deep.speed import speed

            speed(asked)
        case "adult":
            from benchmarks.deep.on_adult import adult

            adult(asked)
        case "wide":
            from benchmarks.deep.on_wide import wide

            wide(asked)
        case "gan":
            from benchmarks.deep.on_correlated import correlated

            correlated(asked)


if __name__ == "__main__":
    main()

"""Methods without a guarantee beside SDV's: python -m benchmarks.baselines.run scores|speed [options]; see docs/benchmarks.md.

scores   mean scores of column shapes and column pairs by SDMetrics, of as many synthetic rows as there are
speed    processor seconds of an epoch: what further epochs add to a fit

Both train on the same rows for the same epochs, in processes of one thread. SDV and SDMetrics, which judges both,
are installed in an environment made here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
from benchmarks.common.environments import DEFAULT, interpreter
from benchmarks.common.printing import Lines
from benchmarks.deep.adult import NAMES

HERE = Path(__file__).resolve().parent
NETWORKS = ("ctgan", "tvae", "copula-gan")


def adult(rows: int | None) -> pl.DataFrame:
    """The training rows of Adult, all 15 columns; the folder of the tables is named by SFUMATO_DATA."""
    path = Path(os.environ.get("SFUMATO_DATA", ".")) / "adult_raw" / "adult.data"
    if not path.exists():
        raise SystemExit(f"{path} not found: set SFUMATO_DATA to the folder of the tables")
    frame = pl.read_csv(path, has_header=False, new_columns=NAMES, infer_schema=False)
    frame = frame.with_columns(pl.all().str.strip_chars())
    numbers = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    frame = frame.filter(pl.col("age") != "").with_columns(pl.col(numbers).cast(pl.Int64))
    return frame if rows is None else frame.sample(min(rows, frame.height), seed=1)


class Sides:
    """Both packages, and a folder for their rows."""

    def __init__(self, folder: Path, environments: Path) -> None:
        self.folder = folder
        self.rows = folder / "rows.csv"
        self._pythons = {
            "sfumato": Path(sys.executable),
            "sdv": interpreter(HERE / "theirs.py", environments),
        }
        self._variables = {
            **os.environ,
            **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")},
        }
        self._variables["POLARS_MAX_THREADS"] = "1"
        self._variables["PYTHONPATH"] = os.pathsep.join(map(str, (HERE.parents[1] / "src", HERE.parents[1])))

    def ask(self, side: str, task: dict) -> dict:
        """What the script of a side says to a task."""
        script = HERE / ("ours.py" if side == "sfumato" else "theirs.py")
        words = [str(self._pythons[side]), str(script), json.dumps({"rows": str(self.rows), **task})]
        done = subprocess.run(words, env=self._variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{side}: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(done.stdout.splitlines()[-1])


def scores(sides: Sides, asked: argparse.Namespace) -> None:
    lines = Lines(method=15, by=7, seeds=5, shape=6, least_shape=11, pair=6, least_pair=10, fit_cpu=7)
    for method in asked.methods:
        for side in asked.sides:
            found: dict[str, list[float]] = {"shape": [], "pair": [], "seconds": []}
            for seed in range(asked.seeds):
                made = sides.folder / f"{method}-{side}-{seed}.csv"
                task = {"what": "fit", "method": method, "epochs": asked.epochs, "seed": seed}
                found["seconds"].append(sides.ask(side, {**task, "made": str(made)})["seconds"])
                judged = sides.ask("sdv", {"what": "judge", "made": str(made)})
                found["shape"].append(judged["shape"])
                found["pair"].append(judged["pair"])
                if asked.details:
                    told = {key: judged[key] for key in ("shape", "pair", "shapes", "pairs")}
                    print(method, side, seed, json.dumps(told), file=sys.stderr, flush=True)
            lines.add(
                method, side, str(asked.seeds), f"{statistics.fmean(found['shape']):.4f}",
                f"{min(found['shape']):.4f}", f"{statistics.fmean(found['pair']):.4f}",
                f"{min(found['pair']):.4f}", f"{statistics.fmean(found['seconds']):.1f}",
            )  # fmt: skip


def speed(sides: Sides, asked: argparse.Namespace) -> None:
    lines = Lines(method=15, by=7, epoch=7, once=7)
    for method in asked.methods:
        best: dict[str, dict[int, float]] = {side: {} for side in ("sfumato", "sdv")}
        # Repeats are interleaved, and the smallest of each is told.
        for _ in range(asked.seeds):
            for side, times in best.items():
                for epochs in (1, 1 + asked.epochs):
                    task = {"what": "fit", "method": method, "epochs": epochs, "seed": 0, "made": ""}
                    seconds = sides.ask(side, task)["seconds"]
                    times[epochs] = min(seconds, times.get(epochs, seconds))
        for side, times in best.items():
            epoch = (times[1 + asked.epochs] - times[1]) / asked.epochs
            lines.add(method, side, f"{epoch:.3f}", f"{times[1] - epoch:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("scores", "speed"))
    parser.add_argument("--methods", nargs="+", default=["ctgan", "tvae"])
    parser.add_argument("--sides", nargs="+", default=["sfumato", "sdv"], help="whose scores to print")
    parser.add_argument("--epochs", type=int, help="default: 20 for scores, 4 for speed")
    parser.add_argument("--seeds", type=int, default=3, help="seeds, or repeats for speed")
    parser.add_argument("--rows", type=int, help="take a random subset of so many rows")
    parser.add_argument("--details", action="store_true", help="also the scores of every training")
    parser.add_argument("--keep", type=Path, help="folder in which the rows are left")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of environments")
    asked = parser.parse_args()
    asked.epochs = asked.epochs or {"scores": 20, "speed": 4}[asked.what]
    with tempfile.TemporaryDirectory() as folder:
        if asked.keep:
            asked.keep.mkdir(parents=True, exist_ok=True)
        sides = Sides(asked.keep or Path(folder), asked.environments)
        frame = adult(asked.rows)
        frame.write_csv(sides.rows)
        facts = sides.ask("sdv", {"what": "versions"})
        told = ", ".join(f"{name} {version}" for name, version in facts.items())
        print(f"{frame.height:,} rows, {frame.width} columns, {asked.epochs} epochs; {told}\n")
        {"scores": scores, "speed": speed}[asked.what](sides, asked)


if __name__ == "__main__":
    main()

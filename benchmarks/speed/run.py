"""Wall time of a fit and of as many rows as the table has, for our methods and the peers', on two cores.

    SFUMATO_DATA=/path/to/tables python benchmarks/speed/run.py --tables adult --epsilon 1 \
        --methods adaptive aim peers --limit 1800

Every run is a process of its own and so a first run: what a peer compiles counts, the start of the
interpreter does not (`whole` has it). Means over seeds:
  fit, rows    seconds;  whole: seconds from the start of the process to its end
  cpu          seconds on all cores, which other jobs on the machine disturb less
  ratio        fit + rows, over those of the first method named;  peak MB of the process
A run that takes longer than --limit is stopped; ">" then stands before what it took at least. With --factor 10
every later method is stopped as soon as its run has taken 10 times what the first method took.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environments import DEFAULT
from benchmarks.common.fits import Workplace, expand
from benchmarks.common.printing import Lines
from benchmarks.common.processes import NothingError, StoppedError
from benchmarks.common.shared_files import NoTableError
from benchmarks.common.tables import find


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0])
    parser.add_argument("--methods", nargs="+", default=["adaptive", "mst", "aim", "peers"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds that one run may take")
    parser.add_argument("--factor", type=float, help="the same as a multiple of the first method's seconds")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of the peers' ones")
    asked = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.cores])
    lines = Lines(table=10, epsilon=7, method=14, seeds=5, fit=7, rows=6, whole=7, cpu=7, ratio=7, peak_MB=7)
    for name in asked.tables:
        try:
            table = find(name)
        except NoTableError as error:
            lines.add(name, "", "skipped", str(error))
            continue
        with Workplace(table, asked.environments, asked.limit) as place:
            for epsilon in asked.epsilon:
                first, place.limit = 0.0, asked.limit
                for method in expand(asked.methods):
                    runs, reason = [], ()
                    if first and asked.factor:
                        place.limit = min(asked.limit, asked.factor * first)
                    try:
                        runs.extend(place.make(method, epsilon, seed, {}) for seed in range(asked.seeds))
                    except StoppedError:
                        least = f"> {place.limit / first:.1f}" if first else ""
                        reason = f"> {place.limit:.0f}", "", "", "", least
                    except NothingError as error:
                        reason = (str(error),)
                    start = (name, f"{epsilon:g}", method)
                    if runs:
                        fit, rows, whole, cpu, peak = np.mean(
                            [(run.fit, run.rows, run.whole, run.processor, run.peak) for run in runs], axis=0
                        )
                        first = first or fit + rows
                        lines.add(
                            *start, str(len(runs)), f"{fit:.1f}", f"{rows:.1f}", f"{whole:.1f}",
                            f"{cpu:.1f}", f"{(fit + rows) / first:.1f}", f"{peak:.0f}",
                        )  # fmt: skip
                    if reason:
                        lines.add(*start, "", *reason)


if __name__ == "__main__":
    main()

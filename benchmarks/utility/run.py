"""How far synthetic rows are from real ones: total variation distance of all two- and three-way marginals.

    SFUMATO_DATA=/path/to/tables python benchmarks/utility/run.py --tables adult nltcs --epsilon 0.1 1 10 \
        --methods adaptive aim peers --seeds 5 --limit 1800

Tables are the names of common/tables.py, or rows.csv:domain.json; one that is not there is skipped, with the
reason. Methods are ours, the adapters of benchmarks/peers, or "ours" and "peers" for all of a kind; a peer's
virtual environment is made on first use. All are given the same rows, domain and delta (1e-9).

Each fit, with as many rows as the table has, runs in a process of its own, which is stopped after --limit
seconds; a method that was stopped or failed is not tried with further seeds. Printed are means over seeds:
  tvd2, tvd3   mean TVD over all two-way and all three-way marginals, at full resolution
  tvd3s        the same over the three-way marginals with at most 10,000 cells
  fit, rows    seconds;  peak MB of the process
With more than --marginals three-way marginals a fixed random subset of so many is taken.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.distances import summary
from benchmarks.common.environments import DEFAULT
from benchmarks.common.fits import OURS, Workplace, expand
from benchmarks.common.printing import Lines
from benchmarks.common.processes import NothingError
from benchmarks.common.shared_files import NoTableError
from benchmarks.common.tables import find


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--methods", nargs="+", default=list(OURS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="take a random subset of so many rows")
    parser.add_argument("--marginals", type=int, default=5_000)
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds that one run may take")
    parser.add_argument("--options", type=json.loads, default={}, help="of our methods, as JSON")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of the peers' ones")
    asked = parser.parse_args()
    lines = Lines(table=10, epsilon=7, method=14, seeds=5, tvd2=7, tvd3=7, tvd3s=7, fit=7, rows=6, peak_MB=7)
    for name in asked.tables:
        try:
            table = find(name, asked.rows)
        except NoTableError as error:
            lines.add(name, "", "skipped", str(error))
            continue
        with Workplace(table, asked.environments, asked.limit) as place:
            for epsilon, method in itertools.product(asked.epsilon, expand(asked.methods)):
                known, reason = defaultdict(list), ""
                for seed in range(asked.seeds):
                    try:
                        made = place.make(method, epsilon, seed, asked.options)
                    except NothingError as error:
                        reason = str(error)
                        break
                    facts = summary(table.codes, made.codes, table.sizes, asked.marginals)
                    facts |= {"fit": made.fit, "rows": made.rows, "peak": made.peak}
                    for key, value in facts.items():
                        known[key].append(value)
                start = (name, f"{epsilon:g}", method)
                if known:
                    means = {key: float(np.mean(values)) for key, values in known.items()}
                    lines.add(
                        *start, str(len(known["fit"])),
                        *(f"{means[key]:.5f}" for key in ("tvd2", "tvd3", "tvd3s")),
                        *(f"{means[key]:.1f}" for key in ("fit", "rows")), f"{means['peak']:.0f}",
                    )  # fmt: skip
                if reason:
                    lines.add(*start, "", reason)


if __name__ == "__main__":
    main()

"""One fit of a raw file and as many rows, in a process of its own: python raw_fit.py '{"file": …}'.

Writes the rows (Parquet, every column as text) and what they took (JSON).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.peers.exchange import peak


def main(task: dict) -> None:
    import polars as pl

    import sfumato as sf
    from sfumato.tables.dialect import CsvDialect

    names = task["names"]
    dialect = CsvDialect(header="no", names=names, trim=True) if names else CsvDialect()
    started = time.perf_counter()
    model = sf.fit(
        task["file"], epsilon=task["epsilon"], delta=1e-9, method=task["method"], schema=task["schema"],
        options=task["options"], dialect=dialect, insecure_noise_seed=task["seed"],
    )  # fmt: skip
    fitted = time.perf_counter()
    made = pl.concat(model.frames(task["rows"], seed=task["seed"], text=True))
    facts = {"fit": fitted - started, "rows": time.perf_counter() - fitted, "peak": peak()}
    made.write_parquet(task["made"])
    Path(task["facts"]).write_text(json.dumps(facts))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

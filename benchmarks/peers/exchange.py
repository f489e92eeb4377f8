"""What an adapter is given and hands back: files only, so that a peer's environment needs nothing of ours.

    python ADAPTER.py rows.npz answer.npz '{"epsilon": 1.0, "delta": 1e-09, "seed": 0, …}'

rows.npz: codes (rows x columns, int32), sizes (codes a column), numbers (whether a column is a number).
answer.npz: codes (as many rows, of the same columns), seconds (fit, rows), processor (seconds on all cores),
peak (MB). Runs with Python 3.9 or later and numpy.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np


def run(fit, sample):
    """Time fit(codes, sizes, task) -> model and sample(model, rows, task) -> codes. Imports made by `fit` count
    as its time, as does whatever it compiles: every run is a first run.
    """
    rows, answer, words = sys.argv[1:]
    task = json.loads(words)
    with np.load(rows) as given:
        codes, sizes, numbers = given["codes"], given["sizes"].tolist(), given["numbers"].tolist()
    task["numbers"] = numbers
    started = time.perf_counter()
    model = fit(codes, sizes, task)
    fitted = time.perf_counter()
    made = sample(model, len(codes), task)
    ended = time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_SELF)
    np.savez(
        answer, codes=np.asarray(made, dtype=np.int32), seconds=[fitted - started, ended - fitted],
        processor=used.ru_utime + used.ru_stime, peak=peak(),
    )  # fmt: skip


def peak():
    """MB at most. Not ru_maxrss where there is another way: on Linux it starts at what the parent held."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / (2**20 if sys.platform == "darwin" else 1024)


def frame(codes):
    """The codes as a pandas frame with columns c0, c1, …"""
    import pandas as pd

    return pd.DataFrame({f"c{a}": codes[:, a] for a in range(codes.shape[1])})

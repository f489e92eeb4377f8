"""Our side, run by run.py in a process of its own: fits and draws; see theirs.py for the task."""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np


def main() -> None:
    import polars as pl
    import torch

    import sfumato as sf

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    task = json.loads(sys.argv[1])
    frame = pl.read_csv(task["rows"])
    options = (
        {} if task["method"] == "gaussian-copula" else {"epochs": task["epochs"], "initial": task["seed"]}
    )
    before = time.process_time()
    model = sf.fit(frame, method=task["method"], options=options)
    seconds = time.process_time() - before
    if task["made"]:
        model.sample(frame.height, seed=np.random.SeedSequence(task["seed"]).generate_state(1)[0]).write_csv(
            task["made"]
        )
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()

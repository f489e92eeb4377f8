"""Would compiling with numba pay? The kernel that a fit spends most in, its start-up included.

    SFUMATO_DATA=/path/to/tables python benchmarks/inference/compiled.py

Printed: seconds of a whole fit of `adaptive` (adult, epsilon 1; a process of its own), seconds of it in proximal
steps, seconds that numba takes from its import to the end of the first step, and how much faster a step is then.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import ours
from benchmarks.common.environments import DEFAULT, interpreter
from benchmarks.common.processes import run
from benchmarks.common.tables import find

from sfumato.graphical import omega, proximal

HERE = Path(__file__).parent


def main() -> None:
    table, spent, inside = find("adult"), 0.0, omega.proximal_step

    def timed(current, target, lam):
        nonlocal spent
        started = time.perf_counter()
        answer = inside(current, target, lam)
        spent += time.perf_counter() - started
        return answer

    proximal.proximal_step = timed
    task = {
        "epsilon": 1.0, "delta": 1e-9, "seed": 0, "method": "adaptive", "options": {}, "numbers": table.numbers,
    }  # fmt: skip
    started = time.perf_counter()
    ours.fit(table.codes, list(table.sizes), task)
    whole = time.perf_counter() - started
    rng = np.random.default_rng(0)
    current = rng.dirichlet(np.ones(1_000))
    given = {"current": current, "target": current + rng.normal(0, 1e-3, 1_000), "lam": 0.01}
    with tempfile.TemporaryDirectory() as folder:
        rows, answer = Path(folder) / "current.npz", Path(folder) / "answer.npz"
        np.savez(rows, **given)
        python = interpreter(HERE / "numba_steps.py", DEFAULT)
        run(
            [str(python), str(HERE / "numba_steps.py"), str(rows), str(answer), json.dumps({"calls": 200})],
            600,
        )
        with np.load(answer) as facts:
            cold, fast, result = float(facts["cold"]), float(facts["step"]), facts["result"]
    started = time.perf_counter()
    for _ in range(200):
        expected = inside(**given)
    slow = (time.perf_counter() - started) / 200
    assert np.abs(result - expected).max() < 1e-9
    print(f"whole fit {whole:.2f} s, of it proximal steps {spent:.2f} s")
    print(
        f"numba: first step after {cold:.2f} s; a step of 1,000 cells {slow * 1e6:.0f} us in numpy, {fast * 1e6:.0f} us"
    )
    print(f"whole fit with numba: about {whole - spent + spent * fast / slow + cold:.2f} s")


if __name__ == "__main__":
    main()

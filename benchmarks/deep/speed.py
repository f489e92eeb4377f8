"""One epoch of DP-SGD, ours and every mode of Opacus, in an environment that has both."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
from benchmarks.common.printing import Lines

HERE = Path(__file__).resolve().parent
OPACUS = "opacus==1.6.0"
MODES = ("hooks", "ew", "functorch", "ghost")


def environment(folder: Path) -> Path:
    """A Python that has what this one has, and Opacus."""
    home = folder / f"{OPACUS.replace('==', '-')}-beside"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        site = next((home / "lib").glob("python*")) / "site-packages"
        (site / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--no-deps", OPACUS], check=True)
        (home / "ready").touch()
    return python


def speed(asked: argparse.Namespace) -> None:
    python = environment(asked.environments)
    task = {
        "batches": asked.batches,
        "repeats": asked.repeats,
        "piece": asked.piece,
        "opacus": asked.modes or MODES,
    }
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = os.pathsep.join(map(str, (HERE.parents[1] / "src", HERE.parents[1])))
    done = subprocess.run(
        [str(python), str(HERE / "epoch.py"), json.dumps(task)],
        env=variables, check=True, capture_output=True, text=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    lines = Lines(mode=24, batch=6, seconds=8, times_plain=12, least=6, most=6)
    for batch in asked.batches:
        epochs = [each["seconds"] for each in found if each["batch"] == batch]
        for name in epochs[0]:
            times = [each[name] for each in epochs]
            if not all(isinstance(seconds, float) for seconds in times):
                lines.add(name, str(batch), "failed", str(times[0]))
                continue
            # Of epochs side by side, then over the repeats.
            ratios = sorted(each[name] / each["plain SGD"] for each in epochs)
            lines.add(
                name, str(batch), f"{np.median(times):.3f}", f"{np.median(ratios):.2f}", f"{ratios[0]:.2f}",
                f"{ratios[-1]:.2f}",
            )  # fmt: skip

"""A method, ours or a peer's, on a table: one fit and as many rows, in a process of its own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from benchmarks.common.environments import NotInstalledError, interpreter, requirements
from benchmarks.common.processes import NothingError, run
from benchmarks.common.tables import Table

PEERS = Path(__file__).resolve().parents[1] / "peers"
OURS = ("independent", "mst", "aim", "adaptive")
DELTA = 1e-9


@frozen(kw_only=True)
class Made:
    """codes: synthetic rows; fit, rows: seconds of each; whole: seconds from the start of the process to its
    end; processor: seconds on all cores; peak: MB at most.
    """

    codes: np.ndarray
    fit: float
    rows: float
    whole: float
    processor: float
    peak: float


def peers() -> tuple[str, ...]:
    """Names of the peers there are adapters for."""
    return tuple(sorted(path.stem for path in PEERS.glob("*.py") if requirements(path)["REQUIREMENTS"]))


def expand(names: list[str]) -> list[str]:
    """Names of methods, with "ours" and "peers" put for all of a kind."""
    known = {"ours": OURS, "peers": peers()}
    return [method for name in names for method in known.get(name, (name,))]


class Workplace:
    """A folder with the rows of one table, and the environments of the peers."""

    def __init__(self, table: Table, environments: Path, limit: float) -> None:
        self.environments = environments
        self.limit = limit
        self._folder = tempfile.TemporaryDirectory()
        self._rows = Path(self._folder.name) / "rows.npz"
        np.savez(self._rows, codes=table.codes, sizes=table.sizes, numbers=table.numbers)

    def make(self, method: str, epsilon: float, seed: int, options: dict[str, Any]) -> Made:
        """One run; NothingError if the peer is not to be had, failed, or took longer than the limit."""
        adapter = PEERS / f"{method}.py" if method in peers() else PEERS / "ours.py"
        try:
            python = interpreter(adapter, self.environments)
        except NotInstalledError as error:
            raise NothingError(f"not installed: {error}") from None
        answer = self._rows.with_name("answer.npz")
        task = {
            "epsilon": epsilon,
            "delta": DELTA,
            "seed": seed,
            "method": method,
            "options": options,
        }
        whole = run([str(python), str(adapter), str(self._rows), str(answer), json.dumps(task)], self.limit)
        with np.load(answer) as found:
            fit, rows = found["seconds"].tolist()
            return Made(
                codes=found["codes"], fit=fit, rows=rows, whole=whole,
                processor=float(found["processor"]), peak=float(found["peak"]),
            )  # fmt: skip

    def __enter__(self) -> Workplace:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

"""A persistent ledger: every run on a data set that its owner names is charged in one file, before it
reads a row.

One JSON object a line, hash-chained. A line is written and flushed to disk under an exclusive lock
before the run starts, so that a killed run stays charged and two runs at a time cannot both take the
last of the budget. A half-written last line belongs to a run that never started and is cut away. The
ledger ties charges to a name, not to a file: nothing in it depends on the rows.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from sfumato.errors import InputError, Overdraft, UsageError
from sfumato.privacy import gdp, zcdp
from sfumato.privacy.filter import Budget, check_delta, check_epsilon
from sfumato.privacy.ledger import GENESIS

_EVERY = {"kind", "dataset", "epsilon", "delta", "previous", "hash"}
FIELDS = {"limit": _EVERY, "run": _EVERY | {"what", "delta_outside", "mu2", "rho"}}
"""What a line holds, by kind."""


@frozen(kw_only=True)
class Spent:
    """What all runs on one data set add up to."""

    runs: int
    epsilon: float
    """Composed over all runs, at `delta`."""
    delta: float
    limit: tuple[float, float] | None
    """(epsilon, delta) that must not be exceeded, if one was set."""


@frozen
class DatasetLedger:
    """The ledger file at `path`, made at the first charge."""

    path: Path | str

    def limit(self, dataset: str, *, epsilon: float, delta: float) -> None:
        """Set what all runs on `dataset` together may spend."""
        check_epsilon(epsilon)
        check_delta(delta)
        with self._locked() as (lines, append):
            self._check_name(dataset)
            append({"kind": "limit", "dataset": dataset, "epsilon": epsilon, "delta": delta}, lines)

    def charge(self, dataset: str, budget: Budget, *, what: str) -> None:
        """Charge a run before it starts; Overdraft if the data set's limit does not cover it."""
        self._check_name(dataset)
        line = {
            "kind": "run",
            "dataset": dataset,
            "what": what,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "delta_outside": budget.delta - budget.conversion_delta,
            "mu2": budget.spend if budget.accountant == "gdp" else None,
            "rho": budget.spend / 2,
        }
        with self._locked() as (lines, append):
            limit = _limit(lines, dataset)
            if limit is not None:
                after = _compose([*lines, line], dataset, limit[1])
                if math.isinf(after):
                    raise Overdraft(
                        f"data set {dataset!r}: its limit is stated at delta = {limit[1]:.3g}, which is less "
                        "than the runs keep for thresholds alone",
                        mend="set the limit at a larger --delta",
                    )
                if not after <= limit[0] * (1 + 1e-9):
                    raise Overdraft(
                        f"data set {dataset!r}: with this run all runs would spend epsilon = {after:.4g} "
                        f"at delta = {limit[1]:.3g}, and the limit is {limit[0]:g}",
                        mend="ask for a smaller epsilon, or draw rows from a model that is paid for",
                    )
            append(line, lines)

    def spent(self, dataset: str, *, delta: float = 1e-9) -> Spent:
        """The composed cost of all runs so far (delta: the limit's, where one is set)."""
        with self._locked(create=False) as (lines, _):
            limit = _limit(lines, dataset)
            runs = sum(line["kind"] == "run" and line["dataset"] == dataset for line in lines)
            at = limit[1] if limit else delta
            return Spent(runs=runs, epsilon=_compose(lines, dataset, at), delta=at, limit=limit)

    def lines(self) -> list[dict[str, Any]]:
        """All lines, checked."""
        with self._locked(create=False) as (lines, _):
            return lines

    def _check_name(self, dataset: str) -> None:
        if not dataset.strip() or len(dataset) > 256:
            raise UsageError("the name of the data set must have 1 to 256 characters")

    @contextmanager
    def _locked(self, *, create: bool = True) -> Generator[tuple[list[dict[str, Any]], Any]]:
        path = Path(self.path)
        try:
            handle = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        except OSError as error:
            raise InputError(f"the ledger {path} cannot be opened ({error.strerror})") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            content = b""
            while chunk := os.read(handle, 1 << 20):
                content += chunk
            whole = content.rfind(b"\n") + 1
            lines = _parse(content[:whole], path)

            def append(line: dict[str, Any], before: list[dict[str, Any]]) -> None:
                body = {**line, "previous": before[-1]["hash"] if before else GENESIS}
                text = json.dumps({**body, "hash": _hash(body)}, sort_keys=True) + "\n"
                _write(handle, whole, text.encode(), path)

            yield lines, append
        finally:
            os.close(handle)


def _write(handle: int, place: int, line: bytes, path: Path) -> None:
    """Put `line` at the end, `place`, and on the disk; InputError, and no run, when it is not all there."""
    try:
        os.ftruncate(handle, place)
        os.lseek(handle, place, os.SEEK_SET)
        written = os.write(handle, line)
        os.fsync(handle)
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be written ({error.strerror})") from None
    if written < len(line):
        raise InputError(f"the ledger {path} cannot be written (the disk is full)")


def _hash(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _parse(content: bytes, path: Path) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number, raw in enumerate(content.splitlines(), 1):
        line: dict[str, Any] = {}
        try:
            line = json.loads(raw)
            body = {key: value for key, value in line.items() if key != "hash"}
            whole = _hash(body) == line["hash"] and body["previous"] == (
                lines[-1]["hash"] if lines else GENESIS
            )
            whole = whole and set(line) == FIELDS[line["kind"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            whole = False
        if not whole:
            raise InputError(f"the ledger {path} was altered: line {number} does not match its hash")
        lines.append(line)
    return lines


def _limit(lines: list[dict[str, Any]], dataset: str) -> tuple[float, float] | None:
    found = [line for line in lines if line["kind"] == "limit" and line["dataset"] == dataset]
    return (found[-1]["epsilon"], found[-1]["delta"]) if found else None


def _compose(lines: list[dict[str, Any]], dataset: str, delta: float) -> float:
    runs = [line for line in lines if line["kind"] == "run" and line["dataset"] == dataset]
    if not runs:
        return 0.0
    rest = delta - sum(line["delta_outside"] for line in runs)
    basic = sum(line["epsilon"] for line in runs)
    bounds = [basic] if sum(line["delta"] for line in runs) <= delta else []
    if rest > 0:
        bounds.append(zcdp.epsilon(sum(line["rho"] for line in runs), rest))
        if all(line["mu2"] is not None for line in runs):
            bounds.append(gdp.epsilon(math.sqrt(sum(line["mu2"] for line in runs)), rest))
    return min(bounds, default=math.inf)

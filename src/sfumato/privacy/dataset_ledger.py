"""A persistent ledger: every run on a data set that its owner names is charged in one file, before it
reads a row.

One JSON object a line, hash-chained. A line is written and flushed to disk under an exclusive lock
before the run starts, so that a killed run stays charged and two runs at a time cannot both take the
last of the budget. A half-written last line belongs to a run that never started and is cut away. The
ledger ties charges to a name, not to a file: nothing in it depends on the rows.

Only what protects the same unit under the same relation adds up: a run of another kind is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from sfumato.errors import InputError, UsageError
from sfumato.privacy import secure_random
from sfumato.privacy.charge import Charge, check_limit, check_unit, composed
from sfumato.privacy.cost import Price
from sfumato.privacy.filter import Budget, check_epsilon, check_pure_delta
from sfumato.privacy.ledger import GENESIS
from sfumato.privacy.unit import PrivacyUnit

_EVERY = {"kind", "dataset", "epsilon", "delta", "previous", "hash"}
FIELDS = {
    "limit": _EVERY,
    "run": _EVERY | {"what", "unit", "void", "delta_outside", "mu2", "rho"},
}
"""What a line holds, by kind."""
SEEDED = "noise from a fixed seed"

START = b'{"dataset"'
"""How every line starts, since keys are sorted."""


@frozen(kw_only=True)
class Spent:
    """What all runs on one data set add up to."""

    runs: int
    unit: dict[str, Any] | None
    """What the runs protect (see `PrivacyUnit.describe`); None before the first."""
    epsilon: float
    """Composed over all runs, at `delta`; infinite once a run guarantees nothing."""
    delta: float
    limit: tuple[float, float] | None
    """(epsilon, delta) that must not be exceeded, if one was set."""


@frozen
class DatasetLedger:
    """The ledger file at `path`, made at the first charge."""

    path: Path | str

    def limit(self, dataset: str, *, epsilon: float, delta: float) -> None:
        """Set what all runs on `dataset` together may spend. delta: 0 lets in runs without delta alone."""
        epsilon, delta = check_epsilon(epsilon), check_pure_delta(delta)
        with self._locked() as (lines, append):
            self._check_name(dataset)
            append({"kind": "limit", "dataset": dataset, "epsilon": epsilon, "delta": delta}, lines)

    def charge(
        self,
        dataset: str,
        budget: Budget,
        *,
        unit: PrivacyUnit,
        what: str,
        void: str = "",
        paid: Price | None = None,
        paid_by: str = "",
    ) -> str:
        """Charge a run before it starts, and return the hash of its line.

        `void` says why the run guarantees nothing, if so: it counts as infinite. `paid` is the part of the
        budget that the run with the hash `paid_by` has bought; it is not charged again where the ledger holds
        that run. UsageError when the runs on the data set protect something else; Overdraft when its limit
        does not cover the run.
        """
        self._check_name(dataset)
        if not void and not secure_random.is_secure():
            void = SEEDED
        with self._locked() as (lines, append):
            runs = _runs(lines, dataset)
            held = any(run["hash"] == paid_by for run in runs)
            label = f"data set {dataset!r}"
            charge = Charge.of(budget, paid=paid if held else None)
            line = {
                "kind": "run",
                "dataset": dataset,
                "what": what,
                "unit": unit.describe(),
                "void": void,
                **attrs.asdict(charge),
            }
            check_unit(runs, unit, label=label)
            check_limit([*runs, line], _limit(lines, dataset), label=label)
            return append(line, lines)

    def spent(self, dataset: str, *, delta: float | None = None) -> Spent:
        """The composed cost of all runs so far.

        At the delta of the limit where one is set, else at `delta`, else at the sum of the deltas of the
        runs.
        """
        with self._locked(create=False) as (lines, _):
            limit, runs = _limit(lines, dataset), _runs(lines, dataset)
            at = sum(run["delta"] for run in runs) if delta is None else delta
            at = limit[1] if limit else at
            unit = runs[0]["unit"] if runs else None
            return Spent(runs=len(runs), unit=unit, epsilon=composed(runs, at), delta=at, limit=limit)

    def lines(self) -> list[dict[str, Any]]:
        """All lines, checked."""
        with self._locked(create=False) as (lines, _):
            return lines

    def _check_name(self, dataset: str) -> None:
        if not isinstance(dataset, str) or not 1 <= len(dataset) <= 256 or dataset != dataset.strip():
            raise UsageError(
                "the name of the data set must be a text of 1 to 256 characters without blanks around it"
            )

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
            torn = content[whole:]
            if not (torn.startswith(START) or START.startswith(torn)):
                # What a killed run left behind is cut away; anything else may be somebody's only copy.
                raise InputError(
                    f"{path} is not a ledger", mend="give another file, or one that does not exist"
                )

            def append(line: dict[str, Any], before: list[dict[str, Any]]) -> str:
                body = {**line, "previous": before[-1]["hash"] if before else GENESIS}
                found = _hash(body)
                text = json.dumps({**body, "hash": found}, sort_keys=True) + "\n"
                _write(handle, whole, text.encode(), path)
                return found

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


def _runs(lines: list[dict[str, Any]], dataset: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "run" and line["dataset"] == dataset]

"""The grid of a sweep, and the file that lets one go on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from sfumato.errors import InputError, UsageError
from sfumato.privacy.filter import check_epsilon

Row = dict[str, Any]


@frozen(kw_only=True)
class Point:
    """One fit: a method at an epsilon (None for a method without a guarantee), for the n-th time."""

    method: str
    epsilon: float | None
    seed: int
    """Number of the repetition; fixes the drawing of rows and who is held out, never the noise."""


def grid(methods: Sequence[str], epsilons: Sequence[float], seeds: Sequence[int]) -> list[Point]:
    """All points: every method with a guarantee at every epsilon, every other method once; for each seed.

    UsageError when there are none.
    """
    from sfumato.synthesizers.recipe import synthesizers

    found = []
    wanted = [check_epsilon(epsilon) for epsilon in epsilons]
    for method in dict.fromkeys(methods):
        free = synthesizers[method].guarantee == "none"
        for epsilon in [None] if free else sorted(set(wanted)):
            found += [Point(method=method, epsilon=epsilon, seed=int(seed)) for seed in dict.fromkeys(seeds)]
    if not found:
        raise UsageError("a sweep needs a method, an epsilon and a seed at least")
    return found


@frozen
class Store:
    """Finished points in a file of JSON lines, one for each; None: they are kept nowhere."""

    path: Path | None

    def read(self) -> dict[str, Row]:
        """Finished points by key. A half-written last line is a point that did not finish."""
        if self.path is None or not self.path.exists():
            return {}
        return dict(self._lines(self.path))

    def _lines(self, path: Path) -> Iterator[tuple[str, Row]]:
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                held = json.loads(line)
                yield held["key"], held["row"]
            except (ValueError, KeyError, TypeError):
                if number == len(lines):
                    return
                raise InputError(
                    f"{path}: line {number} is not a point of a sweep", mend="remove the file to start anew"
                ) from None

    def add(self, key: str, row: Row) -> None:
        """Write one finished point."""
        if self.path is None:
            return
        if self.path.exists():
            content = self.path.read_bytes()
            if content and not content.endswith(b"\n"):
                self.path.write_bytes(content[: content.rfind(b"\n") + 1])
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"key": key, "row": row}, allow_nan=False) + "\n")


def key_of(point: Point, setup: dict[str, Any]) -> str:
    """What identifies a point: the point and everything that its result depends on but rows and noise."""
    text = json.dumps({"point": asdict(point), "setup": setup}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()

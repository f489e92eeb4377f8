"""Results that are kept in a folder: records as lines of JSON, rows that were drawn as Parquet files. A benchmark
that is stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

Record = dict[str, Any]


class Store:
    """Records and rows by their names; in a temporary folder where none is given. `at_most`: the program ends
    before it makes more new ones.
    """

    def __init__(self, folder: Path | None, at_most: int | None = None) -> None:
        self._left = at_most
        self._temporary = TemporaryDirectory() if folder is None else None
        self._folder = Path(self._temporary.name) if self._temporary else folder or Path()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file, self._found = self._folder / "records.jsonl", dict[str, Record]()
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                try:
                    name, record = json.loads(line)
                except ValueError:  # a line that was cut off
                    continue
                self._found[name] = record

    def record(self, make: Callable[[], Record], **names: Any) -> Record:
        """The record called so, made and kept where there is none."""
        name = _name(names)
        if name not in self._found:
            self._begin()
            self._found[name] = made = make()
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, made]) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return self._found[name]

    def rows(self, make: Callable[[], pl.DataFrame], **names: Any) -> tuple[pl.DataFrame, float]:
        """The rows called so, made and kept where there are none, and the processor seconds that took."""
        path = self._folder / f"{hashlib.sha256(_name(names).encode()).hexdigest()[:16]}.parquet"

        def timed() -> Record:
            before = time.process_time()
            make().write_parquet(path)
            return {"seconds": time.process_time() - before}

        seconds = self.record(timed, what="rows", **names)["seconds"]
        return pl.read_parquet(path), seconds

    def _begin(self) -> None:
        if self._left is not None:
            if not self._left:
                raise SystemExit("there is more to do: call again")
            self._left -= 1


def _name(names: dict[str, Any]) -> str:
    return json.dumps(names, sort_keys=True)

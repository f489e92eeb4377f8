"""What every hostile input must end in: a refusal that costs and tells nothing, or a valid model and output."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
from tests.cli.runner import CANARY, Ran, charged, left_behind, sfumato

import sfumato as sf


def attempt(folder: Path, table: Path, *words: Any, epsilon: float = 1.0) -> Ran:
    """`sfumato generate` on `table` in an empty `folder` beside it, charged to a ledger; the run and what it
    left are checked for the one or the other.
    """
    ledger, out, model = folder / "ledger", folder / "out.csv", folder / "model.sfumato"
    if "--method" not in words:
        words = (*words, "--method", "independent")
    words = (*words, "--ledger", ledger, "--dataset", "d", "--model", model)
    ran = sfumato("generate", table, "-o", out, "--epsilon", epsilon, *words)
    assert CANARY not in ran.printed, ran.printed
    assert ran.out == ""
    if ran.code:
        assert ran.code == 2 and ran.err.count("error: ") == 1, ran.err
        assert charged(ledger) == 0 and left_behind(folder) <= {"ledger"}
    else:
        assert charged(ledger) == 1
        assert left_behind(folder) == {"ledger", "out.csv", "model.sfumato"}
        found = sf.load(model)
        assert sf.verify(found).epsilon <= epsilon
        frame = rows_of(folder, *words)
        public = any(CANARY in name for name in frame.columns)
        assert public or CANARY.encode() not in model.read_bytes() + out.read_bytes()
        assert frame.columns == [column.name for column in found.schema.columns if not column.dropped]
        assert frame.height == found.rows
    return ran


def rows_of(folder: Path, *words: Any) -> pl.DataFrame:
    """The synthetic rows, all as text; missing ones as nulls."""
    delimiter = words[words.index("--delimiter") + 1] if "--delimiter" in words else ","
    encoding = words[words.index("--encoding") + 1] if "--encoding" in words else "utf-8"
    out = folder / "out.csv"
    frame = pl.read_csv(out.read_bytes().decode(encoding).encode(), infer_schema=False, separator=delimiter)
    with out.open(encoding=encoding, newline="") as stream:
        frame.columns = next(csv.reader(stream, delimiter=delimiter))  # polars keeps doubled quotes in names
    return frame.with_columns(pl.when(pl.all() != "").then(pl.all()))  # "" is how one column alone is written


def refused(folder: Path, table: Path, *words: Any, parts: tuple[str, ...]) -> Ran:
    """The input is refused, and the message has `parts`."""
    ran = attempt(folder, table, *words)
    assert ran.code == 2, "accepted"
    assert all(part in ran.err for part in parts), ran.err
    return ran


def accepted(folder: Path, table: Path, *words: Any, epsilon: float = 1.0) -> pl.DataFrame:
    """The input is accepted; the synthetic rows, all as text."""
    ran = attempt(folder, table, *words, epsilon=epsilon)
    assert ran.code == 0, ran.err
    return rows_of(folder, *words)

"""Memory and time of a run on a table that is not read: sums of what was measured; docs/methods/plan.md."""

from __future__ import annotations

import math

from attrs import frozen

from sfumato.synthesizers.outlook import Outlook

MILLION = 1e6

BASE_MB = 122.0
"""The interpreter with what a run loads, in megabytes; what follows comes on top."""
CELL_MB = 46.0
"""Of a million cells of the model."""
CANDIDATE_MB = 7.6
"""Of a thousand candidates."""
VALUE_MB = 34.0
"""Of a million values (rows times columns) …"""
KEPT_MB = 1_000.0
"""… as many as are kept in memory."""

BASE_SECONDS = 2.2
"""To start, to load and to write; on one quiet core of 2.5 GHz, as all that follows."""
CELL_SECONDS = 0.3
"""To fit a million cells once."""
ROOT_SECONDS = 0.6
"""To fit once, for a thousand square roots of cells: small models have many small steps."""
COLUMN_SECONDS = 0.015
"""To fit a column once."""
CANDIDATE_SECONDS = 2.2
"""To weigh a thousand candidates."""
VALUE_SECONDS = 0.5
"""To read, encode and write a million values."""


@frozen(kw_only=True)
class Expense:
    """What a run takes from its machine."""

    memory_mb: float
    """Peak of the resident memory of the process."""
    seconds: float
    """From start to end of `sfumato generate`."""


def expense_of(outlook: Outlook, *, rows: float, columns: int) -> Expense:
    """For a table of so many rows and columns, and a method with this outlook."""
    cells, values, fits = outlook.cells / MILLION, rows * columns / MILLION, outlook.fits
    return Expense(
        memory_mb=BASE_MB
        + CELL_MB * cells
        + CANDIDATE_MB * outlook.candidates / 1_000
        + min(VALUE_MB * values, KEPT_MB),
        seconds=BASE_SECONDS
        + fits * (CELL_SECONDS * cells + ROOT_SECONDS * math.sqrt(cells) + COLUMN_SECONDS * columns)
        + CANDIDATE_SECONDS * outlook.candidates / 1_000
        + VALUE_SECONDS * values,
    )

"""Files of the tables, in the folder that SFUMATO_DATA names."""

from __future__ import annotations

import os
from pathlib import Path


class NoTableError(Exception):
    """Why a table cannot be had."""


def shared_file(name: str) -> Path:
    """The file of that name; NoTableError where there is none."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        raise NoTableError("SFUMATO_DATA does not name the folder of the tables")
    path = Path(folder) / name
    if not path.exists():
        raise NoTableError(f"{path} not found")
    return path

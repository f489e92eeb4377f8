"""What is public of a raw column without cost."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class Stored:
    """What is public of a raw column without cost: its name and how it is stored."""

    name: str
    storage: str
    """string, int, float, bool, date, datetime, duration or categorical; untyped: the cells of a text
    file.
    """
    timezone: str | None = None

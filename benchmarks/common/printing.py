"""Tables printed as they are measured, a line at a time, in Markdown that is readable as it stands."""

from __future__ import annotations


class Lines:
    """A table with one line of heads."""

    def __init__(self, **widths: int) -> None:
        self._widths = tuple(widths.values())
        self._print([name.replace("_", " ") for name in widths])
        print("|" + "|".join("-" * (width + 1) + ":" for width in self._widths) + "|", flush=True)

    def add(self, *fields: str) -> None:
        """A line; missing fields at its end are empty."""
        self._print([*fields, *[""] * (len(self._widths) - len(fields))])

    def _print(self, fields: list[str]) -> None:
        cells = (f" {text:>{width}} " for text, width in zip(fields, self._widths, strict=True))
        print("|" + "|".join(cells) + "|", flush=True)

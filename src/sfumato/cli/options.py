"""Options that several commands share."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import define
from cyclopts import Parameter

from sfumato.errors import UsageError

if TYPE_CHECKING:
    from sfumato.models.training import Job
    from sfumato.tables.dialect import CsvDialect


@Parameter(name="*")
@define(kw_only=True)
class ReadOptions:
    """How text files are read, and written back."""

    delimiter: str | None = None
    "Field separator; default: comma, or tab for .tsv. The word tab is understood."
    quote: str = '"'
    "Quote character, or none."
    encoding: str = "utf-8"
    "Character encoding; a byte order mark is recognised."
    decimal: Literal[".", ","] = "."
    "Decimal mark of numbers: . or ,"
    null: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    "A text that stands for a missing value, besides the empty field. May be repeated."
    header: bool | None = None
    "Whether the first row holds column names (--no-header: it does not). Default: it does, if it looks so."
    names: str | None = None
    "Column names to use, separated by commas."
    trim: Annotated[bool, Parameter(negative="")] = False
    "Strip blanks around fields."
    bad_rows: Literal["error", "drop"] = "error"
    "What to do with rows of the wrong length: error or drop."

    def dialect(self) -> CsvDialect:
        """The dialect that these options describe."""
        from sfumato.tables.dialect import CsvDialect

        header = "auto" if self.header is None else "yes" if self.header else "no"
        return CsvDialect(
            delimiter=self.delimiter,
            quote=self.quote,
            encoding=self.encoding,
            decimal=self.decimal,
            null=tuple(self.null),
            header=header,
            names=None if self.names is None else tuple(name.strip() for name in self.names.split(",")),
            trim=self.trim,
            bad_rows=self.bad_rows,
        )


@Parameter(name="*")
@define(kw_only=True)
class PrivacyOptions:
    """The guarantee and the method."""

    delta: float | None = None
    "Default: 1e-9, or 1/(100 N) when the schema states rows_at_most = N."
    method: str = "mst"
    "See `sfumato methods`."
    schema: Path | None = None
    "Schema file (TOML or JSON): what is public of the table. Without it all is learned from the budget."
    unit: str | None = None
    "Column that tells persons apart; default: every row is a unit of its own."
    at_most: int = 1
    "Rows kept of each person, with --unit."
    neighbours: str | None = None
    "add-remove (default) or replace."
    set: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    "An option of the method, as key=value. May be repeated."
    accountant: str = "gdp"
    "gdp (default) or zcdp."
    ledger: Path | None = None
    "Persistent ledger file; charged before the run."
    dataset: str | None = None
    "Name of the data set in the persistent ledger."

    def keywords(self) -> dict[str, Any]:
        """As keyword arguments of `sfumato.fit`."""
        if self.at_most != 1 and self.unit is None:
            raise UsageError("--at-most needs --unit, the column that tells persons apart")
        return {
            "delta": self.delta,
            "method": self.method,
            "schema": self.schema,
            "unit": None if self.unit is None else (self.unit, self.at_most),
            "neighbours": self.neighbours,
            "options": dict(_setting(text) for text in self.set),
            "accountant": self.accountant,
        }


def _setting(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--set {text}: expected key=value")
    try:
        return name, tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return name, value


def describe_job(job: Job) -> list[str]:
    """The plan in lines: what is promised, and how the budget is divided."""
    budget, split = job.budget, job.split
    shares = ", ".join(f"{name} {share:.1%}" for name, share in split.items())
    return [
        f"{job.recipe.name} on {job.table.label}: epsilon {budget.epsilon:g}, delta {budget.delta:.3g}, "
        f"{job.unit.neighbours} of {job.unit}",
        f"budget: {shares}",
    ]

"""Every way sfumato tells a user that something is wrong.

    SfumatoError                    base; `exit_code` is what the command line returns
    ├── UsageError             2    an option or an argument
    ├── InputError             2    the input file or frame: names file, column, row where it can
    ├── SchemaError            2    the schema: lists all its faults at once
    ├── OutputError            2    the place to write to
    ├── ModelFormatError       2    a model file that is damaged, foreign or was altered
    ├── JobError               1    the job cannot be done as asked
    │   ├── KeySpaceError      1    more rows asked than an identifier column has keys
    │   └── Overdraft          1    the privacy budget does not cover the request
    └── GuaranteeError         3    the stated guarantee does not hold

Each message says where, what, and what would do. No message quotes a private value. Faults of
sfumato itself are ordinary exceptions.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen


@frozen
class Fault:
    """One thing that is wrong: where it is, what it is, and what would mend it."""

    where: str
    what: str
    mend: str = ""

    def __str__(self) -> str:
        tail = f" ({self.mend})" if self.mend else ""
        return f"{self.where}: {self.what}{tail}"


class SfumatoError(Exception):
    """Base of all errors meant for the user."""

    exit_code = 1

    def __init__(self, message: str, *, mend: str = "") -> None:
        self.message = message
        self.mend = mend
        super().__init__(f"{message}\n  {mend}" if mend else message)


class UsageError(SfumatoError):
    """An option or argument is missing, unknown or out of range."""

    exit_code = 2


class InputError(SfumatoError):
    """The input cannot be read as a table."""

    exit_code = 2


class _Faults(SfumatoError):
    def __init__(self, title: str, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        super().__init__("\n".join([f"{title} has {count}", *(f"  {fault}" for fault in faults)]))


class SchemaError(_Faults):
    """The schema has faults; all of them are listed."""

    exit_code = 2


class HeaderError(_Faults, InputError):
    """Column names that cannot be used; all of them are listed."""

    exit_code = 2


class OutputError(SfumatoError):
    """The result cannot be written where it was asked for."""

    exit_code = 2


class ModelFormatError(SfumatoError):
    """A model file is damaged, of another version, or was altered."""

    exit_code = 2


class JobError(SfumatoError):
    """The job is well formed but cannot be done as asked."""

    exit_code = 1


class KeySpaceError(JobError):
    """An identifier column has fewer possible keys than the rows asked for."""


class Overdraft(JobError):
    """A mechanism asked for more than what is left of the privacy budget."""


class GuaranteeError(SfumatoError):
    """The stated privacy guarantee does not hold."""

    exit_code = 3

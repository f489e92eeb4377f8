"""How a delimited text file is spelled: every choice is stated, none is guessed from the rows."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from typing import Literal

from attrs import Attribute, field, frozen

from sfumato.errors import UsageError

_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}


def _texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _quote(value: str | None) -> str | None:
    return None if value in (None, "", "none") else value


def _delimiter(value: str | None) -> str | None:
    return None if value is None else _SPELLED.get(value, value)


def _mark(_: object, attribute: Attribute[str | None], value: str | None) -> None:
    if value is None:
        return
    plain = len(value) == 1 and (value == "\t" or " " <= value <= "~") and not value.isalnum()
    if not plain:
        raise UsageError(
            f"{attribute.name} must be one ASCII mark, not {value!r}",
            mend="for example ',' ';' '|' or 'tab'",
        )


def _encoding(_: object, __: object, value: str) -> None:
    try:
        if not codecs.lookup(value)._is_text_encoding:
            raise LookupError
    except (LookupError, ValueError):
        raise UsageError(f"unknown text encoding {value!r}", mend="for example utf-8 or latin-1") from None


def _one_of(*allowed: str) -> Callable[[object, Attribute[str], str], None]:
    def check(_: object, attribute: Attribute[str], value: str) -> None:
        if value not in allowed:
            raise UsageError(f"{attribute.name} must be one of {', '.join(allowed)}, not {value!r}")

    return check


@frozen(kw_only=True)
class CsvDialect:
    """Spelling of a delimited text file, for reading and for writing.

    Messages name these by the options of the command line: --bad-rows drop is bad_rows="drop".

    delimiter: mark between fields; None: a tab for .tsv and .tab, else a comma.
    quote: mark around fields that hold delimiters or line breaks, doubled inside; None: no quoting.
    encoding: text encoding; a byte-order mark in the file decides between UTF-8, -16 and -32.
    decimal: decimal mark of numbers, for the column kinds that read them and for writing.
    null: texts that mean "missing", beside the empty field.
    header: "yes", "no", or "auto": yes, unless the first row looks like data, or like one name that another
        delimiter makes several, which are errors.
    names: column names, in place of the header row or for a file without one.
    trim: strip blanks and tabs around fields (outside quotes).
    bad_rows: "error", or "drop": leave out rows with another number of fields than the header.
    """

    delimiter: str | None = field(default=None, converter=_delimiter, validator=_mark)
    quote: str | None = field(default='"', converter=_quote, validator=_mark)
    encoding: str = field(default="utf-8", validator=_encoding)
    decimal: Literal[".", ","] = field(default=".", validator=_one_of(".", ","))
    null: tuple[str, ...] = field(default=(), converter=_texts)
    header: Literal["auto", "yes", "no"] = field(default="auto", validator=_one_of("auto", "yes", "no"))
    names: tuple[str, ...] | None = field(default=None)
    trim: bool = False
    bad_rows: Literal["error", "drop"] = field(default="error", validator=_one_of("error", "drop"))

    def __attrs_post_init__(self) -> None:
        if self.names is not None:
            object.__setattr__(self, "names", tuple(self.names))
        if self.quote is not None and self.quote == self.delimiter:
            raise UsageError(f"delimiter and quote are both {self.quote!r}")

    def delimiter_for(self, name: str) -> str:
        """The delimiter of the file called `name`."""
        if self.delimiter is not None:
            return self.delimiter
        return "\t" if name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else ","

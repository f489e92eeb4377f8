"""Where the records of delimited text begin and end, found with array operations, strictly.

The rules are those of RFC 4180: a quoted field starts right after a delimiter or a record end and its
closing quote stands right before one; quotes inside are doubled; record ends and delimiters inside
quotes are text. Whatever breaks the rules is an error with a line number, never a guess.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.errors import InputError

LF, CR, BLANK, TAB = 10, 13, 32, 9

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@frozen
class Marks:
    """The bytes that give a text its structure."""

    delimiter: int
    quote: int | None

    @classmethod
    def of(cls, delimiter: str, quote: str | None) -> Marks:
        return cls(ord(delimiter), None if quote is None else ord(quote))


@frozen
class Records:
    """The complete records at the front of a buffer.

    starts, ends: where each record begins, and where its text ends (before the line break).
    fields: how many fields it has (0 for a blank line). stop: where the first incomplete record begins.
    returns: places of CR before LF outside quotes. lines: line breaks before `stop`, quoted ones too.
    quoted: whether there is any quote.
    """

    starts: Places
    ends: Places
    fields: Places
    stop: int
    returns: Places
    lines: int
    quoted: bool


def find_records(buffer: bytes, marks: Marks, *, label: str, first_line: int, final: bool) -> Records:
    """Split a buffer that begins at a record; `first_line` is the line number of its first byte.

    `final` says that nothing follows; the buffer must then end with a line break.
    Raises InputError for NUL bytes, stray quotes, unterminated quotes and lone carriage returns.
    """
    nul = buffer.find(b"\0")
    if nul >= 0:
        _fail(
            label,
            buffer,
            nul,
            first_line,
            "there is a NUL byte",
            "if it is UTF-16, say so: --encoding utf-16",
        )
    data = np.frombuffer(buffer, np.uint8)
    found = data == marks.delimiter
    found |= data == LF
    if marks.quote is not None:
        found |= data == marks.quote
    if has_returns := b"\r" in buffer:
        found |= data == CR
    places = np.flatnonzero(found)
    kinds = data[places]
    del found
    quoted = False
    outside = None
    if marks.quote is not None:
        quotes = kinds == marks.quote
        if quoted := bool(quotes.any()):
            inside = np.cumsum(quotes, dtype=np.int32) & 1
            _check_quotes(places[quotes], buffer, marks, label, first_line)
            if final and inside[-1]:
                start = _field_start(places[quotes], int(np.count_nonzero(quotes)) - 1)
                _fail(
                    label,
                    buffer,
                    start,
                    first_line,
                    "the quoted field that starts here is never closed",
                    _hint(buffer, marks),
                )
            outside = ~quotes & (inside == 0)
    inner = places if outside is None else places[outside]
    inner_kinds = kinds if outside is None else kinds[outside]
    returns = np.empty(0, np.int64)
    if has_returns:
        returns = inner[inner_kinds == CR]
        inner, inner_kinds = inner[inner_kinds != CR], inner_kinds[inner_kinds != CR]
        followed = returns[returns + 1 < data.size]
        if (lone := followed[data[followed + 1] != LF]).size:
            what = "there is a carriage return that is not part of a line break"
            _fail(
                label, buffer, int(lone[0]), first_line, what, "quote the field, or save with LF line breaks"
            )
    breaks = np.flatnonzero(inner_kinds == LF)
    ends = inner[breaks]
    starts = np.concatenate(([0], ends[:-1] + 1)) if ends.size else np.empty(0, np.int64)
    fields = np.diff(breaks, prepend=-1)
    stop = int(ends[-1]) + 1 if ends.size else 0
    if has_returns:
        returns = returns[returns < stop]
        ends = ends - ((ends > starts) & (data[ends - 1] == CR))
    fields[ends == starts] = 0
    lines = int(np.count_nonzero(kinds[: np.searchsorted(places, stop)] == LF)) if stop else 0
    return Records(starts, ends, fields, stop, returns, lines, quoted)


_HINT = "double a quote inside a quoted field; if quotes have no meaning in this file: --quote none"

_OTHERS = {b";": "';'", b"\t": "tab", b"|": "'|'"}


def _hint(buffer: bytes, marks: Marks) -> str:
    """What may help where quotes stand wrong: another delimiter, if the head of the file is full of one."""
    head = buffer[: 1 << 16]
    used = head.count(bytes([marks.delimiter]))
    for mark, word in _OTHERS.items():
        if head.count(mark) > used:
            return f"if {word} separates the fields: --delimiter {word}"
    return _HINT


def _check_quotes(quotes: Places, buffer: bytes, marks: Marks, label: str, first_line: int) -> None:
    """Opening quotes follow a delimiter, record end or closing quote; closing ones precede such."""
    data = np.frombuffer(buffer, np.uint8)
    edge = np.zeros(256, bool)
    edge[[marks.delimiter, LF, CR, data[quotes[0]]]] = True  # a CR that ends no line is found later
    opening, closing = quotes[0::2], quotes[1::2]
    before = opening[opening > 0]
    stray = before[~edge[data[before - 1]]]
    inner = closing[closing + 1 < data.size]
    early = inner[~edge[data[inner + 1]]]
    if stray.size and (not early.size or stray[0] < early[0]):
        what = "a quote stands inside a field without quotes"
        _fail(label, buffer, int(stray[0]), first_line, what, _hint(buffer, marks))
    if early.size:
        what = "the quoted field that starts here is not closed, or more text follows its closing quote"
        start = _field_start(quotes, int(np.searchsorted(quotes, early[0])) - 1)
        _fail(label, buffer, start, first_line, what, _hint(buffer, marks))


def _field_start(quotes: Places, opening: int) -> int:
    """Place of the first quote of the field that quote number `opening` may reopen after a doubled one."""
    while opening >= 2 and quotes[opening - 1] == quotes[opening] - 1:
        opening -= 2
    return int(quotes[opening])


def _fail(label: str, buffer: bytes, place: int, first_line: int, what: str, mend: str) -> NoReturn:
    line = first_line + buffer.count(b"\n", 0, place)
    raise InputError(f"{label}, line {line}: {what}", mend=mend)


def strip_blanks(buffer: bytes, marks: Marks) -> bytes:
    """The buffer without the blanks and tabs that stand around fields, outside quotes.

    The buffer begins at a record and does not end in a blank.
    """
    data = np.frombuffer(buffer, np.uint8)
    blank = data == BLANK
    if marks.delimiter != TAB:
        blank |= data == TAB
    if marks.delimiter == BLANK or not blank.any():
        return buffer
    if marks.quote is not None and bytes([marks.quote]) in buffer:
        blank &= np.cumsum(data == marks.quote, dtype=np.int32) & 1 == 0
    edges = np.flatnonzero(np.diff(blank.view(np.int8), prepend=0, append=0))
    starts, stops = edges[0::2], edges[1::2]
    edge = np.zeros(256, bool)
    edge[[marks.delimiter, LF]] = True
    at_left = (starts == 0) | edge[data[starts - 1]]
    at_right = edge[data[stops]] | (data[stops] == CR)
    drop = at_left | at_right
    return data[_outside(starts[drop], stops[drop], data.size)].tobytes()


def _outside(starts: Places, stops: Places, size: int) -> npt.NDArray[np.bool_]:
    """Mask of the places below `size` that are in none of the disjoint ranges."""
    change = np.zeros(size + 1, np.int8)
    change[starts] += 1
    np.subtract.at(change, stops, 1)
    return np.cumsum(change[:-1], dtype=np.int8) == 0


def cut(buffer: bytes, records: Records, wrong: npt.NDArray[np.bool_]) -> bytes:
    """The complete records without those that are `wrong`, with LF line breaks."""
    if not records.returns.size and not wrong.any():
        return buffer[: records.stop]
    data = np.frombuffer(buffer, np.uint8)[: records.stop]
    nexts = np.append(records.starts[1:], records.stop)
    keep = _outside(records.starts[wrong], nexts[wrong], records.stop)
    keep[records.returns] = False
    return data[keep].tobytes()


def split_record(record: bytes, marks: Marks) -> list[str]:
    """The fields of one well-formed UTF-8 record (used for the header)."""
    if marks.quote is None:
        return record.decode("utf-8").split(chr(marks.delimiter))
    quote, delimiter = bytes([marks.quote]), bytes([marks.delimiter])
    fields: list[str] = []
    pieces: list[bytes] = []
    for piece in record.split(delimiter):
        pieces.append(piece)
        if sum(part.count(quote) for part in pieces) % 2 == 0:
            whole = delimiter.join(pieces)
            if whole.startswith(quote):
                whole = whole[1:-1].replace(quote * 2, quote)
            fields.append(whole.decode("utf-8"))
            pieces = []
    return fields

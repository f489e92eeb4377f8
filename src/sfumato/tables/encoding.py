"""Bytes of a file in any text encoding -> blocks of UTF-8 bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from sfumato.errors import InputError

# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def byte_order_mark(head: bytes, declared: str, label: str) -> tuple[str, int]:
    """The encoding of a file that starts with `head`, and how many bytes its mark takes.

    Raises InputError when the mark contradicts an encoding other than the default.
    """
    name = codecs.lookup(declared).name.removesuffix("-sig")
    for mark, marked in _MARKS:
        if head.startswith(mark):
            if name not in ("utf-8", marked, marked[:-3]):
                raise InputError(
                    f"{label} starts with the byte-order mark of {marked.upper()}, but its encoding is "
                    f"said to be {declared}",
                    mend=f"say encoding {marked[:-3] if marked != 'utf-8' else marked}",
                )
            return marked, len(mark)
    return name, 0


def utf8_blocks(stream: BinaryIO, encoding: str, label: str, size: int) -> Iterator[bytes]:
    """Blocks of about `size` bytes of UTF-8 text, cut anywhere.

    UTF-8 itself is passed on unchecked (see `check_utf8`, which needs whole records).
    Raises InputError with the line of the first byte that is not of this encoding.
    """
    if encoding in ("utf-8", "ascii"):
        while block := stream.read(size):
            yield block
        return
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    lines = 0
    while True:
        raw = stream.read(size)
        try:
            text = decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            before = ""
            if isinstance(error, UnicodeDecodeError):
                before = error.object[: error.start].decode(encoding, "ignore")
            raise _undecodable(label, lines + before.count("\n") + 1, encoding) from None
        if text:
            lines += text.count("\n")
            # Half a surrogate pair can come out of some decoders; it is no character.
            try:
                yield text.encode("utf-8")
            except UnicodeEncodeError as error:
                line = lines - text.count("\n", error.start) + 1
                raise _undecodable(label, line, encoding) from None
        if not raw:
            return


def check_utf8(block: bytes, declared: str, label: str, first_line: int) -> None:
    """Raise InputError when `block`, which starts on line `first_line`, is not of its encoding."""
    if block.isascii():
        return
    if declared == "ascii":
        start = next(i for i, byte in enumerate(block) if byte > 127)
        raise _undecodable(label, first_line + block.count(b"\n", 0, start), declared)
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + block.count(b"\n", 0, error.start)
        raise _undecodable(label, line, declared) from None


def _undecodable(label: str, line: int, encoding: str) -> InputError:
    return InputError(
        f"{label}, line {line}: a byte is not valid {encoding.upper()}",
        mend="say which encoding the file has: --encoding latin-1, cp1252, utf-16 …",
    )

"""Formats of dates and times: the codes of `strftime` that can be read back, checked and translated.

The reading engine has its own dialect (a fraction of a second is `%.f`, `%f` means nanoseconds), so a
format is translated once. A format has a *grain*, the finest step it can tell apart, and must pin down
the whole date; what it lacks is a fault that says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from attrs import frozen

GRAINS = {"us": 1, "ms": 1_000, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
"""Microseconds in each step a moment may be rounded down to."""

_SHORT = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}
_KNOWN = tuple("YymbBdjHIpMSfzaA%")
_FIXED = frozenset("YymdjHMSf")


@frozen
class Format:
    """A checked format: `read` and `write` in the dialect of the engine, and its grain."""

    read: str
    write: str
    grain: str
    zoned: bool
    numeric: int
    """How many digits a text has when it is all digits of fixed width, else 0."""


def pieces(format: str) -> Iterator[tuple[bool, str]]:
    """The codes (True, letter) and literals (False, character) of a format, shorthands spelled out."""
    place = 0
    while place < len(format):
        if format[place] != "%":
            yield False, format[place]
            place += 1
            continue
        letter = format[place + 1 : place + 2]
        place += 2
        if letter in _SHORT and letter:
            yield from pieces(_SHORT[letter])
        else:
            yield True, letter


@lru_cache(maxsize=256)
def faults_of(format: str, *, time: bool) -> tuple[tuple[str, str], ...]:
    """What is wrong with a format and what would mend it; empty when nothing is."""
    found: list[tuple[str, str]] = []
    codes = [letter for is_code, letter in pieces(format) if is_code]
    for letter in dict.fromkeys(codes):
        if letter not in _KNOWN:
            found.append(
                (f"has the code %{letter}, which cannot be read back", "known: %" + " %".join(_KNOWN))
            )
        elif codes.count(letter) > 1 and letter != "%":
            found.append((f"has %{letter} twice", "once is enough"))
    if found:
        return tuple(found)
    has = set(codes)
    if not has & {"Y", "y"}:
        found.append(("has no year", "add %Y"))
    if not ("j" in has or ("d" in has and has & {"m", "b", "B"})):
        found.append(
            (
                "does not pin down the day",
                'add %m and %d, or declare type = "categorical" with ordered = true',
            )
        )
    if not time and has & set("HIpMSfz"):
        found.append(("has a time of day", 'declare type = "datetime"'))
    if ("I" in has) != ("p" in has):
        found.append(("needs %I and %p together", "or %H, the hour of 24"))
    if "H" in has and "I" in has:
        found.append(("has the hour twice", "keep %H or %I"))
    if has & {"H", "I"} and "M" not in has:
        found.append(("has an hour but no minute", "add %M"))
    if has & {"M", "S", "f", "p"} and not has & {"H", "I"}:
        found.append(("has a minute or second but no hour", "add %H"))
    if has & {"S", "f"} and "M" not in has:
        found.append(("has a second but no minute", "add %M"))
    if "f" in has and "%S.%f" not in format.replace("%T", "%H:%M:%S"):
        found.append(("has %f in an unusual place", "write the fraction as %S.%f"))
    return tuple(found)


@lru_cache(maxsize=256)
def translate(format: str) -> Format:
    """A faultless format in the dialect of the engine."""
    parts = list(pieces(format))
    plain = "".join(f"%{piece}" if is_code else piece for is_code, piece in parts)
    has = {piece for is_code, piece in parts if is_code}
    widths = [(4 if p == "Y" else 3 if p == "j" else 2) if code else 1 for code, p in parts]
    numeric = all(p in _FIXED - {"f"} if code else p.isdigit() and p.isascii() for code, p in parts)
    grain = "us" if "f" in has else "s" if "S" in has else "min" if "M" in has else "d"
    return Format(
        read=plain.replace("%S.%f", "%S%.f"),
        write=plain.replace("%S.%f", "%S%.6f"),
        grain=grain,
        zoned="z" in has,
        numeric=sum(widths) if numeric else 0,
    )

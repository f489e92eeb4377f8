"""Column names: which ones can be used. They are public, and kept byte for byte."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from sfumato.errors import Fault, HeaderError

LONGEST = 256
_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")
_SHOWN = 40
_LISTED = 100


def shown(name: str) -> str:
    """`name` as a message shows it: quoted, escaped, short."""
    return repr(name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…")


def check_names(names: Sequence[object], label: str, *, mend: str) -> tuple[str, ...]:
    """The names as text, when every one can be used.

    Raises HeaderError that lists all empty, repeated, overlong and unprintable names and names that
    are not text, by position; `mend` says how the caller can give others.
    """
    faults: list[tuple[int, Fault]] = []
    places: dict[object, list[int]] = defaultdict(list)
    for position, name in enumerate(names, start=1):
        if what := _fault(name):
            faults.append((position, Fault(f"column {position}", what, mend)))
        elif isinstance(name, str):
            places[name].append(position)
    for name, found in places.items():
        if len(found) > 1:
            where = f"columns {', '.join(map(str, found[:-1]))} and {found[-1]}"
            what = f"{len(found)} columns are called {shown(str(name))}"
            faults.append((found[0], Fault(where, what, mend)))
    if faults:
        listed = [fault for _, fault in sorted(faults, key=lambda entry: entry[0])]
        if len(listed) > _LISTED:
            listed[_LISTED:] = [Fault("further columns", f"{len(listed) - _LISTED} more faults", mend)]
        raise HeaderError(f"the header of {label}", listed)
    return tuple(str(name) for name in names)


def _fault(name: object) -> str | None:
    if not isinstance(name, str):
        return f"the name is not text but {type(name).__name__}"
    if not name.strip():
        return "the name is empty" if not name else "the name is blank"
    if len(name) > LONGEST:
        return f"the name has {len(name)} characters; at most {LONGEST} are allowed"
    if any(unicodedata.category(c) == "Cc" and c not in "\n\r\t" for c in name):
        return f"the name {shown(name)} holds a control character"
    if any("\ud800" <= c <= "\udfff" for c in name):
        return "the name holds half a character (a lone surrogate)"
    return None


def looks_like_data(row: Sequence[str]) -> bool:
    """Whether a first row reads like values rather than names.

    True when a third or more of the fields are numbers that do not count up by one, or when more than
    half of the fields (and at least three) occur more than once.
    """
    numbers = [text for text in row if _NUMBER.fullmatch(text)]
    if numbers and 3 * len(numbers) >= len(row) and not _counts_up(numbers):
        return True
    repeated = sum(1 for text in row if text.strip() and row.count(text) > 1) if len(row) <= 10_000 else 0
    return repeated >= 3 and 2 * repeated > len(row)


def _counts_up(numbers: Sequence[str]) -> bool:
    whole = [text.strip() for text in numbers]
    if len(whole) < 2 or not all(text.isdecimal() and len(text) <= 18 for text in whole):
        return False
    return all(int(after) == int(before) + 1 for before, after in itertools.pairwise(whole))


def same_but_for_case(names: Sequence[str]) -> list[str]:
    """A note for each group of names that differ only in case or in Unicode form."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[unicodedata.normalize("NFC", name).casefold()].append(name)
    return [
        f"columns {', '.join(map(shown, group))} differ only in case or Unicode form"
        for group in groups.values()
        if len(group) > 1
    ]

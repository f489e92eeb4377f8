"""A regular expression of finite length as an automaton whose texts can be counted and numbered.

The pattern is read into positions, the positions into a deterministic automaton; counting the ways from
each state to the end gives the exact number of *distinct* texts, and following the counts turns a number
below it into one text. So "a?a?" has three texts, not four, and no text is made twice.
Construction: Glushkov (1961), subset determinisation.

Known: literals, escapes, `.`, classes, groups, alternation, `?`, `{n}`, `{m,n}`. `\\d`, `\\w`, `\\s`, `.` and
negated classes mean printable ASCII. What has no end (`*`, `+`, `{n,}`) and what looks around is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from attrs import frozen

PRINTABLE = frozenset(range(0x20, 0x7F))
_DIGIT = frozenset(range(0x30, 0x3A))
_WORD = _DIGIT | frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B)) | {0x5F}
_SPACE = frozenset({0x20})
_CLASSES = {
    "d": _DIGIT,
    "w": _WORD,
    "s": _SPACE,
    "D": PRINTABLE - _DIGIT,
    "W": PRINTABLE - _WORD,
    "S": PRINTABLE - _SPACE,
}
_CONTROL = {"t": 9, "n": 10, "r": 13, "f": 12, "v": 11}
MAX_POSITIONS = 2_000
MAX_STATES = 5_000
MAX_STEPS = 20_000
MAX_LETTERS = 200_000


class PatternFault(ValueError):
    """The pattern is wrong, endless or too large; the text says where and why."""


class _Part(NamedTuple):
    """What Glushkov's construction needs to know of a piece of the pattern."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


@frozen
class Edge:
    """Steps from a state: one for each of `letters` (code points, sorted), all to the state `to`."""

    letters: tuple[int, ...]
    to: int


@frozen(eq=False)
class Automaton:
    """States 0 …; `counts[s]` is the number of texts from s to an end, `ends[s]` whether one ends there."""

    edges: tuple[tuple[Edge, ...], ...]
    ends: tuple[bool, ...]
    counts: tuple[int, ...]

    @property
    def capacity(self) -> int:
        """The number of distinct texts."""
        return self.counts[0]

    @property
    def letters(self) -> set[int]:
        """Every code point that occurs in a text."""
        return {letter for edges in self.edges for edge in edges for letter in edge.letters}

    @property
    def longest(self) -> int:
        """Letters in the longest text."""
        level, length = {0}, 0
        while level := {edge.to for state in level for edge in self.edges[state]}:
            length += 1
        return length


class _Reader:
    """Recursive descent over the pattern, collecting positions and which may follow which."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.steps = self.size = 0
        self.sets: list[frozenset[int]] = []
        self.follow: list[set[int]] = []

    def fail(self, what: str, at: int | None = None) -> PatternFault:
        return PatternFault(f"{what} at character {(self.at if at is None else at) + 1}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        letter = self.peek()
        self.at += 1
        return letter

    # grammar ------------------------------------------------------------------------------------

    def alternation(self, depth: int = 0) -> _Part:
        if depth > 50:
            raise self.fail("groups nested more than 50 deep")
        part = self.sequence(depth)
        while self.peek() == "|":
            self.at += 1
            other = self.sequence(depth)
            part = _Part(part.empty or other.empty, part.first | other.first, part.last | other.last)
        return part

    def sequence(self, depth: int) -> _Part:
        part = _Part(True, frozenset(), frozenset())
        while self.peek() not in ("", "|", ")"):
            part = self.join(part, self.repeated(depth))
        return part

    def join(self, left: _Part, right: _Part) -> _Part:
        for place in left.last:
            self.follow[place] |= right.first
        return _Part(
            left.empty and right.empty,
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
        )

    def repeated(self, depth: int) -> _Part:
        start, sets = self.at, len(self.sets)
        part = self.single(depth)
        stop = self.at
        least, most = self.times()
        if (least, most) == (1, 1):
            return part
        del self.sets[sets:], self.follow[sets:]
        whole = _Part(True, frozenset(), frozenset())
        optional = _Part(True, frozenset(), frozenset())
        after = self.at
        for turn in range(most, 0, -1):  # x{1,3} is x(x(x)?)?, so build from the inside
            self.at = start
            part = self.single(depth)
            assert self.at == stop
            if turn > least:
                inner = self.join(part, optional)
                optional = _Part(True, inner.first, inner.last)
            else:
                whole = self.join(part, whole if turn < least else optional)
        self.at = after
        return whole if least else optional

    def times(self) -> tuple[int, int]:
        letter, start = self.peek(), self.at
        if letter in ("*", "+"):
            raise self.fail(f"{letter!r} has no end: write a range such as {{1,20}}")
        if letter == "?":
            self.at += 1
            least, most = 0, 1
        elif letter == "{":
            least, most = self.braces()
        else:
            return 1, 1
        if self.peek() in ("?", "+", "*", "{") and self.peek():
            raise self.fail("a repeat of a repeat, or a lazy or possessive one, is not supported", start)
        return least, most

    def braces(self) -> tuple[int, int]:
        start = self.at
        close = self.text.find("}", self.at)
        inside = self.text[self.at + 1 : close] if close > 0 else ""
        low, comma, high = inside.partition(",")
        if not _is_count(low) or (comma and high and not _is_count(high)):
            raise self.fail("a brace that is not {n} or {m,n}: write \\{ for the letter itself", start)
        if comma and not high:
            raise self.fail(f"'{{{inside}}}' has no end: write {{m,n}}", start)
        least, most = int(low), int(high or low)
        if least > most:
            raise self.fail(f"'{{{inside}}}' runs backwards", start)
        if most > MAX_POSITIONS:
            raise self.fail(f"more than {MAX_POSITIONS} repeats", start)
        self.at = close + 1
        return least, most

    def single(self, depth: int) -> _Part:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise PatternFault("is too large: fewer repeats, please")
        letter = self.take()
        if letter == "(":
            return self.group(depth)
        if letter == "[":
            return self.position(self.brackets())
        if letter == ".":
            return self.position(PRINTABLE)
        if letter == "\\":
            return self.position(self.escape())
        if letter in ("^", "$"):
            raise self.fail(f"{letter!r} is not needed: the pattern is the whole text", self.at - 1)
        if letter in ("*", "+", "?", "{"):
            raise self.fail(f"{letter!r} has nothing to repeat", self.at - 1)
        return self.position(frozenset({ord(letter)}))

    def group(self, depth: int) -> _Part:
        start = self.at - 1
        if self.peek() == "?":
            if self.text[self.at : self.at + 2] != "?:":
                raise self.fail(f"'({self.text[self.at : self.at + 2]}' is not supported", start)
            self.at += 2
        part = self.alternation(depth + 1)
        if self.take() != ")":
            raise self.fail("a group that is not closed", start)
        return part

    def position(self, letters: frozenset[int]) -> _Part:
        if len(self.sets) >= MAX_POSITIONS:
            raise PatternFault(f"more than {MAX_POSITIONS} letters long")
        self.size += len(letters)
        if self.size > MAX_LETTERS:
            raise PatternFault("has classes that are too large")
        self.sets.append(letters)
        self.follow.append(set())
        place = frozenset({len(self.sets) - 1})
        return _Part(False, place, place)

    def escape(self) -> frozenset[int]:
        start = self.at - 1
        letter = self.take()
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter in _CONTROL:
            return frozenset({_CONTROL[letter]})
        if letter in ("x", "u"):
            size = 2 if letter == "x" else 4
            digits = self.text[self.at : self.at + size]
            if len(digits) == size and all(each in "0123456789abcdefABCDEF" for each in digits):
                self.at += size
                return frozenset({int(digits, 16)})
        if not letter or letter.isalnum():
            raise self.fail(f"the escape '\\{letter}' is not supported", start)
        return frozenset({ord(letter)})

    def brackets(self) -> frozenset[int]:
        start = self.at - 1
        negated = self.peek() == "^"
        self.at += negated
        found: set[int] = set()
        first = True
        while first or self.peek() != "]":
            first = False
            if not self.peek():
                raise self.fail("a class that is not closed", start)
            low = self.member()
            if self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                high = self.member()
                if len(low) != 1 or len(high) != 1 or min(low) > min(high):
                    raise self.fail("a range that runs backwards or has no ends", start)
                found |= set(range(min(low), min(high) + 1))
            else:
                found |= low
        self.at += 1
        letters = frozenset(PRINTABLE - found if negated else found)
        if not letters:
            raise self.fail("a class without letters", start)
        return letters

    def member(self) -> frozenset[int]:
        letter = self.take()
        return self.escape() if letter == "\\" else frozenset({ord(letter)})


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6


@lru_cache(maxsize=64)
def automaton(pattern: str) -> Automaton:
    """The automaton of a pattern; PatternFault when it is wrong, endless or too large."""
    reader = _Reader(pattern)
    part = reader.alternation()
    if reader.at < len(pattern):
        raise reader.fail("a ')' without its '('")
    if any(0xD800 <= letter < 0xE000 or not letter for letters in reader.sets for letter in letters):
        raise PatternFault("has letters that no text may hold")
    numbers: dict[frozenset[int], int] = {}
    edges: list[tuple[Edge, ...]] = []
    ends: list[bool] = []
    queue: list[tuple[frozenset[int], bool, frozenset[int]]] = []

    def number(places: frozenset[int]) -> int:
        if places not in numbers:
            if len(numbers) >= MAX_STATES:
                raise PatternFault("is too large: fewer repeats or alternatives, please")
            numbers[places] = len(numbers)
            after = frozenset().union(*(reader.follow[place] for place in places))
            queue.append((places, bool(places & part.last), after))
        return numbers[places]

    numbers[frozenset({-1})] = 0
    queue.append((frozenset({-1}), part.empty, part.first))
    for _, end, after in queue:  # grows while it is walked
        to: dict[int, set[int]] = {}
        for place in after:
            for letter in reader.sets[place]:
                to.setdefault(letter, set()).add(place)
        by_target: dict[frozenset[int], list[int]] = {}
        for letter in sorted(to):
            by_target.setdefault(frozenset(to[letter]), []).append(letter)
        edges.append(tuple(Edge(tuple(letters), number(places)) for places, letters in by_target.items()))
        ends.append(end)
    return Automaton(tuple(edges), tuple(ends), _counts(edges, ends))


def _counts(edges: list[tuple[Edge, ...]], ends: list[bool]) -> tuple[int, ...]:
    """Texts from each state; the language is finite, so the states can be ordered by depth."""
    counts: list[int | None] = [None] * len(edges)
    stack = [0]
    while stack:
        state = stack[-1]
        waiting = [edge.to for edge in edges[state] if counts[edge.to] is None]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if counts[state] is None:
            counts[state] = int(ends[state]) + sum(
                len(edge.letters) * (counts[edge.to] or 0) for edge in edges[state]
            )
    return tuple(count or 0 for count in counts)

"""Named things that other files and other packages add: methods, column kinds, engines, metrics.

A registry finds its members by importing the modules of one package of sfumato (so that a new file is
enough) and the entry points of group `sfumato.<registry>` (so that other packages can join).
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from sfumato.errors import UsageError

T = TypeVar("T")


class Registry(Generic[T]):
    """Members of one sort by name, loaded at first use.

    `noun` is what messages call a member; `package` is the dotted package whose modules are imported.
    """

    def __init__(self, noun: str, package: str) -> None:
        self.noun = noun
        self._package = package
        self._members: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: add the decorated object under `name`."""

        def add(member: T) -> T:
            if self._members.setdefault(name, member) is not member:
                raise ValueError(f"two {self.noun}s are called {name!r}")
            return member

        return add

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        for point in entry_points(group=f"sfumato.{self.noun.replace(' ', '_')}s"):
            self._members.setdefault(point.name, point.load())

    def __getitem__(self, name: str) -> T:
        """The member called `name`; UsageError names the nearest ones when there is none."""
        self._load()
        if name not in self._members:
            close = difflib.get_close_matches(name, self._members, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise UsageError(
                f"there is no {self.noun} {name!r}", mend=f"{hint}known: {', '.join(sorted(self._members))}"
            )
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._members))

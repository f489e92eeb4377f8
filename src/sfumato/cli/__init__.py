"""The command line. One command a file; what a command needs beyond its options is imported when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (0 done, 1 not as asked, 2 bad usage or input, 3 no
    guarantee).
    """
    from sfumato.cli.app import run

    return run(list(sys.argv[1:] if arguments is None else arguments))


__all__ = ["main"]

"""The one door for packages that sfumato can do without."""

from __future__ import annotations

import importlib
from types import ModuleType

from sfumato.errors import UsageError


def optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say which extra brings it.

    Raises UsageError naming `purpose` and the pip command when the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise UsageError(
            f"{purpose} needs the package {module.partition('.')[0]!r}",
            mend=f"pip install 'sfumato[{extra}]'",
        ) from None

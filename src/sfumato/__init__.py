"""Differentially private synthetic data for tables.

    >>> import sfumato as sf
    >>> synthetic = sf.generate("patients.csv", epsilon=1.0)  # doctest: +SKIP

Heavy names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "fit": "sfumato.api",
    "attack": "sfumato.api",
    "generate": "sfumato.api",
    "plan": "sfumato.api",
    "evaluate": "sfumato.api",
    "load": "sfumato.api",
    "verify": "sfumato.api",
    "assert_dp": "sfumato.api",
    "methods": "sfumato.api",
    "PrivacyWarning": "sfumato.api",
    "Model": "sfumato.models.model",
    "Schema": "sfumato.schema",
    "read_schema": "sfumato.schema",
    "draft_schema": "sfumato.discovery.draft",
    "CsvDialect": "sfumato.tables.dialect",
    "SfumatoError": "sfumato.errors",
}

__all__ = [
    "CsvDialect",
    "Model",
    "PrivacyWarning",
    "Schema",
    "SfumatoError",
    "__version__",
    "assert_dp",
    "attack",
    "draft_schema",
    "evaluate",
    "fit",
    "generate",
    "load",
    "methods",
    "plan",
    "read_schema",
    "verify",
]

if TYPE_CHECKING:
    from sfumato.api import (
        PrivacyWarning,
        assert_dp,
        attack,
        evaluate,
        fit,
        generate,
        load,
        methods,
        plan,
        verify,
    )
    from sfumato.discovery.draft import draft_schema
    from sfumato.errors import SfumatoError
    from sfumato.models.model import Model
    from sfumato.schema import Schema, read_schema
    from sfumato.tables.dialect import CsvDialect


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

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
    "DataWarning": "sfumato.api",
    "PrivacyWarning": "sfumato.api",
    "Model": "sfumato.models.model",
    "Schema": "sfumato.schema",
    "read_schema": "sfumato.schema",
    "draft_schema": "sfumato.discovery.draft",
    "CsvDialect": "sfumato.tables.dialect",
    "SfumatoError": "sfumato.errors",
    "DpAssurance": "sfumato.models.verify",
    "BudgetSplit": "sfumato.interface.budget",
    "split_budget": "sfumato.interface.budget",
    "PrivacyAccountant": "sfumato.interface.accountant",
    "NoPrivacy": "sfumato.interface.mechanisms",
    "DPSGD": "sfumato.interface.mechanisms",
    "PrivacyMechanism": "sfumato.interface.mechanisms",
    "PrivacyPreservingSynthesizer": "sfumato.interface.synthesizer",
    "DPEcdf": "sfumato.interface.ecdf",
    "register_generator": "sfumato.interface.generators",
    "get_generator": "sfumato.interface.generators",
    "build_generator": "sfumato.interface.generators",
    "list_generators": "sfumato.interface.generators",
    "GeneratorNotFoundError": "sfumato.interface.generators",
    "CTGANGenerator": "sfumato.interface.generators",
    "TVAEGenerator": "sfumato.interface.generators",
    "CopulaGANGenerator": "sfumato.interface.generators",
    "GaussianCopulaGenerator": "sfumato.interface.generators",
    "DPCopulaGenerator": "sfumato.interface.generators",
    "DPSGDGenerator": "sfumato.interface.generators",
    "sweep": "sfumato.sweeps.api",
    "benchmark": "sfumato.sweeps.api",
    "run_epsilon_sweep": "sfumato.sweeps.api",
    "run_benchmark": "sfumato.sweeps.api",
    "SweepResult": "sfumato.sweeps.result",
    "BenchmarkResult": "sfumato.sweeps.result",
}

__all__ = [
    "DPSGD",
    "BenchmarkResult",
    "BudgetSplit",
    "CTGANGenerator",
    "CopulaGANGenerator",
    "CsvDialect",
    "DPCopulaGenerator",
    "DPEcdf",
    "DPSGDGenerator",
    "DataWarning",
    "DpAssurance",
    "GaussianCopulaGenerator",
    "GeneratorNotFoundError",
    "Model",
    "NoPrivacy",
    "PrivacyAccountant",
    "PrivacyMechanism",
    "PrivacyPreservingSynthesizer",
    "PrivacyWarning",
    "Schema",
    "SfumatoError",
    "SweepResult",
    "TVAEGenerator",
    "__version__",
    "assert_dp",
    "attack",
    "benchmark",
    "build_generator",
    "draft_schema",
    "evaluate",
    "fit",
    "generate",
    "get_generator",
    "list_generators",
    "load",
    "methods",
    "plan",
    "read_schema",
    "register_generator",
    "run_benchmark",
    "run_epsilon_sweep",
    "split_budget",
    "sweep",
    "verify",
]

if TYPE_CHECKING:
    from sfumato.api import (
        DataWarning,
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
    from sfumato.interface.accountant import PrivacyAccountant
    from sfumato.interface.budget import BudgetSplit, split_budget
    from sfumato.interface.ecdf import DPEcdf
    from sfumato.interface.generators import (
        CopulaGANGenerator,
        CTGANGenerator,
        DPCopulaGenerator,
        DPSGDGenerator,
        GaussianCopulaGenerator,
        GeneratorNotFoundError,
        TVAEGenerator,
        build_generator,
        get_generator,
        list_generators,
        register_generator,
    )
    from sfumato.interface.mechanisms import DPSGD, NoPrivacy, PrivacyMechanism
    from sfumato.interface.synthesizer import PrivacyPreservingSynthesizer
    from sfumato.models.model import Model
    from sfumato.models.verify import DpAssurance
    from sfumato.schema import Schema, read_schema
    from sfumato.sweeps.api import benchmark, run_benchmark, run_epsilon_sweep, sweep
    from sfumato.sweeps.result import BenchmarkResult, SweepResult
    from sfumato.tables.dialect import CsvDialect


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

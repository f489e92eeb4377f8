"""One thread for numerical libraries: those of small models wait for each other, for minutes where other
processes hold the cores.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS and OpenMP use one thread, where threadpoolctl (with scikit-learn) is there."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(limits=1)

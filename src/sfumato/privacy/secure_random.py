"""Randomness for noise, from the operating system's secure generator and from nowhere else.

All noise of sfumato comes through `random_bytes`. It takes no seed, keeps no state, and so is safe after a
fork.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

source: Callable[[int], bytes] = os.urandom
"""Replaced by `sfumato.privacy.insecure` only, which voids the guarantee."""


def is_secure() -> bool:
    """Whether this thread's noise comes from the operating system."""
    return source is os.urandom or getattr(source, "thread", None) not in (None, threading.get_ident())


def random_bytes(count: int) -> bytes:
    """`count` bytes from the operating system."""
    return source(count)


def random_words(count: int) -> npt.NDArray[np.uint64]:
    """`count` independent uniform 64-bit words."""
    return np.frombuffer(random_bytes(8 * count), dtype=np.uint64)


def random_signs(count: int) -> npt.NDArray[np.int64]:
    """`count` independent fair signs, -1 or +1."""
    packed = np.frombuffer(random_bytes((count + 7) // 8), dtype=np.uint8)
    return 1 - 2 * np.unpackbits(packed, count=count).astype(np.int64)


def random_below(bound: int) -> int:
    """A uniform integer in 0 … bound-1, by rejection; each round succeeds with probability over 1/2."""
    if bound < 1:
        raise ValueError("bound must be at least 1")
    bits = (bound - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(random_bytes(size), "big") >> (8 * size - bits)
        if drawn < bound:
            return drawn

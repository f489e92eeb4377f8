"""Repeatable noise, for tests of the code around it. Whoever knows the seed can take the noise off again.

A model fitted under `seeded_noise` is void: its statement says epsilon = infinity and why, and
`assert_dp` fails on it. Only the thread that entered the block is concerned; a fit in any other thread
goes on drawing from the operating system.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np

from sfumato.privacy import secure_random


@contextmanager
def seeded_noise(seed: int) -> Generator[None]:
    """Replace the operating system's generator by a seeded one, in this thread, during the block."""
    before = secure_random.source
    secure_random.source = _Seeded(seed, before)
    try:
        yield
    finally:
        secure_random.source = before


class _Seeded:
    """Bytes from a seed for the thread that made it, and what was there before for all others."""

    def __init__(self, seed: int, before: Callable[[int], bytes]) -> None:
        self.thread = threading.get_ident()
        self._rng = np.random.Generator(np.random.Philox(seed))
        self._before = before

    def __call__(self, count: int) -> bytes:
        mine = threading.get_ident() == self.thread
        return self._rng.bytes(count) if mine else self._before(count)

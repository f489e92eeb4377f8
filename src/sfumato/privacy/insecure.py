"""Repeatable noise, for tests of the code around it. Whoever knows the seed can take the noise off again.

A model fitted under `seeded_noise` is void: its statement says epsilon = infinity and why, and
`assert_dp` fails on it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from sfumato.privacy import secure_random


@contextmanager
def seeded_noise(seed: int) -> Generator[None]:
    """Replace the operating system's generator by a seeded one, for the duration of the block."""
    rng = np.random.Generator(np.random.Philox(seed))
    before = secure_random.source
    secure_random.source = rng.bytes
    try:
        yield
    finally:
        secure_random.source = before

"""Settings of all tests."""

import itertools
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from sfumato.privacy import secure_random

# No test asserts how long something takes.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")


class Repeatable:
    """Bytes that follow from a seed, and count as the operating system's: fits keep their guarantee."""

    thread = -1

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.Philox(seed))

    def __call__(self, count: int) -> bytes:
        return self._rng.bytes(count)


@pytest.fixture(autouse=True)
def repeatable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise, and rows that are drawn without a seed, follow from the name of the test: what passes once does
    not fail by chance later. Tests marked `secure_noise` are about the operating system's own bytes.
    """
    if request.node.get_closest_marker("secure_noise"):
        return
    seed, fresh, drawn = zlib.crc32(request.node.nodeid.encode()), np.random.default_rng, itertools.count()

    def default_rng(wanted: Any = None) -> np.random.Generator:
        return fresh([seed, next(drawn)] if wanted is None else wanted)

    monkeypatch.setattr(secure_random, "source", Repeatable(seed))
    monkeypatch.setattr(np.random, "default_rng", default_rng)

"""Poisson batches by the secure generator: every row enters every batch by a coin of its own.

The rate is a rational a/2**48, and a coin is a uniform 48-bit number below a. Of that number 8 bits are
drawn, and the other 40 only where the first ones equal those of a, so that coins are exact and cost little
more than a byte.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.privacy.secure_random import random_bytes, random_words

RATE_BITS = 48
_REST = RATE_BITS - 8
Places = npt.NDArray[np.int64]


def rate_of(rate: float) -> Fraction:
    """The largest rate a/2**48 at or below `rate`; ValueError unless 0 < rate ≤ 1."""
    if not 0 < rate <= 1 or (found := math.floor(Fraction(rate) * 2**RATE_BITS)) < 1:
        raise ValueError("a rate of sampling lies in (0, 1]")
    return Fraction(found, 2**RATE_BITS)


def poisson_batch(rows: int, rate: Fraction) -> Places:
    """Numbers of the rows in one batch, rising; often a few, sometimes none."""
    limit = int(rate * 2**RATE_BITS)
    if limit == 2**RATE_BITS:
        return np.arange(rows)
    head, tail = limit >> _REST, limit & ((1 << _REST) - 1)
    drawn = np.frombuffer(random_bytes(rows), dtype=np.uint8)
    places = np.flatnonzero(drawn <= head)
    leading = drawn[places]
    kept = leading < head
    tied = np.flatnonzero(leading == head)
    kept[tied] = random_words(tied.size) >> np.uint64(64 - _REST) < tail
    return places[kept]


def picks(count: int, pool: int) -> Places:
    """A number below `pool`, a power of two, for each of `count` rows."""
    if pool & (pool - 1) or pool < 1:
        raise ValueError("a pool has a power of two of members")
    return (random_words(count) & np.uint64(pool - 1)).astype(np.int64)


def fixed_groups(rows: int, groups: int) -> Places:
    """A group below `groups` for each row, drawn for it alone; within 2**-32 of uniform, and independent of
    all other rows, which is what privacy needs.
    """
    return (random_words(rows) % np.uint64(groups)).astype(np.int64)

"""Whole records: which of them are equal, on one side or on two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.evaluation.pair import Pair, Side

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def hashes(pair: Pair, side: Side) -> Hashes:
    """A number for each row, the same for equal rows: the sum of random 64-bit numbers, one for each value
    of each column. Of a million different rows any two are taken for equal with a chance of 3 in 10^8.
    """
    rng = np.random.default_rng(20_260_101)
    total = np.zeros(pair.rows(side), np.uint64)
    for column in pair.columns:
        labels = rng.integers(0, 2**64, size=column.size, dtype=np.uint64)
        codes = column.codes(side)
        if not column.is_number:
            total += labels[codes]
            continue
        values = column.values(side)
        known = ~np.isnan(values)
        # The bits of a number, scattered; -0.0 and 0.0 are one number.
        bits = (np.where(known, values, 0.0) + 0.0).view(np.uint64)
        total += np.where(known, _scatter(bits ^ labels[-1]), labels[codes])
    return total


def _scatter(bits: Hashes) -> Hashes:
    """A bijection of 64-bit numbers that leaves no pattern (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def twins(first: Hashes, second: Hashes) -> tuple[Places, Places]:
    """Places of equal records on two sides, each record with one other at most, in the order of both."""
    left, right = _ranked(first), _ranked(second)
    _, a, b = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return a, b


def _ranked(hashes: Hashes) -> npt.NDArray[np.void]:
    """Each record with its number among its equals, so that all differ."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if hashes.size else np.zeros(0, int)
    number = np.arange(hashes.size) - np.repeat(starts, np.diff(np.r_[starts, hashes.size]))
    found = np.empty(hashes.size, dtype=[("record", np.uint64), ("number", np.int64)])
    found["record"][order], found["number"][order] = ordered, number
    return found

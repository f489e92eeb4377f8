"""Candidates: records synthesised from seeds, and whether each may be released.

A seed is drawn uniformly, and a number omega of attributes to draw anew; the record is made by the network;
the seeds whose probability of giving it is in the class of the own seed's are counted; the count is held
against a fresh random threshold. All chance is the operating system's. Only mechanisms use this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.bayesian_network import Network, PlausibleSeeds, resample
from sfumato.privacy.plausible.threshold import RandomThreshold
from sfumato.privacy.secure_random import random_bytes, random_words

Ints = npt.NDArray[np.int64]

CHUNK = 1 << 16
"""Candidates made at a time."""


def secure_words(count: int) -> npt.NDArray[np.uint32]:
    """Independent uniform words of 32 bits from the operating system."""
    return np.frombuffer(random_bytes(4 * count), dtype=np.uint32)


def uniform_below(bound: int, count: int) -> Ints:
    """Independent uniform integers in 0 … bound-1, by rejection."""
    limit = (1 << 64) // bound * bound
    drawn = random_words(count)
    if limit < 1 << 64:
        while (wrong := np.flatnonzero(drawn >= np.uint64(limit))).size:
            drawn = drawn.copy()
            drawn[wrong] = random_words(wrong.size)
    return (drawn % np.uint64(bound)).astype(np.int64)


@frozen(kw_only=True)
class Test:
    """Privacy Test 1 or 2."""

    k: int
    gamma: float
    threshold: RandomThreshold | None
    """None: Test 1, which compares with k itself and gives no differential privacy."""
    max_plausible: int | None = None
    """Counts are cut at this."""
    max_check_plausible: int | None = None
    """Only the first so many seeds of a random order are looked at; drawn anew for every candidate."""

    def passed(self, counts: Ints, seeds: int) -> npt.NDArray[np.bool_]:
        """Whether candidates with so many plausible seeds, among all of `seeds`, may be released."""
        if self.max_check_plausible is not None and self.max_check_plausible < seeds:
            counts = among_checked(counts, seeds, self.max_check_plausible)
        if self.max_plausible is not None:
            counts = np.minimum(counts, self.max_plausible)
        return counts >= self.k if self.threshold is None else self.threshold.passed(counts)


def among_checked(counts: Ints, seeds: int, checked: int) -> Ints:
    """How many of each count of seeds are among the first `checked` of a random order of all: hypergeometric.

    One after the other, each is among them with probability (places left) / (seeds left).
    """
    found = np.zeros_like(counts)
    for number in range(int(counts.max(initial=0))):
        open_ = np.flatnonzero((counts > number) & (found < checked))
        if not open_.size:
            break
        found[open_] += uniform_below(seeds - number, open_.size) < checked - found[open_]
    return found


class Candidates:
    """A stream of candidates over private seeds."""

    def __init__(
        self, network: Network, seeds: npt.NDArray[Any], omegas: tuple[int, ...], test: Test
    ) -> None:
        self._index = PlausibleSeeds(network, seeds, omegas)
        self._network = network
        self._seeds = seeds
        self._test = test

    def batch(self, chosen: Ints) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """From the seeds with these numbers: records, numbers of plausible seeds, and what may be
        released.
        """
        keeps = np.array(self._index.keeps, dtype=np.int64)
        keep = keeps[uniform_below(keeps.size, chosen.size)]
        records, tails, first = resample(self._network, self._seeds[chosen], keep, secure_words)
        counts = self._index.plausible(records, chosen, keep, tails, first, self._test.gamma)
        return records.astype(np.int64), counts, self._test.passed(counts, len(self._seeds))

    def stream(self, limit: int) -> Iterator[Ints]:
        """Released records, in the order of their making, of at most about `limit` candidates."""
        made = 0
        while made < limit:
            records, _, passed = self.batch(uniform_below(len(self._seeds), CHUNK))
            made += CHUNK
            yield records[passed]

    def passes_of_every_seed(self) -> int:
        """How many candidates pass when every seed makes one."""
        return sum(
            int(self.batch(np.arange(start, min(start + CHUNK, len(self._seeds))))[2].sum())
            for start in range(0, len(self._seeds), CHUNK)
        )

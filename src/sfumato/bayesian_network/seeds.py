"""How many seeds could have given a record: exact, from counts of prefixes.

All that a re-sampled attribute depends on is read from the record y itself, so Pr(y = M(d)) depends on the
seed d only through the number of first attributes, in dependency order, on which d and y agree, l = LCP(d,
y):

    Pr(y = M(d)) = 1/|W| Σ_{ω ∈ W, m - ω ≤ l} tail_{m-ω}(y),      tail_l = Π_{i ≥ l} Pr(y_σ(i) | parents).

It rises with l and is constant from the largest kept length on. So the number of seeds in the class of y's
seed is a sum of differences of at most m + 1 counters: how many seeds share the first l attributes of y, for
each kept length l. With one ω there is one counter, and all plausible seeds have the same probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bayesian_network.network import Codes, Floats, Ints, Network

_DENSE = 1 << 24


class PlausibleSeeds:
    """An index of seeds by their prefixes.

    seeds: codes, one row a record. omegas: numbers of attributes that are drawn anew, each as likely as the
    other.
    """

    def __init__(self, network: Network, seeds: Codes, omegas: tuple[int, ...]) -> None:
        count = len(network.sizes)
        if not omegas or not all(1 <= omega <= count for omega in omegas) or len(set(omegas)) < len(omegas):
            raise ValueError("omegas lie between 1 and the number of attributes, each once")
        self.network = network
        self.keeps = tuple(sorted(count - omega for omega in omegas))
        """Kept lengths, rising."""
        self.seeds = np.asarray(seeds)
        levels: list[_Level] = []
        ids = np.zeros(len(self.seeds), dtype=np.int64)
        self._ids: list[Ints] = []
        self.counts: list[Ints] = []
        """Seeds by number of a prefix, for each length that is told apart."""
        for place in range(self.keeps[-1]):
            i = network.dag.order[place]
            level, ids = _Level.of(ids, self.seeds[:, i], network.sizes[i])
            if place >= self.keeps[0]:
                levels.append(level)
            if place + 1 >= self.keeps[0]:
                self._keep(ids)
        if self.keeps[0] == 0:
            self._ids.insert(0, np.zeros(len(self.seeds), dtype=np.int64))
            self.counts.insert(0, np.array([len(self.seeds)], dtype=np.int64))
        self._levels = levels

    def _keep(self, ids: Ints) -> None:
        self._ids.append(ids)
        self.counts.append(np.bincount(ids).astype(np.int64))

    @property
    def lengths(self) -> range:
        """Prefix lengths that are told apart."""
        return range(self.keeps[0], self.keeps[-1] + 1)

    def sharing(self, records: Codes, chosen: npt.NDArray[Any], keep: Ints) -> tuple[Ints, Ints]:
        """How many seeds share the first l attributes of each record, by l in `lengths`; and LCP(seed, y), at
        most the largest kept length.

        chosen: the seed of each record; keep: how much of it was kept.
        """
        order = self.network.dag.order
        found = np.zeros((len(records), len(self.lengths)), dtype=np.int64)
        ids = self._ids[0][chosen]
        found[:, 0] = self.counts[0][ids]
        common = np.full(len(records), self.lengths[0], dtype=np.int64)
        for level, place in enumerate(self.lengths[:-1]):
            i = order[place]
            after = self._ids[level + 1][chosen]
            fresh = np.flatnonzero(keep <= place)
            if fresh.size:
                after[fresh] = self._levels[level].find(ids[fresh], records[fresh, i])
            known = np.flatnonzero(after >= 0)
            found[known, level + 1] = self.counts[level + 1][after[known]]
            alike = (keep > place) | (self.seeds[chosen, i] == records[:, i])
            common += alike & (common == place)
            ids = after
        return found, common

    def log_probabilities(self, tails: Floats, first: int) -> Floats:
        """ln Pr(y = M(d)) for LCP(d, y) = l, by l in `lengths`; `tails` from column l = `first` on."""
        found = np.empty((len(tails), len(self.lengths)))
        sums = np.full(len(tails), -np.inf)
        for level, length in enumerate(self.lengths):
            if length in self.keeps:
                sums = np.logaddexp(sums, tails[:, length - first])
            found[:, level] = sums
        return found - math.log(len(self.keeps))

    def plausible(
        self, records: Codes, chosen: npt.NDArray[Any], keep: Ints, tails: Floats, first: int, gamma: float
    ) -> Ints:
        """Seeds, the own one included, whose probability of giving the record is in the class of the own
        seed's:
        classes are gamma^-(i+1) < Pr ≤ gamma^-i.
        """
        sharing, common = self.sharing(records, chosen, keep)
        if len(self.lengths) == 1:
            return sharing[:, 0]
        exact = sharing.copy()
        exact[:, :-1] -= sharing[:, 1:]
        classes = np.floor(-self.log_probabilities(tails, first) / math.log(gamma))
        own = np.take_along_axis(classes, (common - self.lengths[0])[:, None], axis=1)
        return np.where(classes == own, exact, 0).sum(axis=1)


class _Level:
    """From the number of a prefix and the code that follows to the number of the longer prefix."""

    def __init__(self, keys: Ints, size: int, prefixes: int) -> None:
        self._keys = keys
        self._size = size
        self._dense: npt.NDArray[np.int32] | None = None
        if prefixes * size <= _DENSE:
            self._dense = np.full(prefixes * size, -1, dtype=np.int32)
            self._dense[keys] = np.arange(keys.size, dtype=np.int32)

    @classmethod
    def of(cls, ids: Ints, codes: Codes, size: int) -> tuple[_Level, Ints]:
        keys, numbers = np.unique(ids * size + codes, return_inverse=True)
        return cls(keys, size, int(ids.max(initial=-1)) + 1), numbers.astype(np.int64).reshape(-1)

    def find(self, ids: Ints, codes: Codes) -> Ints:
        """-1 for a prefix that no seed has."""
        key = ids * self._size + codes
        inside = ids >= 0
        if self._dense is not None:
            found = (
                self._dense[np.where(inside, key, 0)].astype(np.int64) if self._dense.size else key * 0 - 1
            )
            return np.where(inside, found, -1)
        place = np.minimum(np.searchsorted(self._keys, key), self._keys.size - 1)
        return np.where(inside & (self._keys[place] == key), place, -1)

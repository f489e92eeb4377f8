"""A law on integers given by exact integer weights that add up to 2**256, and a fast sampler for it.

A draw is a uniform 256-bit number U; the answer is the number of cumulative weights that are ≤ U. The high
64 bits of U decide it unless they equal those of a cumulative weight; only then are the other 192 bits drawn.
A guide table over the leading bits answers most draws with one look-up (Chen, Asau 1974) and the rest by
bisection. So a draw has exactly the law of the weights, as far as the operating system's words are uniform.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy.secure_random import random_below, random_words

TOTAL_BITS = 256
"""So many that e^epsilon times the distance to an ideal law is negligible up to epsilon = 100."""
TOTAL = 1 << TOTAL_BITS
_BLOCK = 1 << 15
"""Draws made at a time, so that the words stay in the processor's cache."""
_GUIDE_BITS = (8, 18)
_REST_BITS = TOTAL_BITS - 64

Words = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.int64]


@frozen(eq=False)
class NoiseTable:
    """The law P(i) = weights[i] / 2**256 on 0 … size-1. Made by `NoiseTable.of`."""

    _high: Words
    """Leading 64 bits of the cumulative weights c_0 … c_{size-2}."""
    _rest: Words
    """Their other 192 bits: three words a row, the lowest first."""
    _guide: npt.NDArray[np.int32]
    """Answer by leading bits of the word, -1 where these do not decide."""
    _shift: np.uint64 = field(repr=False)

    @classmethod
    def of(cls, weights: Sequence[int], *, guide_bits: int | None = None) -> NoiseTable:
        """Table of positive integer `weights`; ValueError unless they are that and add up to 2**256.

        guide_bits: leading bits that the guide table looks at; as many as suit the number of weights.
        """
        cumulative = list(accumulate(weights))
        if not cumulative or cumulative.pop() != TOTAL or min(weights) < 1:
            raise ValueError("weights must be positive and add up to 2**256")
        packed = bytearray(b"".join([c.to_bytes(32, "little") for c in cumulative]))
        words = np.array(packed, dtype=np.uint8).view("<u8").astype(np.uint64).reshape(-1, 4)
        high, rest = words[:, 3].copy(), words[:, :3].copy()
        bits = guide_bits or min(max((8 * high.size).bit_length(), _GUIDE_BITS[0]), _GUIDE_BITS[1])
        shift = np.uint64(64 - bits)
        # Number of boundaries whose leading bits are below b; where some are exactly b, bisection decides.
        below = np.searchsorted(high >> shift, np.arange((1 << bits) + 1, dtype=np.uint64))
        guide = np.where(below[:-1] == below[1:], below[:-1], -1).astype(np.int32)
        return cls(high, rest, guide, shift)

    @property
    def size(self) -> int:
        """Number of values of the law."""
        return self._high.size + 1

    def weights(self) -> list[int]:
        """The integer weights, recovered from what the sampler holds."""
        pairs = zip(self._high.tolist(), self._others(0, self._high.size), strict=True)
        cumulative = [0, *((high << _REST_BITS) | rest for high, rest in pairs), TOTAL]
        return [after - before for before, after in pairwise(cumulative)]

    def _others(self, first: int, last: int) -> list[int]:
        """Lower 192 bits of cumulative weights, increasing where the leading bits are equal."""
        rows = self._rest[first:last].astype("<u8").tobytes()
        return [int.from_bytes(rows[i : i + 24], "little") for i in range(0, len(rows), 24)]

    def draw(self, count: int) -> Draws:
        """`count` independent draws."""
        drawn = np.empty(count, dtype=np.int64)
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            drawn[start:stop] = self.locate(random_words(stop - start))
        return drawn

    @property
    def spare_bits(self) -> int:
        """Low bits of a word that `leading` does not look at."""
        return int(self._shift)

    def leading(self, words: Words) -> npt.NDArray[np.int32]:
        """Draws that the leading bits of `words` decide, which leave the spare bits uniform; -1 for
        others.
        """
        return self._guide[words >> self._shift]

    def locate(self, words: Words) -> npt.NDArray[np.int32]:
        """The draw of each word: all 64 bits are looked at, and more are drawn where these do not decide."""
        index = self._guide[words >> self._shift]
        undecided = np.flatnonzero(index < 0)
        if undecided.size:
            words = words[undecided]
            found = np.searchsorted(self._high, words, side="left")
            tied = self._high[np.minimum(found, self._high.size - 1)] == words
            for i in np.flatnonzero(tied):
                found[i] = self._break_tie(int(found[i]))
            index[undecided] = found
        return index

    def _break_tie(self, first: int) -> int:
        """Number of cumulative weights ≤ U when U's leading word equals that of weight `first`."""
        last = int(np.searchsorted(self._high, self._high[first], side="right"))
        return first + bisect_right(self._others(first, last), random_below(1 << _REST_BITS))

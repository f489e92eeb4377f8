"""Privacy Test 2 (Bindschaedler, Shokri, Gunter 2017): at least k + Lap(1/epsilon0) plausible seeds.

The number of plausible seeds c is an integer, so c + L ≥ k holds for a Laplace variable L exactly when c +
⌊L⌋ ≥ k, and ⌊L⌋ is drawn without any real number: the magnitude of L has an exponential law, its whole part a
geometric one. With a fair sign, ⌊L⌋ = G or -(G+1), where P(G ≥ j) = exp(-epsilon0 j). So the test is that of
the paper, to the letter.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy.discrete_laplace import Geometric
from sfumato.privacy.secure_random import random_signs

Floats = npt.NDArray[np.float64]


def pass_probability(count: npt.ArrayLike, k: int, epsilon0: float) -> Floats:
    """q(c) = P(c + Lap(1/epsilon0) ≥ k): e^{-epsilon0 (k-c)} / 2 for c ≤ k, 1 - e^{-epsilon0 (c-k)} / 2
    beyond.
    """
    gap = k - np.asarray(count, dtype=np.float64)
    half = 0.5 * np.exp(-epsilon0 * np.abs(gap))
    return np.where(gap >= 0, half, 1 - half)


@frozen
class RandomThreshold:
    """A fresh threshold for every candidate."""

    k: int
    epsilon0: Fraction = field(converter=Fraction)

    def passed(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether each count passes."""
        drawn = self._noise.draw(counts.size)
        floors = np.where(random_signs(counts.size) > 0, drawn, -(drawn + 1))
        return counts + floors >= self.k

    @property
    def _noise(self) -> Geometric:
        return Geometric(1 / self.epsilon0)

    @property
    def tv_bound(self) -> Fraction:
        """Distance of one draw to its ideal law."""
        return self._noise.tv_bound

"""The rounded Gaussian: noise round(N(0, sigma²)) on integers.

For integer x, x + round(N) = round(x + N). So adding this noise to integer counts is post-processing of the
ideal continuous Gaussian mechanism, and every proof about the latter (Gaussian DP with mu = L2 distance /
sigma in any dimension, zCDP, privacy-loss distributions, subsampling) holds, up to the total variation
distance `tv_bound` of each draw.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from attrs import field, frozen

from sfumato.privacy import gaussian_weights
from sfumato.privacy.high_precision import upper_normal_tail
from sfumato.privacy.noise import Law, Shape, as_scale, sized
from sfumato.privacy.noise_table import Draws, NoiseTable
from sfumato.privacy.secure_random import random_signs
from sfumato.privacy.wide_gaussian import LARGEST, WideGaussian

TABLE_LIMIT = 1_024
"""Largest sigma whose values are all kept in one table (under 1 MB)."""
_GRID_BITS = 9


@frozen
class RoundedGaussian:
    """Noise round(N(0, sigma²)), independent draws. `sigma` is an exact rational, at most 2**45."""

    sigma: Fraction = field(converter=as_scale)

    @sigma.validator
    def _check(self, _: object, sigma: Fraction) -> None:
        if sigma > LARGEST:
            raise ValueError("sigma must be at most 2**45")

    def draw(self, shape: Shape) -> Draws:
        """Independent draws, int64, of the given number or shape."""
        count = sized(shape)
        if self.sigma > TABLE_LIMIT:
            return _wide(self.sigma).draw(count).reshape(shape)
        magnitudes = _magnitudes(self.sigma).draw(count)
        magnitudes *= random_signs(count)
        return magnitudes.reshape(shape)

    def table(self) -> Law:
        """The exact law of a draw. ValueError beyond sigma = 1,024, where no table of all values is used."""
        if self.sigma > TABLE_LIMIT:
            raise ValueError(f"there is a table up to sigma = {TABLE_LIMIT} only")
        centre, *others = _magnitudes(self.sigma).weights()
        half = [weight // 2 for weight in others]
        return Law(start=-len(half), weights=(*reversed(half), centre, *half))

    @property
    def bound(self) -> int:
        """Largest magnitude that can be drawn."""
        if self.sigma > TABLE_LIMIT:
            return _wide(self.sigma).bound
        return _magnitudes(self.sigma).size - 1

    @property
    def tv_bound(self) -> Fraction:
        """Proven bound on the total variation distance of one draw to round(N(0, sigma²))."""
        if self.sigma > TABLE_LIMIT:
            return _wide(self.sigma).tv_bound
        return gaussian_weights.total_variation(self.sigma, self.bound)

    @property
    def variance(self) -> float:
        """Variance of a draw; sigma² + 1/12 unless sigma is small."""
        if self.sigma >= 2:
            # Sheppard's correction; what it leaves out is of order exp(-2π²sigma²) < 1e-34.
            return float(self.sigma**2) + 1 / 12
        return self.table().variance

    def ideal_tail(self, t: int) -> Fraction:
        """A rational at most 2**-160 of itself above P(round(N) ≥ t)."""
        return upper_normal_tail((t - Fraction(1, 2)) / self.sigma)


@lru_cache(maxsize=16)
def _magnitudes(sigma: Fraction) -> NoiseTable:
    centre, *others = gaussian_weights.half_weights(sigma)
    return NoiseTable.of([centre, *(2 * weight for weight in others)])


@lru_cache(maxsize=32)
def _wide(sigma: Fraction) -> WideGaussian:
    return WideGaussian(sigma)


def quantise_sigma(sigma: float | Fraction) -> Fraction:
    """The smallest m·2**e ≥ sigma with 512 ≤ m < 1024: at most 0.2 % more noise, and tables are shared.

    Such numbers are exact as floats too. ValueError unless sigma is a finite number above 0.
    """
    if not math.isfinite(sigma) or sigma <= 0:
        raise ValueError("sigma must be a finite number above 0")
    exact = Fraction(sigma)
    exponent = math.frexp(float(sigma))[1] - _GRID_BITS - 1
    unit = Fraction(2) ** exponent
    return math.ceil(exact / unit) * unit

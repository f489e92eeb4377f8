"""The rounded Gaussian for scales too large for a table of all its values, exactly, by rejection.

Magnitudes are cut into cells of width S = 2**s ≤ sigma/128. A proposal draws cell j from a table with
weights ∝ exp(-(jSh)²/2), h = 1/sigma, then r uniform in 0 … S-1 and a sign; k = jS + r is kept with
probability

    α(j, r) = P(round(N) = k) / (A exp(-(jSh)²/2)),    A = h φ(0) (1 + 2**-14),

and "minus zero" is dropped. P(round(N) = k) = hφ(kh)·Q_k, Q_k = 1 + He_2(kh) h²/24 + He_4(kh) h⁴/1920 + …,
and 1 - 2**-20 < Q_k ≤ cosh(kh²/2) < 1 + 2**-14 for sigma ≥ 2**10, kh ≤ 19. So α is a probability, and what is
kept has exactly the law of the rounded Gaussian. More than 0.9 of proposals are kept.

The decision V < α for a uniform real V of which 64 bits are drawn is made in double precision when V is
further than 2**-40 from the approximation of α, and otherwise in 640-bit arithmetic with 320 more bits of V.
Most decisions need no α: it falls along a cell, so that V below the least α of the cell settles it. Such a
proposal takes one word: the leading bits choose the cell through a guide table, and where these alone decide,
the others are uniform still and give r, the sign and the leading bits of V. The rest are made anew, with all
bits of the word, so that the leading bits keep their law.

The approximation is

    exp(-y) (1 + He_2(kh) h²/24 + He_4(kh) h⁴/1920) / (1 + 2**-14),   y = r(2jS + r) h²/2 ≤ 0.15,

with exp by its Taylor polynomial of degree 12 (remainder y¹³/13! < 2**-68). Only correctly rounded products
and sums of doubles occur, about 40 of them, each off by at most 2**-53 of a number below 2; the terms of Q_k
that are left out are below 2**-52. Together: below 2**-46.

Total variation: with J cells the table of cells is within d = (J + 2**-20) 2**-256 + 2 P(N > (J-1)Sh) of
its ideal (weights rounded down, slack in cell 0, cells from J on left out), and conditioning on what is
kept (probability a ≥ 0.9) multiplies this by at most 2/a < 3. The finite precision of V and α adds less
than 2**-380.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field

from sfumato.privacy.high_precision import context, exp_fixed, real, upper_normal_tail
from sfumato.privacy.noise_table import TOTAL, TOTAL_BITS, Draws, NoiseTable
from sfumato.privacy.secure_random import random_below, random_words

SMALLEST = Fraction(1 << 10)
LARGEST = Fraction(1 << 45)
"""Beyond this, magnitudes would no longer be exact in double precision."""
MARGIN = 2.0**-40
"""Distance of V to the approximate α within which the decision is made in high precision."""
_BITS = 320
_EXTRA = 320
_BLOCK = 1 << 14
_GUIDE_BITS = 15
Floats = npt.NDArray[np.float64]


@define(eq=False)
class WideGaussian:
    """Sampler of round(N(0, sigma²)) for 2**10 ≤ sigma ≤ 2**45."""

    sigma: Fraction = field()

    @sigma.validator
    def _check(self, _: object, sigma: Fraction) -> None:
        if not SMALLEST <= sigma <= LARGEST:
            raise ValueError(f"sigma must lie between {SMALLEST} and {LARGEST}")

    @cached_property
    def cell_bits(self) -> int:
        """s: cells are 2**s wide."""
        return (int(self.sigma) >> 7).bit_length() - 1

    @cached_property
    def cells(self) -> NoiseTable:
        """Table of the cell proposals."""
        step = Fraction(1 << self.cell_bits) / self.sigma
        weight, ratio = 1 << _BITS, exp_fixed(-step * step / 2, _BITS)
        ratio_step = exp_fixed(-step * step, _BITS)
        weights = []
        while weight >> (_BITS - TOTAL_BITS):
            weights.append(weight)
            weight = weight * ratio >> _BITS
            ratio = ratio * ratio_step >> _BITS
        total = sum(weights)
        weights = [share for weight in weights if (share := weight * TOTAL // total)]
        weights[0] += TOTAL - sum(weights)
        return NoiseTable.of(weights, guide_bits=_GUIDE_BITS)

    @cached_property
    def _sure(self) -> npt.NDArray[np.uint64]:
        """By cell, the leading bits of V below which a proposal is kept for all r; at the end, 0 for -1."""
        cell = np.arange(self.cells.size)
        least = self.approximate_chance(cell, np.full(cell.size, (1 << self.cell_bits) - 1)) - MARGIN
        return np.append(np.floor(least * 2.0**self._v_bits), 0).astype(np.uint64)

    @property
    def _v_bits(self) -> int:
        """Bits of V that the first word of a proposal holds."""
        return self.cells.spare_bits - self.cell_bits - 1

    @property
    def bound(self) -> int:
        """Largest magnitude that can be drawn."""
        return (self.cells.size << self.cell_bits) - 1

    @property
    def tv_bound(self) -> Fraction:
        """Bound on the total variation distance of a draw to the rounded Gaussian."""
        inner = (self.cells.size - 1) << self.cell_bits
        return Fraction(3 * (self.cells.size + 1), TOTAL) + 6 * upper_normal_tail(inner / self.sigma)

    def draw(self, count: int) -> Draws:
        """`count` independent draws."""
        drawn = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            # A few spare proposals, so that one more round is rarely needed.
            wanted = min(_BLOCK, count - filled)
            kept = self._propose(wanted + wanted // 64 + 4)[:wanted]
            drawn[filled : filled + kept.size] = kept
            filled += kept.size
        return drawn

    def _propose(self, count: int) -> Draws:
        words = random_words(count)
        cell = self.cells.leading(words)
        v = (words & np.uint64((1 << self.cells.spare_bits) - 1)) >> np.uint64(self.cell_bits + 1)
        kept = v < self._sure[cell]
        drawn = cell.astype(np.int64)
        drawn <<= self.cell_bits
        drawn += (words & np.uint64((1 << self.cell_bits) - 1)).view(np.int64)
        negative = ((words >> np.uint64(self.cell_bits)) & np.uint64(1)).view(np.int64)
        kept &= (drawn != 0) | (negative == 0)
        # x or -x without a branch: -x is ~x + 1.
        drawn ^= -negative
        drawn += negative
        unsure = np.flatnonzero(v >= self._sure[cell])
        if unsure.size:
            drawn[unsure], kept[unsure] = self._decided(words[unsure], cell[unsure], v[unsure])
        return drawn[kept]

    def _decided(
        self, words: npt.NDArray[np.uint64], cell: npt.NDArray[np.int32], v: npt.NDArray[np.uint64]
    ) -> tuple[Draws, npt.NDArray[np.bool_]]:
        """Proposals whose first word did not settle them, and which of them are kept."""
        count, width = words.size, np.uint64(self.cell_bits)
        open_ = cell < 0
        fresh = random_words(2 * count)
        spread, extra = fresh[:count], fresh[count:]
        # Where the cell is settled, r, the sign and the leading bits of V are.
        spread = np.where(open_, spread, words)
        uniform = np.where(
            open_, extra, (v << np.uint64(64 - self._v_bits)) | (extra >> np.uint64(self._v_bits))
        )
        place = np.where(open_, self.cells.locate(words), cell).astype(np.int64)
        offset = (spread & np.uint64((1 << self.cell_bits) - 1)).astype(np.int64)
        sign = 1 - 2 * ((spread >> width) & np.uint64(1)).astype(np.int64)
        chance = self.approximate_chance(place, offset)
        distance = uniform * 2.0**-64 - chance
        kept = distance < 0
        for i in np.flatnonzero(np.abs(distance) <= MARGIN):
            kept[i] = self.decide(int(place[i]), int(offset[i]), int(uniform[i]))
        magnitude = (place << self.cell_bits) + offset
        kept &= (magnitude != 0) | (sign > 0)
        return sign * magnitude, kept

    def approximate_chance(self, cell: Draws, offset: Draws) -> Floats:
        """α in double precision, within 2**-46."""
        start = (cell << self.cell_bits).astype(np.float64)
        step = offset.astype(np.float64)
        square = float(1 / self.sigma**2)
        y = step * (2 * start + step) * (square / 2)
        exponential = np.full_like(y, 1 / math.factorial(12))
        for n in range(11, -1, -1):
            exponential *= -y
            exponential += 1 / math.factorial(n)
        magnitude = start + step
        x2 = magnitude * magnitude * square
        cell_mass = 1 + (x2 - 1) * (square / 24) + (x2 * (x2 - 6) + 3) * (square * square / 1920)
        return exponential * cell_mass / (1 + 2.0**-14)

    def exact_chance(self, cell: int, offset: int) -> Fraction:
        """α to 400 bits."""
        ctx = context(640)
        start = cell << self.cell_bits
        k = start + offset
        scale = real(self.sigma, ctx)
        mass = _cell_mass(k, scale, ctx)
        bound = (1 + ctx.ldexp(1, -14)) / (scale * ctx.sqrt(2 * ctx.pi))
        chance = mass / (bound * ctx.exp(-((start / scale) ** 2) / 2))
        return Fraction(int(ctx.floor(ctx.ldexp(chance, 400))), 1 << 400)

    def decide(self, cell: int, offset: int, word: int) -> bool:
        """Whether V < α, where V has the leading bits `word` and further bits drawn here."""
        uniform = Fraction((word << _EXTRA) | random_below(1 << _EXTRA), 1 << (64 + _EXTRA))
        return uniform < self.exact_chance(cell, offset)


def _cell_mass(k: int, scale: Any, ctx: Any) -> Any:
    """P(round(N) = k) for N of scale `scale`, in context `ctx`."""
    root, half = scale * ctx.sqrt(2), ctx.mpf(1) / 2
    if k == 0:
        return ctx.erf(half / root)
    return (ctx.erfc((k - half) / root) - ctx.erfc((k + half) / root)) / 2

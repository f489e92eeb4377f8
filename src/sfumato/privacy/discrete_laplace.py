"""Discrete Laplace and one-sided geometric noise, for scales up to 2**50.

With a = exp(-1/scale): P(Z = k) = (1-a)/(1+a) a^|k| (discrete Laplace, Ghosh, Roughgarden, Sundararajan
2009) and P(G = k) = (1-a) a^k for k ≥ 0. Adding discrete Laplace noise of scale b to integer counts at L1
distance d is (d/b)-DP, up to `tv_bound` a draw.

Weights in tables come from the recurrence a^{k+1} = a^k·a in units of 2**-320. The start and a are at most 1
unit too small, a step adds at most 2 units to that, so the k-th mass is at most 2k+1 units short, and every
weight but the first is below its mass by less than 1 + 2**-20 units of 2**-256. The first takes up the slack,
so the total variation distance is the slack, plus the tail where the law is cut off.

Large scales need no large table: the digits of a geometric number are independent. For G = S·q + r with r <
S, P(G = k) ∝ a^{Sq} a^r, so q is geometric of scale/S and r a truncated geometric. And a discrete Laplace
number is the difference of two independent geometric ones.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from sfumato.privacy.high_precision import context, exp_fixed, real
from sfumato.privacy.noise import Law, Shape, as_scale, sized
from sfumato.privacy.noise_table import TOTAL, TOTAL_BITS, Draws, NoiseTable
from sfumato.privacy.secure_random import random_signs

TABLE_LIMIT = 1024
"""Largest scale whose values are all kept in one table."""
LARGEST = 1 << 50
_DIGIT_BITS = 12
_BITS = 320
_SHORTFALL = 1 + Fraction(1, 1 << 20)


@frozen
class Geometric:
    """Noise G ≥ 0 with P(G = k) ∝ exp(-k/scale), independent draws."""

    scale: Fraction = field(converter=as_scale)

    @scale.validator
    def _check(self, _: object, scale: Fraction) -> None:
        _check_scale(scale)

    def draw(self, shape: Shape) -> Draws:
        """Independent draws, int64, of the given number or shape."""
        return _draw_geometric(self.scale, sized(shape)).reshape(shape)

    def table(self) -> Law:
        """The exact law of a draw. ValueError beyond scale = 1,024, where there is one table a digit."""
        if self.scale > TABLE_LIMIT:
            raise ValueError(f"there is a table up to scale = {TABLE_LIMIT} only")
        return Law(start=0, weights=_digits(self.scale)[0].weights())

    @property
    def bound(self) -> int:
        """Largest number that can be drawn."""
        *_, top = tables = _digits(self.scale)
        return (top.size << _DIGIT_BITS * (len(tables) - 1)) - 1

    @property
    def tv_bound(self) -> Fraction:
        """Proven bound on the total variation distance of one draw to the geometric law."""
        *low, top = _digits(self.scale)
        digits = sum((_slack(table.size) for table in low), Fraction(0))
        return digits + _slack(top.size) + _beyond(self.scale / (1 << _DIGIT_BITS * len(low)), top.size)

    @property
    def variance(self) -> float:
        """a / (1-a)²."""
        return 1 / (4 * math.sinh(0.5 / float(self.scale)) ** 2)

    def ideal_tail(self, t: int) -> Fraction:
        """A rational just above P(G ≥ t)."""
        return Fraction(1) if t <= 0 else _upper_power(self.scale, t, two_sided=False)


@frozen
class DiscreteLaplace:
    """Noise Z with P(Z = k) ∝ exp(-|k|/scale), independent draws."""

    scale: Fraction = field(converter=as_scale)

    @scale.validator
    def _check(self, _: object, scale: Fraction) -> None:
        _check_scale(scale)

    def draw(self, shape: Shape) -> Draws:
        """Independent draws, int64, of the given number or shape."""
        count = sized(shape)
        if self.scale > TABLE_LIMIT:
            drawn = _draw_geometric(self.scale, count)
            drawn -= _draw_geometric(self.scale, count)
        else:
            drawn = _magnitudes(self.scale).draw(count)
            drawn *= random_signs(count)
        return drawn.reshape(shape)

    def table(self) -> Law:
        """The exact law of a draw. ValueError beyond scale = 1,024."""
        if self.scale > TABLE_LIMIT:
            raise ValueError(f"there is a table up to scale = {TABLE_LIMIT} only")
        centre, *others = _magnitudes(self.scale).weights()
        half = [weight // 2 for weight in others]
        return Law(start=-len(half), weights=(*reversed(half), centre, *half))

    @property
    def bound(self) -> int:
        """Largest magnitude that can be drawn."""
        if self.scale > TABLE_LIMIT:
            return Geometric(self.scale).bound
        return _magnitudes(self.scale).size - 1

    @property
    def tv_bound(self) -> Fraction:
        """Proven bound on the total variation distance of one draw to the discrete Laplace law."""
        if self.scale > TABLE_LIMIT:
            return 2 * Geometric(self.scale).tv_bound
        size = _magnitudes(self.scale).size
        return 2 * _slack(size) + 2 * _beyond(self.scale, size)

    @property
    def variance(self) -> float:
        """2a / (1-a)²."""
        return 2 * Geometric(self.scale).variance

    def ideal_tail(self, t: int) -> Fraction:
        """A rational just above P(Z ≥ t)."""
        if t <= 0:
            return 1 - _upper_power(self.scale, 1 - t, two_sided=True) * (1 - Fraction(1, 1 << 150))
        return _upper_power(self.scale, t, two_sided=True)


def _check_scale(scale: Fraction) -> None:
    if scale > LARGEST:
        raise ValueError("the scale must be at most 2**50")


def _draw_geometric(scale: Fraction, count: int) -> Draws:
    *low, top = _digits(scale)
    drawn = top.draw(count)
    for table in reversed(low):
        drawn <<= _DIGIT_BITS
        drawn += table.draw(count)
    return drawn


@lru_cache(maxsize=32)
def _digits(scale: Fraction) -> tuple[NoiseTable, ...]:
    """Tables of the digits of a geometric number, lowest first; the last digit has no upper limit."""
    tables = []
    while scale > TABLE_LIMIT:
        tables.append(_truncated(scale, 1 << _DIGIT_BITS))
        scale /= 1 << _DIGIT_BITS
    return (*tables, _truncated(scale, None))


@lru_cache(maxsize=32)
def _magnitudes(scale: Fraction) -> NoiseTable:
    """Table of |Z|: the mass of k > 0 counts for both signs."""
    ctx = context(_BITS + 64)
    step = real(1 / scale, ctx)
    others = [2 * weight for weight in _decay(scale, ctx.tanh(step / 2), None)[1:]]
    return NoiseTable.of([TOTAL - sum(others), *others])


def _truncated(scale: Fraction, size: int | None) -> NoiseTable:
    ctx = context(_BITS + 64)
    step = real(1 / scale, ctx)
    first = -ctx.expm1(-step)
    if size is not None:
        first /= -ctx.expm1(-step * size)
    others = _decay(scale, first, size)[1:]
    return NoiseTable.of([TOTAL - sum(others), *others])


def _decay(scale: Fraction, first: Any, size: int | None) -> list[int]:
    """Weights ⌊2**256 first·a^k⌋, at most 1 unit less, up to the last positive one or to `size` of them."""
    ctx = context(_BITS + 64)
    mass, ratio = int(ctx.floor(ctx.ldexp(first, _BITS))), exp_fixed(-1 / scale, _BITS)
    guard = _BITS - TOTAL_BITS
    weights = []
    while (weight := mass >> guard) and (size is None or len(weights) < size):
        weights.append(weight)
        mass = mass * ratio >> _BITS
    return weights


def _slack(size: int) -> Fraction:
    """What `size` weights rounded down may fall short of, as a probability."""
    return size * _SHORTFALL / TOTAL


def _beyond(scale: Fraction, size: int) -> Fraction:
    """Bound on P(G ≥ size) for a geometric G."""
    return _upper_power(scale, size, two_sided=False)


def _upper_power(scale: Fraction, t: int, *, two_sided: bool) -> Fraction:
    """A rational just above P(G ≥ t) = a^t or, if two-sided, P(Z ≥ t) = a^t / (1+a), for t ≥ 1."""
    ctx = context(320)
    power = ctx.exp(real(-t / scale, ctx))
    if two_sided:
        power /= 1 + ctx.exp(real(-1 / scale, ctx))
    mantissa, exponent = (power * (1 + ctx.ldexp(1, -200))).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

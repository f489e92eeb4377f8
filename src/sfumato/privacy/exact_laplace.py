"""Laplace noise on the integers that is exact: what is drawn has the stated law, so that delta is 0.

The tables of `discrete_laplace` are cut off far out, which costs a delta near 2**-235. Here nothing is cut:
coins with probability e^{-x} are made of uniform integers alone (Canonne, Kamath, Steinke 2020, "The discrete
Gaussian for differential privacy", Algorithms 1 and 2), vectorised, and no number is rounded. Scales are
rationals t/s.

    geometric   P(G = k) ∝ e^{-k/scale}, k = 0, 1, …: with U uniform on 0 … t-1, kept with probability
                e^{-U/t}, and V the number of coins of probability 1/e before the first failure, U + tV is
                geometric of scale t, and ⌊(U + tV)/s⌋ of scale t/s.
    Laplace     P(Z = k) ∝ e^{-|k|/scale}: the difference of two geometric numbers (Inusah, Kozubowski 2006).
    sup-norm    P(x) ∝ e^{-‖x‖∞/scale} for a vector of d integers: x is uniform on the cube {-r … r}^d, and
                P(r) ∝ (2r+1)^d e^{-r/scale}. Summed over r ≥ ‖x‖∞ this gives the law. r is drawn as a sum of
                d+1 geometric numbers, whose law is ∝ (r+1)…(r+d) e^{-r/scale}, and kept with probability
                ∏ (2r+1) / (2(r+k)), k = 1 … d, which is at most 1. For d = 1 this is the Laplace law.

A vector-valued query whose largest entry moves by at most D is (D/scale)-DP with sup-norm noise: the K-norm
mechanism for the cube (Hardt, Talwar 2010; Steinke, Ullman 2016). Its entries have the standard deviation
scale·√((d+1)(d+2)/3), against scale·d·√2 of Laplace noise at the same price.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.privacy.discrete_laplace import DiscreteLaplace
from sfumato.privacy.noise import Law, Shape, as_scale, sized
from sfumato.privacy.secure_random import random_below, random_words

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LARGEST = 1 << 40
"""Largest numerator of a scale: sums of draws stay far within 64 bits."""


@frozen
class ExactLaplace:
    """Noise Z with P(Z = k) ∝ exp(-|k|/scale), independent draws, of unbounded size."""

    scale: Fraction = field(converter=as_scale)

    @scale.validator
    def _check(self, _: object, scale: Fraction) -> None:
        if scale.numerator > LARGEST:
            raise ValueError("the scale must have a numerator of at most 2**40")

    tv_bound = Fraction(0)
    """Distance of a draw to the law: none."""

    def draw(self, shape: Shape) -> Ints:
        """Independent draws, int64, of the given number or shape."""
        count = sized(shape)
        return (geometric(self.scale, count) - geometric(self.scale, count)).reshape(shape)

    @property
    def bound(self) -> int:
        """Magnitude beyond which a draw is less likely than 1e-300: no threshold is looked for there. Draws
        have no bound.
        """
        return math.ceil(700 * self.scale)

    def table(self) -> Law:
        """ValueError: the law has no end, so there is no table of it."""
        raise ValueError("there is no table of an unbounded law")

    @property
    def variance(self) -> float:
        """2a/(1-a)² with a = e^{-1/scale}."""
        return DiscreteLaplace(self.scale).variance

    def ideal_tail(self, t: int) -> Fraction:
        """A rational just above P(Z ≥ t)."""
        return DiscreteLaplace(self.scale).ideal_tail(t)


def geometric(scale: Fraction, count: int) -> Ints:
    """`count` independent draws of G ≥ 0 with P(G = k) ∝ e^{-k/scale}."""
    top, bottom = scale.numerator, scale.denominator
    low = np.empty(0, dtype=np.int64)
    while low.size < count:
        # About 63 % are kept.
        fresh = _below(top, 2 * (count - low.size) + 8)
        low = np.concatenate([low, fresh[_coins(fresh, top)]])
    return (low[:count] + top * _runs(count)) // bottom


def sup_norm(scale: Fraction, dimension: int) -> Ints:
    """One draw of a vector x with P(x) ∝ e^{-‖x‖∞/scale}."""
    if dimension < 1:
        return np.empty(0, dtype=np.int64)
    while True:
        radius = int(geometric(scale, dimension + 1).sum())
        if all(random_below(2 * (radius + k)) < 2 * radius + 1 for k in range(1, dimension + 1)):
            return _below(2 * radius + 1, dimension) - radius


def _runs(count: int) -> Ints:
    """How often a coin of probability 1/e succeeds before it first fails."""
    found = np.zeros(count, dtype=np.int64)
    going = np.arange(count)
    while going.size:
        going = going[_coins(np.ones(going.size, dtype=np.int64), 1)]
        found[going] += 1
    return found


def _coins(top: Ints, bottom: int) -> Mask:
    """Independent coins of probability e^{-x}, x = top/bottom in 0 … 1.

    With k the first number for which a coin of probability x/k fails, k is odd with probability
    1 - x + x²/2 - … = e^{-x}.
    """
    odd = np.zeros(top.size, dtype=np.bool_)
    going = np.arange(top.size)
    k = 0
    while going.size:
        k += 1
        odd[going] = k % 2 == 1
        going = going[_below(bottom * k, going.size) < top[going]]
    return odd


def _below(bound: int, count: int) -> Ints:
    """Uniform integers 0 … bound-1, by rejection."""
    if bound > 1 << 62:
        raise OverflowError("uniform integers are drawn below 2**62")
    if bound == 1:
        return np.zeros(count, dtype=np.int64)
    shift = np.uint64(64 - (bound - 1).bit_length())
    found = np.empty(0, dtype=np.int64)
    while found.size < count:
        fresh = (random_words(2 * (count - found.size)) >> shift).astype(np.int64)
        found = np.concatenate([found, fresh[fresh < bound]])
    return found[:count]

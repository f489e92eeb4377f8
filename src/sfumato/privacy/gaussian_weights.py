"""Exact integer weights of the rounded Gaussian, ⌊2**256 · P(round(N) = k)⌋ up to a proven unit, fast.

With h = 1/sigma and x = kh, the mass of the cell around k is

    p_k = ∫ φ(x + t) dt over |t| ≤ h/2  =  h φ(x) · Σ_j He_{2j}(x) (h/2)^{2j} / (2j+1)!

where He are Hermite polynomials (the Taylor series of φ at x, whose odd terms vanish). For sigma ≥ 1 the
series is cut after j = J. By Cramér's inequality |He_n(x)| φ(x) ≤ 0.44 √n!, so what is cut is at most 0.44
h Σ_{j>J} (h/2)^{2j} / ((2j+1) √(2j)!), and J is the first for which this is below 2**-280. All else is
integer arithmetic in units u = 2**-300:

* A = hφ(0), g_0 = e^{-h²/2} and G = e^{-h²} are at most 1u too small. g_{k+1} = g_k G is at most (2k+1)u
  too small and W_{k+1} = W_k g_k at most (1 + K + A K²)u, for k ≤ K; here W_k stands for h φ(kh).
* the sum over j is a polynomial in y = k²/2^s ≤ 1 with exact rational coefficients, each rounded once,
  evaluated by Horner's rule with one truncation a step: at most 2(J+1)u off. It is at most cosh(Kh·h/2).

The sum of these errors, `error`, is taken off before rounding down to a multiple of 2**-256, so that every
weight but the one at zero is at most the true mass and short of it by less than 1 + 2**-16 units. The
weight at zero takes up the slack. Hence the total variation distance to the rounded Gaussian is exactly the
slack: at most 2K(1 + 2**-16) 2**-256 + P(|N| > K + 1/2).

For sigma < 1, where the support has at most 19 values to a side, the cells are differences of erfc to 448
bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from sfumato.privacy.high_precision import context, exp_fixed, real, upper_normal_tail
from sfumato.privacy.noise_table import TOTAL, TOTAL_BITS

BITS = 300
_GUARD = BITS - TOTAL_BITS
SHORTFALL = 1 + Fraction(1, 1 << 16)
"""Units of 2**-256 by which a weight may fall short of its mass."""


def half_weights(sigma: Fraction) -> list[int]:
    """Weights of 0, 1, … K; the first plus twice the others is 2**256."""
    masses = masses_by_series(sigma) if sigma >= 1 else _masses_by_erfc(sigma)
    tail: list[int] = []
    for mass in masses:
        weight = mass >> _GUARD
        if not weight:
            break
        tail.append(weight)
    return [TOTAL - 2 * sum(tail), *tail]


@lru_cache(maxsize=64)
def total_variation(sigma: Fraction, last: int) -> Fraction:
    """Bound on the distance of the table with largest value `last` to the rounded Gaussian."""
    beyond = upper_normal_tail((last + Fraction(1, 2)) / sigma)
    return 2 * last * SHORTFALL / TOTAL + 2 * beyond


def masses_by_series(sigma: Fraction) -> Iterator[int]:
    """p_1, p_2, … in units of 2**-300, each at most 2·`error` units too small and none too large."""
    h = 1 / sigma
    last = math.ceil(19 * sigma) + 2
    square_bits = 2 * last.bit_length()
    leading, *coefficients = reversed(_polynomial(h, square_bits))
    ctx = context(BITS + 64)
    mass = int(ctx.floor(ctx.ldexp(real(h, ctx) / ctx.sqrt(2 * ctx.pi), BITS)))
    ratio, ratio_step = exp_fixed(-h * h / 2, BITS), exp_fixed(-h * h, BITS)
    down = error(h, last, len(coefficients))
    for k in range(1, last):
        mass = mass * ratio >> BITS
        ratio = ratio * ratio_step >> BITS
        square = k * k
        series = leading
        for coefficient in coefficients:
            series = (series * square >> square_bits) + coefficient
        yield max(0, (mass * series >> BITS) - down)
    raise AssertionError("the support of a rounded Gaussian ends before 19 sigma + 2")


def _polynomial(h: Fraction, square_bits: int) -> list[int]:
    """Coefficients in (k² / 2**square_bits)^i of the series over j, in units of 2**-300."""
    terms = _terms(h)
    scale = h * h * (1 << square_bits)
    rounded = []
    for i in range(terms + 1):
        # The coefficient of x^{2i} in He_{2j} is (-1)^{j-i} (2j)! / ((j-i)! (2i)! 2^{j-i}).
        exact = sum(
            (-1) ** (j - i)
            * (h / 2) ** (2 * j)
            / ((2 * j + 1) * math.factorial(j - i) * math.factorial(2 * i) * (1 << (j - i)))
            for j in range(i, terms + 1)
        )
        rounded.append(math.floor(exact * scale**i * (1 << BITS)))
    return rounded


def _terms(h: Fraction) -> int:
    """J: the series is cut after this term. Later terms shrink by at least 4, which the factor 2 covers."""
    half = float(h) / 2
    j = 1
    while True:
        n = 2 * (j + 1)
        bound = 2 * 0.44 * float(h) * half**n / ((n + 1) * math.sqrt(math.factorial(n)))
        if bound < 2.0**-281:
            return j
        j += 1


def error(h: Fraction, last: int, terms: int) -> int:
    """Bound, in units of 2**-300, on how far a computed mass is from the true one."""
    top = math.ceil(math.cosh(float(h) * last * float(h) / 2))
    peak = math.ceil(0.4 * float(h) * last**2)
    cut = 1 << (BITS - 280)
    return top * (1 + last + peak) + 2 * (terms + 1) + 2 + cut


def _masses_by_erfc(sigma: Fraction) -> Iterator[int]:
    ctx = context(448)
    scale = 1 / (real(sigma, ctx) * ctx.sqrt(2))
    above = ctx.erfc(scale / 2) / 2
    for k in range(1, 21):
        below, above = above, ctx.erfc((k + ctx.mpf(1) / 2) * scale) / 2
        # One unit of 2**-300 covers the error of erfc at 448 bits many times over.
        yield max(0, int(ctx.floor(ctx.ldexp(below - above, BITS))) - 1)
    yield 0

"""Real functions to many bits, in contexts of our own: mpmath's global precision is left alone.

mpmath changes the precision of a context while it works, so each thread has its own.
"""

from __future__ import annotations

from fractions import Fraction
from threading import local
from typing import Any

_contexts = local()


def context(bits: int) -> Any:
    """This thread's mpmath context that works with `bits` bits."""
    from mpmath import MPContext

    name = f"bits_{bits}"
    if not hasattr(_contexts, name):
        made = MPContext()
        made.prec = bits
        setattr(_contexts, name, made)
    return getattr(_contexts, name)


def real(value: Fraction, ctx: Any) -> Any:
    """`value` as a number of `ctx`, to its precision."""
    return ctx.mpf(value.numerator) / value.denominator


def exp_fixed(exponent: Fraction, bits: int) -> int:
    """⌊2**bits · e**exponent⌋ for exponent ≤ 0, at most 1 too small."""
    ctx = context(bits + 64)
    return int(ctx.floor(ctx.ldexp(ctx.exp(real(exponent, ctx)), bits)))


def upper_normal_tail(x: Fraction, bits: int = 160) -> Fraction:
    """A rational ≥ P(N > x) for a standard normal N, at most 2**-bits of itself too large."""
    ctx = context(bits + 64)
    tail = ctx.erfc(real(x, ctx) / ctx.sqrt(2)) / 2
    man, exp = (tail * (1 + ctx.ldexp(1, -bits))).man_exp
    return Fraction(int(man)) * Fraction(2) ** int(exp)

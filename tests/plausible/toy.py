"""The mechanism on tiny models, law by law: candidates, the test, release, in exact rational arithmetic.

e^epsilon0 is a rational, so that q(c) is one as well: the law of the released record has no rounding at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

Law = tuple[Fraction, ...]
"""Mass that each record is released with; what is missing from 1 is "no output"."""


def q(count: int, k: int, base: Fraction) -> Fraction:
    """P(count + Lap(1/epsilon0) ≥ k) for e^epsilon0 = base."""
    gap = k - count
    return base**-gap / 2 if gap >= 0 else 1 - base**gap / 2


def kind(probability: Fraction, gamma: Fraction) -> int | None:
    """The i with gamma^-(i+1) < probability ≤ gamma^-i; None for 0."""
    if probability == 0:
        return None
    i = 0
    while probability <= gamma ** -(i + 1):
        i += 1
    return i


def law(seeds: tuple[int, ...], model: list[Law], k: int, gamma: Fraction, base: Fraction) -> Law:
    """Release law of one candidate over a table of seeds; model[d][y] = Pr(y = M(d))."""
    found = []
    for y in range(len(model[0])):
        kinds = [kind(model[d][y], gamma) for d in seeds]
        mass = sum(
            (
                model[d][y] * q(sum(other == own for other in kinds), k, base)
                for d, own in zip(seeds, kinds, strict=True)
                if own is not None
            ),
            Fraction(0),
        )
        found.append(mass / len(seeds))
    return tuple(found)


def divergence(one: Law, other: Law, factor: Fraction) -> Fraction:
    """Σ max(0, one - factor·other): the smallest delta at e^epsilon = factor."""
    return sum((max(Fraction(0), a - factor * b) for a, b in zip(one, other, strict=True)), Fraction(0))


MODELS: list[list[Law]] = [
    [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))],
    [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)), (Fraction(1), Fraction(0))],
    [
        (Fraction(3, 5), Fraction(2, 5), Fraction(0)),
        (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5)),
        (Fraction(0), Fraction(1, 10), Fraction(9, 10)),
    ],
]


def cases() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], list[Law], int, Fraction, Fraction]]:
    """Every table of few seeds and every table with one seed more, for small k, gamma and e^epsilon0."""
    for model, k, gamma, base in product(
        MODELS, (2, 3, 5), (Fraction(3, 2), Fraction(4)), (Fraction(11, 10), Fraction(2))
    ):
        for size in (1, 2, 4, 6):
            for seeds in combinations_with_replacement(range(len(model)), size):
                for more in range(len(model)):
                    yield seeds, (*seeds, more), model, k, gamma, base

"""Which sampler is best for a job, by public numbers alone: records n, alphabet k, epsilon, number of draws.

Samplers are compared by `distance_bound`: the largest total variation distance between the law of a draw and
the records that any table of n records can have. Both FLOOR and GEO raise small counts and leave large ones,
by weights w(j) ≥ j that are convex in j, so with Z = Σ_z w(c_z) the distance is at most 1 - n/Z, and Z is
largest where all records are alike: Z = w(n) + (k-1) w(0). ROO and DS-ROO reach q_0 (1 - 1/k) there. For one
noisy histogram, from which any number of records is drawn, it is the mean over the noise.

Where n is private, samplers are compared at the public number of rows that tables have at least, and without
one by their bounds on large tables, which all fall with n.
"""

from __future__ import annotations

import math
from fractions import Fraction

from attrs import frozen

from sfumato.errors import UsageError
from sfumato.privacy.filter import check_epsilon
from sfumato.privacy.mechanisms.draws import AT_ONCE, COUNTABLE, SAMPLERS, is_roo, mass_of, rounded, steps
from sfumato.privacy.three_points import each_of_total
from sfumato.privacy.unit import PrivacyUnit, Relation
from sfumato.sampling import laplace
from sfumato.sampling.floor import floor_of
from sfumato.sampling.geo import UNIT, growth, ramp
from sfumato.sampling.ratios import ratio_below

AUTO = "auto"
CANDIDATES = ("geo", "floor", "ds-roo", "roo", "subrr", "laplace-euclid")
"""Samplers that `auto` chooses from, in this order where they are equally good."""
SHARED = 0.998
"""Share of delta at which draws are composed; a thousandth is kept for tables of noise."""
MANY_ROWS = 1 << 60
"""Stands for a large table."""


@frozen(kw_only=True)
class Choice:
    """A sampler, what one of its draws costs, and why it was taken."""

    sampler: str
    each: float
    """Epsilon of a draw, or of all where they share one."""
    bound: float | None
    """`distance_bound` of a draw; None where the number of records is private, or none is known."""
    why: str
    delta: float = 0.0
    """Delta at which the epsilon of several draws is stated."""


def distance_bound(
    sampler: str, *, n: int, k: int, epsilon: float, m: int = 1, relation: Relation = "replace"
) -> float:
    """Largest total variation distance of a draw to the n records, over all tables; of a noisy histogram
    (laplace-euclid), from which any number of symbols are drawn, the mean over its noise.

    epsilon: of a draw; of all m for subrr and laplace-euclid. relation: "replace" for laws with n public,
    "add-remove" for those with n private, where n is the number that they happen to have, and subrr fills
    tables up to n. UsageError for samplers where no such number is known in closed form.
    """
    if k == 1:
        return 0.0
    if n == 0:
        return 1 - 1 / k
    ratio = ratio_below(epsilon)
    rows = n if relation == "replace" else None
    if sampler in ("roo", "ds-roo") or (sampler == "geo" and growth(ratio, rows) <= 1):
        return float((k - 1) / (k + n * (ratio - 1)))
    if sampler == "subrr":
        return float(m * (k - 1) / (m * k + n * (ratio - 1)))
    if sampler == "local-minimax":
        return float((k - 1) / (ratio + k - 1))
    if sampler == "floor":
        level = floor_of(ratio, rows)
        extra = float((k - 1) * level + max(Fraction(0), level - n))
        return extra / (n + extra)
    if sampler == "geo":
        none, more = _ends(growth(ratio, rows), n)
        extra = (k - 1) * none + more
        return extra / (n + extra)
    if sampler == "laplace-euclid":
        scale = (2 if relation == "replace" else 1) / epsilon
        return min((k + math.sqrt(2 * k)) * scale / (2 * n), 1.0)
    raise UsageError(f"no bound in closed form is known for {sampler!r}")


def _ends(r: Fraction, n: int) -> tuple[float, float]:
    """GEO's weight of the count 0, and what it adds to the count n."""
    top = math.ceil(1 / (r - 1))
    if top > 200_000:
        step = math.log(r)
        return top * math.exp(-top * step), 0.0 if n >= top else top * math.exp((n - top) * step) - n
    low = ramp(r)
    return low[0] / UNIT, 0.0 if n >= top else low[n] / UNIT - n


def choose(
    sampler: str,
    *,
    n: int | None,
    k: int,
    epsilon: float,
    m: int = 1,
    delta: float = 0.0,
    unit: PrivacyUnit | None = None,
    filled: int = 0,
) -> Choice:
    """What to use for m draws within (epsilon, delta), and what one of them may cost.

    n: the public number of records, None where it is private. sampler: a name, or "auto". unit: what
    neighbours differ in; default: one record. filled: where n is private, a public number of rows that
    tables are said to have, up to which subrr fills smaller ones. UsageError for a name that is not known.
    """
    if k < 1 or m < 1 or (n is not None and n < 0) or filled < 0:
        raise UsageError("k and m are at least 1, and n at least 0")
    epsilon = check_epsilon(epsilon)
    job = _Job(n=n, k=k, epsilon=epsilon, m=m, delta=delta, unit=unit or PrivacyUnit(), filled=filled)
    if sampler != AUTO:
        if sampler not in SAMPLERS:
            raise UsageError(
                f"there is no sampler {sampler!r}", mend=f"known: {', '.join((AUTO, *SAMPLERS))}"
            )
        return job.choice(sampler, "as asked")
    found = {name: job.bound(name) for name in CANDIDATES if job.usable(name)}
    best = min(found, key=lambda name: float(f"{found[name]:.12g}"))
    if len(found) == 1:
        return job.choice(best, f"{rounded(k)} combinations are too many to count")
    others = ", ".join(f"{name} {job.said(bound)}" for name, bound in found.items() if name != best)
    if n is not None:
        whose = "any records"
    elif filled:
        whose = f"any {filled:,} records"
    else:
        whose = "any n records, for large n"
    return job.choice(best, f"it is within {job.said(found[best])} of {whose} in total variation ({others})")


@frozen(kw_only=True)
class _Job:
    """m draws within (epsilon, delta)."""

    n: int | None
    k: int
    epsilon: float
    m: int
    delta: float
    unit: PrivacyUnit
    filled: int

    @property
    def _shared(self) -> float:
        """Delta for composing draws; the rest covers what tables of noise need."""
        return SHARED * self.delta

    @property
    def rows(self) -> int:
        """Rows at which samplers are compared."""
        return (self.filled or MANY_ROWS) if self.n is None else self.n

    def usable(self, name: str) -> bool:
        """Whether `auto` may take it: alphabets that can be counted, as many records as are drawn."""
        if name == "subrr":
            return 1 < self.m <= (MANY_ROWS if self.n is None else self.n)
        if name == "laplace-euclid":
            return self.m > 1 and self.k <= laplace.CELLS
        return name == "roo" or not (self.k >= COUNTABLE or is_roo(name, symbols=self.k, rows=self.n))

    def bound(self, name: str) -> float:
        """`distance_bound` at the rows for comparison."""
        relation: Relation = "add-remove" if self.n is None else "replace"
        # Without a public number of rows, SubRR fills up to as many as are drawn.
        rows = self.m if name == "subrr" and self.n is None and self.filled < self.m else self.rows
        return distance_bound(name, n=rows, k=self.k, epsilon=self.each(name), m=self.m, relation=relation)

    def said(self, bound: float) -> str:
        """A bound in words: of large tables as a multiple of 1/n."""
        large = self.n is None and not self.filled and bound < 1e-3
        return f"{bound * MANY_ROWS:.3g}/n" if large else f"{bound:.3g}"

    def each(self, name: str) -> float:
        """Epsilon that a draw may cost, for neighbours that differ in one record."""
        group = steps(name, rows=self.n, unit=self.unit, relation=self.unit.neighbours)
        if name in AT_ONCE or self.m == 1:
            return self.epsilon if group == 1 else _down(self.epsilon / group)

        def mass(each: float) -> float:
            return mass_of(name, symbols=self.k, rows=self.n, epsilon=each / group, group=group)

        each = each_of_total(self.epsilon, count=self.m, delta=self._shared, mass=mass)
        return _down(each / group)

    def choice(self, name: str, why: str) -> Choice:
        known = self.n is not None and name != "laplace-clip"
        return Choice(
            sampler=name,
            each=self.each(name),
            bound=self.bound(name) if known else None,
            why=why,
            delta=0.0 if name in AT_ONCE or self.m == 1 else self._shared,
        )


def _down(value: float) -> float:
    """A little less, so that rounding cannot exceed what is allowed."""
    return value * (1 - 1e-12)


def remarks(
    *, n: int, k: int, epsilon: float, delta: float, m: int, unit: PrivacyUnit | None = None
) -> list[str]:
    """Whether m draws by ROO would be better bought otherwise, for a plan: by SubRR, or by one noisy
    histogram.

    By the largest distance of a draw to n records (`distance_bound`). Where n is private, SubRR fills tables
    up to n, which the owner must then state. UsageError where no draw can cost so little.
    """
    if m < 1 or k < 2 or n < 1:
        return []
    unit = unit or PrivacyUnit()
    relation: Relation = "replace" if unit.keeps_rows else "add-remove"
    job = _Job(n=n if unit.keeps_rows else None, k=k, epsilon=epsilon, m=m, delta=delta, unit=unit, filled=n)
    each = job.each("roo")
    own = distance_bound("roo", n=n, k=k, epsilon=each)
    ways = {}
    if 1 < m <= n:
        ways["subrr"] = "SubRR" if unit.keeps_rows else f"SubRR, with --rows-at-least {n}"
    if k <= laplace.CELLS:
        ways["laplace-euclid"] = "a noisy histogram"
    found = []
    for name, words in ways.items():
        distance = distance_bound(name, n=n, k=k, epsilon=job.each(name), m=m, relation=relation)
        if distance < own * (1 - 1e-9):
            found.append(
                f"{words} would be cheaper (sfumato draw --sampler {name}): for epsilon {epsilon:g} it is "
                f"within {distance:.3g} of the rows, and {m:,} draws at epsilon {each:.3g} each are within "
                f"{own:.3g}"
            )
    if own > 0.5:
        found.append(
            f"over {rounded(k)} combinations a draw is uniform with probability {own / (1 - 1 / k):.3g}: "
            "name fewer columns, or use a method that measures marginals"
        )
    return found

"""Which sampler is best for a job, by public numbers alone: records n, alphabet k, epsilon, number of draws.

Samplers are compared by `distance_bound`: the largest total variation distance between the law of a draw and
the records that any table of n records can have. Both FLOOR and GEO raise small counts and leave large ones,
by weights w(j) ≥ j that are convex in j, so with Z = Σ_z w(c_z) the distance is at most 1 - n/Z, and Z is
largest where all records are alike: Z = w(n) + (k-1) w(0). ROO and DS-ROO reach q_0 (1 - 1/k) there.
"""

from __future__ import annotations

import math
from fractions import Fraction

from attrs import frozen

from sfumato.errors import UsageError
from sfumato.privacy.mechanisms.draws import AT_ONCE, COUNTABLE, SAMPLERS, is_roo, mass_of, rounded, steps
from sfumato.privacy.three_points import each_of_total
from sfumato.privacy.unit import PrivacyUnit
from sfumato.sampling.floor import Floor
from sfumato.sampling.geo import UNIT, Geo, growth
from sfumato.sampling.ratios import ratio_below

AUTO = "auto"
CANDIDATES = ("geo", "floor", "ds-roo", "roo", "subrr")
"""Samplers that `auto` chooses from, in this order where they are equally good."""
SHARED = 0.998
"""Share of delta at which draws are composed; a thousandth is kept for tables of noise."""


@frozen(kw_only=True)
class Choice:
    """A sampler, what one of its draws costs, and why it was taken."""

    sampler: str
    each: float
    """Epsilon of a draw, or of all where they share one."""
    bound: float | None
    """`distance_bound` of a draw; None where the number of records is private."""
    why: str
    delta: float = 0.0
    """Delta at which the epsilon of several draws is stated."""


def distance_bound(sampler: str, *, n: int, k: int, epsilon: float, m: int = 1) -> float:
    """Largest total variation distance of a draw to the n records, over all tables.

    epsilon: of a draw; of all m for subrr. UsageError for samplers where no such number is known in closed
    form.
    """
    if k == 1:
        return 0.0
    if n == 0:
        return 1 - 1 / k
    ratio = ratio_below(epsilon)
    if sampler in ("roo", "ds-roo"):
        return float((k - 1) / (k + n * (ratio - 1)))
    if sampler == "subrr":
        return float(m * (k - 1) / (m * k + n * (ratio - 1)))
    if sampler == "local-minimax":
        return float((k - 1) / (ratio + k - 1))
    if sampler == "floor":
        level = Floor(ratio=ratio, rows=n).level
        return float(1 - n / ((k - 1) * level + max(Fraction(n), level)))
    if sampler == "geo":
        if not Geo(ratio=ratio, rows=n).usable:
            return float((k - 1) / (k + n * (ratio - 1)))
        none, every = _ends(growth(ratio, n), n)
        return 1 - n / ((k - 1) * none + every)
    raise UsageError(f"no bound in closed form is known for {sampler!r}")


def _ends(r: Fraction, n: int) -> tuple[float, float]:
    """GEO's weights of the counts 0 and n."""
    from sfumato.sampling.geo import ramp

    top = math.ceil(1 / (r - 1))
    if top > 200_000:
        step = math.log(r)
        return top * math.exp(-top * step), float(n) if n >= top else top * math.exp((n - top) * step)
    low = ramp(r)
    return low[0] / UNIT, float(n) if n >= top else low[n] / UNIT


def choose(
    sampler: str,
    *,
    n: int | None,
    k: int,
    epsilon: float,
    m: int = 1,
    delta: float = 0.0,
    unit: PrivacyUnit | None = None,
) -> Choice:
    """What to use for m draws within (epsilon, delta), and what one of them may cost.

    n: the public number of records, None where it is private. sampler: a name, or "auto". unit: what
    neighbours differ in; default: one record. UsageError for a name that is not known.
    """
    job = _Job(n=n, k=k, epsilon=epsilon, m=m, delta=delta, unit=unit or PrivacyUnit())
    if sampler != AUTO:
        if sampler not in SAMPLERS:
            raise UsageError(
                f"there is no sampler {sampler!r}", mend=f"known: {', '.join((AUTO, *SAMPLERS))}"
            )
        return job.choice(sampler, "as asked")
    if n is None:
        if k >= COUNTABLE:
            return job.choice("roo", f"{rounded(k)} combinations are too many to count")
        why = (
            "its weight of a symbol that nobody has is the smallest, and it needs no public number of records"
        )
        return job.choice("geo", why)
    usable = [name for name in CANDIDATES if job.usable(name)]
    found = {name: distance_bound(name, n=n, k=k, epsilon=job.each(name), m=m) for name in usable}
    best = min(found, key=lambda name: round(found[name], 12))
    others = ", ".join(f"{name} {bound:.3g}" for name, bound in found.items() if name != best)
    why = f"it is within {found[best]:.3g} of any records" + (f" ({others})" if others else "")
    return job.choice(best, why)


@frozen(kw_only=True)
class _Job:
    """m draws within (epsilon, delta)."""

    n: int | None
    k: int
    epsilon: float
    m: int
    delta: float
    unit: PrivacyUnit

    @property
    def _shared(self) -> float:
        """Delta for composing draws; the rest covers what tables of noise need."""
        return SHARED * self.delta

    def usable(self, name: str) -> bool:
        """Whether `auto` may take it: alphabets that can be counted, as many records as are drawn."""
        if name == "subrr":
            return self.n is not None and 1 < self.m <= self.n
        return name == "roo" or not (self.k >= COUNTABLE or is_roo(name, symbols=self.k, rows=self.n))

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
        each = self.each(name)
        return Choice(
            sampler=name,
            each=each,
            bound=_bound(name, self.n, self.k, each, self.m),
            why=why,
            delta=0.0 if name in AT_ONCE or self.m == 1 else self._shared,
        )


def _down(value: float) -> float:
    """A little less, so that rounding cannot exceed what is allowed."""
    return value * (1 - 1e-12)


def _bound(sampler: str, n: int | None, k: int, each: float, m: int) -> float | None:
    if n is None or sampler.startswith("laplace"):
        return None
    return distance_bound(sampler, n=n, k=k, epsilon=each, m=m)


def remarks(*, n: int, k: int, epsilon: float, delta: float, m: int) -> list[str]:
    """Whether m draws by ROO would be better bought otherwise, for a plan: by SubRR, or by one noisy
    histogram.

    By the largest distance of a draw to the records; for a histogram with Laplace noise of scale 2/epsilon
    its expected distance is at most k/(epsilon n) (k cells, each off by 2/epsilon on average, over 2n).
    """
    if m < 1 or k < 2 or n < 1:
        return []

    def mass(each: float) -> float:
        return mass_of("roo", symbols=k, rows=n, epsilon=each, group=1)

    each = each_of_total(epsilon, count=m, delta=delta, mass=mass)
    own = distance_bound("roo", n=n, k=k, epsilon=each)
    found = []
    ways = {}
    if 1 < m <= n:
        ways["SubRR"] = distance_bound("subrr", n=n, k=k, epsilon=epsilon, m=m)
    if k <= 1 << 20:
        ways["a noisy histogram"] = min(1.0, k / (epsilon * n))
    for name, distance in ways.items():
        if distance < own * (1 - 1e-9):
            found.append(
                f"{name} would be cheaper: for epsilon {epsilon:g} it is within {distance:.3g} of the rows, "
                f"and {m:,} draws at epsilon {each:.3g} each are within {own:.3g}"
            )
    if own > 0.5:
        found.append(
            f"over {rounded(k)} combinations a draw is uniform with probability {own / (1 - 1 / k):.3g}: "
            "name fewer columns, or use a method that measures marginals"
        )
    return found

"""Who is attacked, who is the control, and what the attacker has.

Hold-out records come from the same people as the real ones and had no part in the synthetic rows. One half of
them is attacked like the real ones, as control; the other half is what the attacker knows of the population.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from attrs import field, frozen

from sfumato.attacks.ceiling import Guarantee
from sfumato.attacks.distances import Near, scan
from sfumato.attacks.space import Places, Points, Space
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.pair import Pair, Side
from sfumato.evaluation.settings import at_least

LEAST = 20
"""Hold-out records without which no attack is tried."""
REFERENCE_AT_MOST = 50_000
FEWEST = 200
"""People who are attacked on each side, where there are as many, however large the tables."""
WIDTHS = (0.02, 0.1, 0.4, 1.0)
"""Widths of the kernels, in units of the typical distance between a person and the nearest other one."""
SMALLEST_WIDTH = 0.005


@frozen(kw_only=True)
class AttackSettings:
    """Options of the attacks.

    `guarantee`: what the release states, for the ceilings; None: nothing is known. `targets`: at most so
    many people in the table, and as many hold-out people, are attacked; fewer where tables are so large
    that this would compare more than `work` pairs of cells. `secrets`: columns that are guessed; default:
    up to `guessed` columns. `seed`: of every draw.
    """

    guarantee: Guarantee | None = None
    targets: int = field(default=2000, validator=at_least(LEAST))
    secrets: tuple[str, ...] = field(default=(), converter=tuple)
    guessed: int = field(default=16, validator=at_least(1))
    work: int = field(default=6_000_000_000, validator=at_least(1))
    seed: int = field(default=0, validator=at_least(0))


@frozen(kw_only=True, slots=False, eq=False)
class People:
    """The three groups, as places in their tables, and what is found about them once and used by several."""

    pair: Pair
    settings: AttackSettings
    members: Places
    """Of the real table, drawn without replacement."""
    others: Places
    """Of the hold-out table: people who are attacked like members."""
    reference: Places
    """Of the hold-out table: people whom the attacker knows."""
    everybody: tuple[Places, Places]
    """One row of each person in the real table, and of each in the hold-out who is not in the real one."""

    @classmethod
    def of(cls, pair: Pair, settings: AttackSettings) -> People:
        """Draw the groups; NotApplicable where there is no usable hold-out."""
        check(pair)
        rng = np.random.default_rng(settings.seed)
        holdout, real = _one_each(pair, "holdout", rng), _one_each(pair, "real", rng)
        if min(holdout.size, real.size) < LEAST:
            raise NotApplicable(f"there are fewer than {LEAST} persons, each in one table alone")
        rows = pair.synthetic_rows + min(holdout.size // 2, REFERENCE_AT_MOST)
        able = max(settings.work // (2 * rows * len(pair.columns)), FEWEST)
        many = min(settings.targets, able)
        half = min(many, holdout.size // 2)
        return cls(
            pair=pair,
            settings=settings,
            members=np.sort(real[:many]),
            everybody=(real, holdout),
            others=np.sort(holdout[:half]),
            reference=np.sort(holdout[half : half + REFERENCE_AT_MOST]),
        )

    def fewer(self, count: int) -> People:
        """The same with at most so many people on each side that is attacked."""
        rng = np.random.default_rng(self.settings.seed + 6)

        def some(places: Places) -> Places:
            return places if places.size <= count else np.sort(rng.choice(places, count, replace=False))

        return attrs.evolve(self, members=some(self.members), others=some(self.others))

    @cached_property
    def space(self) -> Space:
        return Space.of(self.pair)

    @cached_property
    def member_points(self) -> Points:
        return self.space.points("real", self.members)

    @cached_property
    def other_points(self) -> Points:
        return self.space.points("holdout", self.others)

    @cached_property
    def synthetic_points(self) -> Points:
        return self.space.points("synthetic")

    @cached_property
    def reference_points(self) -> Points:
        return self.space.points("holdout", self.reference)

    @cached_property
    def queries(self) -> Points:
        """Members, then other people."""
        one, other = self.member_points, self.other_points
        return Points(
            np.concatenate((one.numbers, other.numbers), axis=1),
            np.concatenate((one.codes, other.codes), axis=1),
            one.columns,
        )

    @cached_property
    def widths(self) -> tuple[float, ...]:
        """Kernel widths, from distances between people whom the attacker knows."""
        rng = np.random.default_rng(self.settings.seed + 1)
        few = rng.permutation(len(self.reference_points))[:500]
        squared = scan(self.reference_points.take(few), self.reference_points, nearest=2).squared[:, -1]
        apart = squared[np.isfinite(squared) & (squared > 0)]
        typical = float(np.sqrt(np.median(apart))) if apart.size else 1.0
        return tuple(max(width * typical, SMALLEST_WIDTH) for width in WIDTHS)

    @cached_property
    def near_synthetic(self) -> Near:
        return scan(self.queries, self.synthetic_points, nearest=2, widths=self.widths)

    @cached_property
    def near_halves(self) -> tuple[Near, Near]:
        """Of the two halves of the people whom the attacker knows."""
        half = len(self.reference) // 2
        mixed = np.random.default_rng(self.settings.seed + 2).permutation(len(self.reference))
        first, second = self.reference_points.take(mixed[:half]), self.reference_points.take(mixed[half:])
        return (
            scan(self.queries, first, nearest=2, widths=self.widths),
            scan(self.queries, second, nearest=2, widths=self.widths),
        )

    @cached_property
    def near_reference(self) -> Near:
        first, second = self.near_halves
        return first.with_others(second)

    def ceiling(self, without: float) -> float | None:
        """Highest success that the stated guarantee allows; None where none is stated."""
        stated = self.settings.guarantee
        return None if stated is None or not stated.holds else stated.at_most(without)

    def room(self, low: float, high: float | None = None) -> float | None:
        """The most by which success may exceed a control rate somewhere between `low` and `high`."""
        stated = self.settings.guarantee
        if stated is None or not stated.holds:
            return None
        rates = np.linspace(low, low if high is None else high, 1 if high is None else 101)
        return max(stated.at_most(float(rate)) - float(rate) for rate in rates)


def _one_each(pair: Pair, side: Side, rng: np.random.Generator) -> Places:
    """One row of each person of a side, in random order; every row where nothing tells persons apart. Of the
    hold-out without those who are in the real table.
    """
    rows = rng.permutation(pair.rows(side))
    if side not in pair.persons:
        return rows
    whose = pair.persons[side][rows]
    known = whose >= 0
    if side == "holdout" and "real" in pair.persons:
        known &= ~np.isin(whose, pair.persons["real"])
    _, first = np.unique(whose[known], return_index=True)
    return rows[known][np.sort(first)]


def check(pair: Pair) -> None:
    """NotApplicable unless there are hold-out records to be the control."""
    if not pair.has_holdout:
        raise NotApplicable("there are no hold-out rows: without people who are not in the table nothing "
                            "tells leakage from what is true of everybody")  # fmt: skip
    if (pair.holdout_rows or 0) < LEAST:
        raise NotApplicable(f"there are fewer than {LEAST} hold-out rows")
    if pair.real_rows < LEAST:
        raise NotApplicable(f"there are fewer than {LEAST} real rows")
    if not pair.synthetic_rows:
        raise NotApplicable("there are no synthetic rows")
    if not pair.columns:
        raise NotApplicable("the tables have no column in common that can be compared")

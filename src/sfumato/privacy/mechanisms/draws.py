"""Records drawn from the joint law of some columns by a sampler of `sfumato.sampling`.

Each draw is a symbol of the product of public alphabets, which is never materialised: ROO and SubRR read rows
at random places, the others count the combinations that occur. A value outside its alphabet stands for a
uniform one. That keeps every guarantee: for any fixed choice of those values the samplers' proofs hold, and
mixing over choices that are made row by row does not raise the divergence of neighbours (joint convexity).

Prices by neighbouring relation, for samplers that are e-DP a draw, m rows of a unit:

                      n public (a row is a unit)      n private
                      replace        add-remove       add-remove     replace
    roo, subrr        e              infinite         m e            m e
    ds-roo, floor,    e              infinite         m e            2 m e
    geo, laplace
    local-minimax     e              infinite         e              e

(m rows that are exchanged for as many are m steps, for ROO's pseudo-count one e each; in general a step is a
removal and an addition. docs/methods/roo.md has the proofs.) N draws compose; SubRR gives all of its N for
one e, and so does one histogram with Laplace noise. Which records were revealed is neither kept nor returned,
and the same rows are read, the same numbers drawn and compared, whatever comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.domain.encoder import Codes, Encoder
from sfumato.errors import InputError, JobError
from sfumato.privacy.cost import Cost, Price, draws
from sfumato.privacy.mechanisms.base import Answer, Counts, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import encoder_digest
from sfumato.privacy.mechanisms.public_rows import EVERYTHING
from sfumato.privacy.secure_random import random_below, random_words
from sfumato.privacy.three_points import pair_mass
from sfumato.privacy.unit import PrivacyUnit, Relation
from sfumato.sampling import laplace
from sfumato.sampling.ds_roo import DsRoo
from sfumato.sampling.floor import Floor
from sfumato.sampling.geo import Geo
from sfumato.sampling.law import CountLaw
from sfumato.sampling.local_minimax import LocalMinimax
from sfumato.sampling.ratios import ratio_below
from sfumato.sampling.roo import Roo
from sfumato.sampling.step_distance import step_distance
from sfumato.sampling.sub_rr import SubRR
from sfumato.sampling.tally import Histogram, choose

SAMPLERS = (
    "roo", "ds-roo", "floor", "geo", "subrr", "laplace-euclid", "laplace-clip", "local-minimax",
)  # fmt: skip
BY_RECORD = ("roo", "subrr")
AT_ONCE = ("subrr", "laplace-euclid", "laplace-clip")
"""Samplers whose draws share one epsilon."""
COUNTABLE = 1 << 62
"""Alphabets of at least this size cannot be numbered in 64 bits."""
MOST_ROWS = 1 << 48
"""More rows than a table can have."""


@frozen(kw_only=True, eq=False)
class Read:
    """What was read of the rows for some draws."""

    rows: int
    lines: Codes
    """Codes of the rows that were picked, or the combinations that occur."""
    counts: Counts | None
    """How often combinations occur; None where rows were picked."""
    all_cells: Callable[[], tuple[Counts, Counts]]
    """All combinations and their counts, for checks of the exact law."""


@frozen(kw_only=True)
class Draws:
    """`count` records over the alphabets of `axes`, whose code 0 is what lies outside.

    epsilon: of a draw, or of all together where these share one, for neighbours that differ in one row. rows:
    the public number of rows, None where it is private. filled: rows up to which SubRR fills a table whose
    number of rows is private. delta: at which the epsilon of several draws is stated; 0 adds theirs up.
    """

    name: ClassVar[str] = "private_draws"
    axes: tuple[Encoder, ...] = field(converter=tuple)
    sampler: str
    epsilon: float
    count: int = 1
    rows: int | None = None
    filled: int = 0
    delta: float = 0.0

    # What is wrong with a question must show before it is charged.

    def __attrs_post_init__(self) -> None:
        if self.sampler not in SAMPLERS or not self.axes or self.count < 1:
            raise ValueError("a known sampler, at least one column and at least one draw")
        try:
            ratio_below(self.epsilon)
            if self.sampler in laplace.PROJECTIONS:
                laplace.scale_of(self.epsilon, replace=self.rows is not None)
        except ValueError as error:
            raise JobError(
                f"a draw cannot cost {self.epsilon:.3g}: {error}",
                mend="draw fewer records, keep fewer rows of each person, or ask for a larger epsilon",
            ) from None
        if any(axis.size < 2 for axis in self.axes):
            raise JobError("a column has an empty alphabet, so no record can be drawn")
        if self.sampler == "subrr" and not self.count <= (
            self.records if self.rows is not None else MOST_ROWS
        ):
            raise JobError(
                f"SubRR draws each record at most once: {self.count:,} of {self.records:,} cannot be drawn",
                mend="draw fewer records, or use another sampler",
            )
        if not self.by_record and self.symbols >= COUNTABLE:
            raise JobError(
                f"{self.sampler} counts all combinations, and {rounded(self.symbols)} are too many to number",
                mend="use roo, or fewer columns",
            )
        if self.sampler in laplace.PROJECTIONS and self.symbols > laplace.CELLS:
            raise JobError(
                f"{self.sampler} puts noise on each of {rounded(self.symbols)} combinations; memory allows "
                f"{laplace.CELLS:,}",
                mend="use roo or geo, or fewer columns",
            )

    @property
    def symbols(self) -> int:
        """Size of the alphabet of all columns together."""
        return math.prod(axis.size - 1 for axis in self.axes)

    @property
    def records(self) -> int:
        """For SubRR: its n, or what tables are filled up to."""
        return self.rows if self.rows is not None else max(self.filled, self.count)

    @property
    def by_record(self) -> bool:
        """Whether rows are read at random places; DS-ROO is ROO where there are more symbols than rows."""
        return self.sampler == "subrr" or is_roo(self.sampler, symbols=self.symbols, rows=self.rows)

    def law(self) -> CountLaw:
        """The law of one draw, of samplers that have one on counts; ValueError for the others."""
        ratio = ratio_below(self.epsilon)
        match self.sampler:
            case "roo":
                return Roo(ratio=ratio)
            case "ds-roo":
                return DsRoo(ratio=ratio, rows=self.rows)
            case "floor":
                return Floor(ratio=ratio, rows=self.rows)
            case "geo":
                return Geo(ratio=ratio, rows=self.rows)
            case "local-minimax":
                return LocalMinimax(ratio=ratio)
        raise ValueError(f"{self.sampler} does not draw from a law on counts")

    # price ----------------------------------------------------------------------------------------

    def cost(self, unit: PrivacyUnit) -> Cost:
        return Cost(
            add_remove=self._price(unit, "add-remove"),
            replace=self._price(unit, "replace"),
            draws=self.count,
        )

    def _price(self, unit: PrivacyUnit, relation: Relation) -> Price:
        if self.rows is not None and (relation == "add-remove" or unit.column is not None):
            return EVERYTHING
        group = steps(self.sampler, rows=self.rows, unit=unit, relation=relation)
        each = self.epsilon * group
        mass = mass_of(self.sampler, symbols=self.symbols, rows=self.rows, epsilon=self.epsilon, group=group)
        count = 1 if self.sampler in AT_ONCE else self.count
        return draws(count, each=each, mass=mass, delta=self.delta if count > 1 else 0.0)

    def describe(self) -> dict[str, Any]:
        return {
            "columns": [axis.column for axis in self.axes],
            "alphabets": encoder_digest([self.axes]),
            "symbols": str(self.symbols),
            "sampler": self.sampler,
            "epsilon": self.epsilon,
            "count": self.count,
            "rows": self.rows,
            "filled": self.filled,
            "delta": self.delta,
        }

    # reading --------------------------------------------------------------------------------------

    def exact(self, rows: Rows) -> Read:
        held = int(rows.memo("rows", lambda: np.asarray(rows.marginals([()])[0]).reshape(1))[0])
        if self.rows is not None and held != self.rows:
            raise InputError("the table changed while it was being read")

        def all_cells() -> tuple[Counts, Counts]:
            return rows.cells(self.axes)

        if self.by_record:
            lines = rows.records(self.axes, self._places(held))
            return Read(rows=held, lines=lines, counts=None, all_cells=all_cells)
        # Counted once for all draws from the same columns.
        counted = rows.memo(f"cells {encoder_digest([self.axes])}", lambda: np.column_stack(all_cells()))
        return Read(rows=held, lines=counted[:, :-1], counts=counted[:, -1], all_cells=all_cells)

    def _places(self, held: int) -> list[int]:
        """Random places: with repetition, or different ones for SubRR. Beyond `held` there is nothing to
        read.
        """
        if self.sampler == "subrr":
            return different(self.count, max(held, self.records))
        return [random_below(max(held, 1)) for _ in range(self.count)]

    # drawing --------------------------------------------------------------------------------------

    def noisy(self, exact: Read) -> Answer:
        if exact.counts is None:
            return Answer(arrays=(self._obscured(exact),))
        histogram = self._histogram(exact)
        if self.sampler in laplace.PROJECTIONS:
            noisy = laplace.noisy_counts(histogram, self._scale)
            found = laplace.weights(noisy, rows=self.rows, projection=self.sampler)
            drawn = laplace.draw_several(found, self.count)
        else:
            tally = histogram.tally
            weights = self.law().weights(tally)
            drawn = [choose(histogram, tally, weights) for _ in range(self.count)]
        sizes = tuple(axis.size - 1 for axis in self.axes)
        return Answer(arrays=(np.stack(np.unravel_index(np.array(drawn, np.int64), sizes), axis=1) + 1,))

    def _obscured(self, exact: Read) -> Counts:
        """The rows that were read, each replaced by a uniform symbol with probability q; a uniform symbol is
        drawn and compared for every one of them.
        """
        q = self._q(exact.rows)
        hidden = np.array([coin(q) for _ in range(self.count)])
        other = np.stack([uniform(axis.size - 1, self.count) + 1 for axis in self.axes], axis=1)
        return np.where(hidden[:, None] | (exact.lines == 0), other, exact.lines)

    def _q(self, held: int) -> Fraction:
        ratio = ratio_below(self.epsilon)
        if self.sampler == "subrr":
            return SubRR(ratio=ratio, symbols=self.symbols, records=self.records, m=self.count).q
        return Roo(ratio=ratio).q(held, self.symbols)

    @property
    def _scale(self) -> Fraction:
        return laplace.scale_of(self.epsilon, replace=self.rows is not None)

    def _histogram(self, exact: Read) -> Histogram:
        """Counts of symbols; what lies outside an alphabet gets a uniform symbol of it, row by row."""
        assert exact.counts is not None
        outside = (exact.lines == 0).any(axis=1)
        lines = np.repeat(exact.lines[outside], exact.counts[outside], axis=0)
        for axis, encoder in enumerate(self.axes):
            other = uniform(encoder.size - 1, lines.shape[0]) + 1
            lines[:, axis] = np.where(lines[:, axis] == 0, other, lines[:, axis])
        every = np.concatenate([exact.lines[~outside], lines])
        counts = np.concatenate([exact.counts[~outside], np.ones(lines.shape[0], np.int64)])
        sizes = tuple(axis.size - 1 for axis in self.axes)
        cells, group = np.unique(np.ravel_multi_index(tuple((every - 1).T), sizes), return_inverse=True)
        found = np.zeros(cells.size, np.int64)
        np.add.at(found, group, counts)
        return Histogram(cells=cells.astype(np.int64), counts=found, symbols=self.symbols)

    def fits(self, answer: Answer) -> bool:
        if not has_shapes(answer, (self.count, len(self.axes))):
            return False
        sizes = np.array([axis.size for axis in self.axes])
        return bool(((answer.arrays[0] >= 1) & (answer.arrays[0] < sizes)).all())


def rounded(size: int) -> str:
    """Three digits of a whole number, however large."""
    return f"{size:,}" if size < 10**6 else f"{Decimal(size):.3g}"


def is_roo(sampler: str, *, symbols: int, rows: int | None) -> bool:
    """Whether a sampler's law is ROO's: DS-ROO's is where there are more symbols than records."""
    return sampler == "roo" or (sampler == "ds-roo" and symbols > (MOST_ROWS if rows is None else rows))


def steps(sampler: str, *, rows: int | None, unit: PrivacyUnit, relation: Relation) -> int:
    """How many steps of one epsilon lie between neighbours, by the table at the top."""
    if sampler == "local-minimax" or rows is not None:
        return 1
    return unit.at_most * (1 if relation == "add-remove" or sampler in BY_RECORD else 2)


def coin(chance: Fraction) -> bool:
    """True with exactly this probability."""
    return random_below(chance.denominator) < chance.numerator


def mass_of(sampler: str, *, symbols: int, rows: int | None, epsilon: float, group: int) -> float:
    """Probability of the dominating pair of a draw, for neighbours `group` steps of `epsilon` apart."""
    same = "roo" if is_roo(sampler, symbols=symbols, rows=rows) else sampler
    moved = group * step_distance(same, symbols=symbols, rows=rows, epsilon=epsilon)
    return pair_mass(epsilon * group, moved)


def uniform(bound: int, count: int) -> Counts:
    """`count` independent uniform integers in 0 … bound-1, bound at most 2**62, by rejection of 64-bit
    words.
    """
    found = np.zeros(count, dtype=np.uint64)
    left = np.arange(count)
    most = np.uint64((1 << 64) - ((1 << 64) % bound) - 1)
    while left.size:
        words = random_words(left.size)
        found[left] = words % np.uint64(bound)
        left = left[words > most]
    return found.astype(np.int64)


def different(count: int, bound: int) -> list[int]:
    """`count` different integers in 0 … bound-1 in random order: every such list has the same chance (Floyd
    1987, then a shuffle).
    """
    held: set[int] = set()
    found: list[int] = []
    for top in range(bound - count, bound):
        drawn = random_below(top + 1)
        taken = top if drawn in held else drawn
        held.add(taken)
        found.append(taken)
    for last in range(count - 1, 0, -1):
        other = random_below(last + 1)
        found[last], found[other] = found[other], found[last]
    return found

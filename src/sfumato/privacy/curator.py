"""The keeper of private rows: it writes the charge, then answers with noise.

A synthesizer is handed a Curator and nothing else. Each call below is one mechanism; `release` is the
only line where rows are read, and it reads them after the filter has admitted the cost and the ledger
holds it. A charge stays spent if what follows fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.domain.encoder import Codes, Encoder
from sfumato.errors import Overdraft
from sfumato.privacy import secure_random
from sfumato.privacy.division import part_epsilons
from sfumato.privacy.exact_laplace import LARGEST as LARGEST_LAPLACE
from sfumato.privacy.filter import PrivacyFilter
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.base import Answer, Clique, Counts, Mechanism
from sfumato.privacy.mechanisms.draws import Draws
from sfumato.privacy.mechanisms.exact import Exact
from sfumato.privacy.mechanisms.interactions import Interactions
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.laplace_partitions import LaplacePartitions
from sfumato.privacy.mechanisms.measurement import Measurement, inverse_squares
from sfumato.privacy.mechanisms.noisy_errors import NoisyErrors
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.plain_training import Learner, PlainTraining
from sfumato.privacy.mechanisms.public_rows import PublicRows
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.mechanisms.reveal import Reveal
from sfumato.privacy.mechanisms.selection import FIXED_POINT, ErrorScores, Selection
from sfumato.privacy.mechanisms.top_pairs import TopPairs
from sfumato.privacy.mechanisms.total import Total
from sfumato.privacy.mechanisms.vectors import Vectors, VectorSum
from sfumato.privacy.quantile import rank_distance
from sfumato.privacy.rounded_gaussian import quantise_sigma
from sfumato.privacy.unit import PrivacyUnit
from sfumato.privacy.wide_gaussian import LARGEST

if TYPE_CHECKING:
    from sfumato.privacy.dpsgd import Program, Released

LIKE_GAUSSIAN = 2.0
"""For one rule about what stands out of the noise: Laplace noise of scale b is reported as sigma = 2·b. It
exceeds 4.5 sigma with probability 6e-5."""
SEEDED = "the noise came from a fixed seed: not private against anyone who knows the seed"


class Countable(Protocol):
    """What a table engine offers: exact counts, for the curator alone."""

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]: ...

    def pair_tables(self, encoders: Sequence[Encoder]) -> Counts: ...

    def pair_sums(
        self, encoders: Sequence[Encoder], groups: Sequence[Counts], values: Sequence[Counts]
    ) -> Counts: ...

    def value_counts(self, columns: Sequence[str]) -> list[dict[str, int]]: ...

    def records(self, encoders: Sequence[Encoder], places: Sequence[int] | None = None) -> Codes: ...

    def cells(self, encoders: Sequence[Encoder]) -> tuple[Counts, Counts]: ...


Divide = Callable[[Mapping[str, float]], Mapping[str, Countable]]
"""Draws disjoint parts of the rows with the given probabilities."""


class _Remembering:
    """Rows with a memory for private intermediate results."""

    def __init__(self, rows: Countable) -> None:
        self._memo: dict[str, Counts] = {}
        self.marginals = rows.marginals
        self.pair_tables = rows.pair_tables
        self.pair_sums = rows.pair_sums
        self.value_counts = rows.value_counts
        self._rows = rows

    def records(self, encoders: Sequence[Encoder], places: Sequence[int] | None = None) -> Codes:
        return self._rows.records(encoders, places)

    def cells(self, encoders: Sequence[Encoder]) -> tuple[Counts, Counts]:
        return self._rows.cells(encoders)

    def memo(self, key: str, compute: Callable[[], Counts]) -> Counts:
        if key not in self._memo:
            self._memo[key] = compute()
        return self._memo[key]


@frozen(kw_only=True)
class Noisy:
    """Released counts of one measurement."""

    tables: tuple[Counts, ...]
    sigma: float
    """Noise scale of every cell, in records."""
    sigmas: tuple[float, ...] = ()
    """Noise scale of each table's cells, where they differ."""


@frozen(kw_only=True)
class NoisyLaplace:
    """Released counts of one measurement with Laplace noise."""

    tables: tuple[Counts, ...]
    scales: tuple[float, ...]
    """Noise scale b of each table's cells, in records: their standard deviation is about b·√2."""


@frozen(kw_only=True)
class Category:
    """Released texts of one open category and their noisy counts."""

    texts: tuple[str, ...]
    counts: Counts


class Curator:
    """Answers mechanisms over `rows`, within the filter, on the ledger.

    `progress`, when given, is told what is about to be asked.
    """

    def __init__(
        self,
        rows: Countable,
        *,
        unit: PrivacyUnit,
        budget: PrivacyFilter,
        ledger: Ledger,
        progress: Callable[[str], None] | None = None,
        divide: Divide | None = None,
    ) -> None:
        self.unit = unit
        self.filter = budget
        self.ledger = ledger
        ledger.limit = budget.bound
        self.transcript: list[Answer] = []
        self.remarks: list[str] = []
        self.warnings: list[str] = []
        self.void = ""
        """Why nothing is guaranteed, once an answer was not noised as it should be."""
        self._progress = progress or (lambda _: None)
        self.__rows = _Remembering(rows)
        self.__divide = divide
        self.__parts: dict[str, _Remembering] = {}
        self._part = ""
        self._portions: dict[str, float] = {}

    def divide(self, shares: Mapping[str, float], *, weights: Mapping[str, float] | None = None) -> None:
        """Let every row fall into one of some parts, with probabilities `shares`, or into none.

        Afterwards mechanisms run inside `on(part)` and read its rows alone. What they cost adds up within a
        part, and over the parts as in `sfumato.privacy.division`: None for `weights` gives every part the
        whole budget that is left; else part j may see so much that its share of e^epsilon is `weights[j]`,
        summing to at most 1. Under replacement, and where charges were chosen after looking at answers,
        weights are not used. Where a person may have several rows the parts are not disjoint for a person,
        and divide what is left in proportion to `weights`, or equally.
        """
        if self._portions:
            raise ValueError("the rows are divided already")
        if weights is not None and (
            set(weights) != set(shares) or min(weights.values()) <= 0 or sum(weights.values()) > 1 + 1e-9
        ):
            raise ValueError("one weight above 0 for each part, together at most 1")
        if self.__divide is None:
            raise ValueError("these rows cannot be divided")
        held = self.filter
        if self.unit.at_most > 1:
            even = dict.fromkeys(shares, 1 / len(shares))
            self._portions = {name: w * held.left for name, w in (weights or even).items()}
        else:
            fixed = held.relation == "replace" or self.ledger.adaptive
            epsilons = part_epsilons(
                held.budget.effective_epsilon,
                common=held.budget.epsilon_of(held.spent) if held.spent else 0.0,
                shares=shares,
                weights=None if fixed else weights,
            )
            same = weights is None or fixed
            limits = {n: held.limit if same else held.budget.spend_for(e) for n, e in epsilons.items()}
            held.divide(shares, limits)
            self._portions = dict.fromkeys(shares, math.inf)
            self.ledger.limit = held.bound
        self.__parts = {name: _Remembering(rows) for name, rows in self.__divide(shares).items()}

    @contextmanager
    def on(self, part: str) -> Generator[None, None, None]:
        """Run mechanisms on one part of the divided rows."""
        if part not in self._portions:
            raise ValueError(f"the rows have no part {part!r}")
        self._part = part
        try:
            yield
        finally:
            self._part = ""

    def release(self, mechanism: Mechanism, *, purpose: str) -> Answer:
        """Charge `mechanism`, then run it. Overdraft leaves ledger and data untouched."""
        cost = mechanism.cost(self.unit)
        if self._part and self.filter.parts:
            cost = attrs.evolve(cost, part=self._part)
        self.filter.admit(cost)
        if self._part:
            self._portions[self._part] -= self.filter.price(cost.under(self.filter.relation))
        self.ledger.append(
            mechanism=mechanism.name, purpose=purpose, parameters=mechanism.describe(), cost=cost
        )
        self._progress(purpose)
        answer = self._answer(mechanism)
        if not secure_random.is_secure():
            self.void = SEEDED
        self.transcript.append(answer)
        return answer

    def _answer(self, mechanism: Mechanism) -> Answer:
        rows: Any = self.__parts[self._part] if self._part else self.__rows
        return mechanism.noisy(mechanism.exact(rows))

    def __repr__(self) -> str:
        return f"Curator({len(self.ledger)} charges, {self.filter.left:.3g} left)"

    def __reduce__(self) -> str:
        raise TypeError("a curator holds private rows and cannot be copied or pickled")

    # Mechanisms, by the share of the budget that they may spend.

    @property
    def left(self) -> float:
        """Spend that is still free, in units of mu² (1/sigma² for a query at distance 1); inside `on`, what
        the part may still spend.
        """
        if not self._part:
            return self.filter.left
        if self.filter.parts:
            return self.filter.left_in(self._part)
        return max(0.0, min(self._portions[self._part], self.filter.left))

    def sigma_for(self, spend: float, *, tables: int) -> Fraction:
        """Noise scale at which `tables` tables together cost at most `spend`."""
        _check_spend(spend)
        distance2 = self.unit.table_l2_squared(self.filter.relation)
        return _scale(math.sqrt(tables * distance2 / spend))

    def measure(self, cliques: Sequence[Clique], *, spend: float, purpose: str) -> Noisy:
        """Noisy counts of `cliques`, all at the same noise scale, for at most `spend`."""
        if not cliques:
            return Noisy(tables=(), sigma=0.0)
        if self.filter.is_pure:
            noisy = self.laplace(cliques, spends=[spend / len(cliques)] * len(cliques), purpose=purpose)
            return Noisy(tables=noisy.tables, sigma=LIKE_GAUSSIAN * noisy.scales[0])
        sigma = self.sigma_for(spend, tables=len(cliques))
        answer = self.release(Measurement(cliques=tuple(cliques), sigma=sigma), purpose=purpose)
        return Noisy(tables=answer.arrays, sigma=float(sigma))

    def measure_each(
        self, cliques: Sequence[Clique], *, scales: Sequence[Fraction], spend: float, purpose: str
    ) -> Noisy:
        """Noisy counts of `cliques` in one pass, noise in proportion to `scales`, for at most `spend`."""
        if not cliques:
            return Noisy(tables=(), sigma=0.0)
        _check_spend(spend)
        distance2 = self.unit.table_l2_squared(self.filter.relation)
        sigma = _scale(math.sqrt(distance2 * inverse_squares(scales) / spend), widest=max(scales))
        measurement = Measurement(cliques=tuple(cliques), sigma=sigma, scales=tuple(scales))
        answer = self.release(measurement, purpose=purpose)
        sigmas = tuple(float(each) for each in measurement.sigmas)
        return Noisy(tables=answer.arrays, sigma=float(sigma), sigmas=sigmas)

    def interactions(
        self, cliques: Sequence[Clique], *, scales: Sequence[Fraction], spend: float, purpose: str
    ) -> Noisy:
        """Noisy interactions of `cliques` in one pass, noise in proportion to `scales`, for at most `spend`.

        Values and noise are those of centred tables times their number of cells (`mechanisms.interactions`).
        """
        if not cliques:
            return Noisy(tables=(), sigma=0.0)
        _check_spend(spend)
        asked = Interactions(cliques=tuple(cliques), sigma=Fraction(1), scales=tuple(scales))
        sigma = _scale(
            math.sqrt(asked.squared_distance(self.unit, self.filter.relation) / spend), widest=max(scales)
        )
        asked = attrs.evolve(asked, sigma=sigma)
        answer = self.release(asked, purpose=purpose)
        return Noisy(tables=answer.arrays, sigma=float(sigma), sigmas=tuple(map(float, asked.sigmas)))

    def errors(
        self, scores: ErrorScores, *, spend: float, purpose: str
    ) -> tuple[npt.NDArray[np.float64], float]:
        """Noisy L1 errors of all candidates of `scores`, in records, and their noise scale."""
        _check_spend(spend)
        distance = self.unit.score(self.filter.relation)
        sigma = _scale(distance * math.sqrt(len(scores.cliques) / spend), widest=Fraction(FIXED_POINT))
        answer = self.release(NoisyErrors(scores=scores, sigma=sigma), purpose=purpose)
        return answer.arrays[0] / FIXED_POINT, float(sigma)

    def laplace(self, cliques: Sequence[Clique], *, spends: Sequence[float], purpose: str) -> NoisyLaplace:
        """Counts of `cliques` in one pass with exact Laplace noise; clique i has a pure price of `spends[i]`.

        The filter must be that of a pure method.
        """
        distance = self.unit.table_l1(self.filter.relation)
        scales = tuple(self._laplace_scale(distance, spend) for spend in spends)
        answer = self.release(LaplaceCounts(cliques=tuple(cliques), scales=scales), purpose=purpose)
        return NoisyLaplace(tables=answer.arrays, scales=tuple(float(scale) for scale in scales))

    def pair_sums(
        self,
        encoders: Sequence[Encoder],
        *,
        groups: Sequence[Counts],
        values: Sequence[npt.NDArray[np.integer[Any]]],
        limit: int,
        spend: float,
        purpose: str,
    ) -> tuple[Counts, float]:
        """Noisy Σ values[i, j] over the rows for all i < j, by groups of codes, and the noise scale b.

        `limit`: no value is larger. Costs a pure epsilon of at most `spend`.
        """
        distance = self.unit.table_l1(self.filter.relation) * limit
        mechanism = PairSums(
            encoders=tuple(encoders),
            groups=tuple(groups),
            values=tuple(values),
            limit=limit,
            scale=self._laplace_scale(distance, spend),
        )
        answer = self.release(mechanism, purpose=purpose)
        return answer.arrays[0], float(mechanism.scale)

    def _laplace_scale(self, distance: int, spend: float) -> Fraction:
        """The scale at which a query at this distance costs at most `spend`, in 1024ths, rounded up."""
        _check_spend(spend)
        scale = Fraction(math.ceil(Fraction(distance * 1024) / Fraction(spend)), 1024)
        if scale.numerator > LARGEST_LAPLACE:
            raise Overdraft(
                "a mechanism is given so little of the privacy budget that its noise is out of range",
                mend="ask for a larger epsilon, or keep fewer rows of a person",
            )
        return scale

    def unprotected(self, question: Mechanism, *, purpose: str) -> Answer:
        """An answer without noise: an infinite charge, for methods without a guarantee."""
        return self.release(Exact(question=question), purpose=purpose)

    def train_unprotected(self, learner: Learner, *, encoders: Sequence[Encoder], purpose: str) -> Counts:
        """What `learner` learns from the rows as they are: an infinite charge, for methods without a
        guarantee.
        """
        mechanism = PlainTraining(
            learner=learner,
            encoders=tuple(encoders),
            report=lambda text: self._progress(f"{purpose}: {text}"),
        )
        return self.release(mechanism, purpose=purpose).arrays[0]

    def total(self, *, spend: float) -> tuple[int, float]:
        """Noisy row count and its noise scale."""
        _check_spend(spend)
        sigma = _scale(self.unit.total / math.sqrt(spend))
        answer = self.release(Total(sigma=sigma), purpose="row count")
        return int(answer.arrays[0][0]), float(sigma)

    def categories(
        self,
        columns: Sequence[str],
        *,
        public_values: Sequence[Sequence[str]],
        spend: float,
        delta: float,
        purpose: str,
    ) -> list[Category]:
        """Texts of open categories: the public ones, and those whose noisy count passes the threshold."""
        if not columns:
            return []
        _check_spend(delta)
        pure = self.filter.is_pure
        distance = self.unit.table_l1(self.filter.relation) * len(columns)
        selection = (LaplacePartitions if pure else PartitionSelection).calibrated(
            columns=columns,
            public_values=public_values,
            sigma=self._laplace_scale(distance, spend)
            if pure
            else self.sigma_for(spend, tables=len(columns)),
            delta=delta,
            unit=self.unit,
        )
        answer = self.release(selection, purpose=purpose)
        return [
            Category(texts=texts, counts=counts)
            for texts, counts in zip(answer.labels, answer.arrays, strict=True)
        ]

    def select(self, scores: ErrorScores, *, among: npt.ArrayLike, spend: float, purpose: str) -> int:
        """Index of a candidate clique that its estimate describes badly, by the exponential mechanism."""
        _check_spend(spend)
        epsilon = self.filter.selection_epsilon(spend)
        # Rounded down, so that the price is at most `spend`.
        rate = Fraction(math.floor(epsilon / (2 * self.unit.score(self.filter.relation)) * 2**40), 2**40)
        selection = Selection(scores=scores, among=tuple(np.asarray(among).tolist()), rate=rate)
        return int(self.release(selection, purpose=purpose).arrays[0][0])

    def top_pairs(
        self,
        encoders: Sequence[Encoder],
        *,
        shares: Sequence[npt.ArrayLike],
        total: float,
        count: int,
        per_cell: int,
        spend: float,
        purpose: str,
    ) -> list[tuple[int, int]]:
        """`count` pairs of `encoders` that depend on each other most, by the exponential mechanism.

        shares: public one-way marginals; total: public number of rows; per_cell: records that a pair's score
        is lowered by for each cell of its table.
        """
        _check_spend(spend)
        epsilon = self.filter.selection_epsilon(spend / count)
        rate = Fraction(math.floor(epsilon / (2 * self.unit.score(self.filter.relation)) * 2**40), 2**40)
        mechanism = TopPairs(
            encoders=tuple(encoders),
            shares=tuple(shares),
            total=total,
            per_cell=per_cell,
            count=count,
            rate=rate,
        )
        found = self.release(mechanism, purpose=purpose).arrays[0]
        return [mechanism.pair(int(code)) for code in found]

    def quantile(
        self, encoder: Encoder, *, first: int, quantile: Fraction, spend: float, purpose: str
    ) -> int:
        """Private quantile: i when it lies nearest to the cut between cell i and cell i+1 of `encoder`.

        Codes below `first` (missing, special codes) are not ranked.
        """
        _check_spend(spend)
        epsilon = self.filter.selection_epsilon(spend)
        distance = rank_distance(quantile, relation=self.filter.relation, at_most=self.unit.at_most)
        rate = Fraction(math.floor(epsilon / (2 * distance) * 2**40), 2**40)
        mechanism = Quantile(encoder=encoder, first=first, quantile=quantile, rate=rate)
        return int(self.release(mechanism, purpose=purpose).arrays[0][0])

    def train(
        self,
        program: Program,
        *,
        encoders: Sequence[Encoder],
        total: float,
        batch: float,
        steps: int,
        clip: float,
        spend: float,
        share: float,
        purpose: str,
        rounds: int = 1,
        group: int = 1,
        exposed: Sequence[str] = (),
        unprotected: bool = False,
        noise: float | None = None,
    ) -> Released:
        """Train the network of `program` on the rows by DP-SGD, for at most `spend`.

        total: public number of rows. batch: rows (groups, where `group` > 1) that are expected in a batch.
        share: part of the delta for trainings that this one takes. rounds: how often parameters are
        released; steps are a multiple of it. exposed: parts of the network that are trained without noise,
        for an infinite price. unprotected: charge infinity, since another step of the method has no
        guarantee. noise: noise over clip, in place of the least that `spend` allows.
        """
        from sfumato.privacy.trainings import plan_training

        mechanism = plan_training(
            self, program, encoders=encoders, total=total, batch=batch, steps=steps, clip=clip, spend=spend,
            share=share, rounds=rounds, group=group, exposed=exposed, unprotected=unprotected,
            noise=noise, report=lambda text: self._progress(f"{purpose}: {text}"),
        )  # fmt: skip
        return mechanism.released(self.release(mechanism, purpose=purpose))

    def vector_sum(
        self,
        vectors: Vectors,
        *,
        encoders: Sequence[Encoder],
        size: int,
        bound: float,
        spend: float,
        facts: dict[str, Any],
        purpose: str,
    ) -> npt.NDArray[np.float64]:
        """Noisy sum over the rows of vectors of L2 norm at most `bound`, for at most `spend`."""
        _check_spend(spend)
        distance = self.unit.at_most * (1 if self.filter.relation == "add-remove" else 2)
        mechanism = VectorSum(
            encoders=tuple(encoders), vectors=vectors, size=size, bound=bound, facts=facts,
            sigma=_scale(distance / math.sqrt(spend), widest=Fraction(1 << 20)),
        )  # fmt: skip
        return mechanism.released(self.release(mechanism, purpose=purpose))

    def public_rows(self) -> int:
        """The exact number of rows, where exchanging units cannot change it; an infinite charge elsewhere."""
        return int(self.release(PublicRows(), purpose="public row count").arrays[0][0])

    def draw(self, draws: Draws, *, purpose: str) -> Counts:
        """Records over the alphabets of `draws`, one line each."""
        return self.release(draws, purpose=purpose).arrays[0]

    def remark(self, text: str) -> None:
        """Something the user should know, made of released numbers and public facts alone."""
        self.remarks.append(text)

    def warn(self, text: str) -> None:
        """The same, of what looks right in the synthetic rows and is not."""
        self.warnings.append(text)

    def reveal(self, reason: str) -> None:
        """Charge infinity: what follows has no guarantee, for `reason`."""
        self.release(Reveal(reason=reason), purpose="no guarantee")


def _check_spend(spend: float) -> None:
    if not spend > 0:
        raise Overdraft(
            "nothing is left of the privacy budget",
            mend="ask for a larger epsilon: earlier purchases, such as a drafted schema, are part of it",
        )


def _scale(sigma: float, *, widest: Fraction = Fraction(1)) -> Fraction:
    """A noise scale that can be drawn, also `widest` times as wide; Overdraft where there is none."""
    found = quantise_sigma(sigma)
    if found * widest > LARGEST:
        raise Overdraft(
            "a mechanism is given so little of the privacy budget that its noise is out of range",
            mend="ask for a larger epsilon, or keep fewer rows of a person",
        )
    return found


class ReplayCurator(Curator):
    """Answers from a transcript, without any rows; every question must be the recorded one."""

    def __init__(
        self, transcript: Sequence[Answer], recorded: Ledger, *, unit: PrivacyUnit, budget: PrivacyFilter
    ) -> None:
        super().__init__(
            _NoRows(),
            unit=unit,
            budget=budget,
            ledger=Ledger(unit=recorded.unit),
            divide=lambda shares: {name: _NoRows() for name in shares},
        )
        self._recorded = recorded
        self._tape = list(transcript)

    def _answer(self, mechanism: Mechanism) -> Answer:
        number = len(self.ledger) - 1
        if (
            number >= len(self._tape)
            or self.ledger.entries[number].hash != self._recorded.entries[number].hash
            or not mechanism.fits(self._tape[number])
        ):
            raise ReplayMismatch(number)
        return self._tape[number]


@frozen
class ReplayMismatch(Exception):
    """A replayed run asked something else than the recorded one."""

    number: int = field()


class _NoRows:
    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        raise AssertionError("a replay has no rows")

    def pair_tables(self, encoders: Sequence[Encoder]) -> Counts:
        raise AssertionError("a replay has no rows")

    def pair_sums(
        self, encoders: Sequence[Encoder], groups: Sequence[Counts], values: Sequence[Counts]
    ) -> Counts:
        raise AssertionError("a replay has no rows")

    def value_counts(self, columns: Sequence[str]) -> list[dict[str, int]]:
        raise AssertionError("a replay has no rows")

    def records(self, encoders: Sequence[Encoder], places: Sequence[int] | None = None) -> Codes:
        raise AssertionError("a replay has no rows")

    def cells(self, encoders: Sequence[Encoder]) -> tuple[Counts, Counts]:
        raise AssertionError("a replay has no rows")

"""Record a fit, replay it on a neighbouring table with the answers frozen, compare what was read.

The neighbour is fitted with the recorded answers in place of its own, so that all that can still differ
is what was read past the curator. Questions, prices and the finished model must be identical, and the
exact answers no further apart than what was charged for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import evolve, frozen

from sfumato.models.model import Model
from sfumato.models.training import Job, prepare, train
from sfumato.privacy.cost import Price
from sfumato.privacy.ledger import seen, total
from sfumato.privacy.mechanisms.base import Mechanism
from sfumato.privacy.mechanisms.draws import AT_ONCE, Draws
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.laplace_partitions import LaplacePartitions
from sfumato.privacy.mechanisms.noisy_errors import NoisyErrors
from sfumato.privacy.mechanisms.pair_sums import PairSums
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.plausible_release import PassingMass, PlausibleRelease
from sfumato.privacy.mechanisms.public_rows import PublicRows
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.mechanisms.seed_histogram import SeedHistogram
from sfumato.privacy.mechanisms.selection import FIXED_POINT, Selection
from sfumato.privacy.mechanisms.top_pairs import TopPairs
from sfumato.privacy.mechanisms.training import DpSgd
from sfumato.privacy.per_example import NORM_AT_MOST
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.secure_random import random_bytes
from sfumato.privacy.statement import epsilon_of
from sfumato.privacy.unit import PrivacyUnit, Relation
from sfumato.sampling.tally import Tally
from sfumato.testing.coupling import parts_by_content
from sfumato.testing.curators import (
    FakeCurator,
    Heard,
    Player,
    Recorder,
    exact_arrays,
    noise_scales,
)

SLACK = 1 + 1e-9


@frozen(kw_only=True)
class Recording:
    """A finished fit and everything that it read."""

    job: Job
    model: Model
    heard: tuple[Heard, ...]
    chance: bytes
    """What decided which part of the rows each row falls into."""


@frozen(kw_only=True)
class Step:
    """One question with the exact answers of both tables, and what was charged for their distance."""

    number: int
    mechanism: Mechanism
    price: Price
    exact: Any
    other: Any


@frozen(kw_only=True)
class Replay:
    """A recording, and what its questions were answered on the neighbour."""

    recording: Recording
    relation: Relation
    steps: tuple[Step, ...]


def record(table: Any, *, epsilon: float = 1.0, method: str = "mst", **options: Any) -> Recording:
    """Fit `table` (options as of `sfumato.fit`) and keep all that was read; checks the charges."""
    job = _prepared(table, epsilon=epsilon, method=method, **options)
    curator = Recorder.over(job.table.curator(unit=job.unit, budget=job.budget))
    chance = random_bytes(16)
    with parts_by_content(chance):
        model = train(job, curator=curator)
    recording = Recording(job=job, model=model, heard=tuple(curator.heard), chance=chance)
    check_charges(recording, curator)
    return recording


def replay(recording: Recording, neighbour: Any, *, relation: Relation, **options: Any) -> Replay:
    """Fit `neighbour` on the recorded answers; AssertionError if anything but the exact answers differs.

    `options` are those of the recording. A run that was made for the other relation, and charges what is
    infinite under this one, promises nothing here: then nothing is replayed.
    """
    if (
        relation != recording.job.unit.neighbours
        and total(recording.model.ledger, relation).shape == "revealed"
    ):
        return Replay(recording=recording, relation=relation, steps=())
    try:
        job = _prepared(neighbour, **options)
        first = recording.job
        assert (job.stored, job.schema, job.unit, job.budget, job.recipe, job.decimal) == (
            first.stored, first.schema, first.unit, first.budget, first.recipe, first.decimal,
        ), "the public facts depend on the rows"  # fmt: skip
        player = Player.of(job.table.curator(unit=job.unit, budget=job.budget), recording.heard)
        with parts_by_content(recording.chance):
            model = train(job, curator=player)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError("the neighbour's run fails where the recorded one does not") from error
    assert len(player.heard) == len(recording.heard), "the neighbour is asked less"
    _check_same(recording.model, model)
    steps = tuple(
        Step(
            number=number,
            mechanism=one.mechanism,
            price=one.entry.cost.under(relation),
            exact=one.exact,
            other=other.exact,
        )
        for number, (one, other) in enumerate(zip(recording.heard, player.heard, strict=True))
        if one.entry is not None
    )
    return Replay(recording=recording, relation=relation, steps=steps)


def record_replay(
    table: Any,
    neighbour: Any,
    *,
    relation: Relation = "add-remove",
    epsilon: float = 1.0,
    method: str = "mst",
    **options: Any,
) -> Replay:
    """Record a fit of `table`, replay it on `neighbour`, and check everything that can be checked.

    table, neighbour: two tables that differ in one unit: one has its rows and the other has not
    (`add-remove`), or has others in their place (`replace`). Prices under both relations are in every
    ledger, so `relation` need not be the one that the budget is calibrated for. Further options are those
    of `sfumato.fit`. AssertionError says at which question the promise is broken.
    """
    chosen: dict[str, Any] = {"epsilon": epsilon, "method": method, **options}
    played = replay(record(table, **chosen), neighbour, relation=relation, **chosen)
    check_distances(played)
    return played


def fit_exactly(table: Any, *, epsilon: float = 1.0, method: str = "mst", **options: Any) -> Model:
    """The model that a method makes of exact answers, budget and schedule as ever. Void, for tests."""
    job = _prepared(table, epsilon=epsilon, method=method, **options)
    return train(job, curator=FakeCurator.over(job.table.curator(unit=job.unit, budget=job.budget)))


def check_charges(recording: Recording, curator: Recorder) -> None:
    """Every read has its own line in the ledger, with the price that its mechanism names; the filter has
    counted all of them, and the statement is within what was asked.
    """
    ledger, job = recording.model.ledger, recording.job
    assert len(recording.heard) == len(ledger), "reads and charges differ in number"
    for number, (read, entry) in enumerate(zip(recording.heard, ledger, strict=True)):
        assert read.entry is entry, f"read {number} came before its charge"
        assert entry.mechanism == read.mechanism.name, f"charge {number} is for another mechanism"
        assert entry.parameters == read.mechanism.describe(), f"charge {number} states other parameters"
        assert evolve(entry.cost, part="") == read.mechanism.cost(job.unit), (
            f"charge {number} has another price"
        )
    held = curator.filter
    price = total(ledger, held.relation)
    if price.shape != "revealed":
        for name in ["", *held.parts]:
            part = held.parts.get(name)
            counted = held.spent if part is None else held.spent + part.spent
            spent = sum(held.price(entry.cost.under(held.relation)) for entry in seen(ledger, name))
            assert _close(spent, counted), "the filter has not counted every charge"
            limit = held.limit if part is None else part.limit
            assert spent <= limit * SLACK, "more was spent than the budget holds"
        assert _close(price.delta, held.delta_spent), "the filter has not counted every delta"
        epsilon = epsilon_of(ledger, delta=job.budget.delta, relation=held.relation, pld=False)
        assert epsilon <= job.budget.epsilon * SLACK, "epsilon exceeds the budget"


def check_distances(played: Replay) -> None:
    """No exact answer moves by more than was charged."""
    unit = played.recording.job.unit
    for step in played.steps:
        fault = _fault(step, unit, played.relation)
        assert not fault, f"question {step.number} ({step.mechanism.name}): {fault}"


def _close(one: float, other: float) -> bool:
    """Equal up to rounding."""
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def _prepared(table: Any, **options: Any) -> Job:
    defaults: dict[str, Any] = {
        "delta": None,
        "schema": None,
        "unit": None,
        "neighbours": None,
        "options": {},
        "accountant": "gdp",
        "rows": None,
        "dialect": None,
        "allow_empty": True,
    }
    return prepare(table, **{**defaults, **options})


def _check_same(one: Model, other: Model) -> None:
    first, second = _facts(one), _facts(other)
    odd = [key for key in first if first[key] != second[key]]
    assert not odd, f"the model's {', '.join(odd)} depend on the rows past the released answers"
    arrays, others = one.generator.arrays(), other.generator.arrays()
    assert arrays.keys() == others.keys(), "the model's numbers depend on the rows past the released answers"
    for key in arrays:
        same = np.array_equal(arrays[key], others[key])
        assert same, f"the model's {key} depends on the rows past the released answers"


def _facts(model: Model) -> dict[str, Any]:
    """All of a model but its numbers. The statement follows from these, and takes long to work out."""
    return {
        "method": (model.method, model.options),
        "request": model.request,
        "schema": model.schema.to_dict(),
        "stored columns": model.stored,
        "codecs": [codec.state() for codec in model.codecs],
        "ledger": model.ledger.state(),
        "labels": [answer.labels for answer in model.transcript],
        "notes": (model.notes, model.warnings),
        "void": model.void,
        "row count": model.rows,
    }


def _fault(step: Step, unit: PrivacyUnit, relation: Relation) -> str:
    match step.mechanism:
        case _ if scales := noise_scales(step.mechanism):
            return _table_fault(step, scales, unit, relation)
        case DpSgd():
            return _training_fault(step, step.mechanism, unit, relation)
        case LaplaceCounts():
            return _laplace_fault(step, step.mechanism)
        case PairSums():
            return _pairs_fault(step, step.mechanism)
        case LaplacePartitions():
            return _laplace_partition_fault(step, step.mechanism, unit, relation)
        case PartitionSelection():
            return _partition_fault(step, step.mechanism, unit, relation)
        case Selection():
            rate, furthest = step.mechanism.rate / FIXED_POINT, unit.score(relation) * FIXED_POINT
            return _score_fault(step, rate, step.price.epsilon, furthest)
        case TopPairs():
            each = step.price.epsilon / step.mechanism.count
            return _score_fault(step, step.mechanism.rate, each, unit.score(relation))
        case Quantile():
            return _score_fault(step, step.mechanism.rate, step.price.epsilon)
        case PassingMass() | PlausibleRelease():
            return _seed_fault(step, relation)
        case SeedHistogram():
            return _histogram_fault(step, step.mechanism, unit, relation)
        case Draws():
            return draws_fault(step, step.mechanism, unit, relation)
        case PublicRows():
            told = step.price.shape != "revealed" and int(step.exact[0]) != int(step.other[0])
            return "a number of rows that is charged as public differs" if told else ""
    return "" if step.exact is None and step.other is None else "no bound is known for its distance"


def draws_fault(step: Step, mechanism: Draws, unit: PrivacyUnit, relation: Relation) -> str:
    """Counts of combinations differ by no more than a unit's rows, and where one draw has a law on counts, no
    probability by more than its price: exactly, for the two tables at hand.
    """
    if step.price.shape == "revealed":
        return ""
    one, other = (_by_cell(read) for read in (step.exact, step.other))
    cells = one.keys() | other.keys()
    moved = sum(abs(one.get(cell, 0) - other.get(cell, 0)) for cell in cells)
    if moved > unit.score(relation):
        return f"counts of combinations differ by {moved} rows"
    if mechanism.rows is not None and step.exact.rows != step.other.rows:
        return "the number of rows is charged as public and differs"
    if mechanism.sampler in AT_ONCE:
        return ""
    (first, total), (second, other_total) = (_weighed(mechanism, counts) for counts in (one, other))
    worst = 0.0
    for cell in [*cells, None] if len(cells) < mechanism.symbols else cells:
        a, b = (
            weights[counts.get(cell, 0)]
            for weights, counts in ((first, one), (second, other))
        )  # fmt: skip
        if (a == 0) != (b == 0):
            return "a record can be drawn from one table alone"
        if a:
            worst = max(worst, abs(math.log(Fraction(a * other_total, b * total))))
    held = f"a draw tells tables apart by {worst:.6g}, charged {step.price.each:.6g}"
    return "" if worst <= step.price.each * SLACK else held


def _by_cell(read: Any) -> dict[Any, int]:
    """Counts of combinations; what lies outside an alphabet is taken for the first symbol."""
    found: dict[Any, int] = {}
    for line, count in zip(*read.all_cells(), strict=True):
        cell = tuple(max(1, int(code)) for code in line)
        found[cell] = found.get(cell, 0) + int(count)
    return found


def _weighed(mechanism: Draws, counts: dict[Any, int]) -> tuple[dict[int, int], int]:
    """Weights by count, and their sum over the alphabet."""
    empty = mechanism.symbols - len(counts)
    values = sorted({*counts.values(), *([0] if empty else [])})
    sizes = [list(counts.values()).count(value) + (empty if value == 0 else 0) for value in values]
    weights = mechanism.law().weights(Tally(values=tuple(values), sizes=tuple(sizes)))
    total = sum(weight * size for weight, size in zip(weights, sizes, strict=True))
    return dict(zip(values, weights, strict=True)), total


def _table_fault(step: Step, scales: Sequence[Fraction], unit: PrivacyUnit, relation: Relation) -> str:
    exact, other = (exact_arrays(step.mechanism, each) for each in (step.exact, step.other))
    if any(table.dtype != np.int64 for table in [*exact, *other]):
        return "counts are not 64-bit integers"
    if [table.shape for table in exact] != [table.shape for table in other]:
        return "the shapes of the tables depend on the rows"
    moved = [one - two for one, two in zip(exact, other, strict=True)]
    if isinstance(step.mechanism, NoisyErrors) and np.abs(moved[0]).max(initial=0) > (
        unit.score(relation) * FIXED_POINT
    ):
        return "an error moves further than the unit allows"
    mu2 = sum(int((table**2).sum()) / sigma**2 for table, sigma in zip(moved, scales, strict=True))
    held = f"mu² is {float(mu2):.6g}, charged {step.price.mu2:.6g}"
    return "" if mu2 <= step.price.mu2 * SLACK else held


def _training_fault(step: Step, mechanism: DpSgd, unit: PrivacyUnit, relation: Relation) -> str:
    """With every row in the batch, exact sums are apart by the norms of a unit's own rows at most: at the
    parameters with which the training began, and at others. What is used without noise must not move at all.

    Rows that both tables have are dealt to the same groups, and a row moves its group from one vector to
    another. Half of the groups are looked at too: what goes from one to the next cancels in a sum over all.
    """
    if step.price.shape == "revealed":
        return ""
    one, other = step.exact, step.other
    plan, pool = mechanism.plan, mechanism.program.companions(0)
    rows = unit.at_most * (1 if relation == "add-remove" else 2)
    if plan.group > 1:
        rows *= 2
        for trainer in (one, other):
            trainer.deal_alike()

    def batch(trainer: Any, stride: int) -> tuple[Any, Any, Any]:
        units = np.arange(0, trainer.units, stride)
        return units, pool, None if pool is None else np.zeros((units.size, plan.times), np.int64)

    for shift in (0.0, 0.3):
        for trainer in (one, other):
            trainer.shift_parameters(mechanism.program, shift)
        for stride in (1,) if plan.group == 1 else (1, 2):
            moved = (one.sum(*batch(one, stride)) - other.sum(*batch(other, stride))).tolist()
            if (size := sum(int(each) ** 2 for each in moved)) > (rows * NORM_AT_MOST) ** 2:
                return f"a sum of gradients moves by {size**0.5 / NORM_AT_MOST:.6g} clips, charged for {rows}"
        if plan.exposed:
            bare = [trainer.exposed_gradient(*batch(trainer, 1)) for trainer in (one, other)]
            if not bool((bare[0] == bare[1]).all()):
                return "a gradient that is used without noise depends on the rows"
    return "a training without a guarantee was charged" if mechanism.unprotected else ""


def _laplace_fault(step: Step, mechanism: LaplaceCounts) -> str:
    """Log-probability ratios are at most the L1 distances over the scales."""
    if any(table.dtype != np.int64 for table in [*step.exact, *step.other]):
        return "counts are not 64-bit integers"
    if [table.shape for table in step.exact] != [table.shape for table in step.other]:
        return "the shapes of the tables depend on the rows"
    moved = [int(np.abs(one - two).sum()) for one, two in zip(step.exact, step.other, strict=True)]
    epsilon = sum((Fraction(d) / b for d, b in zip(moved, mechanism.scales, strict=True)), Fraction(0))
    paid = step.price.epsilon
    return "" if epsilon <= paid * SLACK else f"epsilon is {float(epsilon):.6g}, charged {paid:.6g}"


def _pairs_fault(step: Step, mechanism: PairSums) -> str:
    """Log-probability ratios are at most the largest change of an entry over the scale."""
    if step.exact.dtype != np.int64 or step.other.dtype != np.int64:
        return "sums are not 64-bit integers"
    epsilon = int(np.abs(step.exact - step.other).max(initial=0)) / mechanism.scale
    paid = step.price.epsilon
    return "" if epsilon <= paid * SLACK else f"epsilon is {float(epsilon):.6g}, charged {paid:.6g}"


def _score_fault(step: Step, rate: Fraction, epsilon: float, furthest: int | None = None) -> str:
    """Log-probability ratios of candidates are rate times the change of scores, but for a common shift."""
    moved = step.other.astype(object) - step.exact.astype(object)
    span = float(rate) * float(max(moved) - min(moved))
    if span > epsilon * SLACK:
        return f"log-probability ratios span {span:.6g}, charged for {epsilon:.6g}"
    most = max(abs(change) for change in moved)
    if 2 * float(rate) * float(most) > epsilon * SLACK:
        return f"a score moves by {2 * float(rate) * float(most):.6g} / (2 rate), charged for {epsilon:.6g}"
    return "a score moves further than the unit allows" if furthest is not None and most > furthest else ""


def _seed_fault(step: Step, relation: Relation) -> str:
    """Seeds differ in one record, added or exchanged."""
    sides = [dict(zip(*_counted(each), strict=True)) for each in (step.exact, step.other)]
    moved = [sides[0].get(row, 0) - sides[1].get(row, 0) for row in sides[0].keys() | sides[1].keys()]
    changed = sum(abs(change) for change in moved)
    return "" if changed <= (1 if relation == "add-remove" else 2) else f"{changed} seeds differ"


def _counted(records: Any) -> tuple[list[bytes], list[int]]:
    rows, counts = np.unique(np.asarray(records, dtype=np.int64), axis=0, return_counts=True)
    return [row.tobytes() for row in rows], counts.tolist()


def _histogram_fault(step: Step, mechanism: SeedHistogram, unit: PrivacyUnit, relation: Relation) -> str:
    """As for texts: combinations of both tables are a Gaussian query, the others stay hidden but for
    delta.
    """
    one, other = (
        {row.tobytes(): int(count) for row, count in zip(*each, strict=True)}
        for each in (step.exact, step.other)
    )
    shared = one.keys() & other.keys()
    squared = sum((one[row] - other[row]) ** 2 for row in shared)
    alone = [n for side in (one, other) for row, n in side.items() if row not in shared]
    if len(alone) > unit.score(relation) or any(n > unit.at_most for n in alone):
        return "more combinations differ than the unit allows"
    shown = sum(float(RoundedGaussian(mechanism.sigma).ideal_tail(mechanism.threshold - n)) for n in alone)
    paid = step.price.mu2 * float(mechanism.sigma) ** 2
    if squared > paid * SLACK:
        return f"squared distance {squared}, charged for {paid:.6g}"
    return "" if shown <= step.price.delta * SLACK else f"delta {shown:.3g}, charged {step.price.delta:.3g}"


def _partition_fault(step: Step, mechanism: PartitionSelection, unit: PrivacyUnit, relation: Relation) -> str:
    """Texts of both tables and public ones are a Gaussian query; the others stay hidden but for delta."""
    moved, delta, fault = _partition_moves(step, mechanism, unit, relation)
    squared = sum(move**2 for move in moved)
    paid = step.price.mu2 * float(mechanism.sigma) ** 2
    if fault or squared > paid * SLACK:
        return fault or f"squared distance {squared}, charged for {paid:.6g}"
    return "" if delta <= step.price.delta * SLACK else f"delta {delta:.3g}, charged {step.price.delta:.3g}"


def _laplace_partition_fault(
    step: Step, mechanism: LaplacePartitions, unit: PrivacyUnit, relation: Relation
) -> str:
    """The same with Laplace noise: what counts is the L1 distance."""
    moved, delta, fault = _partition_moves(step, mechanism, unit, relation)
    epsilon = sum(map(abs, moved)) / mechanism.sigma
    if fault or epsilon > step.price.epsilon * SLACK:
        return fault or f"epsilon is {float(epsilon):.6g}, charged {step.price.epsilon:.6g}"
    return "" if delta <= step.price.delta * SLACK else f"delta {delta:.3g}, charged {step.price.delta:.3g}"


def _partition_moves(
    step: Step, mechanism: PartitionSelection, unit: PrivacyUnit, relation: Relation
) -> tuple[list[int], float, str]:
    """How far counts of known texts move, the delta of the others, and what is wrong, if anything."""
    moved, delta = [], 0.0
    for one, other, known in zip(step.exact, step.other, mechanism.public_values, strict=True):
        shared = (one.keys() & other.keys()) | set(known)
        moved += [one.get(text, 0) - other.get(text, 0) for text in shared]
        sides = [{t: n for t, n in counts.items() if t not in shared} for counts in (one, other)]
        if sum(map(len, sides)) > unit.score(relation):
            return moved, delta, "more texts differ than the unit allows"
        if any(n > unit.at_most for side in sides for n in side.values()):
            return moved, delta, "a text that the neighbour lacks is too frequent"
        shown = [
            sum(float(mechanism.noise.ideal_tail(mechanism.threshold - n)) for n in side.values())
            for side in sides
        ]
        delta += max(shown)
    return moved, delta, ""

"""Attribute inference: can the rest of a person's record be guessed better because they were in the table?

The attacker knows all of a person's record but one value, and takes it from the closest synthetic row. That
works to some extent for everybody: it is what data are for. So each success rate is held against two
others: the same attack on hold-out people (control), and the same guess from the closest record of other
people (baseline). What counts is the excess over the control.

A number is guessed right when it is off by at most a twentieth of the range that nine tenths of people fill.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sfumato.attacks import intervals
from sfumato.attacks.attack import FAMILY, attack, facts_of
from sfumato.attacks.distances import QUERIES, blocks, each_block, squared_distances
from sfumato.attacks.people import People
from sfumato.attacks.space import Places, Points
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.outcome import Details, Interval, Measure, Outcome, worst_first
from sfumato.evaluation.pair import PairedColumn, Side

Right = npt.NDArray[np.bool_]
"""Whether a guess is right: one row a secret, one column a person."""
TOLERANCE = 0.05

EXCESS = Measure(
    name="attacks.attribute_inference",
    title="Attribute inference",
    family=FAMILY,
    meaning="How much more often one value of a record is guessed from all others, for people in the "
    "table than for people who are not, averaged over columns.",
    low=-1.0,
    source="closest-record guess as in Giomi et al. 2023 (PETS), against hold-out people and against a "
    "guess from other people's records",
)


@attack("attributes", EXCESS)
def attributes(people: People) -> Iterator[Outcome]:
    """Success by column, against hold-out people and against other people's data."""
    pair, settings = people.pair, people.settings
    people = people.fewer(1 + settings.targets // 2)
    if len(pair.columns) < 2:
        raise NotApplicable("there is one column only, and nothing to guess it from")
    places = {column.name: i for i, column in enumerate(pair.columns)}
    names = settings.secrets or tuple(places)
    if not settings.secrets and len(names) > settings.guessed:
        rng = np.random.default_rng(settings.seed + 4)
        names = tuple(names[i] for i in sorted(rng.choice(len(names), settings.guessed, replace=False)))
    secrets = [places[name] for name in names]
    ours = _right(people, secrets, people.queries, people.synthetic_points, "synthetic", None)
    base = _right(people, secrets, people.queries, people.reference_points, "holdout", people.reference)
    m = len(people.members)
    rows = [_row(people, names[i], ours[i], base[i]) for i in range(len(secrets))]
    mean = ours.mean(axis=0), base.mean(axis=0)
    success, control = float(mean[0][:m].mean()), float(mean[0][m:].mean())
    baseline, over = float(mean[1][:m].mean()), (mean[0] - mean[1])[:m]
    yield EXCESS.found(
        success - control,
        interval=Interval(*_difference(mean[0][:m], mean[0][m:]), method="normal, over people"),
        details=Details(
            (
                "column",
                "people in the table",
                "hold-out people",
                "from other people",
                "excess",
                "low",
                "high",
                "ceiling",
            ),
            worst_first(rows, 4),
        ),
        facts=facts_of(
            people,
            knowledge="the synthetic rows, and all of the person's record but one value",
            success=success,
            control=control,
            ceiling=people.room(control),
            surely=people.room(*_within(intervals.mean(mean[0][m:], level=intervals.SURE))),
            at_least=_difference(mean[0][:m], mean[0][m:], level=intervals.SURE)[0],
            baseline=baseline,
            **{"over baseline": success - baseline, "over baseline interval": list(intervals.mean(over))},
        ),
    )


def _row(people: People, name: str, ours: Right, base: Right) -> tuple[str | float | None, ...]:
    m = len(people.members)
    one, other = (int(ours[:m].sum()), m), (int(ours[m:].sum()), ours.size - m)
    control = other[0] / other[1]
    return (
        name, one[0] / m, control, float(base[:m].mean()), one[0] / m - control,
        *intervals.difference(one, other), people.room(control),
    )  # fmt: skip


def _within(ends: tuple[float, float]) -> tuple[float, float]:
    """An interval of a share, cut to what shares can be."""
    return max(0.0, ends[0]), min(1.0, ends[1])


def _difference(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64], *, level: float = intervals.LEVEL
) -> tuple[float, float]:
    """Two means over different people, by the squares of their half widths."""
    middle = float(one.mean() - other.mean())
    first, second = (intervals.mean(each, level=level) for each in (one, other))
    half = float(np.hypot((first[1] - first[0]) / 2, (second[1] - second[0]) / 2))
    return max(-1.0, middle - half), min(1.0, middle + half)


def _right(
    people: People, secrets: list[int], queries: Points, candidates: Points, side: Side, rows: Places | None
) -> Right:
    """Guess every secret of every query from the candidate that is closest in all other columns.

    Candidates are `rows` of `side`; None: all of them.
    """
    guesses = closest_without(queries, candidates, secrets)
    guesses = guesses if rows is None else rows[guesses]
    columns, m = people.pair.columns, len(people.members)
    found = [
        np.concatenate(
            (
                _same(columns[secret], "real", people.members, side, guess[:m]),
                _same(columns[secret], "holdout", people.others, side, guess[m:]),
            )
        )
        for secret, guess in zip(secrets, guesses, strict=True)
    ]
    return np.stack(found)


def closest_without(queries: Points, candidates: Points, columns: list[int]) -> npt.NDArray[np.int64]:
    """For each column, the candidate that is closest to each query in all other columns."""
    found = np.zeros((len(columns), len(queries)), np.int64)
    least = np.full((len(columns), len(queries)), np.inf, np.float32)

    def fill(start: int) -> None:
        part = slice(start, start + QUERIES)
        some = queries.take(part)
        for first, squared in blocks(some, candidates):
            block = candidates.take(slice(first, first + squared.shape[1]))
            for i, column in enumerate(columns):
                rest = squared - squared_distances(some, block, column)
                places = rest.argmin(axis=1)
                values = np.take_along_axis(rest, places[:, None], 1)[:, 0]
                better = values < least[i, part]
                found[i, part] = np.where(better, places + first, found[i, part])
                least[i, part] = np.where(better, values, least[i, part])

    each_block(fill, len(queries))
    return found


def _same(column: PairedColumn, asked: Side, people: Places, side: Side, guess: Places) -> Right:
    if not column.is_number:
        return column.codes(asked)[people] == column.codes(side)[guess]
    truth, guessed = column.values(asked)[people], column.values(side)[guess]
    known = column.values("holdout")
    known = known[np.isfinite(known)]
    width = float(np.subtract(*np.quantile(known, [0.95, 0.05]))) if known.size else 0.0
    close = np.abs(truth - guessed) <= TOLERANCE * width
    neither = np.isnan(truth) & np.isnan(guessed)
    return close | (neither & (column.codes(asked)[people] == column.codes(side)[guess]))

"""Exact copies: do records of the table come out again, more often than records of other people?

The share of synthetic rows that equal a real one says nothing: where columns take few values everybody's
record occurs. So the share of people in the table whose record occurs among the synthetic rows is compared
to that of hold-out people; and once more among records that nobody else has, in either table, where a copy
tells most.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sfumato.attacks import intervals
from sfumato.attacks.attack import FAMILY, attack, facts_of
from sfumato.attacks.people import People
from sfumato.evaluation.outcome import Interval, Measure, Outcome
from sfumato.evaluation.records import hashes

SOURCE = "difference of two shares, Newcombe 1998, method 10"
COPIES = Measure(
    name="attacks.exact_copies",
    title="Exact copies",
    family=FAMILY,
    meaning="Share of people in the table whose record occurs among the synthetic rows, less the same "
    "share of people who are not in the table.",
    low=-1.0,
    source=SOURCE,
)
UNIQUE = Measure(
    name="attacks.unique_copies",
    title="Exact copies of unique records",
    family=FAMILY,
    meaning="The same among records that occur once in the real and hold-out rows together.",
    low=-1.0,
    source=SOURCE,
)


@attack("copies", COPIES, UNIQUE)
def copies(people: People) -> Iterator[Outcome]:
    """Over all people: hashing is cheap, so nobody is left out."""
    pair = people.pair
    members, others = people.everybody
    real, holdout = hashes(pair, "real")[members], hashes(pair, "holdout")[others]
    synthetic = hashes(pair, "synthetic")
    released = np.unique(synthetic)
    out_again, control = np.isin(real, released), np.isin(holdout, released)
    yield _outcome(people, COPIES, out_again, control)
    _, place, count = np.unique(np.concatenate((real, holdout)), return_inverse=True, return_counts=True)
    single = count[place] == 1
    one, other = single[: real.size], single[real.size :]
    if not one.any() or not other.any():
        yield UNIQUE.not_applicable(
            "no record is unique" if not single.any() else "only one side has unique records"
        )
        return
    yield _outcome(people, UNIQUE, out_again[one], control[other])


def _outcome(
    people: People, measure: Measure, out_again: npt.NDArray[np.bool_], control: npt.NDArray[np.bool_]
) -> Outcome:
    ours, theirs = (int(out_again.sum()), out_again.size), (int(control.sum()), control.size)
    success, without = ours[0] / ours[1], theirs[0] / theirs[1]
    facts = facts_of(
        people,
        knowledge="the synthetic rows",
        success=success,
        control=without,
        ceiling=people.room(without),
        surely=people.room(*intervals.share(*theirs, level=intervals.SURE)),
        at_least=intervals.difference(ours, theirs, level=intervals.SURE)[0],
    )
    return measure.found(
        success - without,
        interval=Interval(*intervals.difference(ours, theirs), method="Newcombe 1998, method 10"),
        facts=facts | {"people": ours[1], "hold-out people": theirs[1]},
    )

"""Distances to the nearest record. They tell how alike rows are, and nothing about the privacy of anybody.

A generator that shifts every record by one secret constant has large distances and hides nothing; one that
draws from a noisy histogram of few columns has small ones and hides everybody.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.attacks import intervals
from sfumato.attacks.attack import SIMILARITY, attack, facts_of
from sfumato.attacks.distances import scan
from sfumato.attacks.people import People
from sfumato.evaluation.outcome import Interval, Measure, Outcome

CLOSER = Measure(
    name="similarity.closer_to_real",
    title="Synthetic rows closer to the table than to hold-out rows",
    family=SIMILARITY,
    meaning="Share of synthetic rows whose nearest real row is closer than their nearest hold-out row, "
    "out of as many; ties count half. Not a measure of privacy.",
    direction="nearer",
    ideal=0.5,
    source="distance to the closest record, as used by many tools",
)
RATIO = Measure(
    name="similarity.median_distance",
    title="Median distance to the nearest record",
    family=SIMILARITY,
    meaning="Median distance of synthetic rows to the nearest real row, in differing columns. Not a "
    "measure of privacy.",
    high=float("inf"),
    direction="none",
    ideal=None,
    source="distance to the closest record, as used by many tools",
)


@attack("similarity", CLOSER, RATIO)
def similarity(people: People) -> Iterator[Outcome]:
    """Distances from synthetic rows to equally many real and hold-out rows."""
    rng = np.random.default_rng(people.settings.seed + 5)
    every = people.pair.synthetic_rows
    few = min(people.settings.targets, every)
    rows = people.synthetic_points.take(np.sort(rng.choice(every, few, replace=False)))
    size = min(people.pair.real_rows, people.pair.rows("holdout"), 20_000)
    near = {}
    for side in ("real", "holdout"):
        chosen = np.sort(rng.choice(people.pair.rows(side), size, replace=False))
        near[side] = scan(rows, people.space.points(side, chosen)).closest
    closer = float((near["real"] < near["holdout"]).mean() + (near["real"] == near["holdout"]).mean() / 2)
    facts = facts_of(people, knowledge="none: this is no attack") | {"rows": few, "out of": size}
    yield CLOSER.found(
        closer, interval=Interval(*intervals.wilson(closer * few, few), method="Wilson"), facts=facts
    )
    yield RATIO.found(
        float(np.median(near["real"])),
        facts=facts | {"median distance to hold-out rows": float(np.median(near["holdout"]))},
    )

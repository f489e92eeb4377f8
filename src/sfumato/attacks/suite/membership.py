"""Membership inference from the files alone: was this person in the table?

Whoever has the synthetic rows, and other people's records to calibrate with, gives every person a score.
Scores that are tried: distance to the closest synthetic row; the same against the closest known person; the
ratio of kernel densities of synthetic rows and known people, at four widths (van Breugel, Sun, Qian, van
der Schaar, "Membership Inference Attacks against Synthetic Data through Overfitting Detection", AISTATS
2023); and the ratio of the shares of all pairs of values. The best score counts, since none is the best on
all generators, and its interval is widened for having been chosen (Bonferroni).

The control is the same attack with other people's records in the place of the synthetic rows: where its
result is not that of a coin toss, hold-out and real rows differ by more than chance, and no success says
anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.attacks import intervals
from sfumato.attacks.attack import FAMILY, attack, facts_of
from sfumato.attacks.distances import Near
from sfumato.attacks.people import WIDTHS, People
from sfumato.attacks.space import Places
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.outcome import Details, Interval, Measure, Outcome
from sfumato.evaluation.pair import Pair, Side

Scores = dict[str, npt.NDArray[np.float64]]

SOURCE = "van Breugel et al. 2023, AISTATS; best of several scores, area by Mann and Whitney 1947"
KNOWLEDGE = "the synthetic rows, the person's record, and records of other people; not the method"
TOUCH = 1e-6
PAIRS = 300

AREA = Measure(
    name="attacks.membership",
    title="Membership inference",
    family=FAMILY,
    meaning="How often the attack ranks a person in the table above one who is not: 0.5 is a coin toss, "
    "1 is every time.",
    direction="lower",
    ideal=0.5,
    source=SOURCE,
)
OUTLIERS = Measure(
    name="attacks.membership_outliers",
    title="Membership inference of unusual people",
    family=FAMILY,
    meaning="The same among the tenth of people who are least like anybody else.",
    direction="lower",
    ideal=0.5,
    source=SOURCE,
)
AT_1, AT_01 = (
    Measure(
        name=f"attacks.membership_at_{name}",
        title=f"Members found at {100 * rate:g} % false alarms",
        family=FAMILY,
        meaning=f"Share of people in the table who are recognised when at most {100 * rate:g} % of other "
        f"people are taken for members; {rate:g} is chance.",
        direction="lower",
        ideal=rate,
        source="Carlini et al. 2022, IEEE S&P, section III: true positives at a low false positive rate",
    )
    for name, rate in (("1", 0.01), ("01", 0.001))
)


@attack("membership", AREA, OUTLIERS, AT_1, AT_01)
def membership(people: People) -> Iterator[Outcome]:
    """Area under the ROC curve of the best score, of the same among outliers, and its steep end."""
    first, second = people.near_halves
    tried = scores(people, people.near_synthetic, people.near_reference, "synthetic", None, people.reference)
    half = len(people.reference) // 2
    fake = scores(people, first, second, "holdout", people.reference[:half], people.reference[half:])
    m, n = len(people.members), len(people.others)
    level, sure = (_for_each(level, tried) for level in (intervals.LEVEL, intervals.SURE))
    areas = {name: intervals.area(score[:m], score[m:]) for name, score in tried.items()}
    best = max(areas, key=areas.__getitem__)
    controls = [intervals.area(score[:m], score[m:]) for score in fake.values()]
    control = max(controls)
    guarantee = people.settings.guarantee
    ceiling = guarantee.area() if guarantee is not None and guarantee.holds else None
    method = f"Newcombe 2006, widened for {len(tried)} scores"
    known: dict[str, Any] = {"knowledge": KNOWLEDGE, "score": best}
    known |= {
        "control interval": list(intervals.area_ends(control, m, n, level=level)),
        "control holds": all(_chance(each, m, n, len(fake)) for each in controls),
    }
    yield AREA.found(
        areas[best],
        interval=Interval(*intervals.area_ends(areas[best], m, n, level=level), method=method),
        details=Details(("score", "area"), sorted(areas.items(), key=lambda item: -item[1])),
        facts=facts_of(
            people, control=control, ceiling=ceiling,
            at_least=intervals.area_ends(areas[best], m, n, level=sure)[0], **known,
        ),
    )  # fmt: skip
    yield _among_outliers(people, tried, ceiling, known)
    for measure, rate in ((AT_1, 0.01), (AT_01, 0.001)):
        yield _steep(people, tried, measure, rate)


def _for_each(level: float, tried: Scores) -> float:
    """The level of each interval where one of several scores is chosen (Bonferroni)."""
    return 1 - (1 - level) / len(tried)


def _chance(value: float, m: int, n: int, tries: int) -> bool:
    """Whether an area may be one half, at a false alarm rate of one in a thousand over all tries."""
    low, high = intervals.area_ends(value, m, n, level=1 - 0.001 / tries)
    return low <= 0.5 <= high


def scores(
    people: People, near: Near, reference: Near, side: Side, rows: Places | None, known: Places
) -> Scores:
    """Scores of all queries, higher for members. `near`: to the rows under attack, which are `rows` of
    `side` (None: all); `reference`: to the people at `known` places of the hold-out.
    """
    found = {
        "closest": -near.closest,
        "closest, against known people": np.log(reference.closest + TOUCH) - np.log(near.closest + TOUCH),
    }
    for i, width in enumerate(WIDTHS):
        ratio = near.density(i) - reference.density(i)
        found[f"density ratio, width {width:g}"] = ratio
    found["pairs of values"] = _pairs(people, side, rows, known)
    return found


def _pairs(people: People, side: Side, rows: Places | None, known: Places) -> npt.NDArray[np.float64]:
    """Mean logarithm of the ratio of shares of a record's pairs of values (or values, in a single column)."""
    pair, rng = people.pair, np.random.default_rng(people.settings.seed + 3)
    sets: list[tuple[int, ...]] = list(combinations(range(len(pair.columns)), 2)) or [(0,)]
    if len(sets) > PAIRS:
        sets = [sets[i] for i in rng.choice(len(sets), PAIRS, replace=False)]
    asked = [_codes(pair, "real", people.members), _codes(pair, "holdout", people.others)]
    queries = np.concatenate(asked, axis=1)
    total = np.zeros(queries.shape[1])
    these, those = _codes(pair, side, rows), _codes(pair, "holdout", known)
    for each in sets:
        cells = [_joint(pair, each, codes) for codes in (these, those, queries)]
        values, flat = np.unique(np.concatenate(cells), return_inverse=True)
        a, b, q = np.split(flat, np.cumsum([len(cell) for cell in cells])[:-1])
        ours, theirs = (np.bincount(x, minlength=values.size) + 0.5 for x in (a, b))
        total += (np.log(ours / ours.sum()) - np.log(theirs / theirs.sum()))[q]
    return total / len(sets)


def _codes(pair: Pair, side: Side, places: Places | None) -> npt.NDArray[np.int64]:
    chosen = slice(None) if places is None else places
    return np.stack([column.codes(side)[chosen].astype(np.int64) for column in pair.columns])


def _joint(pair: Pair, columns: tuple[int, ...], codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    found = codes[columns[0]]
    for i in columns[1:]:
        found = found * pair.columns[i].size + codes[i]
    return found


def _among_outliers(people: People, tried: Scores, ceiling: float | None, known: dict) -> Outcome:
    """The area among the tenth of members, and of others, who are farthest from people the attacker knows."""
    m = len(people.members)
    far = people.near_reference.squared[:, -1]
    least = np.quantile(far, 0.9)
    chosen = far >= least if least > far.min() else far > least
    some, rest = np.flatnonzero(chosen[:m]), m + np.flatnonzero(chosen[m:])
    if min(some.size, rest.size) < 10:
        return OUTLIERS.not_applicable("fewer than ten people on either side stand out")
    level, sure = (_for_each(level, tried) for level in (intervals.LEVEL, intervals.SURE))
    areas = {name: intervals.area(score[some], score[rest]) for name, score in tried.items()}
    best = max(areas, key=areas.__getitem__)
    return OUTLIERS.found(
        areas[best],
        interval=Interval(
            *intervals.area_ends(areas[best], some.size, rest.size, level=level),
            method=f"Newcombe 2006, widened for {len(tried)} scores",
        ),
        facts=facts_of(
            people,
            ceiling=ceiling,
            at_least=intervals.area_ends(areas[best], some.size, rest.size, level=sure)[0],
            **known,
        )
        | {"score": best, "people": int(some.size), "hold-out people": int(rest.size)},
    )


def _steep(people: People, tried: Scores, measure: Measure, rate: float) -> Outcome:
    """True positives at the lowest threshold that at most a share `rate` of the others exceeds."""
    m, n = len(people.members), len(people.others)
    if rate * n < 1:
        raise NotApplicable(
            f"a false alarm rate of {rate:.1%} takes {round(1 / rate):,} hold-out people to see"
        )
    allowed = int(rate * n)
    found: dict[str, tuple[int, int]] = {}
    for name, score in tried.items():
        threshold = np.sort(score[m:])[n - allowed - 1]
        found[name] = (int((score[:m] > threshold).sum()), int((score[m:] > threshold).sum()))
    best = max(found, key=lambda name: found[name][0])
    hits, alarms = found[best]
    level, sure = (_for_each(level, tried) for level in (intervals.LEVEL, intervals.SURE))
    false = intervals.share(alarms, n, level=level)
    return measure.found(
        hits / m,
        interval=Interval(
            *intervals.share(hits, m, level=level),
            method=f"Clopper-Pearson at the threshold found, widened for {len(tried)} scores",
        ),
        facts=facts_of(
            people,
            knowledge=KNOWLEDGE,
            success=hits / m,
            control=alarms / n,
            ceiling=people.ceiling(rate),
            surely=people.ceiling(intervals.share(alarms, n, level=sure)[1]),
            at_least=intervals.share(hits, m, level=sure)[0],
            score=best,
            **{"false alarms interval": list(false)},
        ),
    )

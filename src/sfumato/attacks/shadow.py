"""Membership inference with shadow models: the slow attack, which knows the method.

Fit the method again and again on other people, with each target among them or not, and see how its
synthetic rows differ; then tell by likelihood ratio whether a target was in the real table. This is LiRA
(Carlini, Chien, Nasr, Song, Terzis, Tramèr, "Membership Inference Attacks From First Principles", IEEE S&P
2022) on features of synthetic rows near a target, as in the shadow attacks on synthetic data of Stadler,
Oprisanu and Troncoso (USENIX Security 2022). Targets are the people who are least like anybody else, chosen
without looking at the synthetic rows.

With f_j the features of a target's surroundings in a release, m_j1 and m_j0 their means over shadow
releases with and without the target, and v_j the variance within both, pooled over targets, the score is

    Σ_j (m_j1 - m_j0) (f_j - (m_j1 + m_j0)/2) / v_j,

the logarithm of a ratio of normal densities, were the features independent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.attacks import intervals
from sfumato.attacks.attack import FAMILY, facts_of
from sfumato.attacks.distances import scan
from sfumato.attacks.people import WIDTHS, People
from sfumato.attacks.space import Places, Points
from sfumato.errors import UsageError
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.outcome import Interval, Measure, Outcome
from sfumato.evaluation.pair import Pair, Side

if TYPE_CHECKING:
    import polars as pl

Fit = Callable[["pl.DataFrame", int], Any]
"""A table and a number of rows to synthetic rows: the method, with all its options."""

FEWEST = 8
LEAST_TARGETS = 10

SHADOW = Measure(
    name="attacks.shadow",
    title="Membership inference with shadow models",
    family=FAMILY,
    meaning="How often the attack that knows the method ranks a person in the table above one who is "
    "not, among the "
    "people who are least like anybody else: 0.5 is a coin toss.",
    direction="lower",
    ideal=0.5,
    source="Carlini et al. 2022, IEEE S&P; Stadler et al. 2022, USENIX Security",
)


@frozen(kw_only=True)
class Shadows:
    """`fit`: the method. `fits`: how often. `targets`: at most so many members, and as many other people."""

    fit: Fit
    fits: int = field(default=64)
    targets: int = field(default=100)

    def __attrs_post_init__(self) -> None:
        if self.fits < FEWEST:
            raise UsageError(f"the shadow attack needs at least {FEWEST} fits, not {self.fits}")
        if self.targets < LEAST_TARGETS:
            raise UsageError(f"the shadow attack needs at least {LEAST_TARGETS} targets, not {self.targets}")


def shadow(people: People, shadows: Shadows, *, progress: Callable[[str], None] | None = None) -> Outcome:
    """The area under the ROC curve over the targets, on the release that is attacked."""
    some = _targets(people, shadows.targets)
    few = min(len(some.members), len(some.others))
    if few < LEAST_TARGETS:
        raise NotApplicable(f"there are fewer than {LEAST_TARGETS} people on either side")
    if len(people.reference) < 2 * LEAST_TARGETS:
        raise NotApplicable("there are too few other people to fit shadow models to")
    rng = np.random.default_rng(people.settings.seed + 8)
    inside, features = [], []
    for number in range(shadows.fits):
        if progress is not None:
            progress(f"attack: shadow model {number + 1} of {shadows.fits}")
        chosen = rng.random(len(some.queries)) < 0.5
        table = _table(some, chosen, rng)
        rows = max(1, round(people.pair.synthetic_rows * table.height / max(people.pair.real_rows, 1)))
        drawn = points_of(people, shadows.fit(table, rows))
        inside.append(chosen)
        features.append(_features(some, drawn, people.widths))
    members, seen = np.stack(inside), np.stack(features)
    real = _features(some, people.synthetic_points, people.widths)
    m = len(some.members)
    score = _score(members, seen, real)
    value = intervals.area(score[:m], score[m:])
    own = _own_area(members, seen)
    guarantee = people.settings.guarantee
    ceiling = guarantee.area() if guarantee is not None and guarantee.holds else None
    ends = intervals.area_ends(value, m, len(some.others))
    return SHADOW.found(
        value,
        interval=Interval(*ends, method="Newcombe 2006"),
        facts=facts_of(
            some,
            knowledge="the synthetic rows, the method and its options, the person's record, and records "
            "of other people",
            ceiling=ceiling,
            at_least=intervals.area_ends(value, m, len(some.others), level=intervals.SURE)[0],
            fits=shadows.fits,
            **{"area on the shadow releases themselves": own},
        ),
    )  # fmt: skip


def _targets(people: People, count: int) -> People:
    """Those on each side who are farthest from all people whom the attacker knows."""
    far = people.near_reference.closest
    m = len(people.members)
    import attrs

    first, second = (np.sort(np.argsort(-each, kind="stable")[:count]) for each in (far[:m], far[m:]))
    return attrs.evolve(people, members=people.members[first], others=people.others[second])


def _table(people: People, chosen: npt.NDArray[np.bool_], rng: np.random.Generator) -> pl.DataFrame:
    """Other people, and the chosen targets among them, in random order."""
    import polars as pl

    m = len(people.members)
    parts = [
        frame_of(people.pair, "holdout", people.reference),
        frame_of(people.pair, "real", people.members[chosen[:m]]),
        frame_of(people.pair, "holdout", people.others[chosen[m:]]),
    ]
    whole = pl.concat(parts)
    return whole[rng.permutation(whole.height)]


def frame_of(pair: Pair, side: Side, places: Places) -> pl.DataFrame:
    """Rows of a side as a frame of numbers and texts, missing where a cell is missing or a special code."""
    import polars as pl

    columns = []
    for column in pair.columns:
        if column.is_number:
            series = pl.Series(column.name, column.values(side)[places], dtype=pl.Float64).fill_nan(None)
            columns.append(series.cast(pl.Int64, strict=False) if column.integral else series)
        else:
            labels = np.array([*column.labels, None], dtype=object)
            texts = labels[column.codes(side)[places]].tolist()
            columns.append(pl.Series(column.name, texts, dtype=pl.String))
    return pl.DataFrame(columns)


def points_of(people: People, table: Any) -> Points:
    """Rows of a frame with the columns of the pair as points; labels that are not known differ from all."""
    import polars as pl

    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    like = people.synthetic_points
    numbers = np.zeros((len(like.numbers), frame.height), np.float32)
    codes = np.zeros((len(like.codes), frame.height), np.int32)
    for i, column in enumerate(people.pair.columns):
        series = frame[column.name]
        of_numbers, of_codes = like.parts(i)
        if column.is_number:
            values = series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
            numbers[of_numbers] = people.space.placed(i, values)
            codes[of_codes] = np.where(np.isnan(values), column.size, 0)
        else:
            place = {label: code for code, label in enumerate(column.labels)}
            texts = series.cast(pl.String)
            known = texts.replace_strict(place, default=-2, return_dtype=pl.Int32)
            codes[of_codes] = np.where(texts.is_null().to_numpy(), len(place), known.to_numpy())
    return Points(numbers, codes, like.columns)


def _features(people: People, rows: Points, widths: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """What the rows look like near each target: one row a feature."""
    near = scan(people.queries, rows, widths=widths)
    return np.stack([-np.log(near.closest + 1e-6), *(near.density(i) for i in range(len(WIDTHS)))])


def _score(
    members: npt.NDArray[np.bool_], seen: npt.NDArray[np.float64], asked: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Log likelihood ratio of each target for the release with features `asked`."""
    inside = members[:, None, :]
    counts = np.maximum(inside.sum(axis=0), 1), np.maximum((~inside).sum(axis=0), 1)
    one = np.where(inside, seen, 0.0).sum(axis=0) / counts[0]
    other = np.where(inside, 0.0, seen).sum(axis=0) / counts[1]
    spread = ((seen - np.where(inside, one, other)) ** 2).mean(axis=(0, 2), keepdims=False)
    weight = (one - other) / np.maximum(spread, 1e-12)[:, None]
    return (weight * (asked - (one + other) / 2)).sum(axis=0)


def _own_area(members: npt.NDArray[np.bool_], seen: npt.NDArray[np.float64]) -> float:
    """The same attack on each shadow release in turn, by means of all others: what the method gives away."""
    scores = []
    for i in range(len(seen)):
        rest = np.arange(len(seen)) != i
        scores.append(_score(members[rest], seen[rest], seen[i]))
    score, inside = np.concatenate(scores), members.ravel()
    return intervals.area(score[inside], score[~inside])

"""What a synthetic table is measured by in a sweep.

Three measures of its own, so that a sweep needs nothing else: `tvd1` and `tvd2`, the mean total variation
distance over the marginals of one and of two columns, and `membership_auc`, how well nearness to synthetic
rows tells the rows that were fitted from rows that were held out. Any other name is looked up among the
measures of `sfumato.evaluate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from sfumato.evaluation.outcome import Measure

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

RANGES = 20
"""Numbers are compared in ranges with about equal numbers of real rows."""
MOSTLY = 0.95
"""A column of text is a column of numbers when this share of its cells reads as one."""
PAIRS = 300
"""Pairs of columns that are compared, spread evenly over all."""
PERSONS = 800
"""Rows on either side of a membership test; synthetic rows that are looked at are three times as many."""
OWN = {
    "tvd1": "mean total variation distance of single columns to those of the rows; 0 is perfect",
    "tvd2": "mean total variation distance of pairs of columns to those of the rows; 0 is perfect",
    "membership_auc": "how often a fitted row is nearer to synthetic rows than a held-out one; 0.5 is chance",
}
"""Measures of this module, of which lower is better, and what they mean."""
DEFAULT = ("tvd2", "tvd1", "membership_auc")


def compare(
    real: pl.DataFrame, synthetic: pl.DataFrame, holdout: pl.DataFrame | None, *, metrics: Sequence[str]
) -> dict[str, float | None]:
    """The value of every metric; None where one does not apply."""
    found: dict[str, float | None] = {}
    own = [name for name in metrics if name in OWN]
    if own:
        columns = [name for name in real.columns if name in synthetic.columns]
        tables = [real, synthetic, *([] if holdout is None else [holdout])]
        coded = [_coded([table.get_column(name) for table in tables]) for name in columns]
        if "tvd1" in own or "tvd2" in own:
            found |= {"tvd1": _one_way(coded), "tvd2": _two_way(coded)}
        if "membership_auc" in own:
            found["membership_auc"] = None if holdout is None else _membership(coded)
    others = [name for name in metrics if name not in OWN]
    if others:
        found |= _evaluated(real, synthetic, holdout, others)
    return {name: found[name] for name in metrics}


def lower_is_better(metric: str) -> bool:
    """Whether lower values of a metric are better."""
    return metric in OWN or _measures()[metric].direction != "higher"


def check_metrics(metrics: Sequence[str]) -> None:
    """UsageError, with those there are, for a metric that nobody knows."""
    unknown = [name for name in metrics if name not in OWN]
    if not metrics:
        raise UsageError("a sweep needs a metric", mend=f"known here: {', '.join(OWN)}")
    known = _measures() if unknown else {}
    for name in unknown:
        if name not in known:
            listed = ", ".join([*OWN, *sorted(known)])
            raise UsageError(f"there is no metric {name!r}", mend=f"known: {listed}")


def _measures() -> dict[str, Measure]:
    """Measures of `sfumato.evaluation` and `sfumato.attacks` by name."""
    from sfumato.attacks.attack import attacks
    from sfumato.evaluation.metric import metrics

    groups = [*(metrics[name] for name in metrics), *(attacks[name] for name in attacks)]
    return {measure.name: measure for group in groups for measure in group.measures}


def _evaluated(
    real: pl.DataFrame, synthetic: pl.DataFrame, holdout: pl.DataFrame | None, names: Sequence[str]
) -> dict[str, float | None]:
    from sfumato.api import evaluate

    measures = _measures()
    families = sorted({measures[name].family for name in names})
    result = evaluate(real, synthetic, holdout=holdout, families=families)
    return {name: result[name].value if name in result else None for name in names}


class _Coded:
    """One column of all tables: codes for comparing shares, and places on a line, or labels, for
    distances."""

    def __init__(self, codes: list[Codes], size: int, places: list[Floats] | None) -> None:
        self.codes, self.size, self.places = codes, size, places


def _coded(columns: list[pl.Series]) -> _Coded:
    numbers = [_numbers(column) for column in columns]
    texts = [column.cast(str).to_numpy() for column in columns]
    given = np.array([text is not None for text in texts[0]], dtype=np.bool_)
    readable = np.isfinite(numbers[0])
    if given.any() and (readable & given).sum() >= MOSTLY * given.sum() and columns[0].dtype != bool:
        cuts = np.unique(np.quantile(numbers[0][readable], np.linspace(0, 1, RANGES + 1)[1:-1]))
        codes = [
            np.where(np.isfinite(x), np.searchsorted(cuts, x, side="right"), cuts.size + 1) for x in numbers
        ]
        ordered = np.sort(numbers[0][readable])
        places = [
            np.where(np.isfinite(x), np.searchsorted(ordered, x) / max(ordered.size, 1), -1.0)
            for x in numbers
        ]
        return _Coded([c.astype(np.int64) for c in codes], cuts.size + 2, places)
    known: dict[Any, int] = {}
    codes = [np.array([known.setdefault(t, len(known)) for t in text], dtype=np.int64) for text in texts]
    return _Coded(codes, len(known), None)


def _numbers(column: pl.Series) -> Floats:
    import polars as pl

    if column.dtype.is_temporal():
        column = column.to_physical()
    cast = column.cast(pl.Float64, strict=False)
    return np.nan_to_num(cast.to_numpy().astype(np.float64), nan=np.inf, neginf=np.inf)


def _distance(one: Codes, other: Codes, size: int) -> float:
    p, q = (np.bincount(codes, minlength=size) / max(codes.size, 1) for codes in (one, other))
    return float(np.abs(p - q).sum() / 2)


def _one_way(coded: Sequence[_Coded]) -> float | None:
    found = [_distance(c.codes[0], c.codes[1], c.size) for c in coded]
    return float(np.mean(found)) if found else None


def _two_way(coded: Sequence[_Coded]) -> float | None:
    pairs = list(combinations(coded, 2))
    if not pairs:
        return _one_way(coded)
    chosen = pairs if len(pairs) <= PAIRS else pairs[:: -(-len(pairs) // PAIRS)]
    found = []
    for a, b in chosen:
        joint = [x * b.size + y for x, y in zip(a.codes[:2], b.codes[:2], strict=True)]
        _, numbered = np.unique(np.concatenate(joint), return_inverse=True)
        cut = joint[0].size
        found.append(_distance(numbered[:cut], numbered[cut:], int(numbered.max(initial=0)) + 1))
    return float(np.mean(found))


def _membership(coded: Sequence[_Coded]) -> float | None:
    """Probability that a fitted row is nearer to the synthetic rows than a held-out one; 0.5 is chance."""
    sizes = [coded[0].codes[side].size for side in range(3)] if coded else [0]
    if min(sizes) == 0:
        return None
    rng = np.random.default_rng(0)
    chosen = [
        rng.permutation(size)[:most]
        for size, most in zip(sizes, (PERSONS, 3 * PERSONS, PERSONS), strict=True)
    ]
    nearest = []
    for side in (0, 2):
        distance = np.zeros((chosen[side].size, chosen[1].size), dtype=np.float32)
        for column in coded:
            if column.places is None:
                distance += column.codes[side][chosen[side]][:, None] != column.codes[1][chosen[1]][None, :]
            else:
                one, two = column.places[side][chosen[side]], column.places[1][chosen[1]]
                distance += np.abs(one[:, None] - two[None, :]).astype(np.float32)
        nearest.append(distance.min(axis=1))
    members, others = nearest
    ordered = np.sort(others)
    above = ordered.size - np.searchsorted(ordered, members, side="right")
    ties = np.searchsorted(ordered, members, side="right") - np.searchsorted(ordered, members, side="left")
    return float((above + ties / 2).mean() / ordered.size)

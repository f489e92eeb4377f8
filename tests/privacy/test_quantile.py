"""The private quantile: its privacy exhaustively on small tables, and that it finds the quantile."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato.privacy.exponential import probabilities
from sfumato.privacy.mechanisms.quantiles import Quantile
from sfumato.privacy.quantile import rank_scores
from sfumato.privacy.unit import PrivacyUnit


class Cells:
    """As many codes as there are counts below; the mechanisms are handed the counts themselves."""

    column, size = "c", 100


def _log_ratios(one: np.ndarray, other: np.ndarray, quantile: Fraction, rate: Fraction) -> list[float]:
    pairs = zip(
        probabilities(rank_scores(one, quantile), rate),
        probabilities(rank_scores(other, quantile), rate),
        strict=True,
    )
    return [float(np.log(float(p / q))) for p, q in pairs]


@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("at_most", [1, 2])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_neighbour_moves_the_probabilities_by_more_than_is_charged(quantile, at_most, relation):
    unit = PrivacyUnit(column="person", at_most=at_most) if at_most > 1 else PrivacyUnit()
    rate = Fraction(1, 3)
    mechanism = Quantile(encoder=Cells(), first=0, quantile=quantile, rate=rate)
    charged = mechanism.cost(unit).under(relation).epsilon
    rows = [np.array(c, dtype=np.int64) for c in product(range(at_most + 1), repeat=3) if sum(c) <= at_most]
    worst = 0.0
    for base in product(range(3), repeat=3):
        counts = np.array(base, dtype=np.int64)
        units = [(counts + a, counts + b) for a in rows for b in rows]
        for one, other in units if relation == "replace" else [(counts + a, counts) for a in rows]:
            ratios = _log_ratios(one, other, quantile, rate)
            worst = max(worst, max(ratios) - min(ratios), max(map(abs, ratios)))
    assert worst <= charged * (1 + 1e-9)
    assert worst > 0.4 * charged, "the charge should not be loose"


def test_the_quantile_is_found_when_the_budget_allows():
    counts = np.full(100, 50, dtype=np.int64)
    mechanism = Quantile(encoder=Cells(), first=0, quantile=Fraction(1, 4), rate=Fraction(1, 2))
    cuts = {int(mechanism.noisy(rank_scores(counts, Fraction(1, 4))).arrays[0][0]) for _ in range(200)}
    # A cut one cell off has a score 200 lower: it is chosen with probability e^-100.
    assert cuts == {24}

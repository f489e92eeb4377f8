"""The choice of pairs among many columns: scores, numbering, price, and what is refused before a charge."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from sfumato.domain.codecs import codec_for
from sfumato.domain.column import read_column
from sfumato.privacy.cost import bounded_range
from sfumato.privacy.mechanisms.top_pairs import TopPairs
from sfumato.privacy.unit import PrivacyUnit
from sfumato.tables.counting import BlockCounter
from sfumato.tables.source import open_source

SIZES = (2, 3, 4, 2)
FRAME = pl.DataFrame(
    {f"c{i}": np.random.default_rng(i).integers(0, size, 400) for i, size in enumerate(SIZES)}
).with_columns(c3=pl.col("c0"))


def question(**changes):
    encoders = [
        codec_for(read_column(f"c{i}", {"type": "int", "min": 0, "max": n - 1})) for i, n in enumerate(SIZES)
    ]
    shares = [
        np.bincount(encoder.encode(FRAME[encoder.column]), minlength=encoder.size) for encoder in encoders
    ]
    facts = {"encoders": tuple(encoders), "shares": tuple(shares), "total": 400.0, "per_cell": 5, "count": 2}
    return TopPairs(**{**facts, "rate": Fraction(1, 10), **changes})


def test_scores_are_distances_to_independence():
    mechanism = question()
    scores = mechanism.exact(BlockCounter(open_source(FRAME)))
    for code, (i, j) in enumerate(combinations(range(len(SIZES)), 2)):
        assert mechanism.pair(code) == (i, j)
        one, two = mechanism.encoders[i], mechanism.encoders[j]
        (table,) = BlockCounter(open_source(FRAME)).marginals([(one, two)])
        distance = np.abs(table - np.outer(mechanism.shares[i], mechanism.shares[j]) * 400).sum()
        assert scores[code] == pytest.approx(distance - 5 * table.size, abs=1.01)
    assert mechanism.pair(int(np.argmax(scores))) == (0, 3)


def test_a_price_is_that_of_as_many_choices():
    unit = PrivacyUnit()
    cost = question(count=6).cost(unit)
    for relation, span in (("add-remove", 0.2), ("replace", 0.4)):
        one = bounded_range(span)
        assert cost.under(relation).mu2 == pytest.approx(6 * one.mu2)
        assert cost.under(relation).rho == pytest.approx(6 * one.rho)


@pytest.mark.parametrize(
    "changes", [{"count": 0}, {"count": 7}, {"rate": Fraction(-1)}, {"per_cell": -1}, {"shares": ()}]
)
def test_what_cannot_be_asked_is_refused_before_it_is_charged(changes):
    with pytest.raises(ValueError):
        question(**changes)


def test_estimates_that_are_no_numbers_do_no_harm():
    odd = question(
        shares=tuple(np.full(e.size, np.nan) for e in question().encoders), total=np.inf, per_cell=0
    )
    scores = odd.exact(BlockCounter(open_source(FRAME)))
    assert (scores >= 0).all()

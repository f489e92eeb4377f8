"""The exact samplers follow their laws, and the laws have the privacy that is charged.

False alarms: each chi-square below 1e-9.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.privacy import exact_laplace
from sfumato.privacy.exact_laplace import ExactLaplace, geometric, sup_norm

DRAWS = 40_000


def _fits(observed: dict, law: dict) -> bool:
    """Chi-square of counts against a law, rare values together."""
    total = sum(observed.values())
    common = [value for value, p in law.items() if p * total >= 10]
    rest = 1 - sum(law[value] for value in common)
    seen = [observed.get(value, 0) for value in common]
    expected = [law[value] * total for value in common]
    if rest * total >= 5:
        seen.append(total - sum(seen))
        expected.append(rest * total)
    statistic = sum((o - e) ** 2 / e for o, e in zip(seen, expected, strict=True))
    return chi2.sf(statistic, len(seen) - 1) > 1e-9


def _counts(values) -> dict:
    found, counts = np.unique(np.asarray(values), return_counts=True, axis=0)
    keys = [tuple(v) if np.ndim(v) else int(v) for v in found.tolist()]
    return dict(zip(keys, counts.tolist(), strict=True))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 4), Fraction(19)])
def test_geometric_law(scale: Fraction) -> None:
    a = math.exp(-1 / scale)
    assert _fits(_counts(geometric(scale, DRAWS)), {k: (1 - a) * a**k for k in range(400)})


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(5, 3), Fraction(12)])
def test_laplace_law(scale: Fraction) -> None:
    a = math.exp(-1 / scale)
    law = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-300, 301)}
    assert _fits(_counts(ExactLaplace(scale).draw(DRAWS)), law)


def test_the_law_of_two_entries_in_the_maximum_norm() -> None:
    scale = Fraction(3, 2)
    weights = {
        (x, y): math.exp(-max(abs(x), abs(y)) / scale) for x, y in itertools.product(range(-60, 61), repeat=2)
    }
    total = sum(weights.values())
    drawn = [sup_norm(scale, 2).tolist() for _ in range(2_500)]
    assert _fits(_counts(drawn), {key: weight / total for key, weight in weights.items()})


def test_one_entry_in_the_maximum_norm_is_laplace_noise() -> None:
    scale = Fraction(2)
    a = math.exp(-1 / scale)
    drawn = [int(sup_norm(scale, 1)[0]) for _ in range(2_500)]
    assert _fits(_counts(drawn), {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-80, 81)})


def test_many_entries_have_the_stated_spread() -> None:
    entries = 20
    drawn = np.concatenate([sup_norm(Fraction(1000), entries) for _ in range(300)])
    spread = 1000 * math.sqrt((entries + 1) * (entries + 2) / 3)
    assert 0.9 < drawn.std() / spread < 1.1


def test_a_chi_square_notices_noise_of_another_scale() -> None:
    a = math.exp(-1 / 5)
    assert not _fits(_counts(geometric(Fraction(9, 2), DRAWS)), {k: (1 - a) * a**k for k in range(400)})


def test_coins_are_exact() -> None:
    """All outcomes of the first two coins of e^{-1/2}, weighed by hand: k = 1 fails with 1/2, and so on."""
    found = exact_laplace._coins(np.full(DRAWS, 1), 2)
    p = math.exp(-0.5)
    assert abs(found.mean() - p) < 6.5 * math.sqrt(p * (1 - p) / DRAWS)


def test_two_draws_differ() -> None:
    assert not np.array_equal(ExactLaplace(Fraction(100)).draw(50), ExactLaplace(Fraction(100)).draw(50))


def test_floats_and_out_of_range_scales_are_refused() -> None:
    with pytest.raises(TypeError):
        ExactLaplace(0.5)
    with pytest.raises(ValueError, match="2\\*\\*40"):
        ExactLaplace(Fraction(1 << 41))

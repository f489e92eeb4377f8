"""Measures that SDMetrics has as well agree with it; skipped where it is not installed."""

import warnings

import numpy as np
import polars as pl
import pytest

import sfumato as sf

sdmetrics = pytest.importorskip("sdmetrics")
pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(11)
ROWS = 400


def table(shift):
    numbers = RNG.normal(shift, 1 + shift, ROWS)
    numbers[RNG.random(ROWS) < 0.1 + shift / 5] = np.nan
    return pl.DataFrame(
        {
            "number": numbers,
            "other": RNG.integers(0, 60 + int(20 * shift), ROWS),
            "label": RNG.choice(["a", "b", "c", "d", "e"][: 5 - int(2 * shift)], ROWS),
        },
        nan_to_null=True,
    )


@pytest.fixture(scope="module")
def both():
    real, made = table(0.0), table(0.5)
    found = sf.evaluate(real, made, families=["marginals", "structure"])
    frames = [pandas.DataFrame(side.to_dict(as_series=False)) for side in (real, made)]
    return found, *frames


def cell(found, measure, column, heading):
    return next(row[heading] for row in found[measure].details if row["column"] == column)


@pytest.mark.parametrize("column", ["number", "other"])
def test_numbers(both, column):
    from sdmetrics.single_column import BoundaryAdherence, KSComplement, RangeCoverage

    found, real, made = both
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [
            each.compute(real[column], made[column])
            for each in (KSComplement, RangeCoverage, BoundaryAdherence)
        ]
    ours = [
        1 - cell(found, "marginals.ks", column, "ks"),
        cell(found, "marginals.range_coverage", column, "share spanned"),
        cell(found, "marginals.boundary_adherence", column, "share within"),
    ]
    assert ours == pytest.approx(theirs)


def test_categories(both):
    from sdmetrics.single_column import CategoryCoverage, TVComplement

    found, real, made = both
    assert cell(found, "marginals.tv1", "label", "tv") == pytest.approx(
        1 - TVComplement.compute(real["label"], made["label"])
    )
    assert cell(found, "marginals.category_coverage", "label", "share covered") == pytest.approx(
        CategoryCoverage.compute(real["label"], made["label"])
    )


def test_missing_cells(both):
    from sdmetrics.single_column import MissingValueSimilarity

    found, real, made = both
    theirs = MissingValueSimilarity.compute(real["number"], made["number"])
    assert cell(found, "marginals.missing", "number", "difference") == pytest.approx(1 - theirs)


def test_correlations(both):
    from sdmetrics.column_pairs import CorrelationSimilarity

    found, real, made = both
    for measure, name in (("structure.pearson", "Pearson"), ("structure.spearman", "Spearman")):
        (row,) = found[measure].details
        complete = [side[["number", "other"]].dropna() for side in (real, made)]
        theirs = CorrelationSimilarity.compute(*complete, coefficient=name)
        assert row["difference"] / 2 == pytest.approx(1 - theirs)

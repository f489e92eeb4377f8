"""Whether two tables have anything to do with each other: the wrong file looks like a bad result."""

from __future__ import annotations

import numpy as np

from sfumato.errors import InputError
from sfumato.evaluation.pair import Pair, PairedColumn, Side


def check_shared(pair: Pair | None) -> None:
    """InputError when the synthetic table has none of the columns of the real one."""
    if pair is not None and not pair.columns and not pair.ignored:
        raise InputError(
            "the synthetic table has none of the real table's columns, so there is nothing to compare",
            mend="are these the right files, the real one first? their first lines must hold the same names",
        )


def stranger(pair: Pair | None) -> str:
    """What to tell of tables that share columns and no value; empty for all others.

    A number is shared where the ranges meet, a category where one occurs on both sides. A column that one
    side leaves empty says nothing.
    """
    found = [_meets(column) for column in pair or ()]
    known = [meets for meets in found if meets is not None]
    if not known or any(known):
        return ""
    return (
        "the tables have the same columns and no value in common: no category occurs in both, and no ranges "
        "of numbers meet. Were these rows made from this table?"
    )


def _meets(column: PairedColumn) -> bool | None:
    """Whether real and synthetic cells share anything; None where one side has no values."""
    counts = [column.counts(side)[:-1] for side in ("real", "synthetic")]
    if not all(each.any() for each in counts):
        return None
    shared = bool((counts[0][column.bins :] * counts[1][column.bins :]).any())
    if shared or not column.is_number:
        return shared
    real, made = _values(column, "real"), _values(column, "synthetic")
    if not (real.size and made.size):
        return None
    return bool(real.min() <= made.max() and made.min() <= real.max())


def _values(column: PairedColumn, side: Side) -> np.ndarray:
    values = column.values(side)
    return values[~np.isnan(values)]

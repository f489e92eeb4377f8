"""Which real rows train a model and which test it: hold-out rows test, or else a third of the real rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.pair import Pair, Side

TEST_SHARE = 1 / 3
Places = npt.NDArray[np.int64]


@frozen(eq=False)
class Split:
    """Places of real and synthetic training rows, and of test rows on the side `test_side`.

    Both training sets have the same number of rows, so that a difference of scores is not one of sizes.
    """

    real: Places
    synthetic: Places
    test: Places
    test_side: Side

    @property
    def sides(self) -> tuple[tuple[Side, Places], tuple[Side, Places], tuple[Side, Places]]:
        """Side and places of real training, synthetic training and test rows."""
        return ("real", self.real), ("synthetic", self.synthetic), (self.test_side, self.test)

    @property
    def facts(self) -> dict[str, object]:
        """Counts, for the reader."""
        source = (
            "hold-out rows"
            if self.test_side == "holdout"
            else "a third of the real rows, kept out of training"
        )
        return {
            "training rows": {"real": len(self.real), "synthetic": len(self.synthetic)},
            "test rows": len(self.test), "tested on": source,
        }  # fmt: skip


def split(
    pair: Pair, *, at_most: int, seed: int, keep: dict[Side, npt.NDArray[np.bool_]] | None = None
) -> Split:
    """Rows that train and rows that test, at most `at_most` each; `keep`: rows that may be used at all.

    Sides with as many rows are split at the same places: of a table and its copy the same rows train. Raises
    NotApplicable when a part would be empty.
    """

    def shuffled(side: Side) -> Places:
        places = np.arange(pair.rows(side)) if keep is None else np.flatnonzero(keep[side])
        return np.random.default_rng(seed).permutation(places)

    real, synthetic = shuffled("real"), shuffled("synthetic")
    if pair.has_holdout:
        test, side = shuffled("holdout"), "holdout"
    else:
        real = _people_together(pair, real)
        cut = int(len(real) * TEST_SHARE)
        if len(synthetic) >= len(real):
            synthetic = synthetic[cut:]
        test, real, side = real[:cut], real[cut:], "real"
    rows = min(len(real), len(synthetic), at_most)
    if not rows or not len(test):
        raise NotApplicable("there are too few rows to train and to test a model")
    return Split(real[:rows], synthetic[:rows], test[:at_most], "holdout" if side == "holdout" else "real")


def _people_together(pair: Pair, rows: Places) -> Places:
    """The same rows with those of one person one after the other: at most one person is in two parts."""
    if "real" not in pair.persons:
        return rows
    persons = pair.persons["real"][rows]
    alone = persons.max(initial=0) + 1 + np.arange(len(rows))
    _, first, who = np.unique(np.where(persons < 0, alone, persons), return_index=True, return_inverse=True)
    return rows[np.argsort(first[who], kind="stable")]

"""What an evaluation is told besides the tables."""

from __future__ import annotations

import math
from collections.abc import Callable

from attrs import Attribute, field, frozen

from sfumato.errors import UsageError

CELLS, FEWEST = 2_000_000, 500


def at_least(least: int) -> Callable[[object, Attribute, object], None]:
    """A validator: a whole number of at least so much."""

    def check(_: object, attribute: Attribute, value: object) -> None:
        if type(value) is not int or value < least:
            raise UsageError(f"{attribute.name} must be a whole number of at least {least}, not {value!r}")

    return check


def _positive(_: object, attribute: Attribute, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
        raise UsageError(f"{attribute.name} must be a number above 0, not {value!r}")


@frozen(kw_only=True)
class Settings:
    """Options of an evaluation, checked when made.

    `target`: the column that models predict. `groups`: columns whose values are subgroups. `regression`: the
    outcome column and then its predictors, for the regression that an analyst would run. `epsilon`: of the
    private learners that models are held against. `model_rows`: at most so many rows of a table train a model
    or are told apart; `sets`: at most so many sets of three or more columns are counted, and `ways`: the most
    columns of a set. `pairs`: at most so many pairs of columns. `seed`: of every draw.
    """

    target: str | None = None
    groups: tuple[str, ...] = field(default=(), converter=tuple)
    regression: tuple[str, ...] | None = field(
        default=None, converter=lambda names: None if names is None else tuple(names)
    )
    epsilon: float = field(default=1.0, validator=_positive)
    model_rows: int = field(default=10_000, validator=at_least(2))
    sets: int = field(default=300, validator=at_least(1))
    pairs: int = field(default=2_000, validator=at_least(1))
    ways: int = field(default=4, validator=at_least(3))
    seed: int = field(default=0, validator=at_least(0))

    def rows_for(self, columns: int) -> int:
        """At most so many rows of a table of so many columns train a model: `model_rows`, and fewer where
        more than `CELLS` cells would be learned from, but `FEWEST` at least.
        """
        return min(self.model_rows, max(CELLS // max(columns, 1), FEWEST))

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Columns that options name, by option."""
        return {
            "target": () if self.target is None else (self.target,),
            "groups": self.groups,
            "regression": self.regression or (),
        }

"""Whose presence is hidden: the privacy unit and the neighbouring relation.

Two tables are neighbours under `add-remove` when one has all rows of one unit more than the other, and
under `replace` when the rows of one unit are exchanged. A unit is a row, or a person with at most
`at_most` rows (`sfumato.tables.limit` cuts the others away before anything is counted).

Every row falls into one cell of a table of counts, so with m = at_most

                          add-remove        replace
    L1 of one table       m                 2 m
    L2² of one table      m²                2 m²     (m rows leave one cell, m enter another)
    a score |count - x|₁  m                 2 m
    a total               m                 m
    keys touched          m                 2 m
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from attrs import field, frozen

from sfumato.errors import UsageError

Relation = Literal["add-remove", "replace"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def check_relation(name: str) -> Relation:
    """The relation of that name, or UsageError."""
    for relation in RELATIONS:
        if relation == name:
            return relation
    raise UsageError(f"neighbours must be one of {', '.join(RELATIONS)}, not {name!r}")


@frozen(kw_only=True)
class PrivacyUnit:
    """What is added, removed or replaced between neighbouring tables."""

    neighbours: Relation = "add-remove"
    """The relation that the budget is calibrated for; the other one is reported as well."""
    column: str | None = None
    """Column that tells persons apart; None: every row is a unit."""
    at_most: int = field(default=1)
    """Rows kept per person (m)."""

    @at_most.validator
    def _check(self, _: Any, value: int) -> None:
        if value < 1 or (self.column is None and value != 1):
            raise UsageError(
                f"a unit of at most {value} rows", mend="name the column of persons and a bound ≥ 1"
            )

    @property
    def keeps_rows(self) -> bool:
        """Whether neighbours have equally many rows, so that their number may be public: single rows are
        replaced.
        """
        return self.neighbours == "replace" and self.column is None

    def table_l2_squared(self, relation: Relation) -> int:
        """Squared L2 distance that neighbours can put between one table of counts."""
        return self.at_most**2 * (1 if relation == "add-remove" else 2)

    def table_l1(self, relation: Relation) -> int:
        """L1 distance that neighbours can put between one table of counts."""
        return self.at_most * (1 if relation == "add-remove" else 2)

    def score(self, relation: Relation) -> int:
        """L∞ distance of L1-error scores, in records; also the number of keys touched."""
        return self.at_most * (1 if relation == "add-remove" else 2)

    @property
    def total(self) -> int:
        """Distance of row counts, under either relation (a replaced person may have 0 … m rows)."""
        return self.at_most

    def describe(self) -> dict[str, Any]:
        """Public form for the ledger."""
        return {"neighbours": self.neighbours, "column": self.column, "at_most": self.at_most}

    def __str__(self) -> str:
        if self.column is None:
            return "one row"
        return f"all rows with one value of {self.column!r} (at most {self.at_most} kept)"

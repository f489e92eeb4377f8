"""How one epsilon is divided between margins and the rest."""

from __future__ import annotations

from attrs import field, frozen

from sfumato.errors import UsageError
from sfumato.privacy.filter import check_epsilon


def _fraction(_: object, attribute: object, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"margins_fraction must lie between 0 and 1, not {value:g}")


@frozen(kw_only=True)
class BudgetSplit:
    """A total epsilon and the share of it for margins."""

    total: float = field(converter=check_epsilon)
    margins_fraction: float = field(default=0.3, converter=float, validator=_fraction)

    @property
    def margins(self) -> float:
        """What margins may cost."""
        return self.total * self.margins_fraction

    @property
    def train(self) -> float:
        """What is left for everything else; with `margins` it makes `total`."""
        return self.total - self.margins

    def describe(self) -> str:
        """The split in words."""
        return (
            f"epsilon {self.total:g}: {self.margins:g} for margins, {self.train:g} for everything else "
            f"({self.margins_fraction:.0%} and {1 - self.margins_fraction:.0%})"
        )


def split_budget(
    total: float | None = None, margins_fraction: float = 0.3, *, total_epsilon: float | None = None
) -> BudgetSplit:
    """Divide `total` (also spelled `total_epsilon`): `margins_fraction` of it for margins.

    Pass `.total` as epsilon and `.margins_fraction` as option of the method: the charge is the total, once.
    """
    given = [value for value in (total, total_epsilon) if value is not None]
    if len(given) != 1:
        raise UsageError("split_budget needs one total", mend="for example split_budget(total=10.0)")
    return BudgetSplit(total=given[0], margins_fraction=margins_fraction)

"""The contract of a mechanism: a cost that needs no data, an exact integer answer, noise on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.encoder import Codes, Encoder
from sfumato.privacy.cost import Cost
from sfumato.privacy.unit import PrivacyUnit

Counts = npt.NDArray[np.int64]
Clique = tuple[Encoder, ...]


class Rows(Protocol):
    """Private rows, as seen by mechanisms: they can be counted, sampled and trained on."""

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """Exact counts over the product of each clique's codes."""
        ...

    def pair_tables(self, encoders: Sequence[Encoder]) -> Counts:
        """Exact counts of all pairs of codes, as one symmetric matrix over the codes of all encoders."""
        ...

    def value_counts(self, columns: Sequence[str]) -> list[dict[str, int]]:
        """Exact counts of the texts of each column."""
        ...

    def pair_sums(
        self, encoders: Sequence[Encoder], groups: Sequence[Counts], values: Sequence[Counts]
    ) -> Counts:
        """Exact sums over the rows of an integer function of two columns' groups, for all pairs."""
        ...

    def records(self, encoders: Sequence[Encoder], places: Sequence[int] | None = None) -> Codes:
        """Codes of the rows at some places, one line each; 0 at places beyond the last row. None: all rows,
        in their order.
        """
        ...

    def cells(self, encoders: Sequence[Encoder]) -> tuple[Counts, Counts]:
        """Combinations of codes that occur, one line each in rising order, and how often."""
        ...

    def memo(self, key: str, compute: Callable[[], Counts]) -> Counts:
        """A private intermediate result that several mechanisms use, computed once."""
        ...


@frozen(kw_only=True)
class Answer:
    """What a mechanism releases: integer arrays, and labels where the answer names values."""

    arrays: tuple[Counts, ...]
    labels: tuple[tuple[str, ...], ...] = ()


class Mechanism(Protocol):
    """One read of private rows."""

    name: ClassVar[str]

    def cost(self, unit: PrivacyUnit) -> Cost:
        """Price under both relations; depends on public parameters alone."""
        ...

    def describe(self) -> dict[str, Any]:
        """Public parameters, JSON-able: what the ledger keeps."""
        ...

    def exact(self, rows: Rows) -> Any:
        """The private, noiseless answer. Called by the curator only, after the charge."""
        ...

    def noisy(self, exact: Any) -> Answer:
        """The released answer."""
        ...

    def fits(self, answer: Answer) -> bool:
        """Whether a recorded answer has the form of those that this mechanism releases, so that a file can
        carry nothing else in it.
        """
        ...


def has_shapes(answer: Answer, *shapes: tuple[int, ...]) -> bool:
    """Whether an answer is made of arrays of these shapes, without labels."""
    return not answer.labels and [array.shape for array in answer.arrays] == list(shapes)


def clique_names(cliques: Sequence[Clique]) -> list[list[str]]:
    """Columns of each clique, for the ledger."""
    return [[encoder.column for encoder in clique] for clique in cliques]

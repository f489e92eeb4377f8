"""What the methods on a private Bayesian network share: the options of the network, the division of the rows,
and how it is learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import field, frozen
from attrs.validators import ge, in_, optional

from sfumato.bayesian_network import Network
from sfumato.discovery.discover import Domain
from sfumato.errors import UsageError
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.network_learning import ONE_WAY, PARAMETERS, STRUCTURE, Learning, learn_network
from sfumato.synthesizers.outlook import Outlook, Scene

ROW_COUNT = 0.01
"""Share of the budget for the number of rows, asked of all of them."""


def _as_starts(value: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Starts of buckets by column."""
    if not isinstance(value, Mapping):
        raise TypeError("bucket_starts is a table: a column and the values its buckets start with")
    return {str(name): tuple(starts) for name, starts in value.items()}


def _as_weights(value: Sequence[float] | None) -> tuple[float, ...] | None:
    """Shares of e^epsilon, or None."""
    return None if value is None else tuple(float(each) for each in value)


@frozen(kw_only=True)
class NetworkRecipe:
    """A method whose rows fall into disjoint parts, two of which make a Bayesian network."""

    guarantee: ClassVar[str] = "(epsilon, delta)"

    structure: str = field(default="tables", validator=in_(("tables", "entropies", "none")))
    """"tables": entropies from noisy tables of pairs; "entropies": noisy entropies; "none": no parents."""
    weights: tuple[float, ...] | None = field(default=None, converter=_as_weights)
    """How e^epsilon is divided between the parts of the rows; None: each has the whole epsilon."""
    maxcost: int = field(default=300, validator=ge(1))
    """Most configurations of the parents of a column."""
    parents_at_most: int | None = field(default=None, validator=optional(ge(0)))
    buckets: int = field(default=10, validator=ge(2))
    """About how many buckets a column of numbers has as a parent."""
    bucket_starts: dict[str, Any] = field(factory=dict, converter=_as_starts)
    """The first value of each bucket, for columns where the owner states them."""
    prior: float = field(default=1.0, validator=ge(0.0))
    """Records that the Dirichlet prior weighs in each configuration of parents."""

    @weights.validator
    def _check_weights(self, _: Any, value: tuple[float, ...] | None) -> None:
        parts = len(self.shares)
        if value is not None and (len(value) != parts or min(value) <= 0 or sum(value) > 1 + 1e-9):
            raise ValueError(f"weights are {parts} numbers above 0, together at most 1")

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError for buckets of a column that is not modelled."""
        for name in self.bucket_starts:
            if name not in names:
                raise UsageError(f"bucket_starts names {name!r}, which is no modelled column")

    @property
    def shares(self) -> dict[str, float]:
        """Probabilities of the parts."""
        raise NotImplementedError

    @property
    def parts_have_weights(self) -> bool:
        """Whether rows of some part may see more than the whole epsilon."""
        return self.weights is not None

    def split(self, columns: int) -> dict[str, float]:
        """The budget that each question has, scaled to sum 1: disjoint parts of the rows have it at once."""
        rest, parts = 1 - ROW_COUNT, len(self.shares)
        ones = ONE_WAY if columns > 1 else 1.0
        found = {"row count": ROW_COUNT, "one-way marginals": ones * rest / parts}
        if columns > 1:
            found["structure"] = (1 - ONE_WAY) * rest / parts
        found["parameters"] = rest / parts
        if parts > 2:
            found["seeds"] = rest / parts
        return found

    def outlook(self, scene: Scene) -> Outlook:
        """What is measured on a part of the rows has noise that is larger in proportion, and the whole
        budget.
        """
        columns = len(scene.codecs)
        rest = 1 - ROW_COUNT
        ones = ONE_WAY * rest * self.shares[STRUCTURE] ** 2
        tables = rest * self.shares[PARAMETERS] ** 2 if columns > 1 else 0.0

        def cells() -> int:
            sizes = [min(codec.size, 64) for codec in scene.codecs]
            return int(sum(10 * size for size in sizes))

        return Outlook(
            one_way=ones,
            relations=tables,
            pairs=max(columns - 1, 0),
            model=cells,
            candidates=columns * (columns - 1) // 2,
        )

    def learn_network(self, curator: Curator, domain: Domain) -> tuple[float, Network]:
        """Divide the rows and learn: the noisy number of rows, at least 1, and the network."""
        total, _ = curator.total(spend=ROW_COUNT * curator.left)
        weights = None if self.weights is None else dict(zip(self.shares, self.weights, strict=True))
        curator.divide(self.shares, weights=weights)
        options = Learning(
            structure=self.structure,
            maxcost=self.maxcost,
            parents_at_most=self.parents_at_most,
            buckets=self.buckets,
            bucket_starts=self.bucket_starts,
            prior=self.prior,
        )
        return max(1.0, float(total)), learn_network(curator, domain.codecs, options, self.shares)

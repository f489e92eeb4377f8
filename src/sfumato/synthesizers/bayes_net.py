"""`bayes-net`: a private Bayesian network, and rows from it without seeds.

The generative model of Bindschaedler, Shokri, Gunter 2017, alone. docs/methods/bayes-net.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import field, frozen
from attrs.validators import ge, in_, optional

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.network_generator import NetworkGenerator
from sfumato.synthesizers.network_learning import ONE_WAY, PARAMETERS, STRUCTURE, Learning, learn_network
from sfumato.synthesizers.outlook import Outlook, Scene
from sfumato.synthesizers.recipe import synthesizer

ROW_COUNT = 0.01
"""Share of the budget for the number of rows, asked of all of them."""


def as_starts(value: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    """Starts of buckets by column."""
    if not isinstance(value, Mapping):
        raise TypeError("bucket_starts is a table: a column and the values its buckets start with")
    return {str(name): tuple(starts) for name, starts in value.items()}


def as_weights(value: Sequence[float] | None) -> tuple[float, ...] | None:
    """Shares of e^epsilon, or None."""
    return None if value is None else tuple(float(each) for each in value)


def check_weights(recipe: Any, attribute: Any, value: tuple[float, ...] | None) -> None:
    """ValueError unless there is one weight for each part, in all at most 1."""
    if value is None:
        return
    if len(value) != recipe.parts or min(value) <= 0 or sum(value) > 1 + 1e-9:
        raise ValueError(f"weights are {recipe.parts} numbers above 0, together at most 1")


@synthesizer("bayes-net")
@frozen(kw_only=True)
class BayesNet:
    """Structure by feature selection, parameters from noisy counts, on disjoint parts of the rows."""

    name: ClassVar[str] = "bayes-net"
    summary: ClassVar[str] = "Bayesian network, structure and parameters from disjoint parts of the rows"
    guarantee: ClassVar[str] = "(epsilon, delta)"
    parts: ClassVar[int] = 2

    structure: str = field(default="tables", validator=in_(("tables", "entropies", "none")))
    """"tables": entropies from noisy tables of pairs; "entropies": noisy entropies; "none": no parents."""
    structure_share: float = field(default=0.3)
    """Probability that a row is used for the structure; the others are used for the parameters."""
    weights: tuple[float, ...] | None = field(default=None, converter=as_weights, validator=check_weights)
    """How e^epsilon is divided between structure and parameters; None: both have the whole epsilon."""
    maxcost: int = field(default=300, validator=ge(1))
    """Most configurations of the parents of a column."""
    parents_at_most: int | None = field(default=None, validator=optional(ge(0)))
    buckets: int = field(default=10, validator=ge(2))
    """About how many buckets a column of numbers has as a parent."""
    bucket_starts: dict[str, Any] = field(factory=dict, converter=as_starts)
    """The first value of each bucket, for columns where the owner states them."""
    prior: float = field(default=1.0, validator=ge(0.0))
    """Records that the Dirichlet prior weighs in each configuration of parents."""

    @structure_share.validator
    def _check_share(self, _: Any, value: float) -> None:
        if not 0 < value < 1:
            raise ValueError("structure_share lies between 0 and 1")

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError for buckets of a column that is not modelled."""
        check_starts(self.bucket_starts, names)

    @property
    def parts_have_weights(self) -> bool:
        """Whether rows of some part may see more than the whole epsilon."""
        return self.weights is not None

    @property
    def shares(self) -> dict[str, float]:
        """Probabilities of the parts."""
        return {STRUCTURE: self.structure_share, PARAMETERS: 1 - self.structure_share}

    def split(self, columns: int) -> dict[str, float]:
        return split_of(self.shares, columns)

    def outlook(self, scene: Scene) -> Outlook:
        return outlook_of_parts(self.shares, scene)

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        total, _ = curator.total(spend=ROW_COUNT * curator.left)
        weights = None if self.weights is None else dict(zip(self.shares, self.weights, strict=True))
        curator.divide(self.shares, weights=weights)
        network = learn_network(curator, domain.codecs, learning_of(self), self.shares)
        return NetworkGenerator(total=max(1.0, float(total)), network=network)


def learning_of(recipe: Any) -> Learning:
    """The options that the learning of the network needs."""
    return Learning(
        structure=recipe.structure,
        maxcost=recipe.maxcost,
        parents_at_most=recipe.parents_at_most,
        buckets=recipe.buckets,
        bucket_starts=recipe.bucket_starts,
        prior=recipe.prior,
    )


def check_starts(starts: Mapping[str, Any], names: Sequence[str]) -> None:
    """UsageError for buckets of a column that is not modelled."""
    from sfumato.errors import UsageError

    for name in starts:
        if name not in names:
            raise UsageError(f"bucket_starts names {name!r}, which is no modelled column")


def split_of(shares: Mapping[str, float], columns: int) -> dict[str, float]:
    """The budget that each question has, scaled to sum 1: disjoint parts of the rows have it at once."""
    rest = 1 - ROW_COUNT
    parts = len(shares)
    ones = ONE_WAY if columns > 1 else 1.0
    found = {"row count": ROW_COUNT, "one-way marginals": ones * rest / parts}
    if columns > 1:
        found["structure"] = (1 - ONE_WAY) * rest / parts
    found["parameters"] = rest / parts
    if parts > 2:
        found["seeds"] = rest / parts
    return found


def outlook_of_parts(shares: Mapping[str, float], scene: Scene) -> Outlook:
    """What is measured on a part of the rows has noise that is larger in proportion, and the whole budget."""
    columns = len(scene.codecs)
    rest = 1 - ROW_COUNT
    ones = ONE_WAY * rest * shares[STRUCTURE] ** 2
    tables = rest * shares[PARAMETERS] ** 2 if columns > 1 else 0.0

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

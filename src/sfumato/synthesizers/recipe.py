"""What a method is: a frozen recipe whose `learn` talks to a Curator and returns a Generator.

To add one, write a file in this package with a frozen class decorated by `@synthesizer("name")`.
`learn` sees the curator and the domain and nothing else, so whatever it learns is in the ledger. It
must be deterministic given the curator's answers, because `sfumato verify` runs it again on the
recorded answers. A recipe whose options name columns has `check_columns(names)`, which is called with
the columns to be modelled before anything is charged; `check_facts(schema, stored)` likewise sees all public
facts, and `check_packages()` looks for packages that an option needs. One whose cells of wide numbers are
public has `grid(facts)`, which gives their edges; `discovery` holds other shares for discovery than the usual
ones. One that knows better than `outlook.tree_outlook` what it is going to measure has `outlook(scene)`, for
plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.domain.encoder import Codes
from sfumato.registry import Registry

if TYPE_CHECKING:
    from sfumato.discovery.discover import Domain
    from sfumato.privacy.curator import Curator


class Generator(Protocol):
    """Draws rows of codes from released numbers alone."""

    kind: ClassVar[str]
    """Name in the registry `generators`, stored in the model file."""
    total: float
    """Noisy number of rows of the table."""

    def sample(
        self, rows: int, rng: np.random.Generator, *, where: dict[int, npt.NDArray[np.bool_]] | None = None
    ) -> list[Codes]:
        """Exactly `rows` codes for each codec of the domain; `where` restricts codec i to some of its
        codes.
        """
        ...

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The generator's numbers, for a model file."""
        ...

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> Generator:
        """Read back `arrays`; `sizes` are the numbers of codes."""
        ...


class Recipe(Protocol):
    """A method with its options."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `sfumato methods`."""
    guarantee: ClassVar[str]
    """"(epsilon, delta)", "epsilon" or "none"."""

    def learn(self, curator: Curator, domain: Domain) -> Generator:
        """Spend what the curator's filter has left and return a generator."""
        ...

    def split(self, columns: int) -> dict[str, float]:
        """How the budget left after discovery is divided, by purpose; sums to 1.

        columns: number of columns that are modelled.
        """
        ...


@runtime_checkable
class Releases(Protocol):
    """A recipe that releases single records, each of which has an epsilon."""

    releases: ClassVar[str]
    """The sampler of `sfumato.sampling`."""
    needs_public_rows: ClassVar[bool]
    """Whether replacing rows must not change their number."""
    records: int
    """Records that are released."""


synthesizers: Registry[type[Recipe]] = Registry("method", "sfumato.synthesizers")
synthesizer = synthesizers.register
generators: Registry[type[Generator]] = Registry("generator", "sfumato.synthesizers")
generator = generators.register

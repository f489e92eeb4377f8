"""What methods without a guarantee have in common: they run here, or as the package SDV has them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

from attrs import evolve, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers import sdv_backend
from sfumato.synthesizers.copula_generator import CopulaGenerator
from sfumato.synthesizers.deep.common import check_choice
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.released_generator import ReleasedRecords

Drawer = CopulaGenerator | ModalGenerator


@frozen(kw_only=True)
class Yardstick:
    """A recipe without a guarantee, with the choice of who carries it out."""

    name: ClassVar[str]
    guarantee: ClassVar[str] = "none"
    for_sdv: ClassVar[tuple[str, ...]] = ()
    """Options that SDV takes under the same name."""

    backend: Literal["own", "sdv"] = "own"
    """"sdv": fit the synthesizer of that name of the package SDV, where it is installed."""
    sdv_rows: int = 0
    """Rows that SDV draws once it is fitted, which is what the model keeps; 0: as many as are asked for with
    the fit, else as many as the table has."""

    def __attrs_post_init__(self) -> None:
        check_choice("backend", self.backend, ("own", "sdv"))
        if self.sdv_rows < 0:
            raise ValueError("sdv_rows is at least 0")
        self.check_options()

    def check_options(self) -> None:
        """ValueError for options of the method that cannot be."""

    def check_packages(self) -> None:
        """UsageError with the command that installs what is missing."""
        if self.backend == "sdv":
            sdv_backend.check_installed(self.name)
        else:
            self.check_own_packages()

    def check_own_packages(self) -> None:
        """UsageError with the command that installs what the method itself misses."""

    def for_rows(self, rows: int | None) -> Self:
        """This recipe when so many rows will be asked for."""
        return evolve(self, sdv_rows=sdv_backend.rows_to_keep(self.backend, self.sdv_rows, rows))

    def learn(self, curator: Curator, domain: Domain) -> Drawer | ReleasedRecords:
        if self.backend == "own":
            return self.learn_here(curator, domain)
        options: dict[str, Any] = {name: getattr(self, name) for name in self.for_sdv}
        return sdv_backend.learn(curator, domain, method=self.name, options=options, keep=self.sdv_rows)

    @abstractmethod
    def learn_here(self, curator: Curator, domain: Domain) -> Drawer:
        """`learn`, without SDV."""

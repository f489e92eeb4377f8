"""What the networks without a guarantee have in common: what they know before they train, how they are
trained, and what is read off afterwards.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.plain_training import Learner
from sfumato.synthesizers.deep.common import check_positive, check_width, need_torch
from sfumato.synthesizers.deep.modal import Modal, modal
from sfumato.synthesizers.deep.modal_generator import ModalGenerator
from sfumato.synthesizers.exact_margins import exact_margins
from sfumato.synthesizers.yardstick import Yardstick

Floats = npt.NDArray[np.float64]
L = TypeVar("L", bound=Learner)


@frozen(kw_only=True)
class Known:
    """The exact number of rows and margins, and how columns are encoded."""

    total: float
    shares: tuple[Floats, ...]
    modal: Modal


def know(curator: Curator, domain: Domain, *, method: str, at_most: int, normal: bool) -> Known:
    """Charge infinity, then ask for the exact margins. `at_most`, `normal`: as in `modal`."""
    codecs = domain.codecs
    check_width(codecs)
    curator.reveal(f"{method} trains on the rows as they are")
    total, shares = exact_margins(curator, codecs)
    columns = [
        modal(codec, share, rows=total, at_most=at_most, normal=normal)
        for codec, share in zip(codecs, shares, strict=True)
    ]
    return Known(total=total, shares=shares, modal=Modal(columns=tuple(columns)))


@frozen(kw_only=True)
class NetworkYardstick(Yardstick, Generic[L]):
    """A network that is trained on rows as they are."""

    normal: ClassVar[bool] = False
    """Whether numbers are put on the normal scale first."""

    epochs: int = 300
    batch_size: int = 500
    embedding_dim: int = 128
    """Coordinates of the noise, or code, that a row is made from."""
    num_modes: int = 10
    """Most modes of a number."""
    initial: int = 0
    """Seed of the training."""

    def check_options(self) -> None:
        check_positive(
            epochs=self.epochs,
            batch_size=self.batch_size,
            embedding_dim=self.embedding_dim,
            num_modes=self.num_modes,
        )
        if self.initial < 0:
            raise ValueError("initial is at least 0")

    def check_own_packages(self) -> None:
        need_torch(self.name)

    def split(self, columns: int) -> dict[str, float]:
        return {"nothing: training is exact": 1.0}

    def learn_here(self, curator: Curator, domain: Domain) -> ModalGenerator:
        known = know(curator, domain, method=self.name, at_most=self.num_modes, normal=self.normal)
        learner = self.learner(known)
        answer = curator.train_unprotected(learner, encoders=domain.codecs, purpose="training")
        return self.generator(known, learner, released(answer))

    @abstractmethod
    def learner(self, known: Known) -> L:
        """What is to be trained."""

    @abstractmethod
    def generator(self, known: Known, learner: L, numbers: npt.NDArray[np.float32]) -> ModalGenerator:
        """What draws rows with the numbers that were learned."""


def check_sizes(**values: tuple[Any, ...]) -> None:
    """ValueError naming the first option that is not one or more widths of layers."""
    for name, sizes in values.items():
        whole = all(isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes)
        if not (isinstance(sizes, tuple) and sizes and whole):
            raise ValueError(f"{name} are widths of one hidden layer or more, such as (256, 256)")


def released(answer: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """The numbers that a network learned, and one that fills up where they are odd in number."""
    from sfumato.privacy.dpsgd import unpack

    return unpack(answer, 2 * answer.shape[1])[0]

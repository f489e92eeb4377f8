"""What the methods without a guarantee know before they train, and read off afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.deep.common import check_width
from sfumato.synthesizers.deep.modal import Modal, modal
from sfumato.synthesizers.exact_margins import exact_margins

Floats = npt.NDArray[np.float64]


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

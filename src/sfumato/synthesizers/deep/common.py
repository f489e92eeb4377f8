"""Steps that all deep methods share. Public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.codecs import Codec, ValuesCodec
from sfumato.errors import UsageError
from sfumato.lazy import optional
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.deep.encoding import Encoding, linear, ranks
from sfumato.synthesizers.one_way import measure_one_way

if TYPE_CHECKING:
    import torch

Numeric = Literal["linear", "ranks"]
Floats = npt.NDArray[np.float64]
WIDEST = 1_000
"""Most labels of a column that a network takes in."""
ROWS_SHARE = 0.01


def need_torch(method: str) -> None:
    """UsageError with the command that installs torch, where it is missing."""
    optional("torch", extra="deep", purpose=f"method {method!r}")


def check_choice(name: str, value: str, known: Sequence[str]) -> None:
    """ValueError unless `value` is one of `known`."""
    if value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")


def check_positive(**values: float) -> None:
    """ValueError naming the first option that is not above 0."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be above 0, not {value}")


def check_share(**values: float) -> None:
    """ValueError naming the first option that is no share of the budget."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {value}")


@frozen(kw_only=True)
class Start:
    """What a method knows before it trains anything."""

    total: float
    encoding: Encoding
    counts: tuple[Floats, ...] = ()
    """Expected counts of the codes of each column, where marginals were measured."""

    def targets(self, codecs: tuple[Codec, ...]) -> tuple[Floats, ...]:
        """Shares of the labels of each column."""
        return label_shares(codecs, self.encoding, self.counts)


def start(
    curator: Curator,
    codecs: tuple[Codec, ...],
    *,
    rows: int | None,
    numeric: Numeric,
    spend: float,
    marginals: float = 0.0,
) -> Start:
    """The number of rows, which is `rows` where that is public and otherwise a noisy count for `spend`, and
    how columns are encoded. `marginals`: what one-way marginals may cost.
    """
    for codec in codecs:
        if isinstance(codec, ValuesCodec) and codec.size > WIDEST:
            raise UsageError(
                f"column {codec.column!r} has {codec.size:,} values, more than a network takes in",
                mend=f"declare at most {WIDEST:,} values, or leave the column out",
            )
    # The rate of the batches follows from the count, and so do prices.
    if rows is None:
        curator.ledger.adaptive = True
    if marginals > 0:
        ones = measure_one_way(curator, codecs, spend=marginals, total_spend=spend)
        total, counts = float(rows or ones.total), ones.counts
    else:
        total = float(rows) if rows is not None else max(1.0, float(curator.total(spend=spend)[0]))
        counts = ()
    if numeric == "ranks":
        columns = [ranks(codec, held, normal=False) for codec, held in zip(codecs, counts, strict=True)]
    else:
        columns = [linear(codec) for codec in codecs]
    return Start(total=total, encoding=Encoding(columns=tuple(columns)), counts=counts)


def label_shares(
    codecs: tuple[Codec, ...], encoding: Encoding, counts: Sequence[Floats]
) -> tuple[Floats, ...]:
    """Shares of the labels of each column in expected counts of its codes."""
    found = []
    for codec, column, held in zip(codecs, encoding.columns, counts, strict=True):
        label = column.code_label
        there = (label >= 0) & codec.allowed
        found.append(in_range(np.bincount(label[there], held[there], minlength=column.labels)))
    return tuple(found)


def adam(rate: float, betas: tuple[float, float] = (0.9, 0.999), decay: float = 0.0) -> Callable[[Any], Any]:
    """Makes an Adam optimiser (Kingma, Ba 2015) for given parameters."""

    def make(parameters: Any) -> torch.optim.Optimizer:
        import torch

        return torch.optim.Adam(parameters, lr=rate, betas=betas, weight_decay=decay)

    return make


def rmsprop(rate: float) -> Callable[[Any], Any]:
    """Makes an RMSprop optimiser with decay 0.99."""

    def make(parameters: Any) -> torch.optim.Optimizer:
        import torch

        return torch.optim.RMSprop(parameters, lr=rate, alpha=0.99)

    return make


def power_of_two(size: float) -> int:
    """The nearest power of two from 16 on."""
    return 1 << max(4, round(math.log2(max(size, 1.0))))


def in_range(weights: npt.ArrayLike) -> Floats:
    """Shares from nonnegative weights."""
    shares = np.maximum(np.asarray(weights, dtype=np.float64), 0.0)
    return shares / shares.sum() if shares.sum() > 0 else np.full(shares.size, 1 / max(shares.size, 1))

"""Exact one-way margins, for methods without a guarantee."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.domain.codecs import Codec
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.synthesizers.one_way import tell_strays

Floats = npt.NDArray[np.float64]


def exact_margins(curator: Curator, codecs: tuple[Codec, ...]) -> tuple[float, tuple[Floats, ...]]:
    """The number of rows (at least 1), and the shares of the codes of each column, which sum to 1. Codes that
    a synthetic row cannot have are left out; where no other is there, all that it can have are equal.
    """
    cliques = [(), *((codec,) for codec in codecs)]
    question = LaplaceCounts(cliques=cliques, scales=[Fraction(1)] * len(cliques))
    rows, *tables = curator.unprotected(question, purpose="margins").arrays
    total = max(1.0, float(rows.sum()))
    shares = []
    for codec, counts in zip(codecs, tables, strict=True):
        tell_strays(curator, codec, float(counts[0]), sigma=0.0, total=total)
        held = np.where(codec.allowed, counts, 0).astype(np.float64)
        held = held if held.sum() > 0 else codec.allowed.astype(np.float64)
        shares.append(held / held.sum())
    return total, tuple(shares)

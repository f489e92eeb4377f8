"""Rows from a Bayesian network, with or without seeds from a released histogram."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from sfumato.bayesian_network import Network, resample
from sfumato.bayesian_network.sampling import sample, sample_where, words_of
from sfumato.domain.encoder import Codes, code_dtype
from sfumato.errors import JobError
from sfumato.synthesizers.recipe import generator

Ints = npt.NDArray[np.int64]
Where = dict[int, npt.NDArray[np.bool_]]


@generator("bayes-net")
@frozen(kw_only=True, eq=False)
class NetworkGenerator:
    """Independent records of `network`, without seeds."""

    kind: ClassVar[str] = "bayes-net"
    total: float
    network: Network

    def sample(self, rows: int, rng: np.random.Generator, *, where: Where | None = None) -> list[Codes]:
        if where:
            try:
                records = sample_where(self.network, rows, rng, where)
            except ValueError:
                raise JobError("no value that is asked for can occur in the model") from None
        else:
            records = sample(self.network, rows, words_of(rng))
        return columns_of(records, self.network)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"total": np.array([self.total]), **self.network.state()}

    @classmethod
    def from_arrays(cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> NetworkGenerator:
        return cls(total=float(arrays["total"][0]), network=checked_network(sizes, arrays))


@generator("seed-histogram")
@frozen(kw_only=True, eq=False)
class SeedHistogramGenerator:
    """Records whose first attributes come from a released histogram and whose others are drawn anew.

    What the histogram lacks of the rows, since their combinations are rare, is drawn without seeds.
    """

    kind: ClassVar[str] = "seed-histogram"
    total: float
    network: Network
    combinations: Ints = field(converter=lambda value: np.asarray(value, dtype=np.int64))
    """Codes of the first attributes in dependency order."""
    counts: Ints = field(converter=lambda value: np.asarray(value, dtype=np.int64))
    seeded: float
    """Noisy number of rows that the histogram was made from."""
    keeps: tuple[int, ...] = field(converter=lambda value: tuple(int(each) for each in value))
    """Numbers of attributes that are kept, each as likely as the other; the largest is what combinations
    have.
    """

    def sample(self, rows: int, rng: np.random.Generator, *, where: Where | None = None) -> list[Codes]:
        if where:
            return columns_of(self._where(rows, rng, where), self.network)
        return columns_of(self._draw(rows, rng), self.network)

    def _draw(self, rows: int, rng: np.random.Generator) -> Codes:
        held = float(self.counts.sum())
        keep = rng.choice(np.array(self.keeps), rows)
        seeds = np.zeros((rows, len(self.network.sizes)), dtype=np.int64)
        if held > 0:
            chosen = rng.choice(self.counts.size, rows, p=self.counts / held)
            seeds[:, list(self.network.dag.order[: self.combinations.shape[1]])] = self.combinations[chosen]
        known = rng.random(rows) < (min(1.0, held / max(self.seeded, 1.0)) if held > 0 else 0.0)
        return resample(self.network, seeds, np.where(known, keep, 0), words_of(rng))[0]

    def _where(self, rows: int, rng: np.random.Generator, where: Where) -> Codes:
        """By rejection, and without seeds where hardly any record fits."""
        found: list[Codes] = []
        missing = rows
        for _ in range(40):
            drawn = self._draw(max(4 * rows, 1 << 14), rng)
            fits = np.logical_and.reduce([mask[drawn[:, i]] for i, mask in where.items()])
            found.append(drawn[fits][:missing])
            missing -= len(found[-1])
            if not missing:
                return np.concatenate(found)
        try:
            return np.concatenate([*found, sample_where(self.network, missing, rng, where)])
        except ValueError:
            raise JobError("no value that is asked for can occur in the model") from None

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "total": np.array([self.total]),
            "combinations": self.combinations,
            "counts": self.counts,
            "seeded": np.array([self.seeded]),
            "keeps": np.array(self.keeps, dtype=np.int64),
            **self.network.state(),
        }

    @classmethod
    def from_arrays(
        cls, sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]
    ) -> SeedHistogramGenerator:
        made = cls(
            total=float(arrays["total"][0]),
            network=checked_network(sizes, arrays),
            combinations=arrays["combinations"],
            counts=arrays["counts"],
            seeded=float(arrays["seeded"][0]),
            keeps=arrays["keeps"],
        )
        kept = made.combinations.shape[1] if made.combinations.ndim == 2 else -1
        own = np.array([sizes[i] for i in made.network.dag.order[: max(kept, 0)]], dtype=np.int64)
        if (
            not made.keeps
            or max(made.keeps) != kept
            or min(made.keeps) < 0
            or kept > len(sizes)
            or made.counts.shape != (len(made.combinations),)
            or (made.counts < 0).any()
            or (made.combinations < 0).any()
            or (made.combinations >= own).any()
        ):
            raise ValueError("the histogram of seeds does not fit the network")
        return made


def columns_of(records: Codes, network: Network) -> list[Codes]:
    """Records as one array of codes a column."""
    return [records[:, i].astype(code_dtype(size)) for i, size in enumerate(network.sizes)]


def checked_network(sizes: tuple[int, ...], arrays: dict[str, npt.NDArray[Any]]) -> Network:
    """The network in `arrays`, which must be over codes of these numbers."""
    network = Network.from_state(len(sizes), arrays)
    if network.sizes != tuple(sizes) or any(each.min() < 0 for each in (*network.groups, *network.buckets)):
        raise ValueError("the network is not one over these columns")
    if any(b.size != g.size for b, g in zip(network.buckets, network.groups, strict=True)):
        raise ValueError("the network is not one over these columns")
    return network

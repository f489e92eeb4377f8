"""Private models and records from seeds, as the experiments need them.

The rows are divided beforehand, so that seeds, model and test rows are the same for all experiments: 0.2 for
structure and parameters each, 0.45 for seeds, the rest for tests. The model is fitted by `bayes-net` on its own rows. Records are
made by the code that a run uses, with the parameters of the publication (k = 50, gamma = 4, epsilon0 = 1); here they
stay in this process, so that no N-record price is paid.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen

import sfumato as sf
from sfumato.bayesian_network import Network
from sfumato.privacy.plausible.candidates import Candidates, Test
from sfumato.privacy.plausible.threshold import RandomThreshold
from tables import Table

OFFSET = 1
"""Code 0 of a codec is missing; the attributes of the tables start at code 1."""
NO_NOISE = 50.0
"""At this epsilon the noise is a fraction of one record."""


@frozen(kw_only=True, eq=False)
class Split:
    """Rows by purpose, as codes of the tables."""

    table: Table
    model: np.ndarray
    seeds: np.ndarray
    test: np.ndarray

    @classmethod
    def of(cls, table: Table) -> Split:
        codes = table.codes
        ends = (int(0.4 * len(codes)), int(0.85 * len(codes)))
        return cls(table=table, model=codes[: ends[0]], seeds=codes[ends[0] : ends[1]], test=codes[ends[1] :])

    def network(self, *, epsilon: float, structure: str = "tables") -> Network:
        """A model of the rows for it; codes are shifted by one."""
        fitted = sf.fit(
            self.table.labelled(len(self.model)), epsilon=epsilon, method="bayes-net", schema=self.table.schema,
            options={"structure": structure, "structure_share": 0.5, "bucket_starts": self.table.starts},
        )  # fmt: skip
        generator: Any = fitted.generator
        return generator.network

    def candidates(
        self,
        network: Network,
        omegas: tuple[int, ...],
        *,
        k: int = 50,
        gamma: float = 4.0,
        seeds: int | None = None,
    ) -> Candidates:
        test = Test(k=k, gamma=gamma, threshold=RandomThreshold(k, Fraction(1)))
        return Candidates(network, self.seeds[:seeds] + OFFSET, omegas, test)

    def records(self, network: Network, omegas: tuple[int, ...], rows: int, **how: Any) -> np.ndarray:
        """So many records that passed."""
        found, missing = [], rows
        for records in self.candidates(network, omegas, **how).stream(400 * rows + (1 << 20)):
            found.append(records[:missing] - OFFSET)
            missing -= len(found[-1])
            if not missing:
                break
        return np.concatenate(found)


def drawn(network: Network, rows: int, seed: int) -> np.ndarray:
    """Records without seeds."""
    from sfumato.bayesian_network.sampling import sample, words_of

    return sample(network, rows, words_of(np.random.default_rng(seed))) - OFFSET


def sampled(network: Network, codes: np.ndarray, attribute: int) -> np.ndarray:
    """argmax over one attribute given all others, under the joint law of the network."""
    records = codes + OFFSET
    size = network.sizes[attribute]
    children = [i for i, parents in enumerate(network.dag.parents) if attribute in parents]
    scores = np.empty((len(records), size))
    for code in range(size):
        tried = records.copy()
        tried[:, attribute] = code
        scores[:, code] = sum(network.log_conditional(i, tried) for i in (attribute, *children))
    return scores.argmax(axis=1) - OFFSET

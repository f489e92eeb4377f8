"""Records in dependency order: the first attributes kept from a seed, the others drawn anew.

Bindschaedler, Shokri, Gunter 2017, equation 3: with the attributes in an order σ in which parents come first,
the first m - ω are copied from the seed, and every further one is drawn given its parents in the record being
built. ω = m needs no seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bayesian_network.network import TOTAL, Codes, Floats, Network

Words = Callable[[int], npt.NDArray[np.uint32]]
"""So many independent uniform words of 32 bits."""

ATTEMPTS = 200
"""Rounds of rejection before conditioned records are chosen by their weights."""


def words_of(rng: np.random.Generator) -> Words:
    """Words from a numpy generator."""
    return lambda count: rng.integers(TOTAL, size=count, dtype=np.uint32)


def resample(
    network: Network, seeds: Codes, keep: npt.NDArray[np.int64], words: Words
) -> tuple[Codes, Floats, int]:
    """Records from seeds, of which the first keep[r] attributes in dependency order stay.

    Returns the records; tails, where tails[r, l - first] = ln Π_{i ≥ l} Pr(x_σ(i) | parents) for l = first …
    m; and `first`, the smallest number that is kept. seeds: codes, one row a record, one column an attribute.
    """
    order = network.dag.order
    first = int(keep.min(initial=len(order)))
    records = np.array(seeds, dtype=np.int64)
    tails = np.zeros((len(order) + 1 - first, records.shape[0]))
    for place in range(first, len(order)):
        i = order[place]
        configuration = network.configuration(i, records)
        drawn = keep <= place
        if drawn.all():
            records[:, i] = network.outcome(i, configuration, words(records.shape[0]), words)
        else:
            rows = np.flatnonzero(drawn)
            records[rows, i] = network.outcome(i, configuration[rows], words(rows.size), words)
        tails[place - first] = network.log_conditional(i, records, configuration)
    for place in range(tails.shape[0] - 2, -1, -1):
        tails[place] += tails[place + 1]
    return records, tails.T, first


def sample(network: Network, rows: int, words: Words) -> Codes:
    """So many independent records of the network, without seeds."""
    blank = np.zeros((rows, len(network.sizes)), dtype=np.int64)
    return resample(network, blank, np.zeros(rows, dtype=np.int64), words)[0]


def sample_where(
    network: Network, rows: int, rng: np.random.Generator, allowed: dict[int, npt.NDArray[np.bool_]]
) -> Codes:
    """Records of the network given that attribute i has one of the codes allowed[i].

    Attributes are drawn in order, those that are fixed among their allowed codes, and a record is kept with
    probability proportional to how likely these were: that is the conditional law, exactly. Where that keeps
    too few records after many rounds, the rest is chosen among those drawn last, in proportion to the same
    weights. ValueError when no record can have these codes.
    """
    most = 0.0
    for i, mask in allowed.items():
        chance = (network.code_distribution(i) * mask).sum(axis=1).max()
        if chance <= 0:
            raise ValueError("no record can have such a code")
        most += float(np.log(chance))
    found: list[Codes] = []
    missing = rows
    drawn, weights = _weighted(network, max(rows, 256), rng, allowed)
    for _ in range(ATTEMPTS):
        kept = drawn[np.log(rng.random(weights.size)) < weights - most][:missing]
        found.append(kept)
        missing -= len(kept)
        if not missing:
            return np.concatenate(found)
        drawn, weights = _weighted(network, min(max(8 * missing, 256), 1 << 16), rng, allowed)
    if not np.isfinite(weights).any():
        raise ValueError("no record can have such codes together")
    shares = np.exp(weights - weights.max())
    return np.concatenate([*found, drawn[rng.choice(weights.size, missing, p=shares / shares.sum())]])


def _weighted(
    network: Network, rows: int, rng: np.random.Generator, allowed: dict[int, npt.NDArray[np.bool_]]
) -> tuple[Codes, Floats]:
    words: Any = words_of(rng)
    records = np.zeros((rows, len(network.sizes)), dtype=np.int64)
    weights = np.zeros(rows)
    for i in network.dag.order:
        configuration = network.configuration(i, records)
        if i not in allowed:
            records[:, i] = network.outcome(i, configuration, words(rows), words)
            continue
        table = network.code_distribution(i) * allowed[i]
        chance = table.sum(axis=1)
        with np.errstate(divide="ignore"):
            weights += np.log(chance)[configuration]
        # Configurations that allow none of the codes have weight 0; any code does.
        table[chance <= 0] = allowed[i]
        ends = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
        ends[:, -1] = 1.0
        line = (ends + np.arange(table.shape[0])[:, None]).ravel()
        at = (
            np.searchsorted(line, configuration + rng.random(rows), side="right")
            - configuration * table.shape[1]
        )
        codes = np.minimum(at, table.shape[1] - 1)
        # Rounding may step onto a neighbour that is not allowed.
        wrong = ~allowed[i][codes]
        codes[wrong] = int(np.flatnonzero(allowed[i])[0])
        records[:, i] = codes
    return records, weights

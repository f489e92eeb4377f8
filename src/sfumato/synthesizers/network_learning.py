"""A private Bayesian network: structure from one part of the rows, parameters from another.

Bindschaedler, Shokri, Gunter 2017, section 3. Rows fall into disjoint parts at random, so that what either
part tells costs the larger of two prices and not their sum. Structure: correlation-based feature selection on
entropies, from noisy tables of pairs (default) or from noisy entropies as published. Parameters: noisy tables
of every column with its parents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.bayesian_network import Dag, Network, integer_weights, learn_structure
from sfumato.bayesian_network.information import (
    FRACTION_BITS,
    denoised,
    entropy,
    mutual_information,
    symmetrical_uncertainty,
)
from sfumato.bayesian_network.parameters import conditional
from sfumato.domain.codecs import Codec, GridCodec
from sfumato.domain.views import Coarse
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.noisy_entropies import NoisyEntropies
from sfumato.privacy.rounded_gaussian import quantise_sigma
from sfumato.synthesizers.grouping import group_codes
from sfumato.synthesizers.one_way import OneWay, measure_one_way

Floats = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]

STRUCTURE, PARAMETERS = "structure", "parameters"
"""Names of the parts of the rows."""
ONE_WAY = 0.3
"""Share of the structure's budget for one-way marginals, which also give the codes inside a group."""
SEEN = 3.0
"""Buckets and groups are expected to hold so many noise scales."""
LABELS = 40
"""Most buckets of a column without an order."""
OUTCOMES = 256
"""Most groups of a column."""
NOISE = 0.25
"""Noise of a table of parameters may be off by this share of the rows, at most."""


@frozen(kw_only=True)
class Learning:
    """Options of the structure and of the parameters."""

    structure: str
    maxcost: int
    parents_at_most: int | None
    buckets: int
    bucket_starts: Mapping[str, Sequence[Any]]
    prior: float


def learn_network(
    curator: Curator, codecs: Sequence[Codec], options: Learning, shares: Mapping[str, float]
) -> Network:
    """Spend what the parts `structure` and `parameters` have; the rows must be divided.

    shares: probabilities of the two parts.
    """
    with curator.on(PARAMETERS):
        sigma = float(curator.sigma_for(curator.left, tables=len(codecs)))
    with curator.on(STRUCTURE):
        budget = curator.left
        ones = measure_one_way(curator, tuple(codecs), spend=ONE_WAY * budget, total_spend=0.02 * budget)
        scale = shares[PARAMETERS] / shares[STRUCTURE]
        groups = [
            group_codes(codec, counts, least=SEEN * sigma / scale / 4, at_most=OUTCOMES)
            for codec, counts in zip(codecs, ones.counts, strict=True)
        ]
        buckets = [
            _buckets(codec, counts, group, options, least=SEEN * sigma / scale)
            for codec, counts, group in zip(codecs, ones.counts, groups, strict=True)
        ]
        correlations = _correlations(curator, codecs, ones, buckets, options, budget=0.68 * budget)
    dag = _structure(correlations, groups, buckets, options, rows=ones.total * scale, sigma=sigma)
    return _parameters(curator, codecs, ones, groups, buckets, dag, options)


def _buckets(codec: Codec, counts: Floats, group: Groups, options: Learning, *, least: float) -> Groups:
    """Bucket of every code, as a parent: public where the owner states the starts, else of about equal
    weight.
    """
    starts = options.bucket_starts.get(codec.column)
    if starts is not None:
        return stated_buckets(codec, starts)
    at_most = options.buckets if codec.ordered else LABELS
    return group_codes(codec, counts, least=least, at_most=at_most + codec.atoms)


def stated_buckets(codec: Codec, starts: Sequence[Any]) -> Groups:
    """Buckets from the values that each of them starts with, in the order of the column; missing and special
    codes have buckets of their own.

    Values before the first start belong to the first bucket. ValueError for a start that is no value.
    """
    if isinstance(codec, GridCodec):
        units = np.array([_unit(codec, start) for start in starts], dtype=np.int64)
        places = np.searchsorted(np.sort(units), codec.lows, side="right") - 1
    else:
        known = {value: place for place, value in enumerate(codec.values)}
        if not all(str(start) in known for start in starts):
            raise ValueError(f"a bucket of {codec.column!r} starts with something that is no value of it")
        ends = np.sort([known[str(start)] for start in starts])
        places = np.searchsorted(ends, np.arange(codec.size - codec.atoms), side="right") - 1
    found = np.concatenate([np.arange(codec.atoms), codec.atoms + np.maximum(places, 0)])
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _unit(codec: GridCodec, start: Any) -> int:
    import polars as pl

    units, atoms = codec.facts.parse(pl.Series([start]))
    if int(atoms[0]) >= 0:
        raise ValueError(f"a bucket of {codec.column!r} starts with something that is no value of it")
    return int(units[0])


def _correlations(
    curator: Curator,
    codecs: Sequence[Codec],
    ones: OneWay,
    buckets: Sequence[Groups],
    options: Learning,
    *,
    budget: float,
) -> tuple[Floats, Floats] | None:
    """Symmetrical uncertainty of each column with each bucketised one, and between these; None: not asked
    for.
    """
    count = len(codecs)
    if count < 2 or options.structure == "none":
        return None
    views = [Coarse(codec, tuple(each.tolist())) for codec, each in zip(codecs, buckets, strict=True)]
    if options.structure == "entropies":
        return _from_entropies(curator, codecs, views, ones, budget=budget)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    noisy = curator.measure(
        [(views[i], views[j]) for i, j in pairs], spend=budget, purpose="two-way marginals of buckets"
    )
    own = [
        np.bincount(bucket, weights=counts, minlength=view.size) / max(float(counts.sum()), 1e-9)
        for bucket, counts, view in zip(buckets, ones.counts, views, strict=True)
    ]
    between = np.zeros((count, count))
    for (i, j), table in zip(pairs, noisy.tables, strict=True):
        joint = denoised(table.astype(np.float64), sigma=noisy.sigma, rows=own[i], columns=own[j])
        one, other = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
        between[i, j] = between[j, i] = symmetrical_uncertainty(
            one, other, one + other - mutual_information(joint)
        )
    return between, between


def _from_entropies(
    curator: Curator, codecs: Sequence[Codec], views: Sequence[Coarse], ones: OneWay, *, budget: float
) -> tuple[Floats, Floats]:
    count = len(codecs)
    # A public number of rows that is most likely below the true one; any would be safe.
    least = max(2, math.floor(0.9 * ones.total))
    distance2 = NoisyEntropies.distance2(count, least, curator.unit)
    sigma = quantise_sigma(math.sqrt(distance2 / budget))
    # The noise scale follows a noisy count.
    curator.ledger.adaptive = True
    asked = NoisyEntropies(columns=tuple(codecs), buckets=tuple(views), least=least, sigma=sigma)
    values = curator.release(asked, purpose="entropies").arrays[0] / 2.0**FRACTION_BITS
    sizes = [
        *(codec.size for codec in codecs),
        *(view.size for view in views),
        *(codecs[i].size * views[j].size for i in range(count) for j in range(count) if i != j),
    ]
    values = np.clip(values, 0.0, np.log2(sizes))
    columns, bucketised, joint = values[:count], values[count : 2 * count], iter(values[2 * count :])
    noise = float(sigma) / 2.0**FRACTION_BITS
    found = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i == j:
                continue
            together = float(next(joint))
            shared = columns[i] + bucketised[j] - together
            # What three noisy entropies may show where there is nothing.
            if shared > 2 * math.sqrt(3) * noise:
                found[i, j] = symmetrical_uncertainty(float(columns[i]), float(bucketised[j]), together)
    return found, (found + found.T) / 2


def _structure(
    correlations: tuple[Floats, Floats] | None,
    groups: Sequence[Groups],
    buckets: Sequence[Groups],
    options: Learning,
    *,
    rows: float,
    sigma: float,
) -> Dag:
    """Parents, as many configurations as the limit and the noise allow."""
    count, sizes = len(groups), [each.size for each in groups]
    if correlations is None:
        return Dag.of([()] * count, sizes)
    outcomes = [int(each.max()) + 1 for each in groups]
    affordable = [2 * NOISE * rows / (0.8 * sigma * size) for size in outcomes]
    return learn_structure(
        *correlations,
        buckets=[int(each.max()) + 1 for each in buckets],
        configurations=[min(float(options.maxcost), most) for most in affordable],
        parents_at_most=options.parents_at_most,
        sizes=sizes,
    )


def _parameters(
    curator: Curator,
    codecs: Sequence[Codec],
    ones: OneWay,
    groups: Sequence[Groups],
    buckets: Sequence[Groups],
    dag: Dag,
    options: Learning,
) -> Network:
    children = [Coarse(codec, tuple(each.tolist())) for codec, each in zip(codecs, groups, strict=True)]
    parents = [Coarse(codec, tuple(each.tolist())) for codec, each in zip(codecs, buckets, strict=True)]
    with curator.on(PARAMETERS):
        noisy = curator.measure(
            [(*(parents[j] for j in dag.parents[i]), children[i]) for i in range(len(codecs))],
            spend=curator.left,
            purpose="parameters",
        )
    tables, inner = [], []
    for codec, group, counts, table in zip(codecs, groups, ones.counts, noisy.tables, strict=True):
        outcomes = int(group.max()) + 1
        possible = codec.allowed if codec.allowed.any() else np.ones(codec.size, dtype=bool)
        allowed = np.bincount(group, weights=possible) > 0
        shares = conditional(
            table.reshape(-1, outcomes), sigma=noisy.sigma, prior=options.prior, allowed=allowed
        )
        tables.append(integer_weights(shares))
        inner.append(_inside(group, np.where(possible, np.maximum(counts, 0.0), 0.0), possible))
    return Network(dag=dag, buckets=buckets, groups=groups, tables=tables, inner=inner)


def _inside(group: Groups, counts: Floats, possible: npt.NDArray[np.bool_]) -> Groups:
    """Weights of codes inside their group, in proportion to one-way counts."""
    found = np.zeros(group.size, dtype=np.int64)
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number)
        shares = counts[members]
        if shares.sum() <= 0:
            shares = (
                possible[members].astype(np.float64) if possible[members].any() else np.ones(members.size)
            )
        found[members] = integer_weights(shares)
    return found

"""Is the noise of released numbers what the ledger says? Exact and released answers of recorded fits are
held against each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.privacy.mechanisms.laplace_counts import LaplaceCounts
from sfumato.privacy.mechanisms.laplace_partitions import LaplacePartitions
from sfumato.privacy.mechanisms.partitions import PartitionSelection
from sfumato.privacy.mechanisms.selection import FIXED_POINT, Selection
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.testing.curators import Heard, exact_arrays, noise_scales

RARE = 1e-10
"""Probability with which correct noise is called wrong."""
FEWEST = 50
"""Draws below which nothing is said."""
REDRAWN = 20
"""Times that every choice is made again, from the scores that were recorded."""


def check_noise(heard: Iterable[Heard]) -> None:
    """AssertionError when released counts are not exact counts plus noise of the stated scale, or when
    choices do not follow their scores as stated. The more reads, the finer it sees: 10⁵ cells show noise
    that is 2 % low.
    """
    heard = list(heard)
    _check_counts(heard)
    _check_laplace(heard)
    _check_choices(heard)


def _check_counts(heard: Iterable[Heard]) -> None:
    from scipy.stats import chi2, norm

    parts = [
        difference / math.sqrt(RoundedGaussian(sigma).variance)
        for difference, sigma in _differences(heard)
        if sigma >= 2
    ]
    scaled = np.concatenate([np.zeros(0), *parts])
    if scaled.size < FEWEST:
        return
    square, mean = float(scaled @ scaled), float(scaled.sum()) / math.sqrt(scaled.size)
    ratio = f"variance is {square / scaled.size:.4f} of what is stated, over {scaled.size} draws"
    assert chi2.cdf(square, scaled.size) > RARE, f"too little noise: {ratio}"
    assert chi2.sf(square, scaled.size) > RARE, f"too much noise: {ratio}"
    assert 2 * norm.sf(abs(mean)) > RARE, "the noise is not centred"


def _check_laplace(heard: Iterable[Heard]) -> None:
    """Magnitudes of Laplace noise over their scale are exponential, so that their sum follows a gamma law."""
    from scipy.stats import gamma, norm

    parts = [np.zeros(0)]
    for read in heard:
        if isinstance(read.mechanism, LaplaceCounts):
            answers = zip(read.answer.arrays, read.exact, read.mechanism.scales, strict=True)
            # Below this scale the law on the integers is too far from its limit.
            parts += [(noisy - exact).ravel() / float(b) for noisy, exact, b in answers if b >= 30]
    scaled = np.concatenate(parts)
    if scaled.size < FEWEST:
        return
    size = float(np.abs(scaled).sum())
    ratio = f"noise is {size / scaled.size:.4f} of what is stated, over {scaled.size} draws"
    assert gamma.cdf(size, scaled.size) > RARE, f"too little noise: {ratio}"
    assert gamma.sf(size, scaled.size) > RARE, f"too much noise: {ratio}"
    centre = float(scaled.sum()) / math.sqrt(2 * scaled.size)
    assert 2 * norm.sf(abs(centre)) > RARE, "the noise is not centred"


def _differences(heard: Iterable[Heard]) -> Iterator[tuple[npt.NDArray[Any], Fraction]]:
    """Released minus exact, and the noise scale."""
    for read in heard:
        if isinstance(read.mechanism, PartitionSelection):
            yield from _of_partitions(read, read.mechanism)
        elif scales := noise_scales(read.mechanism):
            arrays = exact_arrays(read.mechanism, read.exact)
            for released, exact, sigma in zip(read.answer.arrays, arrays, scales, strict=True):
                assert released.dtype == np.int64, "released numbers are not 64-bit integers"
                yield (released - exact).ravel(), sigma


def _of_partitions(read: Heard, selection: PartitionSelection) -> Iterator[tuple[npt.NDArray[Any], Fraction]]:
    columns = zip(read.exact, read.answer.labels, read.answer.arrays, selection.public_values, strict=True)
    for exact, texts, released, known in columns:
        counts = dict(zip(texts, released.tolist(), strict=True))
        assert set(known) <= counts.keys(), "a public value is missing from the answer"
        for text in counts.keys() - set(known):
            assert text in exact, "a text was released that is not in the table"
            assert counts[text] >= selection.threshold, "a text was released below the threshold"
        if not isinstance(selection, LaplacePartitions):
            yield np.array([counts[text] - exact.get(text, 0) for text in known]), selection.sigma


def _check_choices(heard: Iterable[Heard]) -> None:
    """The sum of log-probabilities of what was chosen, held against its own law."""
    surprise = variance = 0.0
    choices = 0
    for read in heard:
        if not isinstance(read.mechanism, Selection):
            continue
        again = [read.mechanism.noisy(read.exact) for _ in range(REDRAWN)]
        chosen = [int(answer.arrays[0][0]) for answer in (read.answer, *again)]
        assert set(chosen) <= set(read.mechanism.among), "something was chosen that was no candidate"
        scores = read.exact.astype(np.float64) * float(read.mechanism.rate) / FIXED_POINT
        logs = scores - scores.max()
        logs -= math.log(np.exp(logs).sum())
        law = np.exp(logs)
        expected = float(law @ logs)
        surprise += sum(float(logs[read.mechanism.among.index(one)]) - expected for one in chosen)
        variance += len(chosen) * (float(law @ logs**2) - expected**2)
        choices += len(chosen)
    if choices >= FEWEST and variance > 1e-6 * choices:
        deviation = surprise / math.sqrt(variance)
        assert abs(deviation) < 7, f"choices do not follow their scores ({deviation:.1f} deviations)"

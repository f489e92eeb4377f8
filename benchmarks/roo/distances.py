"""How far a draw is from the records: mean total variation distance over tables drawn from a law.

Two numbers for each sampler: `given` is E TV(P(. | table), shares of the table), what one table's owner gets;
`alpha` is TV(E P(. | table), law), the published measure, where noise with mean zero cancels.
Laws of counts are the exact ones of sfumato.sampling, as floats; the projections are averaged over noise.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato import sampling
from sfumato.sampling.law import CountLaw

Floats = npt.NDArray[np.float64]

SAMPLERS = ("roo", "ds-roo", "floor", "geo", "laplace-euclid", "laplace-clip", "local-minimax")


def laws(k: int) -> dict[str, Floats]:
    """Laws of a record over k symbols."""
    zipf = 1 / np.arange(1.0, k + 1)
    rare = np.r_[np.full(k - 1, (1 - 0.003) / (k - 1)), 0.003]
    return {
        "zipf": zipf / zipf.sum(),
        "geometric": 0.5 ** np.arange(k) / (0.5 ** np.arange(k)).sum(),
        "one symbol at 0.003": rare,
        "point mass": np.eye(k)[0],
    }


def drawn(
    sampler: str, counts: npt.NDArray[np.int64], *, epsilon: float, noise: int, rng: np.random.Generator
) -> Floats:
    """The law of a draw for each table (line) of counts."""
    n, k = int(counts[0].sum()), counts.shape[1]
    ratio = sampling.ratio_below(epsilon)
    if sampler.startswith("laplace"):
        found = np.zeros(counts.shape)
        for _ in range(noise):
            noisy = counts + _discrete_laplace(2 / epsilon, counts.shape, rng)
            found += _euclid(noisy, n) if sampler == "laplace-euclid" else _clip(noisy)
        return found / noise
    if sampler == "ds-roo":
        table = np.array([float(q) for q in sampling.q_table(n, k, epsilon)])
        q = table[counts.min(axis=1)][:, None]
        return q / k + (1 - q) * counts / n
    if sampler == "local-minimax":
        law = sampling.LocalMinimax(ratio=ratio)
        return np.array([[float(p) for p in sampling.probabilities(law, line)] for line in counts])
    made: CountLaw = {
        "roo": sampling.Roo(ratio=ratio),
        "floor": sampling.Floor(ratio=ratio, rows=n),
        "geo": sampling.Geo(ratio=ratio, rows=n),
    }[sampler]
    weights = made.weights(sampling.Tally(values=tuple(range(n + 1)), sizes=(1,) * (n + 1)))
    by_count = np.array([weight / weights[-1] for weight in weights])
    found = by_count[counts]
    return found / found.sum(axis=1, keepdims=True)


def distances(
    sampler: str, law: Floats, *, n: int, epsilon: float, tables: int, noise: int, seed: int
) -> tuple[float, float]:
    """`given` and `alpha` of a sampler (see above)."""
    rng = np.random.default_rng(seed)
    few = min(tables, 200) if sampler in ("local-minimax",) else tables
    counts = rng.multinomial(n, law, size=few)
    found = drawn(sampler, counts, epsilon=epsilon, noise=noise, rng=rng)
    given = float(np.abs(found - counts / n).sum(axis=1).mean() / 2)
    # The mean of the shares is the law: taking the tables' own shares off leaves no error of drawing them.
    return given, float(np.abs((found - counts / n).mean(axis=0)).sum() / 2)


def _discrete_laplace(
    scale: float, shape: tuple[int, ...], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    chance = -math.expm1(-1 / scale)
    return rng.geometric(chance, shape) - rng.geometric(chance, shape)


def _euclid(noisy: npt.NDArray[np.int64], total: int) -> Floats:
    falling = -np.sort(-noisy, axis=1)
    excess = np.cumsum(falling, axis=1) - total
    places = np.arange(1, noisy.shape[1] + 1)
    held = (falling * places > excess).sum(axis=1)
    level = excess[np.arange(len(noisy)), held - 1] / held
    return np.maximum(noisy - level[:, None], 0) / total


def _clip(noisy: npt.NDArray[np.int64]) -> Floats:
    above = np.maximum(noisy, 0).astype(np.float64)
    above[above.sum(axis=1) == 0] = 1
    return above / above.sum(axis=1, keepdims=True)

"""Entropies in bits, symmetrical uncertainty, and how far one record can move an entropy.

Bindschaedler, Shokri, Gunter 2017, "Plausible deniability for privacy-preserving data synthesis": equation 5
(correlation), 8 and 9 (noisy entropies). Their bound on the sensitivity, (2 + 1/ln 2 + 2 log2 n) / n, is
about twice the exact one.

**Exact sensitivity.** Exchanging one of n records moves the entropy of a histogram by at most

    h(1/n) = (log2 n + (n-1) log2(n/(n-1))) / n,

and adding one to n records by at most h(1/(n+1)), both attained where all records are in one cell. Proof. Let
f(c) = c log2 c and H = log2 n - Σ f(c_i) / n. Exchange moves one record from cell i to cell j: H changes by
(f(c_i) - f(c_i - 1) - (f(c_j + 1) - f(c_j))) / n, and the increments g(c) = f(c) - f(c-1) rise from g(1) = 0
to g(n) = n h(1/n), so two of them differ by at most that. Adding to n records, with k in the cell: (n+1) H' =
n H + g(n+1) - g(k+1), so that H' - H = (g(n+1) - g(k+1) - H) / (n+1). It is at most g(n+1) / (n+1) =
h(1/(n+1)), since H and g are not negative; and at least -h(1/(n+1)), since g(k+1) ≤ g(n+1) and H ≤ log2 n ≤
g(n+1). □

A table with fewer records than expected would move further. So what is released is n H / max(n, n0) with a
public n0: below n0 it moves by at most g(n0) / n0 = h(1/n0) as well.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FRACTION_BITS = 26
"""Entropies are integers in units of 2**-26 bits before noise is added."""
ROUNDING = 4
"""Units by which rounding may move the difference of two entropies: 1 for cells and 1 for the mean, each."""


def entropy(counts: npt.ArrayLike) -> float:
    """Entropy in bits of a histogram of counts; 0 where it is empty."""
    held = np.asarray(counts, dtype=np.float64).ravel()
    held = held[held > 0]
    total = held.sum()
    return float(-(held / total) @ np.log2(held / total)) if total > 0 else 0.0


def sensitivity(n: int) -> float:
    """h(1/n) in bits: how far exchanging one of n records, or adding one to n - 1, can move an entropy."""
    if n < 2:
        return 1.0 if n == 2 else 0.0
    return (math.log2(n) + (n - 1) * math.log2(n / (n - 1))) / n


def published_sensitivity(n: int) -> float:
    """The bound of equation 9, in bits."""
    return (2 + 1 / math.log(2) + 2 * math.log2(n)) / n


def fixed_point_entropy(counts: npt.NDArray[np.int64], least: int) -> int:
    """n H / max(n, least) in units of 2**-26 bits, for counts below 2**31.

    Each cell's term is rounded to an integer before anything is added up, so that nothing depends on the
    order of rows or on floating-point sums.
    """
    held = counts[counts > 0]
    n = int(held.sum())
    terms = np.floor(held * np.log2(held) * 2.0**FRACTION_BITS).astype(np.int64)
    whole = math.floor(n * math.log2(n) * 2.0**FRACTION_BITS) if n else 0
    return max(0, whole - int(terms.sum())) // max(n, least, 1)


def symmetrical_uncertainty(one: float, other: float, joint: float) -> float:
    """2 (H(x) + H(y) - H(x, y)) / (H(x) + H(y)), within 0 … 1; 0 where both are constant."""
    total = one + other
    return min(1.0, max(0.0, 2 * (total - joint) / total)) if total > 0 else 0.0


def mutual_information(table: Floats) -> float:
    """Of a joint distribution (or counts), in bits."""
    total = table.sum()
    if total <= 0:
        return 0.0
    joint = table / total
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    held = joint > 0
    return max(0.0, float((joint[held] * np.log2(joint[held] / expected[held])).sum()))


def denoised(table: Floats, *, sigma: float, rows: Floats, columns: Floats) -> Floats:
    """A joint distribution from a noisy table of counts and its one-way marginals (distributions).

    What the table has beyond independence is shrunk by the part that noise explains (James, Stein 1961) and
    cut at zero: a table of nothing but noise becomes independent.
    """
    held = max(float(table.sum()), 1.0)
    independent = np.outer(rows, columns)
    beyond = table / held - independent
    energy = float((beyond**2).sum())
    noise = table.size * (sigma / held) ** 2
    kept = max(0.0, 1 - noise / energy) if energy > 0 else 0.0
    found = np.maximum(independent + kept * beyond, 0.0)
    total = found.sum()
    return found / total if total > 0 else np.full(table.shape, 1 / table.size)

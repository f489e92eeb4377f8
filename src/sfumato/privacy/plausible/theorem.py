"""One record: Theorem 1 of Bindschaedler, Shokri and Gunter (2017), with a smaller delta, and what passing
adds.

D has n seeds, D' one more. A class of y (seeds whose probability of giving y is in one interval
(gamma^-(i+1), gamma^-i]) that holds c seeds with probability S p in all, p that of the new seed, S in
[c/gamma, c gamma], gives y the mass S p q(c) / n under D and (S + 1) p q(c+1) / (n + 1) under D'.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.privacy.plausible.threshold import pass_probability


def theorem_1(k: int, gamma: float, epsilon0: float, t: int) -> tuple[float, float]:
    """(epsilon, delta) of one candidate, for any 1 ≤ t < k, as published."""
    if not 1 <= t < k:
        raise ValueError("t lies between 1 and k - 1")
    return epsilon0 + math.log1p(gamma / t), math.exp(-epsilon0 * (k - t))


def improved_delta(k: int, epsilon0: float, t: int, n: int) -> float:
    """The delta of Theorem 1 divided by 2 (n + 1): only the mass that comes from the new seed, 1 / (n + 1),
    is exposed, and fewer than t other seeds pass with probability e^{-epsilon0 (k-t)} / 2 at most.
    """
    return math.exp(-epsilon0 * (k - t)) / (2 * (n + 1))


def exact_delta(epsilon: float, k: int, gamma: float, epsilon0: float, n: int) -> float:
    """Smallest delta of one candidate at `epsilon` that holds for all models, attained."""
    c = np.arange(0, min(n, k + math.ceil(60 / epsilon0)) + 1, dtype=np.float64)
    now, then = pass_probability(c, k, epsilon0), pass_probability(c + 1, k, epsilon0)
    exposed = then * (1 + c / gamma) - math.exp(epsilon) * (1 + 1 / max(n, 1)) * (c / gamma) * now
    return max(0.0, float(exposed.max())) / (n + 1)


def best_theorem_1(
    k: int, gamma: float, epsilon0: float, *, delta: float, n: int
) -> tuple[float, float, int] | None:
    """Smallest epsilon of one candidate whose improved delta is at most `delta`: (epsilon, delta, t); None if
    there is none.
    """
    t = math.floor(k + math.log(min(2 * (n + 1) * delta, 1.0)) / epsilon0)
    t = min(t, k - 1)
    if t < 1:
        return None
    return theorem_1(k, gamma, epsilon0, t)[0], improved_delta(k, epsilon0, t, n), t


def after_passing(epsilon: float, delta: float, *, n: int, passing: float) -> tuple[float, float]:
    """(epsilon, delta) of the first candidate that passes, when candidates are drawn until one does.

    passing: a lower bound on the probability to pass, for both tables.
    """
    if not 0 <= delta < passing <= 1:
        return math.inf, 1.0
    more = math.log1p(1 / n) - math.log1p(-delta / passing)
    return epsilon + more, min(1.0, (1 + 1 / n) * delta / passing)


def passing_mass_sensitivity(k: int, gamma: float, epsilon0: float) -> float:
    """How far one seed more can raise n·p, seeds times probability to pass: max_c q(c+1) + gamma c (q(c+1) -
    q(c)).

    It never lowers it. n p changes by Σ_y [(S+1) q(c+1) - S q(c)] p(y), where S ≤ gamma c and the p(y) sum to
    1.
    """
    c = np.arange(0, k + math.ceil(60 / epsilon0) + 1, dtype=np.float64)
    now, then = pass_probability(c, k, epsilon0), pass_probability(c + 1, k, epsilon0)
    return float((then + gamma * c * (then - now)).max()) * (1 + 1e-12)

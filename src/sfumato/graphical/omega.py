"""The proximal step of one marginal, solved exactly.

Given the current marginal q, a target y (both of total 1) and lam > 0, the step is the p that minimises

    sum (p - y)^2 / (2 lam) + KL(p | q)        over probability vectors p.

Its stationarity p/lam + log(p/lam) = a - kappa, with a = log(q/lam) + y/lam, says that
p = lam * omega(a - kappa) with the Wright omega function (w + log w = z) and one number kappa that makes p
sum to 1. The sum is convex and falls in kappa, so a bracketed Newton iteration finds it; each pass also
refines omega by the fourth-order step of Fritsch, Shafer and Crowley, warm from the pass before.

Source: Corless and Jeffrey, "The Wright omega function" (2002); Lawrence, Corless and Jeffrey, algorithm 917
(2012); the first guess is that of Iacono and Boyd (2017).
"""

from __future__ import annotations

import numpy as np

from sfumato.graphical.layout import Floats

FLOOR = 1e-20
"""Least probability a possible cell is left with: contradictory targets can never empty a whole table."""

NEAR = 0.5
"""A guess whose z is off by less than this needs one refinement only."""

LEAST = 1e-300
"""Values of omega below this are taken as this, so that their logarithms exist."""


def omega(z: Floats) -> Floats:
    """Wright omega for real arguments: the w > 0 with w + log w = z. Relative error about 1e-14."""
    w = _guess(z)
    for _ in range(2):
        w = _refine(w, z)
    return w


def _guess(z: Floats) -> Floats:
    soft = np.logaddexp(0.0, np.maximum(z, -700.0))
    return soft * (1.0 - np.log1p(soft) / (2.0 + soft))


def _refine(w: Floats, z: Floats) -> Floats:
    r = z - w - np.log(w)
    w1 = w + 1.0
    s = w1 + (2.0 / 3.0) * r
    s *= 2.0 * w1
    return np.maximum(w * (1.0 + (r / w1) * ((s - r) / (s - 2.0 * r))), LEAST)


def proximal_step(current: Floats, target: Floats, lam: float | Floats) -> Floats:
    """The step for a marginal `current` > 0 that sums to 1; the answer sums to 1 and is nowhere 0."""
    start = np.maximum(current / lam, LEAST)
    pull = target / lam
    a = np.log(start) + pull
    # kappa at which a cell alone would hold everything: at the largest of these the sum is at least 1.
    # kappa at which a cell would hold an equal share: at the largest of those it is at most 1.
    share = 1.0 / current.size
    low = float(np.max(a - (1.0 / lam + np.log(1.0 / lam))))
    high = float(np.max(a - (share / lam + np.log(share / lam))))
    kappa = min(max(0.0, low), high)
    # Near the target, as in late sweeps, the current marginal itself is a fine first guess.
    near = float(np.abs(pull - start - kappa).max()) < NEAR
    w = _refine(start, a - kappa) if near else omega(a - kappa)
    for _ in range(60):
        p = lam * w
        excess = float(p.sum()) - 1.0
        if abs(excess) < 1e-8:
            break
        if excess > 0.0:
            low = max(low, kappa)
        else:
            high = min(high, kappa)
        slope = float((p / (1.0 + w)).sum())
        proposal = kappa + excess / slope if slope > 0.0 else low
        proposal = min(max(proposal, low), high)
        if proposal == kappa:
            break
        w = _refine(w, a - proposal) if abs(proposal - kappa) < NEAR else omega(a - proposal)
        kappa = proposal
    p = np.maximum(lam * w, FLOOR / current.size)
    return p / p.sum()

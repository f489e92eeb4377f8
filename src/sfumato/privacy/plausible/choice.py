"""Parameters of the test for a wanted guarantee."""

from __future__ import annotations

import math

from attrs import frozen

from sfumato.privacy.plausible.records import LARGEST_CLASS, SafeRelease, renyi_epsilon

EPSILONS = (1.0, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01, 0.007, 0.005)
"""Values of epsilon0 that are tried."""


@frozen(kw_only=True)
class Choice:
    """The smallest k, over some epsilon0, at which N records cost at most (epsilon, delta)."""

    k: int
    gamma: float
    epsilon0: float
    records: int
    mass: float
    """Passing mass that the choice relies on."""
    epsilon: float
    """Epsilon of the whole release, at most the wanted one."""
    delta: float

    def __str__(self) -> str:
        return (
            f"k = {self.k}, gamma = {self.gamma:g}, epsilon0 = {self.epsilon0:g} release "
            f"{self.records:,} records at epsilon = {self.epsilon:.3g}, delta = {self.delta:.3g}, when "
            f"{self.mass:,.0f} seeds pass"
        )


TRIED = 3
"""Candidates, by k, whose cost is worked out in full; each with k raised as often, where it costs too
much.
"""


def choose(
    *,
    epsilon: float,
    delta: float,
    records: int,
    mass: float,
    gamma: float = 2.0,
    epsilon0: float | None = None,
    mu: float | None = None,
) -> Choice | None:
    """(k, gamma, epsilon0) for `records` records at (epsilon, delta) in all; None when no choice reaches it.

    mass: a lower bound on seeds times probability to pass. A small k lets more candidates pass, so among all
    epsilon0 the one with the smallest k is taken. epsilon0: the only one that is tried. mu: the cost may not
    exceed Gaussian DP of mu plus a delta of `delta`; None: only (epsilon, delta) counts.
    """
    found: list[Choice] = []
    for each in EPSILONS if epsilon0 is None else (epsilon0,):
        at_most = found[-1].k - 1 if found else LARGEST_CLASS
        k = None if each >= epsilon else _smallest_k(each, gamma, epsilon, delta, records, mass, at_most)
        if k is not None:
            found.append(
                Choice(
                    k=k, gamma=gamma, epsilon0=each, records=records, mass=mass, epsilon=epsilon, delta=delta
                )
            )
    for choice in found[::-1][:TRIED]:
        sure = _confirmed(choice, mu)
        if sure is not None:
            return sure
    return None


def _smallest_k(
    epsilon0: float, gamma: float, epsilon: float, delta: float, records: int, mass: float, at_most: int
) -> int | None:
    largest = min(LARGEST_CLASS - math.ceil(46 / epsilon0) - 1, int(mass / 4), at_most)

    def holds(k: int) -> bool:
        return renyi_epsilon(k, gamma, epsilon0, records=records, mass=mass, delta=delta) <= epsilon

    if largest < 2:
        return None
    low, high = 1, min(max(2, math.ceil(4 / epsilon0)), largest)
    while not holds(high):
        if high >= largest:
            return None
        low, high = high, min(2 * high, largest)
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _confirmed(choice: Choice, mu: float | None) -> Choice | None:
    """The choice with its proven epsilon; with a larger k where that is needed."""
    k = choice.k
    for _ in range(TRIED + 1):
        if k + math.ceil(46 / choice.epsilon0) > LARGEST_CLASS:
            return None
        release = SafeRelease(
            k=k, gamma=choice.gamma, epsilon0=choice.epsilon0, records=choice.records, mass=choice.mass
        )
        proven = release.epsilon(choice.delta)
        if proven <= choice.epsilon and (mu is None or release.mu(choice.delta) <= mu):
            return Choice(
                k=k, gamma=choice.gamma, epsilon0=choice.epsilon0, records=choice.records, mass=choice.mass,
                epsilon=proven, delta=choice.delta,
            )  # fmt: skip
        k = math.ceil(1.1 * k)
    return None

"""Proximal iterative scaling (PIS): exact proximal steps, marginal after marginal, along the junction tree.

For a measured marginal r with current value q and target y, one step solves

    p = argmin  sum (p - y)^2 / (2 lam) + KL(p | q),      lam = sweeps * sigma / (u * total),

(see `omega`) and multiplies the clique that holds r by p/q, which is the step of the whole joint
distribution. The tree is toured depth first and messages keep every visited clique up to date. No potentials
are carried over, so `sweeps` such tours are an implicit mirror descent followed for a known time, u/sigma for
each marginal; there is no step size and no line search. Stopping at that time, not at convergence, keeps the
noise out: u = 0.5 (total / (cells * sigma))^0.3, between 0.1 and 3, was best across noise levels.

Source: proximal splitting as in Combettes and Pesquet (2011) with the entropic distance of Teboulle (1992);
with lam = 0 it is iterative proportional fitting (Deming and Stephan, 1940).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from sfumato.graphical.beliefs import TINY, Beliefs
from sfumato.graphical.layout import Floats, Projection, pack
from sfumato.graphical.omega import proximal_step
from sfumato.graphical.pooling import Target

DEFAULT_SWEEPS = 30

LEAST_LAM = 1e-25
"""Below this a target is met to the last digit anyway."""


def time_of(total: float, cells: int, sigma: float) -> float:
    """The u for which a marginal of so many cells is followed."""
    return float(np.clip(0.5 * (total / (cells * sigma)) ** 0.3, 0.1, 3.0))


@frozen(eq=False)
class _Pull:
    """A target ready for use: flat, restricted to its possible cells (None: all are)."""

    values: Floats
    lam: float | Floats
    cells: np.ndarray | None

    def ratio(self, current: Floats) -> Floats:
        """What to multiply the marginal `current` by."""
        now = current if self.cells is None else current[self.cells]
        mass = float(now.sum())
        factor = _quotient(proximal_step(now / mass, self.values, self.lam) * mass, now)
        factor *= mass / float(factor @ now)
        if self.cells is None:
            return factor
        spread = np.zeros_like(current)
        spread[self.cells] = factor
        return spread


@frozen(eq=False)
class _Block:
    """A target that no other contains, where it sits in its clique, and the targets inside it, falling."""

    projection: Projection
    pull: _Pull
    inner: tuple[tuple[Projection, _Pull], ...]

    def apply(self, array: Floats) -> None:
        """Step towards the outer target, then the inner ones; the clique is read and written once.

        The small ones come last: they are known best, and the noise of many cells moves their sums.
        """
        before = self.projection.sum(array)
        now = before.copy()
        now *= self.pull.ratio(now)
        for projection, pull in self.inner:
            projection.multiply(now, pull.ratio(projection.sum(now)))
        self.projection.multiply(array, _quotient(now, before))


def _quotient(new: Floats, old: Floats) -> Floats:
    """`new` / `old`, 0 where `old` is 0, and never so large that products could overflow."""
    factor = np.zeros(new.shape)
    np.divide(new, old, out=factor, where=old > TINY)
    return np.minimum(factor, 1e30, out=factor)


def scale(beliefs: Beliefs, targets: Sequence[Target], *, total: float, sweeps: int, strength: float) -> None:
    """Move calibrated `beliefs`, in place, towards `targets`; they are calibrated again at the end."""
    if not targets:
        return
    blocks = _blocks(beliefs, targets, total, sweeps, strength)
    tour = list(beliefs.sweep())
    for _ in range(sweeps):
        for event, index in tour:
            if event == "down":
                beliefs.push_down(index)
            elif event == "up":
                beliefs.push_up(index)
            else:
                for block in blocks[index]:
                    block.apply(beliefs.arrays[index])
    beliefs.calibrate()


def fit_one_way(target: Target, possible: np.ndarray, total: float) -> Floats:
    """A probability vector near a 1-way `target` alone; exactly 0 where not `possible`."""
    sweeps, u = 20, 2.4
    pull = _pull(target, possible.reshape(-1), target.values, sweeps / (u * total))
    now = possible / possible.sum()
    for _ in range(sweeps):
        now = now * pull.ratio(now)
    return now / now.sum()


def _pull(target: Target, possible: np.ndarray, values: Floats, over: float) -> _Pull:
    sigma = target.sigma
    lam = over * sigma if isinstance(sigma, float) else over * np.square(sigma).reshape(-1) / target.scale
    lam = np.maximum(lam, LEAST_LAM) if isinstance(lam, np.ndarray) else max(lam, LEAST_LAM)
    if possible.all():
        return _Pull(values, lam, None)
    cells = np.flatnonzero(possible)
    return _Pull(values[cells], lam if isinstance(lam, float) else lam[cells], cells)


def _blocks(
    beliefs: Beliefs, targets: Sequence[Target], total: float, sweeps: int, strength: float
) -> list[list[_Block]]:
    """For each clique of the tree, the blocks that sit there, small ones first."""
    tree = beliefs.tree
    sizes = tree.sizes
    blocks: list[list[_Block]] = [[] for _ in tree.cliques]

    nested = _nested(targets)
    steps = Counter(target.clique for _, inside in nested for target in inside)

    def ready(target: Target, now: Floats) -> _Pull:
        # A target inside several others takes as many steps a sweep, each for a part of its time.
        u = strength * time_of(total, target.values.size, target.scale) / max(steps[target.clique], 1)
        return _pull(
            _packed(sizes, target), now > 0.0, pack(sizes, target.clique, target.values), sweeps / (u * total)
        )

    for outer, inside in nested:
        home = tree.home(outer.clique)
        assert home is not None
        projection = Projection(sizes, tree.cliques[home], outer.clique)
        now = projection.sum(beliefs.arrays[home])
        inner = []
        for target in sorted(inside, key=lambda t: (-t.values.size, t.clique)):
            within = Projection(sizes, outer.clique, target.clique)
            inner.append((within, ready(target, within.sum(now))))
        blocks[home].append(_Block(projection, ready(outer, now), tuple(inner)))
    for there in blocks:
        there.sort(key=lambda block: block.projection.cells)
    return blocks


def _packed(sizes: Sequence[int], target: Target) -> Target:
    """`target` with its sigma, when it is an array, in our layout."""
    if isinstance(target.sigma, float):
        return target
    return Target(target.clique, target.values, pack(sizes, target.clique, target.sigma))


def _nested(targets: Sequence[Target]) -> list[tuple[Target, list[Target]]]:
    """Targets that no other contains, each with those it contains."""
    outermost: list[tuple[Target, list[Target]]] = []
    holders: dict[int, list[tuple[Target, list[Target]]]] = {}
    for target in sorted(targets, key=lambda t: (-len(t.clique), t.values.size, t.clique)):
        mine = set(target.clique)
        around = [group for group in holders.get(target.clique[0], ()) if mine <= set(group[0].clique)]
        if around:
            for _, inside in around:
                inside.append(target)
            continue
        group: tuple[Target, list[Target]] = (target, [])
        outermost.append(group)
        for attribute in target.clique:
            holders.setdefault(attribute, []).append(group)
    return outermost

"""Mirror descent with a line search: the plain minimiser of the squared error.

The loss is  L(p) = sum_r |N p_r - N y_r|^2 / (2 sigma_r^2)  over the pooled targets y_r. A step multiplies
the joint distribution by exp(-step * dL/dp_r) for every r, that is, every clique by the factors of the
marginals it holds, and calibrates; the step grows while the loss falls enough and is halved when it does not.

Source: Beck and Teboulle (2003); McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference
for differential privacy" (ICML 2019).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.graphical.beliefs import Beliefs
from sfumato.graphical.layout import Floats, Projection, pack
from sfumato.graphical.pooling import Target

DEFAULT_SWEEPS = 1000


class _Loss:
    """The squared error and its gradient in the measured marginals."""

    def __init__(self, beliefs: Beliefs, targets: Sequence[Target], total: float) -> None:
        tree = beliefs.tree
        self.parts: list[tuple[int, Projection, Floats, Floats]] = []
        for target in sorted(targets, key=lambda t: t.clique):
            home = tree.home(target.clique)
            assert home is not None
            sigma = np.broadcast_to(np.asarray(target.sigma, dtype=np.float64), target.values.shape)
            weight = np.square(total / pack(tree.sizes, target.clique, sigma))
            projection = Projection(tree.sizes, tree.cliques[home], target.clique)
            self.parts.append((home, projection, pack(tree.sizes, target.clique, target.values), weight))

    def __call__(self, beliefs: Beliefs) -> tuple[float, list[Floats], list[Floats]]:
        """Loss, marginals and gradients."""
        loss, marginals, gradients = 0.0, [], []
        for home, projection, values, weight in self.parts:
            marginal = projection.sum(beliefs.arrays[home])
            error = marginal - values
            gradient = weight * error
            loss += 0.5 * float(gradient @ error)
            marginals.append(marginal)
            gradients.append(gradient)
        return loss, marginals, gradients


def descend(beliefs: Beliefs, targets: Sequence[Target], *, total: float, sweeps: int) -> Beliefs:
    """Calibrated beliefs with less loss than `beliefs`, after at most `sweeps` steps tried."""
    if not targets:
        return beliefs
    loss_of = _Loss(beliefs, targets, total)
    loss, marginals, gradients = loss_of(beliefs)
    steepest = max(float(np.abs(gradient).max()) for gradient in gradients)
    step = 1.0 / max(steepest, 1.0)
    for _ in range(sweeps):
        trial = beliefs.copy()
        for (home, projection, _, _), gradient in zip(loss_of.parts, gradients, strict=True):
            factor = np.exp(np.maximum(-step * (gradient - gradient.min()), -600.0))
            projection.multiply(trial.arrays[home], factor)
        if trial.calibrate() == -np.inf:
            step *= 0.5
            continue
        new_loss, new_marginals, new_gradients = loss_of(trial)
        pairs = zip(gradients, marginals, new_marginals, strict=True)
        expected = sum(float(gradient @ (old - new)) for gradient, old, new in pairs)
        if loss - new_loss >= 0.5 * expected and np.isfinite(new_loss):
            done = loss - new_loss <= 1e-12 * loss
            beliefs, loss, marginals, gradients = trial, new_loss, new_marginals, new_gradients
            step *= 1.1
            if done:
                break
        else:
            step *= 0.5
    return beliefs

"""Whole trainings told apart by somebody who sees every noisy gradient: the long suite."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'sfumato[deep]'")
from scipy.stats import beta, norm  # noqa: E402
from tests.deep.programs import plan  # noqa: E402
from tests.deep.test_training import codes, program  # noqa: E402

from sfumato.privacy import gdp  # noqa: E402
from sfumato.privacy.dpsgd import Trainer, check_places  # noqa: E402
from sfumato.privacy.per_example import NORM_AT_MOST, UNITS  # noqa: E402
from sfumato.privacy.rounded_gaussian import RoundedGaussian  # noqa: E402
from sfumato.privacy.subsampled import Schedule, epsilon, mu_squared, smallest_noise  # noqa: E402

STEPS, RATE, DELTA, LEVEL, RUNS = 8, Fraction(1, 2), 1e-5, 1e-7, 500


def runs(with_row: bool, noise: float, count: int) -> np.ndarray:
    """Log-likelihood ratios, of all noisy gradients of a training, of one row against none: other rows would only
    blur them. Each training starts where the one before ended, which is public.
    """
    row, made = codes(1, 3), program(width=2)
    facts = plan(steps=STEPS, rate=RATE, noise=Fraction(noise), clip=1e-3, normaliser=1.0)
    trainer = Trainer(row if with_row else codes(0), made, facts)
    own = Trainer(row, made, facts)
    scale, noisy = facts.clip / 2.0**UNITS, RoundedGaussian(Fraction(noise) * NORM_AT_MOST)
    right, found = made.update, []

    def update(gradient: torch.Tensor) -> None:
        # What the row adds at these parameters, known to whoever knows the row.
        k = own.sum(np.array([0]), None, None)[:-1] * scale
        loss = (float(gradient.numpy() @ k) - float(k @ k) / 2) / (noise * facts.clip) ** 2
        found[-1] += math.log1p(float(RATE) * math.expm1(min(loss, 600.0)))
        right(gradient)

    made.update = update
    for _ in range(count):
        found.append(0.0)
        trainer.run(noisy, report=lambda *_: None)
    return np.array(found)


def mu_at_least(one: np.ndarray, other: np.ndarray) -> float:
    """A lower bound on the mu of Gaussian DP by Clopper and Pearson, at thresholds fixed beforehand."""
    best = 0.0
    for limit in np.linspace(-2, 6, 9):
        missed, false = int((one <= limit).sum()), int((other > limit).sum())
        fnr, fpr = (
            beta.ppf(1 - LEVEL, k + 1, max(n - k, 1)) for k, n in ((missed, one.size), (false, other.size))
        )
        best = max(best, float(norm.ppf(1 - fpr) - norm.ppf(fnr)))
    return best


def noise_for(target: float) -> tuple[float, float]:
    """The noise of a training that is charged `target`, and the mu of that price."""
    base = Schedule(noise=1.0, rate=float(RATE), steps=STEPS)
    noise = smallest_noise(gdp.mu(target, DELTA * 0.99) ** 2, base, DELTA / 100)
    noise = math.ceil(noise * 512) / 512
    return noise, math.sqrt(mu_squared(Schedule(noise=noise, rate=float(RATE), steps=STEPS), DELTA / 100))


@pytest.mark.slow
@pytest.mark.parametrize("target", [4.0, 10.0])
def test_a_training_is_no_easier_to_tell_than_is_charged(target):
    assert isinstance(check_places(program(width=2), plan(), codes), bool)
    noise, mu = noise_for(target)
    proven = mu_at_least(runs(True, noise, RUNS), runs(False, noise, RUNS))
    print(f"\nepsilon {target:g}: mu charged {mu:.3f}, proven at least {proven:.3f}")  # noqa: T201
    assert proven <= mu


@pytest.mark.slow
@pytest.mark.parametrize("target", [4.0, 10.0])
def test_half_of_the_noise_is_found_out(target):
    noise, mu = noise_for(target)
    proven = mu_at_least(runs(True, noise / 2, RUNS), runs(False, noise / 2, RUNS))
    claimed = epsilon([Schedule(noise=noise, rate=float(RATE), steps=STEPS)], DELTA)
    print(f"\nepsilon {claimed:.3g}: mu charged {mu:.3f}, proven at least {proven:.3f}")  # noqa: T201
    assert proven > mu

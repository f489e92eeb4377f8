"""The proximal step is the minimiser it claims to be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import wrightomega

from sfumato.graphical.omega import omega, proximal_step


def test_omega_is_the_wright_omega():
    z = np.concatenate([np.linspace(-600, 50, 5001), np.geomspace(50, 1e15, 500)])
    np.testing.assert_allclose(omega(z), wrightomega(z), rtol=1e-12)


def _by_bisection(current, target, lam):
    """The step by halving the bracket of kappa, with scipy's omega."""
    a = np.log(current / lam) + target / lam
    low, high = np.min(a) - 1e3 - 2 / np.min(lam), np.max(a) + 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (lam * wrightomega(a - middle)).sum() > 1 else (low, middle)
    return lam * wrightomega(a - high)


@given(
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
    st.floats(-12, 6),
    st.floats(-2, 4),
    st.sampled_from([1, 9]),
)
@settings(max_examples=100, deadline=None)
def test_the_step_is_the_minimiser(cells, seed, lam_power, spread, uneven):
    rng = np.random.default_rng(seed)
    current = rng.dirichlet(np.ones(cells)) + 1e-12
    current /= current.sum()
    target = rng.normal(0, 10.0**spread, cells)
    target += (1 - target.sum()) / cells
    lam = 10.0**lam_power * (rng.uniform(1, uneven, cells) if uneven > 1 else 1.0)
    p = proximal_step(current, target, lam)
    assert abs(p.sum() - 1) < 1e-12 and (p > 0).all()
    np.testing.assert_allclose(p, _by_bisection(current, target, lam), atol=1e-7)

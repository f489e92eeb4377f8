"""OpenDP's contingency tables (dp.mbi), which fit with mbi: shared by the adapters of its algorithms.

Every column gets the public keys 0 … k-2; OpenDP adds a key for missing values, which stands for the code k-1
here, so that the domain is the same. The budget is the largest zCDP rho that its own conversion puts within
(epsilon, delta). Its noise cannot be seeded: the seed is not used.
"""

import importlib

import numpy as np


def fit(codes, sizes, task, algorithm):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib", "idealized-numerics")
    # Parts of a budget, each one float below its share, can add up to more than the whole in the last digit when
    # there are many: a part in 10^12 is left instead.
    for name in ("_aim", "_mst"):
        importlib.import_module(f"opendp.extras.mbi.{name}").prior = lambda share: share * (1 - 1e-12)
    frame = pl.DataFrame(
        {
            f"c{a}": pl.Series(codes[:, a].astype(np.int64)).replace(size - 1, None)
            for a, size in enumerate(sizes)
        }
    )
    budget = rho(task["epsilon"], task["delta"])
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=budget)
    )
    keys = {f"c{a}": list(range(size - 1)) for a, size in enumerate(sizes)}
    query = context.query(rho=budget).select(*frame.columns)
    return query.contingency_table(keys=keys, algorithm=algorithm(dp)).release(), sizes


def sample(fitted, rows, task):
    table, sizes = fitted
    made = table.synthesize(rows)
    return np.column_stack([made[f"c{a}"].fill_null(size - 1).to_numpy() for a, size in enumerate(sizes)])


def rho(epsilon, delta):
    """The largest rho of a Gaussian mechanism that is (epsilon, delta)-DP by OpenDP's conversion."""
    import opendp.prelude as dp

    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def private(scale):
        gaussian = dp.m.make_gaussian(*space, scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), delta=delta)

    scale = dp.binary_search_param(private, d_in=1.0, d_out=(epsilon, delta), T=float)
    return 0.5 / scale**2

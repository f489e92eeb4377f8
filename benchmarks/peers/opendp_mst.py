"""OpenDP's MST (dp.mbi.MST), with its defaults."""

import opendp_tables
from exchange import run

REQUIREMENTS = ("opendp[mbi]==0.16.0", "pandas>=2.2")


def fit(codes, sizes, task):
    return opendp_tables.fit(codes, sizes, task, lambda dp: dp.mbi.MST())


if __name__ == "__main__":
    run(fit, opendp_tables.sample)

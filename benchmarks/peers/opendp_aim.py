"""OpenDP's AIM (dp.mbi.AIM), with its defaults."""

import opendp_tables
from exchange import run

REQUIREMENTS = ("opendp[mbi]==0.16.0", "pandas>=2.2")


def fit(codes, sizes, task):
    return opendp_tables.fit(codes, sizes, task, lambda dp: dp.mbi.AIM())


if __name__ == "__main__":
    run(fit, opendp_tables.sample)

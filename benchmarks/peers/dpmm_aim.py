"""dpmm's AIM, with its defaults, on its own copy of mbi."""

import dpmm_models
from exchange import run

REQUIREMENTS = ("dpmm==0.1.9",)


def fit(codes, sizes, task):
    from dpmm.models.aim import AIMGM

    return dpmm_models.fit(codes, sizes, task, AIMGM)


if __name__ == "__main__":
    run(fit, dpmm_models.sample)

"""dpmm's PrivBayes, with its defaults, on its own copy of mbi."""

import dpmm_models
from exchange import run

REQUIREMENTS = ("dpmm==0.1.9",)


def fit(codes, sizes, task):
    from dpmm.models.priv_bayes import PrivBayesGM

    return dpmm_models.fit(codes, sizes, task, PrivBayesGM)


if __name__ == "__main__":
    run(fit, dpmm_models.sample)

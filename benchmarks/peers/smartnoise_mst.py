"""smartnoise-synth's MST, with its defaults, on mbi."""

import smartnoise_table
from exchange import run

# Its neural methods need torch and opacus, which these do not import.
ALONE = ("smartnoise-synth==1.0.8",)
REQUIREMENTS = ("mbi==1.1.0", "smartnoise-sql==1.0.10", "disjoint-set>=0.9,<0.10", "Faker>=17")


def fit(codes, sizes, task):
    from snsynth.mst import MSTSynthesizer

    return smartnoise_table.fit(codes, sizes, task, MSTSynthesizer)


if __name__ == "__main__":
    run(fit, smartnoise_table.sample)

"""smartnoise-synth's synthesizers on coded rows: shared by the adapters.

Labels are fitted to the public domain (every code once), not to the rows, so that the domain is the same and
nothing of the rows is in it. Selection draws from numpy's global generator, which is seeded; noise is OpenDP's
and is not.
"""

import numpy as np
from exchange import frame


def fit(codes, sizes, task, synthesizer):
    from snsynth.transform import LabelTransformer, TableTransformer

    np.random.seed(task["seed"])  # noqa: NPY002 (the generator that the peer uses)
    every = np.column_stack([np.arange(max(sizes)) % size for size in sizes])
    labels = TableTransformer([LabelTransformer(nullable=False) for _ in sizes])
    labels.fit(frame(every))
    model = synthesizer(epsilon=task["epsilon"], delta=task["delta"])
    model.fit(frame(codes), transformer=labels)
    return model


def sample(model, rows, task):
    return model.sample(rows).to_numpy()

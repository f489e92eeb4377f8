"""dpmm's models on coded rows, without its binning: shared by the adapters.

Selection draws from the generator that is seeded; noise is OpenDP's and is not.
"""

from exchange import frame


def fit(codes, sizes, task, model):
    from dpmm.pipelines.base import GenerativePipeline

    pipeline = GenerativePipeline(gen=model(epsilon=task["epsilon"], delta=task["delta"]))
    domain = {f"c{a}": size for a, size in enumerate(sizes)}
    pipeline.fit(frame(codes), domain=domain, random_state=task["seed"])
    return pipeline


def sample(pipeline, rows, task):
    made = pipeline.generate(n_records=rows, random_state=task["seed"])
    return made[[f"c{a}" for a in range(made.shape[1])]].to_numpy()

"""sfumato's methods, in the Python that runs the benchmark."""

import numpy as np
from exchange import run


def fit(codes, sizes, task):
    import polars as pl

    import sfumato as sf

    columns, series = {}, {}
    for a, (size, number) in enumerate(zip(sizes, task["numbers"], strict=True)):
        name = f"c{a}"
        if number:
            columns[name] = {"type": "int", "min": 0, "max": size - 1}
            series[name] = pl.Series(codes[:, a]).cast(pl.Int16)
        else:
            columns[name] = {"type": "categorical", "values": [str(code) for code in range(size)]}
            series[name] = pl.Series(codes[:, a]).cast(pl.String)
    return sf.fit(
        pl.DataFrame(series), epsilon=task["epsilon"], delta=task["delta"], method=task["method"],
        schema={"columns": columns}, options=task["options"], insecure_noise_seed=task["seed"],
    )  # fmt: skip


def sample(model, rows, task):
    import polars as pl

    made = model.sample(rows, seed=task["seed"])
    return np.column_stack([made[name].cast(pl.Int32).to_numpy() for name in made.columns])


if __name__ == "__main__":
    run(fit, sample)

"""mbi's mirror descent on shared measurements, with its defaults; see exchange.py."""

from exchange import run

REQUIREMENTS = ("mbi==1.1.0", "jax==0.10.2")


def marginals(task, measured):
    import mbi

    names = [f"c{a}" for a in range(len(task["sizes"]))]
    known = [
        mbi.LinearMeasurement(values.ravel(), tuple(names[a] for a in clique), stddev=task["sigma"])
        for clique, values in measured
    ]
    model = mbi.estimation.mirror_descent(
        mbi.Domain(names, task["sizes"]), known, known_total=task["total"], iters=task["sweeps"]
    )
    return lambda clique: model.project(tuple(names[a] for a in clique)).datavector(flatten=False)


if __name__ == "__main__":
    run(marginals)

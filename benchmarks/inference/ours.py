"""This library's engine on shared measurements; see exchange.py."""

from exchange import run


def marginals(task, measured):
    from sfumato.graphical import Measurement, fit

    known = [Measurement(clique=clique, values=values, sigma=task["sigma"]) for clique, values in measured]
    model = fit(
        task["sizes"],
        known,
        total=task["total"],
        method=task["method"],
        sweeps=task["sweeps"],
        max_cells=10**7,
    )
    return model.marginal


if __name__ == "__main__":
    run(marginals)

"""What an engine is given and hands back: files only, so that another's environment needs nothing of ours.

    python ENGINE.py measured.npz answer.npz '{"sizes": […], "cliques": […], "asked": […], …}'

measured.npz: the noisy table of each of `cliques`, named by its place. answer.npz: the fitted table of each of
`asked`, likewise; seconds (from before the engine is imported), processor (seconds on all cores).
"""

import json
import resource
import sys
import time

import numpy as np


def run(marginals):
    """Time marginals(task, [(clique, noisy table), …]) -> function from a clique to its expected counts."""
    measured, answer, words = sys.argv[1:]
    task = json.loads(words)
    with np.load(measured) as given:
        known = [(tuple(clique), given[str(i)]) for i, clique in enumerate(task["cliques"])]
    started = time.perf_counter()
    of = marginals(task, known)
    np.asarray(of(tuple(task["cliques"][0])))
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    tables = {str(i): np.asarray(of(tuple(clique))) for i, clique in enumerate(task["asked"])}
    np.savez(answer, seconds=seconds, processor=used.ru_utime + used.ru_stime, **tables)


if __name__ == "__main__":
    raise SystemExit("run by run.py")

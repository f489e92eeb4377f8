"""The proximal step (sfumato.graphical.omega) as a numba kernel: what it costs to start, and what it saves.

    python numba_steps.py current.npz answer.npz '{"calls": 200}'

current.npz: current, target (vectors of one marginal), lam. answer.npz: cold, seconds from before numba is
imported to the end of the first call; step, seconds of a later one; result.
"""

import json
import sys
import time

import numpy as np

REQUIREMENTS = ("numba==0.68.1",)


def kernel():
    import math

    import numba

    @numba.njit(fastmath=False)
    def omega(z):
        soft = math.log1p(math.exp(-abs(z))) + max(z, 0.0) if z > -700.0 else math.exp(-700.0)
        w = soft * (1.0 - math.log1p(soft) / (2.0 + soft))
        for _ in range(2):
            r = z - w - math.log(w)
            s = 2.0 * (w + 1.0) * (w + 1.0 + 2.0 / 3.0 * r)
            w = max(w * (1.0 + (r / (w + 1.0)) * ((s - r) / (s - 2.0 * r))), 1e-300)
        return w

    @numba.njit(fastmath=False)
    def step(current, target, lam):
        share, low, high = 1.0 / current.size, -1e300, -1e300
        a = np.empty(current.size)
        for i in range(current.size):
            a[i] = math.log(max(current[i] / lam, 1e-300)) + target[i] / lam
            low = max(low, a[i] - (1.0 / lam + math.log(1.0 / lam)))
            high = max(high, a[i] - (share / lam + math.log(share / lam)))
        kappa, p = min(max(0.0, low), high), np.empty(current.size)
        for _ in range(60):
            total, slope = 0.0, 0.0
            for i in range(current.size):
                w = omega(a[i] - kappa)
                p[i] = lam * w
                total += p[i]
                slope += p[i] / (1.0 + w)
            if abs(total - 1.0) < 1e-8:
                break
            if total > 1.0:
                low = max(low, kappa)
            else:
                high = min(high, kappa)
            kappa = min(max(kappa + (total - 1.0) / slope, low), high)
        return p / p.sum()

    return step


def main():
    given, answer, words = sys.argv[1:]
    calls = json.loads(words)["calls"]
    with np.load(given) as held:
        current, target, lam = held["current"], held["target"], float(held["lam"])
    started = time.perf_counter()
    step = kernel()
    result = step(current, target, lam)
    cold = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(calls):
        step(current, target, lam)
    np.savez(answer, cold=cold, step=(time.perf_counter() - started) / calls, result=result)


if __name__ == "__main__":
    main()

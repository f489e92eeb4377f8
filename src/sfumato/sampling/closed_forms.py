"""ROO in closed form, in every direction: q, epsilon, alpha, n and k from any three that determine the
others.

    q = k / (k + n(e^epsilon - 1)),   alpha = q (1 - 1/k)

alpha is the largest total variation distance to the law of the records, over all laws (reached by one that
always gives the same symbol). Tasnim, Gilani, Sankar, Kosut, arXiv 2504.14696: epsilon = ln(1 + k(1-q)/(nq))
and n = (k(1-alpha) - 1)/(alpha(e^epsilon - 1)). Arguments are numbers; these functions draw nothing.
"""

from __future__ import annotations

import math

from attrs import frozen

from sfumato.errors import UsageError

KNOWN = ("q", "epsilon", "alpha", "n", "k")


def q(epsilon: float, n: float, k: float) -> float:
    """Probability of obscuring that makes ROO epsilon-DP."""
    _check(epsilon=epsilon, n=n, k=k)
    return k / (k + n * _odds(epsilon))


def epsilon(q: float, n: float, k: float) -> float:
    """Epsilon of ROO with a given probability of obscuring."""
    _check(q=q, n=n, k=k)
    return math.log1p(k * (1 - q) / (n * q))


def alpha(epsilon: float, n: float, k: float) -> float:
    """Largest total variation distance of ROO to the law of the records."""
    return q(epsilon, n, k) * (1 - 1 / k)


def sample_size(alpha: float, epsilon: float, k: float) -> int:
    """Smallest number of records at which ROO is within `alpha` of the law of the records.

    0 where a uniform symbol already is.
    """
    _check(alpha=alpha, epsilon=epsilon, k=k)
    exact = records(alpha, epsilon, k)
    return max(0, math.ceil(exact - 1e-9 * max(1.0, abs(exact))))


def records(alpha: float, epsilon: float, k: float) -> float:
    """The same without rounding; below 0 where no record is needed."""
    return (k * (1 - alpha) - 1) / (alpha * _odds(epsilon))


def epsilon_of_alpha(alpha: float, n: float, k: float) -> float:
    """Epsilon at which ROO on n records is within `alpha`; UsageError where none is needed."""
    _check(alpha=alpha, n=n, k=k)
    return epsilon(q_of_alpha(alpha, k), n, k)


def q_of_alpha(alpha: float, k: float) -> float:
    """Probability of obscuring at which the distance is `alpha`."""
    _check(alpha=alpha, k=k)
    if k <= 1 or alpha * k / (k - 1) > 1:
        raise UsageError(
            f"alpha = {alpha:g} is more than a uniform symbol needs", mend="alpha is below 1 - 1/k"
        )
    return alpha * k / (k - 1)


def alphabet(alpha: float, epsilon: float, n: float) -> float:
    """Size of the alphabet at which ROO on n records is at `alpha`."""
    _check(alpha=alpha, epsilon=epsilon, n=n)
    return (1 + alpha * n * _odds(epsilon)) / (1 - alpha)


@frozen(kw_only=True)
class Setting:
    """All five numbers of one ROO. n and k need not be whole where they were solved for."""

    q: float
    epsilon: float
    alpha: float
    n: float
    k: float


def solve(
    *,
    q: float | None = None,
    epsilon: float | None = None,
    alpha: float | None = None,
    n: float | None = None,
    k: float | None = None,
) -> Setting:
    """The other two numbers from any three of the five.

    Not from q, alpha and k, of which one follows from the others. UsageError for another number of arguments,
    and where no ROO has such numbers.
    """
    given = {"q": q, "epsilon": epsilon, "alpha": alpha, "n": n, "k": k}
    known = {name: value for name, value in given.items() if value is not None}
    if len(known) != 3 or known.keys() == {"q", "alpha", "k"}:
        raise UsageError(
            "three of q, epsilon, alpha, n and k determine the others, but for q, alpha and k together",
            mend=f"given: {', '.join(known) or 'none'}",
        )
    _check(**known)
    match sorted(known):
        case ["alpha", ("epsilon" | "n"), "q"]:
            if known["alpha"] >= known["q"]:
                raise UsageError("alpha is below q, by the factor 1 - 1/k")
            known["k"] = 1 / (1 - known["alpha"] / known["q"])
        case ["alpha", "epsilon", "n"]:
            known["k"] = alphabet(known["alpha"], known["epsilon"], known["n"])
        case ["alpha", ("epsilon" | "k"), ("k" | "n")]:
            known["q"] = q_of_alpha(known["alpha"], known["k"])
        case ["epsilon", "n", "q"]:
            known["k"] = known["q"] * known["n"] * _odds(known["epsilon"]) / (1 - known["q"])
    size = known["k"]
    hidden = known.get("q") or size / (size + known["n"] * _odds(known["epsilon"]))
    loss = known.get("epsilon") or math.log1p(size * (1 - hidden) / (known["n"] * hidden))
    held = known.get("n") or size * (1 - hidden) / (hidden * _odds(loss))
    return Setting(q=hidden, epsilon=loss, alpha=hidden * (1 - 1 / size), n=held, k=size)


def _odds(epsilon: float) -> float:
    """e^epsilon - 1, as far as a float reaches."""
    return math.expm1(min(epsilon, 709.0))


_LIMITS = {
    "q": (0.0, 1.0, "q must lie above 0, at most 1"),
    "alpha": (0.0, 1.0, "alpha must lie between 0 and 1"),
    "epsilon": (0.0, 1000.0, "epsilon must lie above 0, at most 1000"),
    "n": (0.0, math.inf, "n must be a number above 0"),
    "k": (0.0, math.inf, "k must be a number of at least 1"),
}


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        low, high, text = _LIMITS[name]
        sound = low < value <= high and math.isfinite(value)
        if not sound or (name == "alpha" and value == 1) or (name == "k" and value < 1):
            raise UsageError(f"{text}, not {value}")

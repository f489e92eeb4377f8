"""What a model guarantees beyond its statement: plausible deniability, and the parts of which epsilon is
made.

Everything is worked out from the ledger, which `verify` binds.
"""

from __future__ import annotations

import math
from typing import Any

from attrs import frozen

from sfumato.privacy import gdp
from sfumato.privacy.division import mixture_epsilon
from sfumato.privacy.filter import worth
from sfumato.privacy.ledger import Entry, Ledger, Limit
from sfumato.privacy.plausible import SafeRelease, after_passing, best_theorem_1

SEEDS = "seeds"
RELEASE = "plausible_release"


@frozen(kw_only=True)
class Guarantee:
    """One promise in words, with its numbers."""

    what: str
    text: str
    epsilon: float | None = None
    delta: float | None = None

    def state(self) -> dict[str, Any]:
        """JSON-able form; an infinite epsilon is the text "infinity"."""
        epsilon = "infinity" if self.epsilon is not None and math.isinf(self.epsilon) else self.epsilon
        return {"what": self.what, "text": self.text, "epsilon": epsilon, "delta": self.delta}


def guarantees(ledger: Ledger, *, delta: float) -> list[Guarantee]:
    """Promises about records made from seeds; none for a model without any. For adding or removing one
    row.
    """
    found: list[Guarantee] = []
    limit = ledger.limit
    release = next((entry for entry in ledger if entry.mechanism == RELEASE), None)
    if (
        limit is not None
        and limit.parts
        and (release is not None or any(n == SEEDS for n, _, _ in limit.parts))
    ):
        epsilon = _of_model(limit, delta)
        found.append(
            Guarantee(
                what="model",
                text=f"the Bayesian network alone is ({epsilon:.4g}, {delta:.3g})-differentially private",
                epsilon=epsilon,
                delta=delta,
            )
        )
    if release is not None:
        found += _of_release(release, delta)
    return found


def _of_model(limit: Limit, delta: float) -> float:
    """Rows that are seeds have no part in the network, which amplifies what the others may see."""
    rest = delta - limit.delta
    seen = [(share, limit.common if name == SEEDS else spend) for name, share, spend in limit.groups]
    return mixture_epsilon(
        [(share, worth(spend, delta=rest, accountant=limit.accountant)) for share, spend in seen]
    )


def _of_release(entry: Entry, delta: float) -> list[Guarantee]:
    held = entry.parameters
    k, gamma, records, mass = held["k"], held["gamma"], held["records"], held["mass"]
    omegas = held["omegas"]
    alike = "the same" if len(omegas) == 1 else f"within a factor of {gamma:g}"
    deniable = (
        f"({k}, {gamma:g})-plausible deniability: each of the {records:,} records could have come from at "
        "least "
    )
    if held["epsilon0"] is None:
        text = f"{deniable}{k} seeds, with probabilities {alike}. It is not differentially private"
        return [Guarantee(what="plausible deniability", text=text, epsilon=math.inf, delta=1.0)]
    numerator, _, denominator = held["epsilon0"].partition("/")
    epsilon0 = int(numerator) / int(denominator or 1)
    found = [
        Guarantee(
            what="plausible deniability",
            text=f"{deniable}k seeds, with probabilities {alike}; the threshold k is random: it is below "
            f"{k} - j with probability exp(-{epsilon0:g} j) / 2",
        )
    ]
    accounted = (1.0 if len(omegas) == 1 else gamma) * (1 + 1e-9)
    n = max(1, math.floor(mass) - 1)
    one = best_theorem_1(k, accounted, epsilon0, delta=delta / (2 * records), n=n)
    if one is not None:
        epsilon, own = after_passing(one[0], one[1], n=n, passing=1.0)
        found.append(
            Guarantee(
                what="per record",
                text=f"each record is ({epsilon:.4g}, {own:.3g})-differentially private (theorem 1 with "
                f"t = {one[2]}, after passing)",
                epsilon=epsilon,
                delta=own,
            )
        )
    whole = entry.cost.add_remove
    rest = delta - whole.delta
    if math.isfinite(whole.mu2) and rest > 0:
        epsilon = gdp.epsilon(math.sqrt(whole.mu2), rest)
        if held["max_check_plausible"] is None:
            exact = SafeRelease(
                k=k, gamma=accounted, epsilon0=epsilon0, records=records, mass=mass, cap=held["max_plausible"]
            )
            epsilon = min(epsilon, exact.epsilon(rest))
        found.append(
            Guarantee(
                what="release",
                text=f"the {records:,} records together are ({epsilon:.4g}, {delta:.3g})-differentially "
                f"private, given at least {mass:,.0f} seeds that pass",
                epsilon=epsilon,
                delta=delta,
            )
        )
    return found

"""Mechanisms that read seeds: how many pass, and the records themselves.

Bindschaedler, Shokri, Gunter 2017, Mechanism 1 with Privacy Test 2, repeated until enough records passed.
What was rejected, and how often, leaves with nothing. Prices: docs/methods/plausible-deniability.md.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from sfumato.bayesian_network import Network
from sfumato.domain.encoder import Codes, Encoder
from sfumato.errors import JobError
from sfumato.privacy import gdp, zcdp
from sfumato.privacy.cost import Cost, Price, gaussian
from sfumato.privacy.mechanisms.base import Answer, Rows, has_shapes
from sfumato.privacy.mechanisms.measurement import add_noise, encoder_digest
from sfumato.privacy.plausible.candidates import CHUNK, Candidates, Test
from sfumato.privacy.plausible.records import SafeRelease
from sfumato.privacy.plausible.theorem import after_passing, best_theorem_1, passing_mass_sensitivity
from sfumato.privacy.plausible.threshold import RandomThreshold
from sfumato.privacy.rounded_gaussian import RoundedGaussian
from sfumato.privacy.unit import PrivacyUnit

DRAWS_AT_MOST = 1 << 40
"""Public bound on the draws of thresholds: their number is private."""


@frozen(kw_only=True, eq=False)
class Synthesis:
    """How candidates are made and tested: all that is public of it."""

    encoders: tuple[Encoder, ...] = field(converter=tuple)
    network: Network
    omegas: tuple[int, ...]
    """Numbers of attributes that are drawn anew, each as likely as the other."""
    k: int
    gamma: float
    epsilon0: Fraction | None
    """Rate of the random threshold; None: Privacy Test 1, which has no differential privacy."""
    max_plausible: int | None = None
    max_check_plausible: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.k < 1 or self.gamma <= 1 or (self.epsilon0 is not None and self.epsilon0 <= 0):
            raise ValueError("k is at least 1, gamma above 1, epsilon0 above 0")

    @property
    def accounted_gamma(self) -> float:
        """With one omega all plausible seeds are equally probable, whatever gamma; 1e-9 is for rounding."""
        return (1.0 if len(self.omegas) == 1 else self.gamma) * (1 + 1e-9)

    def candidates(self, seeds: Codes) -> Candidates:
        """A stream of candidates over private seeds."""
        threshold = None if self.epsilon0 is None else RandomThreshold(self.k, self.epsilon0)
        test = Test(
            k=self.k, gamma=self.gamma, threshold=threshold, max_plausible=self.max_plausible,
            max_check_plausible=self.max_check_plausible,
        )  # fmt: skip
        return Candidates(self.network, seeds, self.omegas, test)

    @property
    def distance(self) -> float:
        """Distance of all thresholds to the ideal law."""
        if self.epsilon0 is None:
            return 0.0
        return float(DRAWS_AT_MOST * RandomThreshold(self.k, self.epsilon0).tv_bound)

    def describe(self) -> dict[str, Any]:
        digest = hashlib.sha256()
        for name, array in sorted(self.network.state().items()):
            digest.update(name.encode() + b"\0" + np.ascontiguousarray(array).tobytes() + b"\0")
        return {
            "columns": [encoder.column for encoder in self.encoders],
            "encoders": encoder_digest((self.encoders,)),
            "network": digest.hexdigest(),
            "omegas": list(self.omegas),
            "k": self.k,
            "gamma": self.gamma,
            "epsilon0": None if self.epsilon0 is None else str(self.epsilon0),
            "max_plausible": self.max_plausible,
            "max_check_plausible": self.max_check_plausible,
        }


def coupling_bound(mean: float, doubt: float) -> int:
    """The smallest b with P(B ≥ b) ≤ doubt for every sum B of independent coins of this mean (Chernoff)."""
    b = max(mean, 1.0)
    while -(b * math.log(b / mean) - b + mean) > math.log(doubt):
        b = b * 1.01 + 1
    return math.ceil(b)


def least_mean(count: float, doubt: float) -> float:
    """The largest mean m below `count` with P(B ≥ count) ≤ doubt for every sum of independent coins
    (Chernoff).
    """
    if count <= 0:
        return 0.0
    low, high = 0.0, count
    for _ in range(100):
        middle = (low + high) / 2
        unlikely = middle <= 0 or -(count * math.log(count / middle) - count + middle) <= math.log(doubt)
        low, high = (middle, high) if unlikely else (low, middle)
    return low


@frozen(kw_only=True, eq=False)
class PassingMass:
    """How many candidates pass when every seed makes one, with rounded Gaussian noise: about n·p.

    Adding a seed adds its own candidate, and lets others pass that did not: the expected number of these is
    at most D = max_c gamma c (q(c+1) - q(c)), and as they pass independently of each other, more than `moved`
    - 1 do with probability `doubt` at most (coupling seed by seed, Chernoff). So this is a query of
    sensitivity `moved`, up to `doubt`, which is charged as delta.
    """

    name: ClassVar[str] = "rounded_gaussian_passing_mass"
    synthesis: Synthesis
    sigma: Fraction
    doubt: float

    @staticmethod
    def moved(synthesis: Synthesis, doubt: float) -> int:
        """How far the count moves, up to `doubt`."""
        epsilon0 = float(synthesis.epsilon0 or 1)
        return 1 + coupling_bound(
            passing_mass_sensitivity(synthesis.k, synthesis.accounted_gamma, epsilon0), doubt
        )

    def cost(self, unit: PrivacyUnit) -> Cost:
        _one_row(unit)
        squared = self.moved(self.synthesis, self.doubt) ** 2
        return Cost(
            add_remove=gaussian(squared, self.sigma, delta=self.doubt),
            # Down and up again: never further than one of the two.
            replace=gaussian(squared, self.sigma, delta=2 * self.doubt),
            draws=1,
            distance=float(RoundedGaussian(self.sigma).tv_bound) + self.synthesis.distance,
        )

    def describe(self) -> dict[str, Any]:
        return {**self.synthesis.describe(), "sigma": str(self.sigma), "doubt": self.doubt}

    def exact(self, rows: Rows) -> Codes:
        return rows.records(self.synthesis.encoders)

    def noisy(self, exact: Codes) -> Answer:
        passed = self.synthesis.candidates(exact).passes_of_every_seed() if len(exact) else 0
        return Answer(arrays=add_noise([np.array([passed], dtype=np.int64)], RoundedGaussian(self.sigma)))

    def fits(self, answer: Answer) -> bool:
        return has_shapes(answer, (1,))

    def certified(self, count: int, doubt: float) -> float:
        """A lower bound on n·p from the released count, wrong with probability `doubt` at most.

        By D less than what the count itself shows, so that it also holds for a table with one seed less.
        """
        from scipy.special import ndtri

        seen = count - float(-ndtri(doubt / 2)) * float(self.sigma) - 1
        epsilon0 = float(self.synthesis.epsilon0 or 1)
        return least_mean(seen, doubt / 2) - passing_mass_sensitivity(
            self.synthesis.k, self.synthesis.accounted_gamma, epsilon0
        )


@frozen(kw_only=True, eq=False)
class PlausibleRelease:
    """`records` records, each the first candidate that passes."""

    name: ClassVar[str] = "plausible_release"
    synthesis: Synthesis
    records: int
    mass: float
    """Lower bound on seeds times the probability to pass."""
    tail: float
    """Delta beyond what Gaussian DP covers."""
    doubt: float
    """Probability that `mass` is too large; charged as delta."""

    def __attrs_post_init__(self) -> None:
        if self.records < 1 or not self.mass > 0:
            raise ValueError("at least one record, from a passing mass above 0")

    @property
    def release(self) -> SafeRelease:
        """The accounting of all records."""
        held = self.synthesis
        return SafeRelease(
            k=held.k, gamma=held.accounted_gamma, epsilon0=float(held.epsilon0 or 1), records=self.records,
            mass=self.mass, cap=held.max_plausible,
        )  # fmt: skip

    def per_record(self, delta: float) -> tuple[float, float]:
        """(epsilon, delta) of one record by Theorem 1 with the improved delta, after passing; infinite if
        none.
        """
        held = self.synthesis
        if held.epsilon0 is None:
            return math.inf, 1.0
        # Seeds are at least the passing mass, and e^{-epsilon0 (k-t)} / (2 (n+1) p) ≤ e^{-epsilon0 (k-t)} /
        # (2 mass).
        n = max(1, math.floor(self.mass) - 1)
        found = best_theorem_1(held.k, held.accounted_gamma, float(held.epsilon0), delta=delta / 2, n=n)
        if found is None:
            return math.inf, 1.0
        return after_passing(found[0], found[1], n=n, passing=1.0)

    def price(self) -> Price:
        """The price under add-remove; infinite where there is no guarantee."""
        if self.synthesis.epsilon0 is None:
            return Price(shape="revealed", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
        if self.synthesis.max_check_plausible is not None:
            # A seed that is added takes a place among those that are looked at, so only Theorem 1 holds.
            epsilon, delta = self.per_record(self.tail / self.records)
            if math.isinf(epsilon):
                return Price(shape="gaussian", mu2=math.inf, rho=math.inf, delta=1.0, epsilon=math.inf)
            return Price(
                shape="gaussian",
                mu2=self.records * gdp.mu_of_pure(epsilon) ** 2,
                rho=self.records * zcdp.rho_of_pure(epsilon),
                delta=self.records * delta + self.doubt,
            )
        mu = self.release.mu(self.tail)
        return Price(shape="gaussian", mu2=mu**2, rho=mu**2 / 2, delta=self.tail + self.doubt)

    def cost(self, unit: PrivacyUnit) -> Cost:
        _one_row(unit)
        one = self.price()
        if one.shape == "revealed":
            return Cost(add_remove=one, replace=one)
        # One seed out, another in: (2e, (1 + exp(e)) d) where either is (e, d).
        epsilon = gdp.epsilon(math.sqrt(one.mu2), self.tail) if math.isfinite(one.mu2) else math.inf
        if epsilon > 300:
            two = Price(shape="gaussian", mu2=math.inf, rho=math.inf, delta=1.0)
        else:
            two = Price(
                shape="gaussian",
                mu2=gdp.mu_of_pure(2 * epsilon) ** 2,
                rho=zcdp.rho_of_pure(2 * epsilon),
                delta=min(1.0, (1 + math.exp(epsilon)) * (one.delta + self.tail)),
            )
        return Cost(add_remove=one, replace=two, draws=self.records, distance=self.synthesis.distance)

    def describe(self) -> dict[str, Any]:
        return {
            **self.synthesis.describe(),
            "records": self.records,
            "mass": self.mass,
            "tail": self.tail,
            "doubt": self.doubt,
        }

    def exact(self, rows: Rows) -> Codes:
        return rows.records(self.synthesis.encoders)

    def noisy(self, exact: Codes) -> Answer:
        found: list[Codes] = []
        missing = self.records
        # At the certified mass this is four times what is needed and more; beyond, the certificate was wrong.
        limit = math.ceil(4 * (self.records + 100) * max(1.0, len(exact) / self.mass)) + 64 * CHUNK
        if len(exact):
            for records in self.synthesis.candidates(exact).stream(limit):
                found.append(records[:missing])
                missing -= len(found[-1])
                if not missing:
                    return Answer(arrays=(np.concatenate(found).astype(np.int64),))
        raise JobError(
            "hardly any candidate passes the privacy test, so the records that were asked for cannot be made",
            mend="lower k or omega, or use seeds = 'histogram'",
        )

    def fits(self, answer: Answer) -> bool:
        sizes = np.array([encoder.size for encoder in self.synthesis.encoders])
        if not has_shapes(answer, (self.records, sizes.size)):
            return False
        (records,) = answer.arrays
        return bool((records >= 0).all() and (records < sizes).all())


def _one_row(unit: PrivacyUnit) -> None:
    if unit.at_most != 1:
        raise ValueError("the theorem is about one record a person")

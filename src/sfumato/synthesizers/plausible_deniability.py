"""`plausible-deniability`: records that many seeds could have given, released after a private test.

Bindschaedler, Shokri, Gunter 2017, "Plausible deniability for privacy-preserving data synthesis" (PVLDB 10).
Rows fall into three disjoint parts: structure and parameters of a Bayesian network, and seeds.
docs/methods/plausible-deniability.md has the theorems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from attrs import evolve, field, frozen
from attrs.validators import ge, gt, in_, optional

from sfumato.bayesian_network import Network, PlausibleSeeds, resample
from sfumato.bayesian_network.sampling import sample, words_of
from sfumato.discovery.discover import Domain
from sfumato.errors import UsageError
from sfumato.privacy import gdp
from sfumato.privacy.curator import Curator
from sfumato.privacy.mechanisms.plausible_release import PassingMass, PlausibleRelease, Synthesis
from sfumato.privacy.mechanisms.seed_histogram import SeedHistogram
from sfumato.privacy.plausible import Choice, SafeRelease, choose, pass_probability
from sfumato.privacy.plausible.records import LARGEST_CLASS, LEAST_TAIL
from sfumato.privacy.rounded_gaussian import quantise_sigma
from sfumato.synthesizers.network_generator import NetworkGenerator, SeedHistogramGenerator
from sfumato.synthesizers.network_learning import PARAMETERS, STRUCTURE
from sfumato.synthesizers.network_recipe import NetworkRecipe
from sfumato.synthesizers.recipe import synthesizer
from sfumato.synthesizers.released_generator import ReleasedRecords

Made = NetworkGenerator | SeedHistogramGenerator | ReleasedRecords

SEEDS = "seeds"
DEFAULT_RECORDS = 1000
PASSING_SHARE = 0.15
"""Share of the seeds' budget for the passing mass."""
EXPECTED_TO_PASS = 0.4
"""Share of seeds that are taken to pass when k is chosen; what does pass is measured afterwards."""
SIMULATED, TRIED, HALF = 50_000, 8_000, 0.5
"""Seeds and candidates that are simulated to find omega, and the share of these that should pass."""
FEWEST_SEEDS = 200
"""Below about so many seeds no release is tried."""
TAIL, MOVED, DOUBT = 0.4, 0.3, 0.3
"""Shares of the delta that is set aside: beyond Gaussian DP, passing mass, its certificate."""


@synthesizer("plausible-deniability")
@frozen(kw_only=True)
class PlausibleDeniability(NetworkRecipe):
    """Seeds, re-sampling, and a randomised test before release."""

    name: ClassVar[str] = "plausible-deniability"
    summary: ClassVar[str] = (
        "records made from seeds, each released only if at least k seeds could have given it"
    )
    tail_share: ClassVar[float] = 0.3
    """Share of delta set aside for what the release has beyond Gaussian DP."""

    records: int | None = field(default=None, validator=optional(ge(1)))
    """Records to release; None: as many rows as are asked for, or 1,000."""
    k: int | None = field(default=None, validator=optional(ge(1)))
    """Plausible seeds that a record needs; None: the smallest number that the budget allows."""
    gamma: float = field(default=2.0, validator=gt(1.0))
    """Probabilities of plausible seeds lie within a factor of gamma."""
    epsilon0: float | None = field(default=None, validator=optional(gt(0.0)))
    """Rate of the random threshold; None: chosen with k."""
    omega: int | str = "auto"
    """How many attributes are drawn anew: a number, or a range such as "5-11" from which it is drawn for each
    candidate; "auto": the upper half, or as much of it as lets about half of the candidates pass."""
    seeds: str = field(default="release", validator=in_(("release", "histogram")))
    """"release": seeds are drawn in secret and each record is paid for; "histogram": a noisy histogram of
    what is kept is released once, and any number of rows drawn from it."""
    randomised: bool = True
    """Privacy Test 2; False: Test 1, which compares with k itself and gives no differential privacy."""
    max_plausible: int | None = field(default=None, validator=optional(ge(1)))
    """Counts of plausible seeds are cut at this; not needed."""
    max_check_plausible: int | None = field(default=None, validator=optional(ge(1)))
    """Only so many seeds, in random order, are looked at for each candidate; not needed, and dear."""
    structure_share: float = 0.2
    """Probability that a row is used for the structure."""
    parameter_share: float = 0.25
    """Probability that a row is used for the parameters; all other rows are seeds."""

    def __attrs_post_init__(self) -> None:
        if (
            min(self.structure_share, self.parameter_share) <= 0
            or self.structure_share + self.parameter_share >= 1
        ):
            raise ValueError("structure_share and parameter_share are above 0 and leave rows for seeds")
        if (self.k is None) != (self.epsilon0 is None) and self.k is not None and self.randomised:
            raise ValueError("state epsilon0 with k, or neither")
        if self.k is not None and self.k + math.ceil(46 / (self.epsilon0 or 1.0)) > LARGEST_CLASS:
            raise ValueError(f"k + 46/epsilon0 is at most {LARGEST_CLASS}")
        if not self.randomised and self.k is None:
            raise ValueError("the test without noise needs k")
        parsed_omega(self.omega)

    def check_columns(self, names: Sequence[str]) -> None:
        """UsageError for options that do not suit the columns."""
        super().check_columns(names)
        try:
            omegas_of(self.omega, len(names))
        except ValueError as error:
            raise UsageError(f"option 'omega' is wrong: {error}") from None

    def for_rows(self, rows: int | None) -> PlausibleDeniability:
        """This recipe when so many rows will be asked for; UsageError when it releases fewer."""
        if self.seeds == "histogram" or rows is None:
            return self
        if self.records is not None and rows > self.records:
            raise UsageError(
                f"{rows:,} rows were asked for, but only {self.records:,} records are to be released",
                mend="set records to the number of rows, or seeds = 'histogram', which gives any number",
            )
        return evolve(self, records=self.records or rows)

    @property
    def shares(self) -> dict[str, float]:
        """Probabilities of the parts."""
        return {
            STRUCTURE: self.structure_share,
            PARAMETERS: self.parameter_share,
            SEEDS: 1 - self.structure_share - self.parameter_share,
        }

    @property
    def wanted(self) -> int:
        """Records to release."""
        return self.records or DEFAULT_RECORDS

    def advice(self, *, epsilon: float, delta: float, rows: int) -> list[str]:
        """For a plan: parameters for the wanted guarantee, and what a histogram of seeds would cost."""
        if self.seeds == "histogram":
            return [f"seeds = 'histogram': any number of rows for epsilon = {epsilon:g}"]
        mass = max(1.0, EXPECTED_TO_PASS * rows * self.shares[SEEDS])
        tail = self.tail_share * delta
        if not self.randomised:
            return ["randomised = false: no differential privacy, whatever epsilon"]
        found = None
        if tail * TAIL >= LEAST_TAIL:
            found = choose(
                epsilon=epsilon, delta=delta - tail, records=self.wanted, mass=mass, gamma=self._gamma
            )
        lines = [
            f"epsilon {epsilon:g}: "
            + (
                f"no (k, epsilon0) releases {self.wanted:,} records from about {mass:,.0f} passing seeds"
                if found is None
                else str(found)
            )
        ]
        if found is None or self.wanted >= 1000:
            sigma = 1 / gdp.mu(epsilon, delta - tail)
            ten_times = None if found is None else _cost_of_more(found, 10)
            more = "" if ten_times is None else f"; {ten_times}"
            lines.append(
                f"epsilon {epsilon:g}: seeds = 'histogram' gives any number of rows for epsilon = "
                f"{epsilon:g} in all, with noise of ±{sigma:.0f} rows on each combination of what is kept"
                + (f", where the records cost {found.epsilon:.3g} of it" if found is not None else "")
                + more
            )
        return lines

    @property
    def _gamma(self) -> float:
        first, last = parsed_omega(self.omega)
        return 1.0 + 1e-9 if first is not None and first == last else self.gamma

    def learn(self, curator: Curator, domain: Domain) -> Made:
        rows, network = self.learn_network(curator, domain)
        if not domain.codecs:
            return NetworkGenerator(total=rows, network=network)
        omegas = omegas_of(self.omega, len(domain.codecs))
        with curator.on(SEEDS):
            if self.seeds == "histogram":
                return self._histogram(curator, domain, network, omegas, rows)
            released = self._release(curator, domain, network, omegas, rows)
        if released is not None:
            return released
        return NetworkGenerator(total=rows, network=network)

    def _histogram(
        self, curator: Curator, domain: Domain, network: Network, omegas: tuple[int, ...], rows: float
    ) -> NetworkGenerator | SeedHistogramGenerator:
        keep = len(domain.codecs) - min(omegas)
        if keep == 0:
            return NetworkGenerator(total=rows, network=network)
        kept = tuple(domain.codecs[i] for i in network.dag.order[:keep])
        sigma = curator.sigma_for(curator.left, tables=1)
        asked = SeedHistogram.calibrated(
            kept, sigma=sigma, delta=0.99 * curator.filter.delta_left, unit=curator.unit
        )
        answer = curator.release(asked, purpose="histogram of seeds")
        return SeedHistogramGenerator(
            total=rows,
            network=network,
            combinations=answer.arrays[0],
            counts=answer.arrays[1],
            seeded=max(1.0, rows * self.shares[SEEDS]),
            keeps=tuple(len(domain.codecs) - omega for omega in sorted(omegas)),
        )

    def _release(
        self, curator: Curator, domain: Domain, network: Network, omegas: tuple[int, ...], rows: float
    ) -> ReleasedRecords | None:
        # What is asked for from here on depends on answers.
        curator.ledger.adaptive = True
        if not self.randomised:
            return self._without_privacy(curator, domain, network, omegas, rows)
        aside, budget, held = curator.filter.delta_left, curator.left, curator.filter
        if curator.unit.at_most > 1:
            return _seedless(curator, "several rows of a person are kept, and seeds stand for one row each")
        if TAIL * aside < 2 * LEAST_TAIL or rows * self.shares[SEEDS] < FEWEST_SEEDS:
            return _seedless(
                curator, "there are too few rows, or delta is too small, to release any from seeds"
            )
        mu = math.sqrt((1 - PASSING_SHARE) * budget)
        choice = self._parameters(omegas, rows, mu=mu, tail=TAIL * aside, delta=held.budget.conversion_delta)
        if choice is None:
            return _seedless(curator, "no k allows a release at this epsilon")
        k, epsilon0 = choice
        if parsed_omega(self.omega)[0] is None:
            seeds = rows * self.shares[SEEDS]
            omegas = enough_to_draw(network, omegas, k=k, epsilon0=epsilon0, gamma=self.gamma, seeds=seeds)
        synthesis = Synthesis(
            encoders=domain.codecs, network=network, omegas=omegas, k=k, gamma=self.gamma,
            epsilon0=Fraction(epsilon0).limit_denominator(1 << 20), max_plausible=self.max_plausible,
            max_check_plausible=self.max_check_plausible,
        )  # fmt: skip
        doubt = MOVED * aside / 2
        moved = PassingMass.moved(synthesis, doubt)
        sigma = quantise_sigma(moved / math.sqrt(PASSING_SHARE * budget))
        asked = PassingMass(synthesis=synthesis, sigma=sigma, doubt=doubt)
        count = int(curator.release(asked, purpose="passing mass").arrays[0][0])
        mass = asked.certified(count, DOUBT * aside / 4)
        release = self._affordable(curator, synthesis, mass, tail=TAIL * aside, doubt=DOUBT * aside / 4)
        if release is None:
            return _seedless(curator, f"too few candidates pass at k = {k}")
        if release.records < self.wanted:
            curator.remark(self._fewer(curator, synthesis, release))
        answer = curator.release(release, purpose="records from seeds")
        return ReleasedRecords(records=answer.arrays[0], sizes=network.sizes)

    def _fewer(self, curator: Curator, synthesis: Synthesis, release: PlausibleRelease) -> str:
        """That fewer records are released than wanted, and what would release all of them. Made of the
        released passing mass.
        """
        budget, epsilon0 = curator.filter.budget, float(synthesis.epsilon0 or 0)
        mu, gamma = math.sqrt(curator.left), self.gamma if len(synthesis.omegas) > 1 else 1 + 1e-9
        found = choose(
            epsilon=gdp.epsilon(mu, budget.conversion_delta), delta=release.tail, records=self.wanted,
            mass=release.mass, gamma=gamma, mu=mu,
        )  # fmt: skip
        change = (
            f"no k and epsilon0 release so many from the {release.mass:,.0f} seeds or more that pass: ask "
            "for fewer (records) or a larger epsilon"
            if found is None
            else f"state k = {found.k} and epsilon0 = {found.epsilon0:g} to have them all, if "
            f"{release.mass:,.0f} seeds still pass"
        )
        return (
            f"{release.records:,} records are released, not {self.wanted:,}: at k = {synthesis.k}, gamma = "
            f"{synthesis.gamma:g} and epsilon0 = {epsilon0:g} more would exceed epsilon; {change}; or take "
            "seeds = 'histogram', which costs the same whatever the number"
        )

    def _parameters(
        self, omegas: tuple[int, ...], rows: float, *, mu: float, tail: float, delta: float
    ) -> tuple[int, float] | None:
        """k and epsilon0: those that were stated, or the smallest k for the wanted number of records, or else
        for a smaller one.
        """
        if self.k is not None and self.epsilon0 is not None:
            return self.k, self.epsilon0
        mass = EXPECTED_TO_PASS * rows * self.shares[SEEDS]
        gamma = 1 + 1e-9 if len(omegas) == 1 else self.gamma
        records = self.wanted
        while records >= 1:
            found: Choice | None = choose(
                epsilon=gdp.epsilon(mu, delta), delta=tail, records=records, mass=mass, gamma=gamma,
                epsilon0=self.epsilon0, mu=mu,
            )  # fmt: skip
            if found is not None:
                return found.k, found.epsilon0
            records //= 4
        return None

    def _affordable(
        self, curator: Curator, synthesis: Synthesis, mass: float, *, tail: float, doubt: float
    ) -> PlausibleRelease | None:
        """The release of as many of the wanted records as the budget holds."""
        if mass < 10:
            return None
        held = curator.filter

        def at(records: int) -> PlausibleRelease:
            return PlausibleRelease(synthesis=synthesis, records=records, mass=mass, tail=tail, doubt=doubt)

        def fits(records: int) -> bool:
            cost = at(records).cost(curator.unit).under(held.relation)
            return held.price(cost) <= curator.left and cost.delta <= held.delta_left

        if fits(self.wanted):
            return at(self.wanted)
        low, high = 0, self.wanted
        while high - low > max(1, low // 50):
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return at(low) if low else None

    def _without_privacy(
        self, curator: Curator, domain: Domain, network: Network, omegas: tuple[int, ...], rows: float
    ) -> ReleasedRecords | None:
        if curator.unit.at_most > 1:
            return _seedless(curator, "several rows of a person are kept, and seeds stand for one row each")
        curator.reveal(
            "the privacy test compares with k itself (randomised = false): records are plausibly "
            "deniable, but not differentially private"
        )
        synthesis = Synthesis(
            encoders=domain.codecs, network=network, omegas=omegas, k=self.k or 1, gamma=self.gamma,
            epsilon0=None,
            max_plausible=self.max_plausible, max_check_plausible=self.max_check_plausible,
        )  # fmt: skip
        release = PlausibleRelease(
            synthesis=synthesis, records=self.wanted, mass=max(1.0, 1e-3 * rows), tail=0.0, doubt=0.0
        )
        answer = curator.release(release, purpose="records from seeds")
        return ReleasedRecords(records=answer.arrays[0], sizes=network.sizes)


def enough_to_draw(
    network: Network, omegas: tuple[int, ...], *, k: int, epsilon0: float, gamma: float, seeds: float
) -> tuple[int, ...]:
    """The longest range up to the largest omega at which about half of the candidates should pass, as far as
    the network tells: seeds are drawn from it in place of the private ones.
    """
    rng = np.random.default_rng(0)
    count = max(1, min(round(seeds), SIMULATED))
    stand_ins = sample(network, count, words_of(rng))

    def passes(first: int) -> bool:
        index = PlausibleSeeds(network, stand_ins, tuple(range(first, omegas[-1] + 1)))
        chosen = rng.integers(count, size=TRIED)
        keep = np.array(index.keeps)[rng.integers(len(index.keeps), size=TRIED)]
        records, tails, least = resample(network, stand_ins[chosen], keep, words_of(rng))
        counts = index.plausible(records, chosen, keep, tails, least, gamma)
        return float(pass_probability(counts * (seeds / count), k, epsilon0).mean()) >= HALF

    low, high = omegas[0], omegas[-1]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle + 1, high)
    return tuple(range(low, omegas[-1] + 1))


def _seedless(curator: Curator, reason: str) -> None:
    curator.remark(f"no record comes from a seed: {reason}. Rows are drawn from the Bayesian network alone")


def _cost_of_more(choice: Choice, times: int) -> str | None:
    """What more records cost, with k raised as far as their delta needs."""
    k = choice.k + math.ceil(math.log(times) / choice.epsilon0) + 1
    if k + math.ceil(46 / choice.epsilon0) > LARGEST_CLASS:
        return None
    more = SafeRelease(
        k=k, gamma=choice.gamma, epsilon0=choice.epsilon0, records=times * choice.records, mass=choice.mass
    ).epsilon(choice.delta)
    return f"{times * choice.records:,} at k = {k} would cost {more:.3g}" if math.isfinite(more) else None


def parsed_omega(omega: int | str) -> tuple[int | None, int | None]:
    """Smallest and largest omega, None for "auto"; ValueError for anything else."""
    text = str(omega).strip()
    if text == "auto":
        return None, None
    low, _, high = text.partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()) or (text.count("-") and not high):
        raise ValueError('omega is a number, a range such as "5-11", or "auto"')
    first, last = int(low), int(high or low)
    if not 1 <= first <= last:
        raise ValueError("omega is at least 1, and a range rises")
    return first, last


def omegas_of(omega: int | str, columns: int) -> tuple[int, ...]:
    """All numbers of attributes that may be drawn anew."""
    first, last = parsed_omega(omega)
    if first is None or last is None:
        return tuple(range((columns + 1) // 2, columns + 1)) if columns else ()
    if columns and last > columns:
        raise ValueError(f"omega is at most the number of columns, {columns}")
    return tuple(range(first, last + 1))

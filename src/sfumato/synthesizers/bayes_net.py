"""`bayes-net`: a private Bayesian network, and rows from it without seeds.

The generative model of Bindschaedler, Shokri, Gunter 2017, alone. docs/methods/bayes-net.md.
"""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import field, frozen

from sfumato.discovery.discover import Domain
from sfumato.privacy.curator import Curator
from sfumato.synthesizers.network_generator import NetworkGenerator
from sfumato.synthesizers.network_learning import PARAMETERS, STRUCTURE
from sfumato.synthesizers.network_recipe import NetworkRecipe
from sfumato.synthesizers.recipe import synthesizer


@synthesizer("bayes-net")
@frozen(kw_only=True)
class BayesNet(NetworkRecipe):
    """Structure by feature selection, parameters from noisy counts, on disjoint parts of the rows."""

    name: ClassVar[str] = "bayes-net"
    summary: ClassVar[str] = "Bayesian network, structure and parameters from disjoint parts of the rows"

    structure_share: float = field(default=0.3)
    """Probability that a row is used for the structure; the others are used for the parameters."""

    @structure_share.validator
    def _check_share(self, _: Any, value: float) -> None:
        if not 0 < value < 1:
            raise ValueError("structure_share lies between 0 and 1")

    @property
    def shares(self) -> dict[str, float]:
        """Probabilities of the parts."""
        return {STRUCTURE: self.structure_share, PARAMETERS: 1 - self.structure_share}

    def learn(self, curator: Curator, domain: Domain) -> NetworkGenerator:
        rows, network = self.learn_network(curator, domain)
        return NetworkGenerator(total=rows, network=network)

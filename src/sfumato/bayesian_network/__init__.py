"""Bayesian networks over codes: structure by correlation, parameters from counts, re-sampling of records.

Arrays in, arrays out. What is private about the arrays is settled by those who hand them over.
"""

from sfumato.bayesian_network.network import TOTAL, Network, integer_weights
from sfumato.bayesian_network.sampling import resample
from sfumato.bayesian_network.seeds import PlausibleSeeds
from sfumato.bayesian_network.structure import Dag, learn_structure, merit

__all__ = [
    "TOTAL", "Dag", "Network", "PlausibleSeeds", "integer_weights", "learn_structure", "merit", "resample",
]  # fmt: skip

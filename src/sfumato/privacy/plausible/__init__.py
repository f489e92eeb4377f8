"""What releasing records by plausible deniability costs.

`threshold`: the randomised test. `theorem`: one record. `records`: N records. `choice`: parameters for a
goal. Derivations are in docs/methods/plausible-deniability.md.
"""

from sfumato.privacy.plausible.choice import Choice, choose
from sfumato.privacy.plausible.records import SafeRelease, epsilon_of_fixed_class
from sfumato.privacy.plausible.theorem import (
    after_passing,
    best_theorem_1,
    exact_delta,
    improved_delta,
    passing_mass_sensitivity,
    theorem_1,
)
from sfumato.privacy.plausible.threshold import RandomThreshold, pass_probability

__all__ = [
    "Choice", "RandomThreshold", "SafeRelease", "after_passing", "best_theorem_1", "choose",
    "epsilon_of_fixed_class", "exact_delta", "improved_delta", "pass_probability", "passing_mass_sensitivity",
    "theorem_1",
]  # fmt: skip

"""Private sampling: one record, or m, from a table or an array, under pure differential privacy.

    draw            records of some columns of a table, on a ledger
    sample          symbols from an array
    choose          which sampler is best, by public numbers alone, and why
    q, epsilon, alpha, sample_size, solve, …    reveal-or-obscure in closed form, in every direction
    q_table         DS-ROO's probabilities of obscuring
    epsilon_of_draws                            what many draws by reveal-or-obscure cost together
    Roo, DsRoo, Floor, Geo, LocalMinimax, SubRR laws, exact in rational numbers
    worst_ratio     the largest factor of a law over all neighbouring tables, by going through all of them

docs/methods/roo.md has the laws, their sources and the proofs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

_HOME = {
    **dict.fromkeys(("draw", "sample", "Drawn"), "drawing"),
    **dict.fromkeys(("choose", "Choice", "distance_bound"), "choice"),
    **dict.fromkeys(
        (
            "q", "epsilon", "alpha", "sample_size", "records", "epsilon_of_alpha", "q_of_alpha", "alphabet",
            "solve", "Setting",
        ),
        "closed_forms",
    ),
    **dict.fromkeys(("q_table", "DsRoo"), "ds_roo"),
    "epsilon_of_draws": "many",
    "Roo": "roo",
    "Floor": "floor",
    "Geo": "geo",
    "LocalMinimax": "local_minimax",
    "SubRR": "sub_rr",
    **dict.fromkeys(("worst_ratio",), "enumeration"),
    **dict.fromkeys(("probabilities", "CountLaw"), "law"),
    "ratio_below": "ratios",
    **dict.fromkeys(("Tally", "Histogram"), "tally"),
}  # fmt: skip

__all__ = [
    "Choice", "CountLaw", "Drawn", "DsRoo", "Floor", "Geo", "Histogram", "LocalMinimax", "Roo", "Setting",
    "SubRR", "Tally", "alpha", "alphabet", "choose", "distance_bound", "draw", "epsilon", "epsilon_of_alpha",
    "epsilon_of_draws", "probabilities", "q", "q_of_alpha", "q_table", "ratio_below", "records", "sample",
    "sample_size", "solve", "worst_ratio",
]  # fmt: skip

if TYPE_CHECKING:
    from sfumato.sampling.choice import Choice, choose, distance_bound
    from sfumato.sampling.closed_forms import (
        Setting,
        alpha,
        alphabet,
        epsilon,
        epsilon_of_alpha,
        q,
        q_of_alpha,
        records,
        sample_size,
        solve,
    )
    from sfumato.sampling.drawing import Drawn, draw, sample
    from sfumato.sampling.ds_roo import DsRoo, q_table
    from sfumato.sampling.enumeration import worst_ratio
    from sfumato.sampling.floor import Floor
    from sfumato.sampling.geo import Geo
    from sfumato.sampling.law import CountLaw, probabilities
    from sfumato.sampling.local_minimax import LocalMinimax
    from sfumato.sampling.many import epsilon_of_draws
    from sfumato.sampling.ratios import ratio_below
    from sfumato.sampling.roo import Roo
    from sfumato.sampling.sub_rr import SubRR
    from sfumato.sampling.tally import Histogram, Tally


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'sfumato.sampling' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sfumato.sampling.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

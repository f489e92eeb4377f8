"""How much of everything: rounds, shares, caps and coarseness, from the strength of the signal.

The signal is N·mu, the number of rows over the noise that the whole budget would put on one table: about
1,000 for Adult at epsilon 0.1, 9,000 at epsilon 1 and 75,000 at epsilon 10.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

WEAK, STRONG = 2_000.0, 20_000.0
"""Signals between which a table is neither weak nor strong; what follows is for weak, middling, strong."""
ROUNDS = (1, 2, 4)
CELLS = (2_000_000, 2_000_000, 10_000_000)
ABUNDANT, CELLS_THERE = 1_000_000.0, 16_000_000
"""Above this signal, that of a million rows at epsilon 7, only cells bind, and there are more of them."""
PAIR_CELLS = 8_000_000
"""Cells of all pairs that are scored in one round."""
GROUP = (1.0, 1.0, 0.0)
SCORES = (0.06, 0.06, 0.03)
"""Share of the scores of round 1, in what is left after the one-way marginals, …"""
FEW, SCORES_OF_FEW = 4, 0.12
"""… and that of a weak table whose median column has at most 4 codes: its marginals cost little."""
LATER = (0.3, 0.3, 0.75)
"""Share of all later rounds together."""
LATER_SCORES = 0.15
"""Share of scores in a later round."""
FIRST_CELLS = (1.0, 1.0, 0.04)
PLENTY, TRIPLE, ORDERS = 100_000.0, 0.5, (0.0, 0.25)
"""Above this signal the cells of the model are scarce, not the budget: a triple, which takes many, then
counts this much of a pair, and an order that spares cells competes with that by gain alone."""
HEATS = 2
"""Rounds in which orders compete; the scores that open the next tell which is best."""


@frozen(kw_only=True)
class Schedule:
    """The plan of one run."""

    shares: tuple[tuple[float, float], ...]
    """For each round, the shares for scores and for tables of what is left after the one-way marginals."""
    max_cells: int
    group: float
    """Noise scales that a group of codes should hold."""
    groups_at_most: int
    """Groups of one column."""
    triples_at_most: int = 1_500
    candidate_cells: int = 4_000_000
    """Cells of all triples scored in one round."""
    first_cells: float = 1.0
    """Share of the cells that round 1 may use."""
    triple: float = 1.0
    """What a record of error in a three-way marginal counts, against one in a two-way marginal."""
    orders: tuple[float, ...] = (0.0,)
    """Powers of its cells by which the gain of a candidate is divided, to rank it; several compete."""

    @classmethod
    def of(
        cls,
        *,
        signal: float,
        groups_at_most: int,
        rounds: int | None,
        max_cells: int | None,
        group: float | None,
        codes: float,
    ) -> Schedule:
        """The default plan, with what the user fixed; `codes`: those of the median column."""
        strong = signal > STRONG
        kind = 2 if strong else 1 if signal > WEAK else 0
        rounds = rounds or ROUNDS[kind]
        later = LATER[kind] / max(rounds - 1, 1)
        scores = SCORES_OF_FEW if kind == 0 and codes <= FEW else SCORES[kind]
        first = 1 - scores - (LATER[kind] if rounds > 1 else 0)
        return cls(
            shares=(
                (scores, first),
                *((later * LATER_SCORES, later * (1 - LATER_SCORES)) for _ in range(rounds - 1)),
            ),
            max_cells=max_cells or (CELLS_THERE if signal > ABUNDANT else CELLS[kind]),
            group=GROUP[kind] if group is None else group,
            first_cells=FIRST_CELLS[kind] if rounds > 1 else 1.0,
            triple=TRIPLE if signal > PLENTY else 1.0,
            orders=ORDERS if signal > PLENTY and rounds > HEATS else (0.0,),
            groups_at_most=groups_at_most,
        )

    def cells_in(self, number: int) -> int:
        """Cells that the junction tree may have after a round."""
        return int(self.max_cells * self.first_cells) if number == 0 else self.max_cells


def groups_that_fit(sizes: Sequence[int], pair_cells: int = PAIR_CELLS) -> int:
    """Most groups a column may have so that all tables of two columns together have `pair_cells` cells.

    Needs the domain alone, so memory is settled before anything is charged. At least 2.
    """
    for most in (160, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3):
        held = [min(size, most) for size in sizes]
        if (sum(held) ** 2 - sum(size * size for size in held)) // 2 <= pair_cells:
            return most
    return 2

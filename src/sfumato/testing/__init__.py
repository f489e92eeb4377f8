"""Checks for whoever writes a method: does it keep what the ledger promises?

    check_synthesizer   everything below for one method, on tables that are made to break it
    record_replay       put the questions of a fit to a neighbouring table and compare the exact answers
    check_charges       is every read in the ledger, at its price, within the budget?
    check_noise         hold released numbers against exact ones: is the noise what the ledger says?
    check_schedules     is the ledger marked adaptive where prices depend on earlier answers?
    worst_neighbours    pairs of neighbouring tables, each with a speciality
    FakeCurator         a curator that answers without noise; `fit_exactly` makes a model with it

The idea is that of Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026, "Privacy in theory, bugs in
practice". Such checks find mistakes and prove nothing; they are quick enough to run on every commit.

    >>> from sfumato.testing import check_synthesizer
    >>> check_synthesizer("independent")  # doctest: +SKIP
"""

from sfumato.testing.conformance import check_schedules, check_synthesizer
from sfumato.testing.curators import FakeCurator, Heard, Recorder
from sfumato.testing.neighbours import Neighbours, worst_neighbours
from sfumato.testing.noise import check_noise
from sfumato.testing.recordings import (
    Recording,
    Replay,
    Step,
    check_charges,
    check_distances,
    fit_exactly,
    record,
    record_replay,
    replay,
)

__all__ = [
    "FakeCurator",
    "Heard",
    "Neighbours",
    "Recorder",
    "Recording",
    "Replay",
    "Step",
    "check_charges",
    "check_distances",
    "check_noise",
    "check_schedules",
    "check_synthesizer",
    "fit_exactly",
    "record",
    "record_replay",
    "replay",
    "worst_neighbours",
]

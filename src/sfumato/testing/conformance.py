"""All checks for one method, on tables that are made to break it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sfumato.models.file import load
from sfumato.models.model import Model
from sfumato.models.verify import verify
from sfumato.testing.curators import Heard
from sfumato.testing.neighbours import Neighbours, worst_neighbours
from sfumato.testing.noise import check_noise
from sfumato.testing.recordings import check_distances, record, replay


def check_synthesizer(
    method: str,
    *,
    epsilon: float = 1.0,
    options: dict[str, Any] | None = None,
    pairs: Iterable[Neighbours] | None = None,
) -> None:
    """AssertionError when `method` (a registered name) breaks a promise on some pair of neighbours.

    Each pair (default: `worst_neighbours`) is fitted with its schema and without any. Looked at are:
    charges, replays on the neighbour, the noise of what was released, whether the ledger is marked
    adaptive where it has to be, that two fits differ, and that a saved model can be verified and draws
    rows.
    """
    heard: list[Heard] = []
    for schema in (True, False):
        models: dict[Any, list[Model]] = {}
        chosen: dict[str, Any] = {}
        for pair in worst_neighbours() if pairs is None else pairs:
            chosen = {"epsilon": epsilon, "method": method, "options": options or {}}
            chosen |= pair.options | ({"schema": pair.schema} if schema else {})
            try:
                recording = record(pair.table, **chosen)
                check_distances(replay(recording, pair.neighbour, relation=pair.relation, **chosen))
            except AssertionError as error:
                error.add_note(f"{pair.name}, {'with' if schema else 'without'} a schema")
                raise
            heard += recording.heard
            models.setdefault(pair.at_most, []).append(recording.model)
        for group in models.values():
            check_schedules(group)
            check_model(group[0])
    check_noise(heard)
    one, two = (record(pair.table, **chosen).model for _ in range(2))
    assert [a.arrays for a in one.transcript] and _answers(one) != _answers(two), "two fits have equal noise"


def check_schedules(models: Iterable[Model]) -> None:
    """Models of different tables with the same public facts: prices that differ depend on answers, so that
    the ledgers must be marked adaptive.
    """
    models = list(models)
    schedules = {
        tuple((entry.mechanism, entry.cost.add_remove, entry.cost.replace) for entry in model.ledger)
        for model in models
    }
    fixed = [model for model in models if not model.ledger.adaptive]
    assert len(schedules) == 1 or not fixed, (
        "prices depend on earlier answers: set curator.ledger.adaptive = True"
    )


def check_model(model: Model) -> None:
    """A saved model can be verified without the rows, and draws as many rows as are asked for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        again = load(path)
    verify(again)
    assert sum(frame.height for frame in again.frames(7, seed=1)) == 7, "other than 7 rows were drawn"


def _answers(model: Model) -> list[list[bytes]]:
    return [[array.tobytes() for array in answer.arrays] for answer in model.transcript]

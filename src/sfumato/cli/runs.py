"""What `generate` and `fit` have in common: check, announce, charge, learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.console import Progress, note, warn
from sfumato.cli.options import PrivacyOptions, ReadOptions, check_ledger, describe_job
from sfumato.cli.places import check_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.models.model import Model


def check_run(table: Path, *, privacy: PrivacyOptions, write: Mapping[str, Path | None]) -> None:
    """UsageError or OutputError for options and places that do not go together; reads nothing."""
    check_ledger(privacy.ledger, privacy.dataset)
    check_places(
        read={"the private table": table, "the schema": privacy.schema},
        write={"the ledger": privacy.ledger, **write},
    )


def fitted(
    table: Path,
    *,
    epsilon: float | None,
    rows: int | None,
    privacy: PrivacyOptions,
    reading: ReadOptions,
    quiet: bool,
    seed: int | None = None,
) -> Model:
    """Fit a model, telling the plan before the run and the remarks after it."""
    from sfumato.api import fit_job
    from sfumato.models.learned import learned_bounds
    from sfumato.models.model import check_seed
    from sfumato.models.training import prepare

    check_seed(seed)
    facts: dict[str, Any] = {**privacy.keywords(), "options": privacy.settings(epsilon)}
    job = prepare(
        table,
        epsilon=privacy.total(epsilon),
        rows=rows,
        dialect=reading.dialect(),
        allow_empty=False,
        **facts,
    )
    for line in describe_job(job, given=privacy.schema is not None):
        note(line, quiet=quiet)
    for text in job.warnings():
        warn(text)
    if seed is not None:
        warn("the noise is repeatable, so the result guarantees nothing (--insecure-noise-seed)")
    progress = Progress(quiet=quiet)
    try:
        model = fit_job(
            job, progress=progress, ledger=privacy.ledger, dataset=privacy.dataset, insecure_noise_seed=seed
        )
    finally:
        progress.close()
    for text in model.warnings:
        warn(text)
    for text in model.notes:
        note(f"note: {text}", quiet=quiet)
    if bounds := learned_bounds(model):
        listed = ", ".join(f"{name} {low} to {high}" for name, (low, high) in bounds.items())
        note(
            f"learned: {listed} (ends of noisy ranges; a schema that states min and max does better)",
            quiet=quiet,
        )
    return model


def facts_of(model: Model) -> dict[str, Any]:
    """What --json tells of a fit, whatever is made of it."""
    from sfumato.models.learned import learned_bounds

    return {
        "method": model.method,
        "statement": model.statement.state(),
        "split": model.request["split"],
        "charges": len(model.ledger),
        "learned": {name: {"min": low, "max": high} for name, (low, high) in learned_bounds(model).items()},
        "warnings": list(model.warnings),
        "notes": list(model.notes),
    }

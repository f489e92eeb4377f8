"""`sfumato fit`: from a real file to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json
from sfumato.cli.options import PrivacyOptions, ReadOptions
from sfumato.cli.runs import fitted


def fit(
    table: Path,
    /,
    *,
    epsilon: float,
    output: Annotated[Path, Parameter(alias="-o")],
    force: Annotated[bool, Parameter(negative="")] = False,
    insecure_noise_seed: int | None = None,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    privacy: PrivacyOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Fit a private model of TABLE and save it.

    Parameters
    ----------
    table
        The private table.
    epsilon
        The privacy budget: smaller is more private and less accurate.
    output
        Where to save the model, for example patients.sfumato.
    force
        Overwrite an existing file.
    insecure_noise_seed
        Repeatable noise, for tests: the result guarantees nothing and is marked so.
    quiet
        Print errors and warnings only.
    json
        Print one JSON object about the result.
    """
    from sfumato.tables.output import check_output

    quiet = quiet or json
    check_output(output, force=force)
    model = fitted(
        table,
        epsilon=epsilon,
        rows=None,
        privacy=privacy or PrivacyOptions(),
        reading=reading or ReadOptions(),
        quiet=quiet,
        seed=insecure_noise_seed,
    )
    model.save(output, force=force)
    note(f"model saved to {output}", quiet=quiet)
    note(str(model.statement), quiet=quiet)
    if json:
        say_json({"output": str(output), "method": model.method, "statement": model.statement.state()})

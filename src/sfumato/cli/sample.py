"""`sfumato sample`: rows from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json, warn
from sfumato.cli.options import ReadOptions
from sfumato.errors import UsageError


def sample(
    model: Path,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")],
    rows: int | None = None,
    seed: int | None = None,
    where: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    csv_safe: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    reading: ReadOptions | None = None,
) -> None:
    """Draw rows from MODEL. Costs no privacy.

    Parameters
    ----------
    model
        A model file written by `sfumato fit`.
    output
        Where to write: .csv, .tsv or .parquet.
    rows
        Number of rows; default: the noisy row count of the table.
    seed
        Makes the rows repeatable.
    where
        Fix a column to a value, as COLUMN=VALUE. May be repeated.
    csv_safe
        Prefix ' to texts that spreadsheets would run as formulas. Alters values.
    force
        Overwrite an existing file.
    quiet
        Print errors and warnings only.
    json
        Print one JSON object about the result.
    """
    from sfumato.api import load
    from sfumato.tables.output import check_output, table_suffix
    from sfumato.tables.sinks import write_table

    reading = reading or ReadOptions()
    check_output(output, force=force)
    text = not table_suffix(output).startswith(".p")
    fixed = {}
    for fixing in where:
        column, found, value = fixing.partition("=")
        if not found:
            raise UsageError(f"--where {fixing}: expected COLUMN=VALUE")
        fixed[column] = value
    fit = load(model)
    if fit.void:
        warn(str(fit.statement))
    wanted = fit.rows if rows is None else rows
    frames = fit.frames(wanted, seed=seed, where=fixed, text=text)
    write_table(frames, output, dialect=reading.dialect(), csv_safe=csv_safe, force=force)
    note(f"{wanted:,} rows written to {output}", quiet=quiet or json)
    if json:
        say_json({"output": str(output), "rows": wanted, "statement": fit.statement.state()})

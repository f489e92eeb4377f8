"""`sfumato generate`: from a real file to a synthetic one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json
from sfumato.cli.options import PrivacyOptions, ReadOptions
from sfumato.cli.runs import fitted
from sfumato.errors import OutputError


def generate(
    table: Path,
    /,
    *,
    epsilon: float,
    output: Annotated[Path, Parameter(alias="-o")],
    rows: int | None = None,
    seed: int | None = None,
    model: Path | None = None,
    csv_safe: Annotated[bool, Parameter(negative="")] = False,
    force: Annotated[bool, Parameter(negative="")] = False,
    insecure_noise_seed: int | None = None,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
    privacy: PrivacyOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Write synthetic rows for TABLE (CSV, TSV or Parquet).

    Parameters
    ----------
    table
        The private table.
    epsilon
        The privacy budget: smaller is more private and less accurate.
    output
        Where to write: .csv, .tsv or .parquet.
    rows
        Number of synthetic rows; default: the noisy row count.
    seed
        Makes the drawing of rows repeatable. It has no influence on the noise.
    model
        Also save the fitted model there.
    csv_safe
        Prefix ' to texts that spreadsheets would run as formulas. Alters values.
    force
        Overwrite existing files.
    insecure_noise_seed
        Repeatable noise, for tests: the result guarantees nothing and is marked so.
    quiet
        Print errors and warnings only.
    json
        Print one JSON object about the result.
    """
    from sfumato.tables.output import check_output, table_suffix
    from sfumato.tables.sinks import write_table

    privacy, reading = privacy or PrivacyOptions(), reading or ReadOptions()
    quiet = quiet or json
    check_output(output, force=force)
    text = not table_suffix(output).startswith(".p")
    if model is not None:
        check_output(model, force=force)
    for place in (output, model):
        if place is not None and place.exists() and table.exists() and place.samefile(table):
            raise OutputError(f"{str(place)!r} is the private table itself", mend="write to another file")
    fit = fitted(
        table,
        epsilon=epsilon,
        rows=rows,
        privacy=privacy,
        reading=reading,
        quiet=quiet,
        seed=insecure_noise_seed,
    )
    wanted = fit.rows if rows is None else rows
    if model is not None:
        fit.save(model, force=force)
    frames = fit.frames(wanted, seed=seed, text=text)
    write_table(frames, output, dialect=reading.dialect(), csv_safe=csv_safe, force=force)
    note(f"{wanted:,} rows written to {output}", quiet=quiet)
    note(str(fit.statement), quiet=quiet)
    if json:
        facts = {
            "output": str(output),
            "rows": wanted,
            "method": fit.method,
            "statement": fit.statement.state(),
        }
        say_json(
            {**facts, "split": fit.request["split"], "charges": len(fit.ledger), "notes": list(fit.notes)}
        )

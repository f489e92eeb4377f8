"""`sfumato sample`: rows from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json, warn
from sfumato.cli.options import (
    RESULT,
    CsvSafe,
    Force,
    FromModel,
    Json,
    Output,
    Quiet,
    Rows,
    Seed,
    ShortModel,
    WriteOptions,
    model_of,
    output_of,
)
from sfumato.cli.places import check_places
from sfumato.errors import UsageError


def sample(
    model: Path | None = None,
    /,
    *,
    output: Output = None,
    from_model: FromModel = None,
    short: ShortModel = None,
    rows: Rows = None,
    seed: Seed = None,
    where: Annotated[
        tuple[str, ...],
        Parameter(negative="", metavar="COLUMN=VALUE", allow_leading_hyphen=True, group=RESULT),
    ] = (),
    csv_safe: CsvSafe = False,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    writing: WriteOptions | None = None,
) -> None:
    """Draw rows from a MODEL file. Costs no privacy, however often.

    Example: sfumato sample patients.sfumato -o women.csv --rows 1000 --where sex=F

    Parameters
    ----------
    model
        A model file written by sfumato fit, or by generate --model.
    output
        Where to write the rows: .csv, .tsv (also .gz) or .parquet. Required.
    rows
        Number of rows. Default: about as many as the private table has (the noisy row count).
    seed
        Makes the rows repeatable.
    where
        Draw rows in which COLUMN has VALUE, which is spelled as in the data; nothing after = means missing.
        Rows are drawn from the model given that value, none is thrown away. May be repeated, for another
        column.
    """
    from sfumato.api import load
    from sfumato.tables.output import check_output, table_suffix
    from sfumato.tables.sinks import write_table

    model = model_of(model, from_model, short, "sample")
    output = output_of(output, "sample")
    check_places(read={"the model": model}, write={"the output": output})
    text = not table_suffix(output).startswith(".p")
    check_output(output, force=force)
    fixed = _fixed(where)
    dialect = (writing or WriteOptions()).dialect()
    fit = load(model)
    if fit.statement.void:
        warn(str(fit.statement))
    wanted = fit.rows if rows is None else rows
    frames = fit.frames(wanted, seed=seed, where=fixed, text=text)
    write_table(frames, output, dialect=dialect, csv_safe=csv_safe, force=force)
    note(f"{wanted:,} rows written to {output}", quiet=quiet or json)
    if json:
        say_json({"output": str(output), "rows": wanted, "statement": fit.statement.state()})


def _fixed(where: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in where:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise UsageError(f"--where {text}: expected COLUMN=VALUE")
        if column in found:
            raise UsageError(f"--where fixes column {column!r} twice")
        found[column] = value
    return found

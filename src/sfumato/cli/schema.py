"""`sfumato schema`: draft, lint, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import Progress, note, say, say_json, table
from sfumato.cli.options import (
    GUARANTEE,
    RESULT,
    Dataset,
    Force,
    Json,
    LedgerFile,
    Quiet,
    ReadOptions,
    check_ledger,
)
from sfumato.cli.places import check_places


def draft(
    source: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE", group=RESULT)] = None,
    epsilon: Annotated[float | None, Parameter(group=GUARANTEE)] = None,
    delta: Annotated[float | None, Parameter(group=GUARANTEE)] = None,
    force: Force = False,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    quiet: Quiet = False,
    json: Json = False,
    reading: ReadOptions | None = None,
) -> None:
    """Draft a schema file for a table, to be completed by somebody who knows it.

    Without --epsilon no row is read: the draft holds the column names, the types of a Parquet file, and
    questions. With --epsilon types, bounds and categories are learned from the rows under differential
    privacy. Such a file carries its price, which every fit that uses it charges again; to save that,
    replace what you know from public sources and strike out the price with the rest.

    Example: sfumato schema draft patients.csv -o patients.toml

    Parameters
    ----------
    source
        The table: .csv, .tsv (also .gz) or .parquet.
    output
        Where to write the schema (TOML). Default: standard output.
    epsilon
        Privacy loss for learning what the head of the file does not tell. Default: nothing is learned.
    delta
        With --epsilon: the delta of the guarantee. Default: 1e-9.
    """
    from sfumato.discovery.draft import draft_schema
    from sfumato.tables.output import atomic_file, check_output

    quiet = quiet or json
    check_ledger(ledger, dataset)
    check_places(read={"the table": source}, write={"the ledger": ledger, "the output": output})
    if output is not None:
        check_output(output, force=force)
    progress = Progress(quiet=quiet)
    try:
        schema, notes = draft_schema(
            source,
            epsilon=epsilon,
            delta=delta,
            dialect=(reading or ReadOptions()).dialect(),
            ledger=ledger,
            dataset=dataset,
            progress=progress,
        )
    finally:
        progress.close()
    for text in notes:
        note(f"note: {text}", quiet=quiet)
    if output is not None:
        with atomic_file(output, force=force) as stream:
            stream.write(schema.to_toml().encode())
        note(f"schema written to {output}", quiet=quiet)
    if json:
        say_json(
            {
                "output": None if output is None else str(output),
                "toml": schema.to_toml(),
                "notes": list(notes),
            }
        )
    elif output is None:
        say(schema.to_toml().rstrip("\n"))


def lint(file: Path, /, *, json: Json = False) -> None:
    """Check a schema file: faults end with exit code 2, remarks are listed.

    Example: sfumato schema lint patients.toml

    Parameters
    ----------
    file
        A schema file (TOML or JSON).
    """
    from sfumato.schema import lint as check
    from sfumato.schema import read_schema

    notes = check(read_schema(file))
    if json:
        say_json(
            {
                "faults": [],
                "notes": [
                    {"severity": n.severity, "where": n.where, "what": n.what, "mend": n.mend} for n in notes
                ],
            }
        )
        return
    for remark in notes:
        tail = f" ({remark.mend})" if remark.mend else ""
        say(f"{remark.severity}: {remark.where}: {remark.what}{tail}")
    if not notes:
        say("no remarks")


def show(file: Path, /, *, json: Json = False) -> None:
    """Print a schema file as a table, one line a column.

    Example: sfumato schema show patients.toml

    Parameters
    ----------
    file
        A schema file (TOML or JSON).
    """
    from sfumato.schema import read_schema

    schema = read_schema(file)
    if json:
        say_json(schema.to_dict())
        return
    unit = (
        f"persons by {schema.unit.column!r}, at most {schema.unit.at_most} rows" if schema.unit else "one row"
    )
    say(f"table {schema.table or '(unnamed)'}; neighbours {schema.neighbours}; unit: {unit}")
    say(
        table(
            [tuple(row) for row in schema.show()],
            header=("column", "type", "facts", "missing", "source", "note"),
        )
    )

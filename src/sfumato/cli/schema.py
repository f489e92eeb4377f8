"""`sfumato schema`: draft, lint, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import Progress, note, say, say_json, table
from sfumato.cli.options import ReadOptions
from sfumato.errors import UsageError


def draft(
    source: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    epsilon: float | None = None,
    delta: float | None = None,
    ledger: Path | None = None,
    dataset: str | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
    reading: ReadOptions | None = None,
) -> None:
    """Draft a schema for SOURCE.

    Without --epsilon it holds what is public (names, and types of typed files) and asks for the rest.
    With --epsilon, types, bounds and categories are learned under differential privacy, and the file
    carries their price.

    Parameters
    ----------
    source
        The table.
    output
        Where to write the TOML; default: standard output.
    epsilon
        Budget for learning facts; default: nothing is learned.
    delta
        Default: 1e-9.
    ledger
        Persistent ledger file; charged before the run.
    dataset
        Name of the data set in the persistent ledger.
    force
        Overwrite an existing file.
    quiet
        Print errors and warnings only.
    """
    from sfumato.discovery.draft import draft_schema
    from sfumato.tables.output import atomic_file, check_output

    if output is not None:
        check_output(output, force=force)
    if (ledger is None) != (dataset is None):
        raise UsageError("--ledger and --dataset go together")
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
    if output is None:
        say(schema.to_toml().rstrip("\n"))
    else:
        with atomic_file(output, force=force) as stream:
            stream.write(schema.to_toml().encode())
        note(f"schema written to {output}", quiet=quiet)


def lint(file: Path, /, *, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Check a schema FILE: faults end with exit code 2, remarks are listed.

    Parameters
    ----------
    file
        A schema file.
    json
        Print one JSON object.
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


def show(file: Path, /, *, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """Print a schema FILE as a table.

    Parameters
    ----------
    file
        A schema file.
    json
        Print it as JSON.
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

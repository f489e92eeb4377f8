"""`sfumato draw`: a few records of a private table, each of them the table's own or made up."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.console import note, say, say_json, warn
from sfumato.cli.options import (
    GUARANTEE,
    METHOD,
    RESULT,
    CsvSafe,
    Dataset,
    Force,
    InsecureNoiseSeed,
    Json,
    LedgerFile,
    Quiet,
    ReadOptions,
    Seed,
    check_ledger,
    names_of,
    whole,
)
from sfumato.cli.places import check_places
from sfumato.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


def draw(
    table: Path,
    /,
    *,
    epsilon: Annotated[float, Parameter(group=GUARANTEE)],
    columns: Annotated[
        str | None, Parameter(metavar="A,B,C", allow_leading_hyphen=True, group=RESULT)
    ] = None,
    schema: Annotated[Path | None, Parameter(metavar="FILE", group=METHOD)] = None,
    sampler: Annotated[str, Parameter(metavar="NAME", group=METHOD)] = "auto",
    m: Annotated[int, Parameter(name=["--draws", "-n"], metavar="M", converter=whole, group=RESULT)] = 1,
    delta: Annotated[float, Parameter(group=GUARANTEE)] = 0.0,
    neighbours: Annotated[Literal["add-remove", "replace"] | None, Parameter(group=GUARANTEE)] = None,
    unit: Annotated[str | None, Parameter(metavar="COLUMN", group=GUARANTEE)] = None,
    at_most: Annotated[int | None, Parameter(metavar="N", converter=whole, group=GUARANTEE)] = None,
    rows_at_least: Annotated[int, Parameter(metavar="N", converter=whole, group=METHOD)] = 0,
    complete: Annotated[bool, Parameter(negative="", group=RESULT)] = False,
    output: Annotated[Path | None, Parameter(alias="-o", metavar="FILE", group=RESULT)] = None,
    seed: Seed = None,
    csv_safe: CsvSafe = False,
    force: Force = False,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    insecure_noise_seed: InsecureNoiseSeed = None,
    quiet: Quiet = False,
    json: Json = False,
    reading: ReadOptions | None = None,
) -> None:
    """Draw a record, or a few, from the joint distribution of some columns of a private TABLE.

    Every record is drawn over all combinations of values that the schema allows, so that nobody can tell
    whether it is one of the table. Nothing says so afterwards.

    Example: sfumato draw adult.csv --columns education,sex,race --epsilon 1 --schema adult.toml

    Parameters
    ----------
    table
        The private table: .csv, .tsv (also .gz) or .parquet.
    epsilon
        The privacy loss that is allowed for all draws together, 1e-5 to 1000.
    columns
        Columns to draw, separated by commas. Default: all that the schema declares.
    schema
        What is public about the table (TOML or JSON). It has to tell what the columns can hold.
    sampler
        auto, roo, ds-roo, floor, geo, subrr, laplace-euclid, laplace-clip or local-minimax. auto chooses by
        public numbers alone, and says why.
    m
        Number of records.
    delta
        0 for pure differential privacy. Above, several draws together cost less.
    neighbours
        Which tables must look alike: those that differ by one unit more or less (add-remove), or by one unit
        exchanged (replace), where the number of rows is public. Default: what the schema states, else
        add-remove.
    unit
        Protect persons, told apart by this column, instead of single rows.
    at_most
        With --unit: rows kept of each person, chosen at random. Default: 1.
    rows_at_least
        A public number of rows that the table should have, where the exact one is private: auto compares
        samplers at it, and subrr fills a smaller table up to it.
    complete
        Add the other columns of the schema, uniform over what they can hold: from nothing private.
    output
        Where to write the records: .csv, .tsv (also .gz) or .parquet. Default: CSV on standard output.
    seed
        Makes the columns that --complete adds repeatable. It has no influence on what is drawn from the
        table.
    """
    from sfumato.sampling import draw as make
    from sfumato.tables.output import check_output, table_suffix

    reading = reading or ReadOptions()
    if schema is None:
        raise UsageError(
            "sfumato draw needs --schema: what the columns can hold is public, and not read off the rows",
            mend="declare their values, or min and max; sfumato schema draft makes a start",
        )
    if at_most is not None and unit is None:
        raise UsageError("--at-most needs --unit, the column that tells persons apart")
    check_ledger(ledger, dataset)
    check_places(
        read={"the private table": table, "the schema": schema},
        write={"the output": output, "the ledger": ledger},
    )
    if output is not None:
        table_suffix(output)
        check_output(output, force=force)
    if insecure_noise_seed is not None:
        warn("the draws are repeatable, so the result guarantees nothing (--insecure-noise-seed)")
    found = make(
        table, epsilon=epsilon, columns=None if columns is None else names_of(columns), schema=schema,
        sampler=sampler, m=m, delta=delta, neighbours=neighbours,
        unit=None if unit is None else (unit, at_most or 1), rows_at_least=rows_at_least, complete=complete,
        seed=seed, dialect=reading.dialect(), ledger=ledger, dataset=dataset,
        insecure_noise_seed=insecure_noise_seed,
    )  # fmt: skip
    note(f"{found.sampler} over {found.combinations} combinations: {found.why}", quiet=quiet or json)
    for text in found.notes:
        note(f"note: {text}", quiet=quiet or json)
    if output is not None:
        from sfumato.tables.sinks import write_table

        frame = found.records if table_suffix(output).startswith(".p") else found.texts
        write_table(iter([frame]), output, dialect=reading.dialect(), csv_safe=csv_safe, force=force)
        note(f"{m:,} records written to {output}", quiet=quiet or json)
    if json:
        say_json({"output": None if output is None else str(output), **found.state()})
    elif output is None:
        for line in _lines(found.texts):
            say(line)
    note(str(found.statement), quiet=quiet or json)


def _lines(frame: pl.DataFrame) -> list[str]:
    """The records as CSV, with their header."""
    lines = []
    for row in [tuple(frame.columns), *frame.rows()]:
        held = io.StringIO()
        csv.writer(held, lineterminator="").writerow(["" if cell is None else cell for cell in row])
        lines.append(held.getvalue())
    return lines

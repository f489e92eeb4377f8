"""`sfumato fit`: from a real file to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json
from sfumato.cli.options import (
    RESULT,
    Data,
    Epsilon,
    Force,
    InsecureNoiseSeed,
    Json,
    PrivacyOptions,
    Quiet,
    ReadOptions,
    Rows,
    output_of,
    table_of,
)
from sfumato.cli.runs import check_run, facts_of, fitted


def fit(
    table: Path | None = None,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(alias=["-o", "--model", "--save"], metavar="FILE", group=RESULT)
    ] = None,
    data: Data = None,
    epsilon: Epsilon = None,
    rows: Rows = None,
    force: Force = False,
    insecure_noise_seed: InsecureNoiseSeed = None,
    quiet: Quiet = False,
    json: Json = False,
    privacy: PrivacyOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Fit a private model of TABLE and save it.

    The model file holds released numbers and public facts, no row: it may be published. Drawing rows from
    it (sfumato sample) costs nothing, as often as you like.

    Example: sfumato fit patients.csv -o patients.sfumato --epsilon 1 --schema patients.toml

    Parameters
    ----------
    table
        The private table: .csv, .tsv (also .gz) or .parquet.
    epsilon
        The privacy loss that is allowed, 1e-5 to 1000: smaller is more private and less accurate. Up to 1 is
        strong; above 10 known attacks succeed. Required, but for a method without a guarantee.
    output
        Where to save the model, for example patients.sfumato. Required.
    rows
        How many rows will be drawn, if that is known: identifier columns with fewer possible keys are then
        refused before anything is charged.
    """
    from sfumato.tables.output import check_output

    privacy = privacy or PrivacyOptions()
    quiet = quiet or json
    table = table_of(table, data, "fit")
    output = output_of(output, "fit")
    check_run(table, privacy=privacy, write={"the output": output})
    check_output(output, force=force)
    model = fitted(
        table,
        epsilon=epsilon,
        rows=rows,
        privacy=privacy,
        reading=reading or ReadOptions(),
        quiet=quiet,
        seed=insecure_noise_seed,
    )
    model.save(output, force=force)
    note(f"model saved to {output}", quiet=quiet)
    note(str(model.statement), quiet=quiet)
    if json:
        say_json(
            {
                "output": str(output),
                **facts_of(model),
            }
        )

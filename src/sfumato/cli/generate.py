"""`sfumato generate`: from a real file to a synthetic one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import note, say_json
from sfumato.cli.options import (
    RESULT,
    CsvSafe,
    Data,
    Epsilon,
    Force,
    InsecureNoiseSeed,
    Json,
    Output,
    PrivacyOptions,
    Quiet,
    ReadOptions,
    Rows,
    Seed,
    output_of,
    table_of,
)
from sfumato.cli.runs import check_run, facts_of, fitted
from sfumato.errors import OutputError


def generate(
    table: Path | None = None,
    /,
    *,
    output: Output = None,
    data: Data = None,
    epsilon: Epsilon = None,
    rows: Rows = None,
    model: Annotated[Path | None, Parameter(alias="--save", metavar="FILE", group=RESULT)] = None,
    report: Annotated[Path | None, Parameter(metavar="FILE", group=RESULT)] = None,
    seed: Seed = None,
    csv_safe: CsvSafe = False,
    force: Force = False,
    insecure_noise_seed: InsecureNoiseSeed = None,
    quiet: Quiet = False,
    json: Json = False,
    privacy: PrivacyOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Write synthetic rows for a private TABLE: fit a model, draw from it.

    The whole of (epsilon, delta) is spent by one run. To draw more rows later at no further cost, keep
    the model with --model, or use fit and sample.

    Example: sfumato generate patients.csv -o synthetic.csv --epsilon 1 --schema patients.toml

    Parameters
    ----------
    table
        The private table: .csv, .tsv (also .gz) or .parquet.
    epsilon
        The privacy loss that is allowed, 1e-5 to 1000: smaller is more private and less accurate. Up to 1 is
        strong; above 10 known attacks succeed. Required, but for a method without a guarantee.
    output
        Where to write the rows: .csv, .tsv (also .gz) or .parquet. Required.
    rows
        Number of synthetic rows. Default: about as many as the table has (the noisy row count).
    model
        Also keep the fitted model in this file, for sample, inspect and verify.
    report
        Also write a publishable page (.html) on the model: guarantee, ledger, noise and expected error, from
        released numbers alone. For a comparison with the real rows see evaluate.
    seed
        Makes the drawing of rows repeatable, given the model. It has no influence on the noise.
    """
    from sfumato.models.model import check_seed
    from sfumato.report import write_publishable
    from sfumato.tables.output import check_output, table_suffix
    from sfumato.tables.sinks import write_table

    privacy, reading = privacy or PrivacyOptions(), reading or ReadOptions()
    quiet = quiet or json
    table = table_of(table, data, "generate")
    output = output_of(output, "generate")
    check_seed(seed)
    text = not table_suffix(output).startswith(".p")
    check_run(table, privacy=privacy, write={"the output": output, "the model": model, "the report": report})
    for place in (output, model, report):
        if place is not None:
            check_output(place, force=force)
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
    try:
        frames = fit.frames(wanted, seed=seed, text=text)
        write_table(frames, output, dialect=reading.dialect(), csv_safe=csv_safe, force=force)
    except OutputError as error:
        if model is None:
            raise
        mend = f"the model is paid for and kept in {str(model)!r}: draw from it with sfumato sample"
        raise OutputError(error.message, mend=mend) from None
    if report is not None:
        write_publishable(fit, report, force=force)
    note(f"{wanted:,} rows written to {output}", quiet=quiet)
    if model is not None:
        note(f"model saved to {model}", quiet=quiet)
    if report is not None:
        kind = "NOT PRIVATE: report" if fit.statement.void else "publishable report"
        note(f"{kind} written to {report}", quiet=quiet)
    note(str(fit.statement), quiet=quiet)
    if json:
        say_json(
            {
                "output": str(output),
                "rows": wanted,
                "model": None if model is None else str(model),
                "report": None if report is None else str(report),
                **facts_of(fit),
            }
        )

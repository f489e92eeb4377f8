"""`sfumato sweep` and `sfumato benchmark`: many fits of one table, compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import define
from cyclopts import Group, Parameter

from sfumato.cli.console import note, say, say_json, table
from sfumato.cli.options import (
    GUARANTEE,
    METHOD,
    RESULT,
    Dataset,
    Force,
    Json,
    LedgerFile,
    Quiet,
    ReadOptions,
    Rows,
    check_ledger,
    known_spellings,
    margins_options,
    set_options,
    table_of,
    whole,
)
from sfumato.cli.places import check_places
from sfumato.errors import UsageError

if TYPE_CHECKING:
    from sfumato.sweeps.result import SweepResult

CHOICE = Group("Comparison", sort_key=3)
Data = Annotated[
    Path | None,
    Parameter(alias=["-d", "-r"], metavar="FILE", group=METHOD, help="The private table, in place of TABLE."),
]
Page = Annotated[Path, Parameter(alias="-o", metavar="FILE", group=RESULT)]


@Parameter(name="*")
@define(kw_only=True)
class SweepOptions:
    """What is fitted and how it is compared."""

    delta: Annotated[float | None, Parameter(group=GUARANTEE)] = None
    "As in sfumato fit."
    unit: Annotated[str | None, Parameter(metavar="COLUMN", group=GUARANTEE)] = None
    "Protect persons, told apart by this column, instead of single rows."
    at_most: Annotated[int | None, Parameter(metavar="N", converter=whole, group=GUARANTEE)] = None
    "With --unit: rows kept of each person. Default: 1."
    seeds: Annotated[int, Parameter(metavar="N", converter=whole, group=CHOICE)] = 1
    "How often every method is fitted at every epsilon."
    metrics: Annotated[str, Parameter(alias="--metric", metavar="A,B", group=CHOICE)] = ""
    """What rows are compared by; the first one decides. Default: tvd2, tvd1, membership_auc. Measures of
    sfumato evaluate can be named as well."""
    threshold: Annotated[float | None, Parameter(group=CHOICE)] = None
    "Recommend the smallest epsilon whose first metric is at least as good. Default: within 10 % of the best."
    holdout: Annotated[float, Parameter(metavar="SHARE", group=CHOICE)] = 0.2
    "Share of the rows that no fit sees, against which risk is measured; 0 for none."
    schema: Annotated[Path | None, Parameter(metavar="FILE", group=METHOD)] = None
    "What is public about the table, as in sfumato fit."
    set: Annotated[tuple[str, ...], Parameter(negative="", metavar="KEY=VALUE", group=METHOD)] = ()
    "An option of the methods that have it. May be repeated."
    epochs: Annotated[int | None, Parameter(metavar="N", converter=whole, group=METHOD)] = None
    "Passes over the rows, for methods that train a network. The same as --set epochs=N."
    ledger: LedgerFile = None
    dataset: Dataset = None
    workers: Annotated[int | None, Parameter(metavar="N", converter=whole, group=CHOICE)] = None
    "Fits at a time. Default: one a core."
    resume: Annotated[bool, Parameter(negative="", group=RESULT)] = False
    """Go on where an interrupted sweep stopped: fits that are kept beside the page, in a file that ends in
    .points.jsonl, are neither repeated nor charged again."""

    def keywords(self, methods: Sequence[str], more: dict[str, Any]) -> dict[str, Any]:
        """As keyword arguments of `sfumato.sweep`."""
        check_ledger(self.ledger, self.dataset)
        if self.at_most is not None and self.unit is None:
            raise UsageError("--at-most needs --unit, the column that tells persons apart")
        if self.seeds < 1:
            raise UsageError(f"--seeds must be at least 1, not {self.seeds}")
        if self.epochs is not None:
            more = {**more, "epochs": self.epochs}
        found: dict[str, Any] = {
            "delta": self.delta,
            "unit": None if self.unit is None else (self.unit, self.at_most or 1),
            "seeds": range(self.seeds),
            "holdout": self.holdout,
            "schema": self.schema,
            "options": set_options(self.set, methods, more),
            "ledger": self.ledger,
            "dataset": self.dataset,
            "workers": self.workers,
        }
        if self.metrics:
            found["metrics"] = _words(self.metrics)
        return found


def sweep(
    table: Path | None = None,
    /,
    *,
    data: Data = None,
    methods: Annotated[
        str,
        Parameter(name=["--methods", "--method", "-m", "--generator", "-g"], metavar="A,B", group=METHOD),
    ] = "dp-copula",
    epsilons: Annotated[str, Parameter(alias=["-e", "--epsilon"], metavar="A,B", group=GUARANTEE)] = (
        "0.1,0.5,1,2,5,50"
    ),
    on: Annotated[Literal["real", "standin"], Parameter(group=CHOICE)] = "real",
    rows: Rows = None,
    output: Page = Path("sweep_report.html"),
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    choice: SweepOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Fit methods at several epsilons, compare the results with the rows, and recommend an epsilon.

    Writes a page with curves, and the same numbers as CSV beside it. They are for the curator of the table
    alone: choosing by them is itself a release. Every fit on private rows is charged to the --ledger; a
    sweep --on standin is free.

    Example: sfumato sweep patients.csv --epsilons 0.5,1,2 -o sweep.html

    Parameters
    ----------
    table
        The private table; with --on standin a model file that is paid for.
    methods
        Methods, separated by commas.
    epsilons
        Privacy losses, separated by commas.
    on
        real: the table itself. standin: rows drawn from a model file, given as TABLE, at no cost.
    rows
        Synthetic rows of each fit. Default: about as many as were fitted.
    output
        Where to write the page; the CSV file has the same name and ends in .csv.
    """
    from sfumato.sweeps.api import sweep as run

    choice, reading = choice or SweepOptions(), reading or ReadOptions()
    found = _names(methods)
    keywords = choice.keywords(found, {})
    result = _run(
        run, table_of(table, data, "sweep"), output, choice, reading, force=force, quiet=quiet or json,
        methods=found, epsilons=_numbers(epsilons), on=on, rows=rows, **keywords,
    )  # fmt: skip
    _tell(result, output, choice, json=json)


def benchmark(
    table: Path | None = None,
    /,
    *,
    data: Data = None,
    methods: Annotated[
        str,
        Parameter(name=["--methods", "--method", "-m", "--generator", "-g"], metavar="A,B", group=METHOD),
    ] = "dp-copula",
    baselines: Annotated[str, Parameter(alias="-b", metavar="A,B", group=METHOD)] = "gaussian-copula",
    epsilons: Annotated[str, Parameter(alias=["-e", "--epsilon"], metavar="A,B", group=GUARANTEE)] = (
        "1,2,5,10,50"
    ),
    numeric: Annotated[Literal["mode", "uniform"] | None, Parameter(group=METHOD)] = None,
    rectify_marginals: Annotated[bool, Parameter(negative="", group=METHOD)] = False,
    ecdf_epsilon: Annotated[float | None, Parameter(group=GUARANTEE)] = None,
    baseline_epochs: Annotated[int | None, Parameter(metavar="N", converter=whole, group=METHOD)] = None,
    on: Annotated[Literal["real", "standin"], Parameter(group=CHOICE)] = "real",
    rows: Rows = None,
    output: Page = Path("benchmark_report.html"),
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
    choice: SweepOptions | None = None,
    reading: ReadOptions | None = None,
) -> None:
    """Compare methods with a guarantee with methods without one: what does privacy cost here?

    Writes the page of sfumato sweep, with the baselines as dashed lines. Baselines read the rows as they
    are: on private rows they count as infinite in the --ledger.

    Example: sfumato benchmark patients.csv --baselines gaussian-copula -o benchmark.html

    Parameters
    ----------
    table
        The private table; with --on standin a model file that is paid for.
    methods
        Methods with a guarantee, separated by commas.
    baselines
        Methods without one, separated by commas, or the word all.
    epsilons
        Privacy losses, separated by commas.
    numeric
        How numbers are encoded, for methods that have this option.
    rectify_marginals
        Replace numbers by their ranks among the synthetic rows, for methods that have the option rectify
        (dp-gan: rectify_marginals).
    ecdf_epsilon
        What margins may cost, on top of each of --epsilons (dp-gan), or of the only one (dp-copula).
    baseline_epochs
        Passes over the rows for the baselines that train a network.
    on
        real: the table itself. standin: rows drawn from a model file, given as TABLE, at no cost.
    rows
        Synthetic rows of each fit. Default: about as many as were fitted.
    output
        Where to write the page; the CSV file has the same name and ends in .csv.
    """
    from sfumato.sweeps.api import benchmark as run
    from sfumato.synthesizers.recipe import synthesizers

    choice, reading = choice or SweepOptions(), reading or ReadOptions()
    found, others = _names(methods), _names(baselines)
    if others == ["all"]:
        others = [name for name in synthesizers if synthesizers[name].guarantee == "none"]
    more: dict[str, Any] = {}
    if numeric is not None:
        more["numeric"] = numeric
    if rectify_marginals:
        more |= known_spellings({"rectify": True, "rectify_marginals": True}, found)
    wanted = _numbers(epsilons)
    if ecdf_epsilon is not None:
        margins = margins_options(found, ecdf_epsilon, wanted[0] + ecdf_epsilon)
        if len(wanted) > 1 and "margins_fraction" in margins:
            raise UsageError(
                "--ecdf-epsilon is a share of one total for methods with margins_fraction, and --epsilons "
                "lists several",
                mend="give one epsilon, or set the share itself with --set margins_fraction=0.3",
            )
        more |= margins
        wanted = [epsilon + ecdf_epsilon for epsilon in wanted]
    keywords = choice.keywords(found, more)
    if baseline_epochs is not None:
        for name, options in set_options((), others, {"epochs": baseline_epochs}).items():
            keywords["options"][name] = {**keywords["options"].get(name, {}), **options}
    result = _run(
        run, table_of(table, data, "benchmark"), output, choice, reading, force=force, quiet=quiet or json,
        methods=found, baselines=others, epsilons=wanted, on=on, rows=rows, **keywords,
    )  # fmt: skip
    _tell(result, output, choice, json=json)


def _run(
    run: Any,
    table: Path,
    output: Path,
    choice: SweepOptions,
    reading: ReadOptions,
    *,
    force: bool,
    quiet: bool,
    **keywords: Any,
) -> SweepResult:
    from sfumato.tables.output import check_output

    numbers, points = output.with_suffix(".csv"), output.with_suffix(".points.jsonl")
    check_places(
        read={"the private table": table, "the schema": choice.schema},
        write={"the page": output, "the CSV file": numbers, "the finished points": points},
    )
    check_output(output, force=force)
    check_output(numbers, force=force)
    if points.exists() and not choice.resume:
        if not force:
            raise UsageError(
                f"{points} holds finished points of an earlier sweep",
                mend="go on from there with --resume, or start anew with --force",
            )
        points.unlink()
    result = run(
        table,
        dialect=reading.dialect(),
        resume=points,
        progress=lambda text: note(f"  {text}", quiet=quiet),
        **keywords,
    )
    result.save_report(output, threshold=choice.threshold, force=force)
    result.to_csv(numbers, force=force)
    return result


def _tell(result: SweepResult, output: Path, choice: SweepOptions, *, json: bool) -> None:
    from sfumato.sweeps.compare import OWN

    advice = result.recommendation(threshold=choice.threshold)
    if json:
        say_json(
            {
                "output": str(output),
                "rows": list(result.rows),
                "recommendation": advice,
                "price": str(result.price),
            }
        )
        return
    lines: list[tuple[str, ...]] = [
        (each.method, "" if each.epsilon is None else f"{each.epsilon:g}", f"{each.mean:.4g}", str(each.runs))
        for each in result.averages(result.metrics[0])
    ]
    say(table(lines, header=("method", "epsilon", result.metrics[0], "fits")))
    if result.metrics[0] in OWN:
        say(f"{result.metrics[0]}: {OWN[result.metrics[0]]}")
    say(advice)
    say(f"Price: {result.price}")
    note(f"written to {output} and {output.with_suffix('.csv')}")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _names(text: str) -> list[str]:
    """Names of methods; UsageError for one that there is not."""
    from sfumato.synthesizers.recipe import synthesizers

    found = _words(text)
    for name in found:
        if name != "all":
            synthesizers[name]
    return found


def _numbers(text: str) -> list[float]:
    if not _words(text):
        raise UsageError("--epsilons lists no number", mend="for example 0.5,1,2")
    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise UsageError(
            f"{text!r} is not a list of numbers", mend="separate them by commas, as in 0.5,1,2"
        ) from None

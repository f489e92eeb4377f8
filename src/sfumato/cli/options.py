"""Options that several commands share, and the groups under which the help pages list them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import define
from cyclopts import Group, Parameter, Token

from sfumato.api import DEFAULT_METHOD
from sfumato.errors import UsageError

if TYPE_CHECKING:
    from sfumato.models.training import Job
    from sfumato.tables.dialect import CsvDialect

GUARANTEE = Group("Guarantee", sort_key=1)
RESULT = Group("Result", sort_key=2)
METHOD = Group("Method and public facts", sort_key=3)
SEVERAL = Group("Budget over several runs", sort_key=4)
TEXT = Group("Text files (CSV, TSV)", sort_key=5)
MESSAGES = Group("Messages", sort_key=6)


def whole(_: Any, tokens: Sequence[Token]) -> int:
    """A whole number, also spelled 1e6 or 1_000_000; anything else is refused, not rounded."""
    text = tokens[0].value
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or abs(number) >= 2**63 or number != number.to_integral_value():
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)


Epsilon = Annotated[float | None, Parameter(group=GUARANTEE)]
Data = Annotated[
    Path | None,
    Parameter(alias="-d", metavar="FILE", group=METHOD, help="The private table, in place of TABLE."),
]
Output = Annotated[Path | None, Parameter(alias="-o", metavar="FILE", group=RESULT)]
FromModel = Annotated[
    Path | None,
    Parameter(name="--model", metavar="FILE", group=RESULT, help="The model file, in place of MODEL."),
]
ShortModel = Annotated[Path | None, Parameter(name="-m", metavar="FILE", show=False)]
"""-m is the method everywhere else; commands that have none understand it, and do not advertise it."""
Rows = Annotated[int | None, Parameter(alias="-n", metavar="N", converter=whole, group=RESULT)]
Seed = Annotated[int | None, Parameter(metavar="N", converter=whole, group=RESULT)]
CsvSafe = Annotated[
    bool,
    Parameter(
        negative="",
        group=RESULT,
        help="In CSV, put a ' before texts that a spreadsheet would run as a formula. Alters those values.",
    ),
]
Force = Annotated[bool, Parameter(negative="", group=RESULT, help="Replace output files that exist already.")]
Quiet = Annotated[bool, Parameter(negative="", group=MESSAGES, help="Print errors and warnings only.")]
Json = Annotated[
    bool,
    Parameter(
        negative="",
        group=MESSAGES,
        help="Print one JSON object on standard output; an error is one on standard error, beside warnings.",
    ),
]
InsecureNoiseSeed = Annotated[
    int | None,
    Parameter(
        metavar="N",
        converter=whole,
        group=Group("For tests only", sort_key=7),
        help="Make the noise repeatable. Whoever knows the number can take the noise off again, so the "
        "result guarantees nothing: it is marked so, and verify and assert-dp refuse it.",
    ),
]
LedgerFile = Annotated[
    Path | None,
    Parameter(
        metavar="FILE",
        group=SEVERAL,
        help="Ledger file in which every run on a data set is charged before it reads a row; made if there "
        "is none. Needs --dataset.",
    ),
]
Dataset = Annotated[
    str | None, Parameter(metavar="NAME", group=SEVERAL, help="What the ledger file calls this data set.")
]


@Parameter(name="*", group=TEXT)
@define(kw_only=True)
class WriteOptions:
    """How text files are spelled."""

    delimiter: Annotated[str | None, Parameter(metavar="MARK", allow_leading_hyphen=True)] = None
    "Mark between fields, or the word tab. Default: comma, and tab for .tsv and .tab."
    quote: Annotated[str, Parameter(metavar="MARK", allow_leading_hyphen=True)] = '"'
    "Mark around fields that hold delimiters or line breaks, or the word none."
    encoding: Annotated[str, Parameter(metavar="NAME")] = "utf-8"
    "Character encoding, such as utf-8 or latin-1. A byte order mark in the file is recognised."

    def dialect(self) -> CsvDialect:
        """The dialect that these options describe."""
        from sfumato.tables.dialect import CsvDialect

        return CsvDialect(delimiter=self.delimiter, quote=self.quote, encoding=self.encoding)


@Parameter(name="*", group=TEXT)
@define(kw_only=True)
class ReadOptions(WriteOptions):
    """How text files are read, and written back."""

    decimal: Literal[".", ","] = "."
    "Decimal mark of numbers."
    null: Annotated[tuple[str, ...], Parameter(negative="", metavar="TEXT", allow_leading_hyphen=True)] = ()
    "A text that means missing, beside the empty field. May be repeated."
    header: bool | None = None
    """Whether the first row holds column names. Default: it does, and a first row that looks like data is an
    error."""
    names: Annotated[str | None, Parameter(metavar="A,B,C", allow_leading_hyphen=True)] = None
    "Column names, separated by commas, in place of those in the file or for a file without."
    trim: Annotated[bool, Parameter(negative="")] = False
    "Strip blanks around fields."
    bad_rows: Literal["error", "drop"] = "error"
    "What to do with a row that has more or fewer fields than the header."

    def dialect(self) -> CsvDialect:
        """The dialect that these options describe."""
        import attrs

        header = "auto" if self.header is None else "yes" if self.header else "no"
        return attrs.evolve(
            super().dialect(),
            decimal=self.decimal,
            null=tuple(self.null),
            header=header,
            names=None if self.names is None else names_of(self.names),
            trim=self.trim,
            bad_rows=self.bad_rows,
        )


def names_of(text: str) -> tuple[str, ...]:
    """Names between commas; a name that holds one stands in double quotes, as in a CSV header."""
    import csv

    if '"' not in text:
        return tuple(name.strip() for name in text.split(","))
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error:
        rows = []
    if len(rows) != 1:
        raise UsageError("--names: a double quote is not closed", mend="a quote inside a name is doubled")
    return tuple(rows[0])


@Parameter(name="*")
@define(kw_only=True)
class MethodOptions:
    """The guarantee and the method."""

    delta: Annotated[float | None, Parameter(group=GUARANTEE)] = None
    """Probability, roughly, with which the bound epsilon may fail. Default: 1e-9, or 1/(100 N) when the
    schema states rows_at_most = N. Never taken from the number of rows in the table."""
    neighbours: Annotated[Literal["add-remove", "replace"] | None, Parameter(group=GUARANTEE)] = None
    """Which tables must look alike: those that differ by one unit more or less (add-remove), or by one unit
    exchanged (replace). Default: what the schema states, else add-remove."""
    unit: Annotated[str | None, Parameter(metavar="COLUMN", group=GUARANTEE)] = None
    """Protect persons, told apart by this column, instead of single rows."""
    at_most: Annotated[int | None, Parameter(metavar="N", converter=whole, group=GUARANTEE)] = None
    """With --unit: rows kept of each person, chosen at random. More rows keep more of the data and cost more
    noise. Default: 1."""
    accountant: Annotated[Literal["gdp", "zcdp"], Parameter(group=GUARANTEE)] = "gdp"
    "How costs are added up while running: Gaussian DP, or zero-concentrated DP (4 to 7 % more noise)."
    method: Annotated[str, Parameter(alias="-m", group=METHOD, metavar="NAME")] = DEFAULT_METHOD
    "How the table is modelled; `sfumato methods` lists them."
    set: Annotated[tuple[str, ...], Parameter(negative="", metavar="KEY=VALUE", group=METHOD)] = ()
    "An option of the method. May be repeated."

    def keywords(self) -> dict[str, Any]:
        """As keyword arguments of `sfumato.fit` and `sfumato.plan`."""
        if self.at_most is not None and self.unit is None:
            raise UsageError("--at-most needs --unit, the column that tells persons apart")
        if self.at_most is not None and self.at_most < 1:
            raise UsageError(f"--at-most must be 1 or more, not {self.at_most}")
        return {
            "delta": self.delta,
            "method": self.method,
            "unit": None if self.unit is None else (self.unit, self.at_most or 1),
            "neighbours": self.neighbours,
            "options": settings_of(self.set),
            "accountant": self.accountant,
        }


@Parameter(name="*")
@define(kw_only=True)
class PrivacyOptions(MethodOptions):
    """The guarantee, the method, what is public, and where the run is charged."""

    schema: Annotated[Path | None, Parameter(metavar="FILE", group=METHOD)] = None
    """What is public about the table (TOML or JSON): types, bounds, categories. Whatever it leaves open is
    learned from the budget."""
    ledger: LedgerFile = None
    dataset: Dataset = None
    epochs: Annotated[int | None, Parameter(metavar="N", converter=whole, group=METHOD)] = None
    "Passes over the rows, for a method that trains a network. The same as --set epochs=N."
    ecdf_epsilon: Annotated[float | None, Parameter(group=GUARANTEE)] = None
    """For a method with a share for margins: what margins may cost, on top of --epsilon. The run is charged,
    and states, the sum."""

    def total(self, epsilon: float | None) -> float | None:
        """What the run may cost in all: --epsilon and --ecdf-epsilon."""
        if self.ecdf_epsilon is None:
            return epsilon
        if epsilon is None:
            raise UsageError("--ecdf-epsilon needs --epsilon, to which it is added")
        if not (math.isfinite(self.ecdf_epsilon) and self.ecdf_epsilon > 0):
            raise UsageError(f"--ecdf-epsilon must be a number above 0, not {self.ecdf_epsilon}")
        return epsilon + self.ecdf_epsilon

    def settings(self, epsilon: float | None) -> dict[str, Any]:
        """Options of the method, with what --epochs and --ecdf-epsilon say."""
        found = settings_of(self.set)
        total = self.total(epsilon)
        more: dict[str, tuple[str, Any]] = {}
        if self.epochs is not None:
            more["epochs"] = ("--epochs", self.epochs)
        if self.ecdf_epsilon is not None and total is not None:
            for name, value in margins_options([self.method], self.ecdf_epsilon, total).items():
                more[name] = ("--ecdf-epsilon", value)
        for name, (word, value) in more.items():
            _check_known(self.method, name, word)
            if name in found:
                raise UsageError(f"{word} and --set {name} say the same thing twice")
            found[name] = value
        return found

    def keywords(self) -> dict[str, Any]:
        """As keyword arguments of `sfumato.fit`."""
        return {**super().keywords(), "schema": self.schema}


def _check_known(method: str, option: str, word: str) -> None:
    """UsageError, with the methods that have it, unless `method` has this option."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    same = ("margins_fraction", "ecdf_epsilon") if word == "--ecdf-epsilon" else (option,)
    known = [
        name for name in synthesizers if any(each.name in same for each in attrs.fields(synthesizers[name]))
    ]
    if method not in known:
        having = f"methods that have it: {', '.join(known)}" if known else "no method has it"
        raise UsageError(f"{word} means nothing to method {method!r}", mend=having)


def margins_options(methods: Sequence[str], margins: float, total: float) -> dict[str, Any]:
    """Options by which `margins` of a total epsilon is for margins: a share of it, or itself."""
    return known_spellings({"margins_fraction": margins / total, "ecdf_epsilon": margins}, methods)


def known_spellings(options: dict[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    """Of options that say the same, those that some method has; else the first, which is then refused."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    known = {each.name for name in methods for each in attrs.fields(synthesizers[name])}
    found = {name: value for name, value in options.items() if name in known}
    return found or dict([next(iter(options.items()))])


def set_options(
    texts: tuple[str, ...], methods: Sequence[str], more: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Options of several methods, each as far as the method has it; UsageError for one that none has."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    known = {name: {each.name for each in attrs.fields(synthesizers[name])} for name in methods}
    wanted = {**settings_of(texts), **more}
    for name in wanted:
        if not any(name in options for options in known.values()):
            raise UsageError(
                f"none of {', '.join(methods)} has an option {name!r}", mend="see sfumato methods"
            )
    return {
        method: {name: value for name, value in wanted.items() if name in options}
        for method, options in known.items()
    }


def table_of(table: Path | None, data: Path | None, command: str) -> Path:
    """The private table, as TABLE or as --data; UsageError unless it is given once."""
    return once(table, data, "the private table", places=("TABLE", "--data"), command=command)


def model_of(model: Path | None, other: Path | None, short: Path | None, command: str) -> Path:
    """The model file, as MODEL, as --model or as -m; UsageError unless it is given once."""
    if other is not None and short is not None:
        raise UsageError("the model file is given twice: with --model and with -m")
    return once(model, other or short, "the model file", places=("MODEL", "--model"), command=command)


def once(
    place: Path | None, option: Path | None, what: str, *, places: tuple[str, str], command: str
) -> Path:
    """A file that can be given in its place or by an option; UsageError unless it is given once."""
    if place is not None and option is not None:
        raise UsageError(f"{what} is given twice: as {places[0]} and with {places[1]}")
    found = place or option
    if found is None:
        raise UsageError(
            f"sfumato {command} needs {places[0]} (or {places[1]})", mend=f"see sfumato {command} --help"
        )
    return found


def output_of(output: Path | None, command: str) -> Path:
    """Where the result goes; UsageError when that is not said."""
    if output is None:
        raise UsageError(f"sfumato {command} needs --output", mend=f"see sfumato {command} --help")
    return output


def check_ledger(ledger: Path | None, dataset: str | None) -> None:
    """UsageError when one of the two is given without the other."""
    if ledger is not None and dataset is None:
        raise UsageError("--ledger needs --dataset, the name of the data set in the ledger")
    if dataset is not None and ledger is None:
        raise UsageError("--dataset needs --ledger, the file in which its runs are charged")


def settings_of(texts: tuple[str, ...]) -> dict[str, Any]:
    """Options of a method, written as KEY=VALUE."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError(f"--set {text}: expected KEY=VALUE", mend="for example --set rare=5")
        if name in found:
            raise UsageError(f"--set {name} is given twice")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    """A number, truth value or list in TOML's spelling; any other text is itself."""
    try:
        value = tomllib.loads(f"x = {text}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text
    found = value["x"] if set(value) == {"x"} else text
    return text if isinstance(found, float) and not math.isfinite(found) else found


def describe_job(job: Job, *, given: bool) -> list[str]:
    """The plan in lines: what is promised, and how the budget is divided. `given`: whether there is a
    schema.
    """
    budget, split = job.budget, job.split
    if job.recipe.guarantee == "none":
        return [f"{job.recipe.name} on {job.table.label}: no guarantee, charged as infinite"]
    shares = ", ".join(f"{name} {share:.1%}" for name, share in split.items())
    return [
        f"{job.recipe.name} on {job.table.label}: epsilon {budget.epsilon:g}, delta {budget.delta:.3g}, "
        f"protects {job.unit} ({job.unit.neighbours})",
        f"budget: {shares}",
        *_left_open(job, given=given),
        *([note] if (note := getattr(job.recipe, "split_note", "")) else []),
    ]


def _left_open(job: Job, *, given: bool) -> list[str]:
    """A line on columns that no schema declares."""
    learned = "types, bounds and categories are learned from the budget"
    if not given:
        return [f"no schema: {learned} (see sfumato schema draft)"]
    known = {column.name for column in job.schema.columns}
    left = sum(column.name not in known for column in job.stored)
    if not left:
        return []
    return [f"the schema leaves {left:,} of {len(job.stored):,} columns open: their {learned}"]

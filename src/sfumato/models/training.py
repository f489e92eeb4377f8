"""From a table to a fitted model: check everything public first, then charge and learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from sfumato.discovery.discover import planned_shares
from sfumato.domain.column import Column
from sfumato.domain.kinds.identifier import Id
from sfumato.domain.kinds.real import Float
from sfumato.domain.stored import Stored
from sfumato.errors import Fault, Overdraft, SchemaError, UsageError
from sfumato.models.model import Model, check_key_spaces, check_rows
from sfumato.privacy.curator import Curator
from sfumato.privacy.filter import (
    NOISELESS,
    Accountant,
    Budget,
    PrivacyFilter,
    check_epsilon,
    check_pure_delta,
    check_scale,
)
from sfumato.privacy.mechanisms.prior import PriorRelease
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.statement import default_delta
from sfumato.privacy.unit import PrivacyUnit, check_relation
from sfumato.scalars import plain, plain_options
from sfumato.schema import Schema, read_schema
from sfumato.synthesizers.deep.common import need_torch
from sfumato.synthesizers.recipe import Recipe, Releases, synthesizers
from sfumato.synthesizers.run import make_recipe, planned_split, price_of_schema, run, trains
from sfumato.tables.dialect import CsvDialect

if TYPE_CHECKING:
    from sfumato.synthesizers.recipe import Generator

MOST_FOR_SCHEMA = 0.75
"""Share of the budget that a schema bought earlier may take."""
ATTACKABLE = 10.0
"""Above this epsilon published attacks recover individual records from marginal-based synthesizers."""
LARGE_DELTA = 1e-4
"""Above this delta is warned about where no bound on the rows is known to compare it with."""


@frozen(kw_only=True)
class Job:
    """A fit that passed every check that needs no row."""

    table: PrivateTable
    recipe: Recipe
    schema: Schema
    """As given (empty without one), with the unit's column made an identifier."""
    stored: tuple[Stored, ...]
    unit: PrivacyUnit
    budget: Budget
    decimal: str

    @property
    def split(self) -> dict[str, float]:
        """Planned shares of the budget, by purpose."""
        return planned_split(self.recipe, self.schema, self.stored)

    def warnings(self) -> list[str]:
        """What a privacy officer should be told before the run."""
        found = []
        if self.recipe.guarantee == "none":
            return [
                f"method {self.recipe.name!r} has no privacy guarantee: its result may hold private values"
            ]
        if self.budget.epsilon > ATTACKABLE:
            found.append(
                f"epsilon = {self.budget.epsilon:g} is large: there, known attacks can tell individual "
                "records from the output. Values up to 1 are strong; few releases go beyond 10."
            )
        if self.budget.effective_epsilon < self.budget.epsilon:
            found.append(
                f"noise is calibrated to epsilon = {NOISELESS:g}: beyond it there is nothing left to gain"
            )
        rows = self.schema.rows_at_most
        if rows is not None and self.budget.delta > 1 / rows:
            found.append(
                f"delta = {self.budget.delta:g} is over 1 in {rows:,} rows: it permits publishing a record"
            )
        if rows is None and self.budget.delta > LARGE_DELTA:
            found.append(
                f"delta = {self.budget.delta:g} may permit publishing a record, unless the table has fewer "
                f"than {1 / self.budget.delta:,.0f} rows"
            )
        if self.schema.rules:
            found.append("the rules of the schema are recorded but not yet enforced on the synthetic rows")
        return found


def prepare(
    table: Any,
    *,
    epsilon: float | None,
    delta: float | None,
    method: str,
    schema: Schema | str | Path | Mapping[str, Any] | None,
    unit: tuple[str, int] | None,
    neighbours: str | None,
    options: dict[str, Any],
    accountant: str,
    rows: int | None,
    dialect: CsvDialect | None,
    allow_empty: bool,
) -> Job:
    """Check options, schema and the head of the input, in this order; nothing is charged."""
    if rows is not None:
        rows = check_rows(rows)
    recipe = make_recipe(method, plain_options(options))
    if (adapt := getattr(recipe, "for_rows", None)) is not None:
        recipe = adapt(rows)
    epsilon = epsilon_for(recipe, epsilon)
    if trains(recipe):
        need_torch(recipe.name)
    if (check := getattr(recipe, "check_packages", None)) is not None:
        check()
    facts = Schema(undeclared="draft") if schema is None else read_schema(schema)
    chosen = accountant_of(recipe, accountant)
    found_delta = delta_for(recipe, chosen, delta, facts)
    privacy_unit = unit_of(facts, unit, neighbours)
    prior = price_of_schema(facts, privacy_unit)
    if chosen == "pure" and prior is not None:
        raise UsageError(
            f"the schema was bought with Gaussian noise, which has no pure price, as {method!r} needs",
            mend="declare its facts from public knowledge, or leave them open to be learned in this run",
        )
    # Without delta nothing but sums of epsilon is left.
    at_first: Accountant = chosen if found_delta else "pure"
    check_scale(Budget(epsilon=epsilon, delta=found_delta, accountant=at_first), privacy_unit)

    private = PrivateTable.open(table, dialect=dialect, allow_empty=allow_empty)
    stored = private.columns
    private.check_types(facts)
    if schema is not None:
        stored = _agree(facts, stored, privacy_unit)
        facts = private.as_stored(facts)
    facts = with_unit(facts, stored, privacy_unit, private.label)
    _check_output(facts, stored)
    decimal = dialect.decimal if dialect else "."
    facts = with_decimal_mark(facts, stored, decimal)
    if rows is not None:
        check_key_spaces(facts, rows)
    if (check := getattr(recipe, "check_columns", None)) is not None:
        check(_modelled(facts, stored))
    if (check := getattr(recipe, "check_facts", None)) is not None:
        check(facts, stored)
    budget = budget_of(
        recipe,
        facts,
        epsilon=epsilon,
        delta=found_delta,
        accountant=accountant_for(recipe, facts, stored, chosen),
        unit=privacy_unit,
        undeclared=len(facts.columns) < len(stored),
    )
    if prior is not None:
        check_prior(prior, budget, privacy_unit)
    if dialect is not None and dialect.bad_rows == "drop":
        _check_kept(recipe, privacy_unit)
    return Job(
        table=private,
        recipe=recipe,
        schema=facts,
        stored=stored,
        unit=privacy_unit,
        budget=budget,
        decimal=decimal,
    )


def epsilon_for(recipe: Recipe, epsilon: float | None) -> float:
    """`epsilon`, checked. A method without a guarantee takes none: what it leaves open is discovered with
    noise that is next to nothing, and the whole run is charged as infinite.
    """
    if recipe.guarantee != "none":
        if epsilon is None:
            raise UsageError(
                f"method {recipe.name!r} needs epsilon (the command line needs --epsilon)",
                mend="it is the privacy loss that is allowed; values up to 1 are strong",
            )
        return check_epsilon(epsilon)
    if epsilon is not None:
        private = ", ".join(name for name in synthesizers if synthesizers[name].guarantee != "none")
        raise UsageError(
            f"method {recipe.name!r} has no guarantee, so it cannot keep to epsilon = {epsilon:g}",
            mend=f"leave epsilon out, or take a method with a guarantee: {private}",
        )
    return NOISELESS


def accountant_of(recipe: Recipe, name: str) -> Accountant:
    """The accountant of that name, or sums of epsilon for a method with a pure guarantee; or UsageError."""
    if name not in ("gdp", "zcdp"):
        raise UsageError(f"there is no accountant {name!r}", mend="known: gdp, zcdp")
    if recipe.guarantee != "epsilon":
        return "gdp" if name == "gdp" else "zcdp"
    if name != "gdp":
        raise UsageError(
            f"method {recipe.name!r} adds up epsilon itself, so no accountant can be chosen for it"
        )
    return "pure"


def delta_for(recipe: Recipe, accountant: Accountant, delta: float | None, schema: Schema) -> float:
    """`delta`, checked, or the default. 0 is for methods whose charges have an epsilon each."""
    if delta is None:
        return default_delta(schema.rows_at_most)
    found = check_pure_delta(delta)
    if found:
        return found
    if accountant == "pure" or (isinstance(recipe, Releases) and accountant == "gdp"):
        return 0.0
    pure = ", ".join(
        name
        for name in synthesizers
        if synthesizers[name].guarantee == "epsilon" or hasattr(synthesizers[name], "releases")
    )
    raise UsageError(
        f"delta = 0 is not for method {recipe.name!r}, whose noise has no pure guarantee",
        mend=f"leave delta out, which is 1e-9 then, or take a method that can be pure: {pure}",
    )


def accountant_for(recipe: Recipe, schema: Schema, stored: Sequence[Stored], asked: Accountant) -> Accountant:
    """The accountant of a run. A method that releases single records has an epsilon a record; where nothing
    else is asked, adding up epsilons and composing draws by their own pair is the better account.
    """
    alone = isinstance(recipe, Releases) and schema.bought is None and not planned_shares(schema, stored)
    return "pure" if alone and asked == "gdp" else asked


def _check_kept(recipe: Recipe, unit: PrivacyUnit) -> None:
    """UsageError where a method takes the number of rows as public, and what rows hold decides whether they
    count.
    """
    public = isinstance(recipe, Releases) and recipe.needs_public_rows
    if public and unit.keeps_rows:
        raise UsageError(
            f"under replace {recipe.name} takes the number of rows as public, which dropping rows rules out",
            mend="leave out --bad-rows drop, or ask for --neighbours add-remove",
        )


def budget_of(
    recipe: Recipe,
    schema: Schema,
    *,
    epsilon: float,
    delta: float,
    accountant: Accountant,
    unit: PrivacyUnit,
    undeclared: bool,
) -> Budget:
    """What may be spent, with what thresholds, an earlier purchase and the method itself set aside."""
    prior = price_of_schema(schema, unit)
    thresholds = undeclared or any(getattr(column, "open_set", False) for column in schema.columns)
    if recipe.guarantee == "epsilon" and not thresholds:
        delta = 0.0
    elif delta == 0 and accountant != "pure":
        raise UsageError(
            f"delta = 0 needs a schema that leaves nothing open: {recipe.name} buys what is open with "
            "Gaussian noise, which has no pure guarantee",
            mend="declare the values, or min and max, of every column; or allow a delta",
        )
    elif delta == 0 and thresholds:
        raise UsageError(
            "delta = 0 needs public categories: no pure mechanism can find texts that nobody has declared",
            mend="declare every column, and the values of categories, in a schema; or allow a delta",
        )
    return Budget(
        epsilon=float(epsilon),
        delta=delta,
        accountant=accountant,
        thresholds=thresholds,
        training=trains(recipe),
        prior_delta=0.0 if prior is None else prior.cost(unit).under(unit.neighbours).delta,
        tail_share=tail_share_of(recipe),
    )


def tail_share_of(recipe: Recipe) -> float:
    """Share of delta that a method sets aside for mechanisms with a delta of their own."""
    return float(getattr(recipe, "tail_share", 0.0))


def check_prior(prior: PriorRelease, budget: Budget, unit: PrivacyUnit) -> None:
    """Overdraft, before anything is charged, when the schema's price leaves too little for the run."""
    left = PrivacyFilter.open(budget, unit.neighbours)
    price = left.price(prior.cost(unit).under(unit.neighbours))
    if price > MOST_FOR_SCHEMA * left.limit:
        raise Overdraft(
            f"the schema was bought from these rows for {price / left.limit:.0%} of the budget that "
            f"epsilon = {budget.epsilon:g} at delta = {budget.delta:.3g} allows, which leaves too little",
            mend="raise epsilon, buy the schema for less, or declare its facts from public knowledge",
        )


def unit_of(schema: Schema, unit: tuple[str, int] | None, neighbours: str | None) -> PrivacyUnit:
    """The unit of privacy that the caller, or else the schema, states."""
    relation = check_relation(neighbours or schema.neighbours)
    stated = (schema.unit.column, schema.unit.at_most) if schema.unit else (None, 1)
    column, at_most = stated if unit is None else _pair(unit)
    return PrivacyUnit(neighbours=relation, column=column, at_most=at_most)


def _pair(unit: Any) -> tuple[str, int]:
    """The column of persons and the rows kept of each; UsageError for anything else."""
    if isinstance(unit, tuple | list) and len(unit) == 2:
        column, at_most = unit[0], plain(unit[1])
        if isinstance(column, str) and isinstance(at_most, int) and not isinstance(at_most, bool):
            return column, at_most
    raise UsageError(
        "unit must be a pair: the column that tells persons apart, and how many rows of each are kept",
        mend='for example unit=("patient", 1); leave it out to protect single rows',
    )


def _agree(schema: Schema, stored: tuple[Stored, ...], unit: PrivacyUnit) -> tuple[Stored, ...]:
    """Columns to use: the declared ones, the one that tells persons apart, and under `undeclared = "draft"`
    all others too.
    """
    known = {column.name for column in schema.columns}
    known |= {schema.unit.column} if schema.unit else set()
    schema.check_columns([each.name for each in stored if each.name in known or each.name != unit.column])
    if schema.undeclared == "drop":
        return tuple(each for each in stored if each.name in known or each.name == unit.column)
    return stored


def _check_output(schema: Schema, stored: Sequence[Stored]) -> None:
    """SchemaError when every column is dropped, so that there would be nothing to write."""
    dropped = {column.name for column in schema.columns if column.dropped}
    if all(column.name in dropped for column in stored):
        what = "all of them are text, which is left out, so no column would come out"
        mend = 'declare one with another type, such as {type = "categorical", open_set = true}'
        raise SchemaError("the schema", [Fault("columns", what, mend)])


def _modelled(schema: Schema, stored: Sequence[Stored]) -> list[str]:
    """Columns that will be learned from the rows, as far as public facts tell."""
    apart = {column.name for column in schema.columns if not column.modelled}
    return [column.name for column in stored if column.name not in apart]


def with_unit(schema: Schema, stored: tuple[Stored, ...], unit: PrivacyUnit, label: str) -> Schema:
    """The schema with the column of persons as an identifier: it is made anew, never modelled."""
    if unit.column is None:
        return schema
    if unit.column not in {column.name for column in stored}:
        raise UsageError(f"{label} has no column {unit.column!r} to tell persons apart")
    columns: list[Column] = []
    for column in schema.columns:
        keep = column.name != unit.column or column.kind == "id"
        columns.append(column if keep else Id(unit.column, format="sequence"))
    if unit.column not in {column.name for column in columns}:
        columns.append(Id(unit.column, format="sequence"))
    return attrs.evolve(schema, columns=tuple(columns))


def with_decimal_mark(schema: Schema, stored: Sequence[Stored], mark: str) -> Schema:
    """The schema with the decimal mark of the text file where a column states none of its own."""
    texts = {column.name for column in stored if column.storage == "untyped"}
    if mark == "." or not texts:
        return schema

    def spelled(column: Column) -> Column:
        if not isinstance(column, Float) or column.name not in texts or column.decimal != ".":
            return column
        codes = zip(column.special_codes.items(), column.special_units, strict=True)
        again = {key if unit is None else key.replace(".", mark): meaning for (key, meaning), unit in codes}
        return attrs.evolve(column, decimal=mark, special_codes=again)

    return attrs.evolve(schema, columns=tuple(spelled(column) for column in schema.columns))


def charge(job: Job, ledger: Path | str, dataset: str) -> None:
    """Charge the whole budget of `job` in a ledger file, but for a drafted schema that is paid there."""
    from sfumato.privacy.dataset_ledger import DatasetLedger

    if getattr(job.recipe, "parts_have_weights", False):
        raise UsageError(
            "a run whose parts have weights has one (epsilon, delta) as a whole, but some rows may see more, "
            "and a ledger adds up what rows see",
            mend="leave weights out",
        )
    prior = price_of_schema(job.schema, job.unit)
    DatasetLedger(ledger).charge(
        dataset,
        job.budget,
        unit=job.unit,
        what=f"fit {job.recipe.name}",
        void="a method without a guarantee" if job.recipe.guarantee == "none" else "",
        paid=None if prior is None else prior.cost(job.unit).under(job.unit.neighbours),
        paid_by=str((job.schema.bought or {}).get("run", "")),
    )


def train(
    job: Job, *, progress: Callable[[str], None] | None = None, curator: Curator | None = None
) -> Model:
    """Charge and learn. `curator` takes the place of the table's own (see `sfumato.testing`)."""
    if curator is None:
        curator = job.table.curator(unit=job.unit, budget=job.budget, progress=progress)
    domain, generator = run(curator, job.recipe, job.schema, job.stored, decimal=job.decimal)
    return _model(job, curator, domain, generator)


def _model(job: Job, curator: Curator, domain: Any, generator: Generator) -> Model:
    return Model(
        method=job.recipe.name,
        options={each.name: getattr(job.recipe, each.name) for each in attrs.fields(type(job.recipe))},
        schema=domain.schema,
        stored=job.stored,
        codecs=domain.codecs,
        generator=generator,
        ledger=curator.ledger,
        transcript=tuple(curator.transcript),
        request={
            "epsilon": job.budget.epsilon,
            "delta": job.budget.delta,
            "accountant": job.budget.accountant,
            "thresholds": job.budget.thresholds,
            "decimal": job.decimal,
            "split": job.split,
            "schema": job.schema.to_dict(),
        },
        notes=(*job.table.notes, *domain.notes, *curator.remarks),
        warnings=tuple(curator.warnings),
        void=curator.void,
        restore=job.table.restore,
    )

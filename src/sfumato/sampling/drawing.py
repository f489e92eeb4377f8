"""Records drawn from a table, or symbols from an array, through the curator and onto the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from sfumato.domain.alphabet import Symbols, alphabet_size, symbols_of
from sfumato.domain.column import Column
from sfumato.errors import UsageError
from sfumato.privacy.filter import Budget, check_epsilon, check_pure_delta
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.draws import Draws, rounded
from sfumato.privacy.private_table import PrivateTable
from sfumato.privacy.statement import Statement, statement_of
from sfumato.privacy.unit import PrivacyUnit, check_relation
from sfumato.sampling.choice import AUTO, Choice, choose
from sfumato.scalars import plain

if TYPE_CHECKING:
    import polars as pl

    from sfumato.schema import Schema
    from sfumato.tables.dialect import CsvDialect

Codes = npt.NDArray[np.int64]

DRAWS_AT_MOST = 1_000_000


@frozen(kw_only=True, eq=False)
class Drawn:
    """Records that were drawn. Everything here is released; which of them were revealed is known nowhere."""

    records: pl.DataFrame
    """One row for each draw, with the columns that were named."""
    texts: pl.DataFrame
    """The same, every value spelled as it stands in a file of text."""
    sampler: str
    why: str
    """Why this sampler was taken."""
    symbols: int
    """Size of the alphabet: combinations of values that a record could have had."""
    each: float
    """Epsilon of a draw, or of all draws where they share one."""
    rows: int | None
    """The number of rows, where it is public."""
    bound: float | None
    """Largest total variation distance of a draw to the records, where it is known."""
    ledger: Ledger
    statement: Statement
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Drawn: {self.records.height} records of {self.combinations} combinations by {self.sampler}>"

    @property
    def combinations(self) -> str:
        """`symbols` in few digits."""
        return rounded(self.symbols)

    def state(self) -> dict[str, Any]:
        """JSON-able form."""
        import json

        return {
            "records": json.loads(self.records.write_json()),
            "columns": self.records.columns,
            "sampler": self.sampler,
            "why": self.why,
            "symbols": self.symbols,
            "epsilon_of_a_draw": self.each,
            "rows": self.rows,
            "distance_at_most": self.bound,
            "statement": self.statement.state(),
            "notes": list(self.notes),
        }


def draw(
    table: Any,
    *,
    epsilon: float,
    columns: Sequence[str] | None = None,
    schema: Schema | str | Path | Mapping[str, Any],
    sampler: str = AUTO,
    m: int = 1,
    delta: float = 0.0,
    unit: tuple[str, int] | None = None,
    neighbours: str | None = None,
    rows_at_least: int = 0,
    complete: bool = False,
    seed: int | None = None,
    dialect: CsvDialect | None = None,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    insecure_noise_seed: int | None = None,
) -> Drawn:
    """Draw m records from the joint law of some columns, for (epsilon, delta) in all.

    table: whatever `sfumato.fit` takes. columns: default all that the schema declares. schema: must tell the
    alphabet of each column drawn: values, bounds. The alphabet is the product of them and is never
    materialised. sampler: a name, or "auto" (`sfumato.sampling.choice`). delta: 0 for pure epsilon-DP; above,
    m draws are composed by privacy-loss distributions. neighbours: as the schema states it, else
    "add-remove"; under "replace" with single rows as units the number of rows is public, and used.
    rows_at_least: a public number of rows, where the exact one is private, at which "auto" compares samplers
    and up to which SubRR fills a smaller table. complete: add the other columns of the schema, drawn
    uniformly from their alphabets with `seed`, from nothing private. ledger, dataset, insecure_noise_seed: as
    in `sfumato.fit`.

    Raises SfumatoError before anything is charged for whatever is wrong with options, schema or table.
    """
    from sfumato.models.model import check_seed
    from sfumato.models.training import unit_of, with_decimal_mark
    from sfumato.privacy.insecure import seeded_noise
    from sfumato.schema import read_schema

    epsilon, m, delta = check_epsilon(epsilon), check_draws(m), check_pure_delta(delta)
    if (ledger is None) != (dataset is None):
        raise UsageError("a persistent ledger needs both its file and the name of the data set")
    check_seed(seed)
    check_seed(insecure_noise_seed)
    filled = _whole(rows_at_least, "rows_at_least", least=0)
    facts = read_schema(schema)
    if facts.bought is not None:
        raise UsageError(
            "the schema was bought from these rows, and draws need one that cost nothing",
            mend="declare the facts of the columns from public knowledge",
        )
    privacy = unit_of(facts, unit, neighbours)
    names = _names(facts, columns, privacy)
    axes = axes_of(facts, names)
    choose(sampler, n=None, k=2, epsilon=epsilon)  # a name that is not known shows before the table is opened
    private = PrivateTable.open(table, dialect=dialect)
    private.check_types(facts)
    _check_there(private, names, privacy)
    facts = with_decimal_mark(private.as_stored(facts), private.columns, dialect.decimal if dialect else ".")
    axes = axes_of(facts, names)
    private.check_rows()
    public = privacy.keeps_rows and (dialect is None or dialect.bad_rows == "error")
    symbols = alphabet_size(axes)
    terms: dict[str, Any] = {
        "k": symbols, "epsilon": epsilon, "m": m, "delta": delta, "filled": filled,
    }  # fmt: skip
    if not public:
        # Whatever can be wrong with the question is found before it is charged.
        _draws(axes, choose(sampler, n=None, unit=privacy, **terms), m, None, filled)
    budget = Budget(epsilon=epsilon, delta=delta, accountant="pure")
    with nullcontext() if insecure_noise_seed is None else seeded_noise(insecure_noise_seed):
        curator = private.curator(unit=privacy, budget=budget)
        rows = curator.public_rows() if public else None
        choice = choose(sampler, n=rows, unit=privacy, **terms)
        asked = _draws(axes, choice, m, rows, filled)
        if ledger is not None and dataset is not None:
            from sfumato.privacy.dataset_ledger import DatasetLedger

            what = f"draw {m} by {choice.sampler}"
            DatasetLedger(ledger).charge(dataset, budget, unit=privacy, what=what)
        codes = curator.draw(asked, purpose="records of " + ", ".join(names))
    held: list[Symbols | Column] = list(axes)
    if complete:
        held, codes = _completed(axes, codes, facts, seed=seed)
    return Drawn(
        records=_frame(held, codes, text=False),
        texts=_frame(held, codes, text=True),
        sampler=choice.sampler,
        why=choice.why,
        symbols=symbols,
        each=choice.each,
        rows=rows,
        bound=choice.bound,
        ledger=curator.ledger,
        statement=statement_of(
            curator.ledger,
            delta=delta,
            unit=str(privacy),
            void=curator.void,
            leaks=facts.leaks(),
            released="The released records",
        ),
        notes=private.notes,
    )


def sample(
    data: npt.ArrayLike,
    *,
    k: int,
    epsilon: float,
    sampler: str = AUTO,
    m: int | None = None,
    delta: float = 0.0,
    neighbours: str = "replace",
) -> int | npt.NDArray[np.int64]:
    """Draw a symbol from an array of symbols 0 … k-1, or m of them for (epsilon, delta) in all.

    data: one-dimensional and whole-numbered; a number outside the alphabet joins its nearest end. k: the
    public size of the alphabet, whether or not all symbols occur. m: None for one symbol, as an int; else an
    array of m. neighbours: "replace", where the number of entries is public, or "add-remove", where it is
    private.
    """
    array = np.asarray(data)
    k, draws = _whole(k, "k", least=1), 1 if m is None else check_draws(m)
    epsilon, delta = check_epsilon(epsilon), check_pure_delta(delta)
    unit = PrivacyUnit(neighbours=check_relation(neighbours))
    choose(sampler, n=None, k=2, epsilon=epsilon, unit=unit)
    if array.ndim != 1 or not (array.dtype.kind in "iu" or array.size == 0):
        raise UsageError("the data must be a one-dimensional array of whole numbers")
    if k == 1 or array.size == 0:
        # Nothing can be told: a uniform symbol is drawn.
        found = np.random.default_rng().integers(k, size=draws)
        return int(found[0]) if m is None else found
    facts = {"columns": {"symbol": {"type": "int", "min": 0, "max": k - 1, "nullable": False}}}
    drawn = draw(
        {"symbol": array}, columns=["symbol"], schema=facts, epsilon=epsilon, sampler=sampler,
        m=draws, delta=delta, neighbours=neighbours,
    )  # fmt: skip
    symbols = drawn.records.get_column("symbol").to_numpy().astype(np.int64)
    return int(symbols[0]) if m is None else symbols


def check_draws(m: Any) -> int:
    """The number of draws; UsageError unless it is a whole number from 1 to a million."""
    found = _whole(m, "the number of draws", least=1)
    if found > DRAWS_AT_MOST:
        raise UsageError(f"at most {DRAWS_AT_MOST:,} records can be drawn at once, not {found:,}")
    return found


def _whole(value: Any, name: str, *, least: int) -> int:
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int) or not least <= found < 1 << 62:
        raise UsageError(f"{name} must be a whole number of at least {least}, and below 2**62, not {value!r}")
    return found


def _names(facts: Schema, columns: Sequence[str] | None, unit: PrivacyUnit) -> list[str]:
    known = [column.name for column in facts.columns]
    if columns is None:
        names = [c.name for c in facts.columns if c.modelled and c.name != unit.column]
    else:
        names = list(columns)
    if not names:
        raise UsageError("there is no column to draw from", mend="name columns that the schema declares")
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"column {name!r} is named twice")
        if name not in known:
            raise UsageError(
                f"the schema declares no column {name!r}", mend=f"declared: {', '.join(map(repr, known))}"
            )
        if name == unit.column:
            raise UsageError(f"column {name!r} tells persons apart and cannot be drawn")
    return names


def axes_of(facts: Schema, names: Sequence[str]) -> list[Symbols]:
    """Alphabets of the named columns; UsageError where the schema does not tell one."""
    found = []
    for name in names:
        axis = symbols_of(facts[name])
        if axis is None:
            raise UsageError(
                f"the schema does not tell what column {name!r} can hold, so nothing can be drawn from it",
                mend="declare its values, its public_values, or min and max (and decimals)",
            )
        found.append(axis)
    return found


def _check_there(private: PrivateTable, names: Sequence[str], unit: PrivacyUnit) -> None:
    stored = {column.name for column in private.columns}
    for name in (*names, *([unit.column] if unit.column is not None else [])):
        if name not in stored:
            raise UsageError(f"{private.label} has no column {name!r}")


def _draws(axes: Sequence[Symbols], choice: Choice, m: int, rows: int | None, filled: int) -> Draws:
    return Draws(
        axes=tuple(axes),
        sampler=choice.sampler,
        epsilon=choice.each,
        count=m,
        rows=rows,
        filled=0 if rows is not None else filled,
        delta=choice.delta,
    )


def _completed(
    axes: Sequence[Symbols], codes: Codes, facts: Schema, *, seed: int | None
) -> tuple[list[Symbols | Column], Codes]:
    """All columns of the schema in order, those that were not drawn with uniform symbols, from public facts
    alone.

    Columns that need no symbol, or whose facts do not tell what they can hold, are left as they are.
    """
    rng = np.random.default_rng(seed)
    drawn = {axis.column: (axis, codes[:, i]) for i, axis in enumerate(axes)}
    held: list[Symbols | Column] = []
    symbols: list[Codes] = []
    for column in facts.columns:
        axis, known = drawn.get(column.name, (symbols_of(column), None))
        if column.dropped:
            continue
        held.append(column if axis is None else axis)
        if known is None:
            known = rng.integers(1, axis.size, codes.shape[0]) if axis else np.zeros(codes.shape[0], np.int64)
        symbols.append(known)
    return held, np.stack(symbols, axis=1)


def _frame(held: Sequence[Symbols | Column], codes: Codes, *, text: bool) -> pl.DataFrame:
    import polars as pl

    rows, columns = codes.shape[0], []
    for i, axis in enumerate(held):
        if not isinstance(axis, Column):
            columns.append(axis.decode(codes[:, i], text=text))
        elif axis.modelled:
            columns.append(pl.Series(axis.name, [None] * rows, dtype=pl.String))
        else:
            columns.append(axis.generate(rows, np.random.default_rng(0), text=text).alias(axis.name))
    return pl.DataFrame(columns)

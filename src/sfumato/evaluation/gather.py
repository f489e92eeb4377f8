"""From tables of any kind to a `Pair`: read, decide what each column is, bring all sides to common codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from sfumato.domain.kinds import Bool, Categorical, Date, Datetime, Duration, Float, Id, Int, Text
from sfumato.domain.measured import Measured
from sfumato.domain.reading import as_text, is_textual, to_floats
from sfumato.errors import SfumatoError
from sfumato.evaluation.bins import bin_labels, edges_of, raw_codes
from sfumato.evaluation.inference import Sort, filled, sort_of
from sfumato.evaluation.pair import Cells, Pair, PairedColumn, Side

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from sfumato.domain.column import Column
    from sfumato.schema import Schema
    from sfumato.tables.dialect import CsvDialect

_MICROS = 1e6

MOST = 2_000
STRANGE = 100
"""Labels of a column that have codes of their own: of the real rows, and of the others."""

LARGEST = 1e100
"""Numbers from here on count as infinite: their squares would not fit a float."""


@frozen(eq=False)
class _Raw:
    """Cells of one side before codes are common.

    atoms: place of the special code, -1 for none. codes: places in labels, -1 for missing.
    """

    missing: np.ndarray
    unreadable: int = 0
    values: np.ndarray | None = None
    atoms: np.ndarray | None = None
    codes: np.ndarray | None = None
    labels: tuple[str, ...] = ()


def pair_tables(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    schema: Schema | None = None,
    dialect: CsvDialect | None = None,
    person: str | None = None,
) -> Pair:
    """Read the tables and bring them to one view. Tables are what `fit` takes; rows may be none. `dialect`:
    of the real file, and of the others unless their first line names columns as sfumato writes them.
    `person`: the column that tells persons apart; default: that of the schema.

    Raises InputError for what is not a table. Columns that differ between the tables are no error: the pair
    says which are compared.
    """
    if person is None and schema is not None and schema.unit is not None:
        person = schema.unit.column
    frame = _read(real, "the real table", dialect)
    sorts = {name: _sort(frame[name], schema) for name in frame.columns}
    ids: dict[Side, pl.Series] = {}
    if person in sorts:
        sorts[person] = Sort("ignored", reason="it tells persons apart")
        ids["real"] = as_text(frame[person])
    rows: dict[str, int] = {"real": frame.height}
    raws: dict[str, dict[str, _Raw]] = {"real": _raw_columns(frame, sorts)}
    ignored = {name: sort.reason for name, sort in sorts.items() if sort.what == "ignored"}
    names, notes = list(frame.columns), []
    del frame
    frame = _read(synthetic, "the synthetic table", _spelling(synthetic, names, dialect))
    absent = tuple(name for name in names if name not in frame.columns)
    extra = tuple(name for name in frame.columns if name not in names)
    rows["synthetic"] = frame.height
    raws["synthetic"] = _raw_columns(frame, sorts)
    if holdout is not None:
        frame = _read(holdout, "the hold-out table", _spelling(holdout, names, dialect))
        lacking = [name for name in names if name not in absent and name not in frame.columns]
        if lacking:
            notes.append(f"the hold-out table is not used: it lacks {len(lacking)} of the columns")
        else:
            rows["holdout"] = frame.height
            raws["holdout"] = _raw_columns(frame, sorts)
            if person in frame.columns:
                ids["holdout"] = as_text(frame[person])
    persons = _persons(ids)
    notes += _about_persons(person, persons, rows)
    columns = []
    for name in names:
        if name in absent or sorts[name].what == "ignored":
            continue
        sides = {side: raws[side].pop(name) for side in rows}
        columns.append(_column(name, sorts[name], sides, schema))
    return Pair(
        columns=tuple(columns), real_rows=rows["real"], synthetic_rows=rows["synthetic"],
        holdout_rows=rows.get("holdout"), absent=absent, extra=extra,
        ignored={name: reason for name, reason in ignored.items() if name not in absent},
        notes=tuple(notes), schema=schema, persons=persons,
    )  # fmt: skip


def _persons(ids: Mapping[Side, pl.Series]) -> dict[Side, np.ndarray]:
    """Whose each row is, as numbers that are common to all sides; -1 where no id is given."""
    import polars as pl

    if not ids:
        return {}
    every = pl.concat([each.alias("id").set(each == "", None) for each in ids.values()])
    numbers = every.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    ends = np.cumsum([len(each) for each in ids.values()])
    return dict(zip(ids, np.split(numbers, ends[:-1]), strict=True))


def _about_persons(
    person: str | None, persons: Mapping[Side, np.ndarray], rows: Mapping[str, int]
) -> Iterator[str]:
    """What a reader must know where one person may have several rows."""
    if person is None:
        return
    lacking = [words for side, words in (("real", "real"), ("holdout", "hold-out"))
               if side in rows and side not in persons]  # fmt: skip
    if lacking:
        yield (
            f"the {' and '.join(lacking)} table has no column {person!r}, which tells persons apart: there "
            "each row counts as a person"
        )
    elif "holdout" in persons:
        both = np.intersect1d(persons["real"], persons["holdout"])
        shared = int((both >= 0).sum())
        yield "in attacks each person counts once, with one row drawn at random" + (
            f"; {shared:,} hold-out persons are in the real table as well, and are left out" if shared else ""
        )


def _spelling(table: Any, names: Sequence[str], dialect: CsvDialect | None) -> CsvDialect | None:
    """How a file beside the real one is spelled: as sfumato writes files where its first line, read so, names
    a column of the real table; else like the real one.
    """
    from sfumato.tables.dialect import CsvDialect
    from sfumato.tables.source import open_source

    plain = CsvDialect()
    if dialect is None or dialect == plain or not isinstance(table, str | Path):
        return dialect
    try:
        columns = open_source(table, dialect=plain, label="the table", allow_empty=True).columns
    except SfumatoError:
        return dialect
    return plain if any(column.name in names for column in columns) else dialect


def _read(table: Any, label: str, dialect: CsvDialect | None) -> pl.DataFrame:
    import polars as pl

    from sfumato.tables.source import open_source

    source = open_source(table, dialect=dialect, label=label, allow_empty=True)
    blocks = list(source.blocks())
    if blocks:
        return pl.concat(blocks)
    return pl.DataFrame(schema={column.name: column.dtype for column in source.columns})


def _sort(series: pl.Series, schema: Schema | None) -> Sort:
    if schema is None or series.name not in schema:
        return sort_of(series)
    facts = schema[series.name]
    if isinstance(facts, Id | Text):
        return Sort("ignored", facts, "the schema declares it a key or free text")
    return Sort("number" if isinstance(facts, Measured) else "labels", facts)


def _raw_columns(frame: pl.DataFrame, sorts: Mapping[str, Sort]) -> dict[str, _Raw]:
    names = [name for name in sorts if name in frame.columns and sorts[name].what != "ignored"]
    return {name: _raw(frame[name], sorts[name]) for name in names}


def _raw(series: pl.Series, sort: Sort) -> _Raw:
    full = filled(series)
    if sort.what == "number":
        return _raw_number(series, sort, full)
    if isinstance(sort.reader, Bool | Categorical):
        return _declared_labels(series, sort.reader, full)
    return _labels(series, full, numeric=sort.what == "numeric labels")


def _raw_number(series: pl.Series, sort: Sort, full: np.ndarray) -> _Raw:
    reader = sort.reader
    if not isinstance(reader, Measured):
        numbers, known = to_floats(series)
        values, atoms = np.where(known, numbers, np.nan), None
        if sort.codes:
            atoms = _places(series, sort.codes)
            known |= atoms >= 0
    elif not reader.accepts(series.dtype):
        return _Raw(np.ones(len(series), dtype=bool), int(full.sum()), np.full(len(series), np.nan))
    else:
        units, places = reader.parse(series)
        values = np.where(places == -1, units / units_scale(reader), np.nan)
        atoms = np.where(places > 0, places - 1, -1) if reader.special_codes else None
        known = places != 0
    return _Raw(~known, int((full & ~known).sum()), values, atoms)


def _places(series: pl.Series, codes: tuple[str, ...]) -> np.ndarray:
    """The place of each cell among some texts, -1 where it is none of them."""
    import polars as pl

    place = {code: number for number, code in enumerate(codes)}
    return as_text(series).replace_strict(place, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()


def units_scale(reader: Measured) -> float:
    """Units a unit of display: seconds for times, the number itself for numbers, days for dates."""
    if isinstance(reader, Float):
        return 10.0**reader.places
    return _MICROS if isinstance(reader, Datetime | Duration) else 1.0


def _declared_labels(series: pl.Series, facts: Bool | Categorical, full: np.ndarray) -> _Raw:
    known = facts.values if isinstance(facts, Bool) else facts.values or facts.public_values
    if not facts.accepts(series.dtype):
        return _Raw(np.ones(len(series), dtype=bool), int(full.sum()), codes=np.full(len(series), -1))
    codes = np.where(full, facts.match(series, known), -1)
    stray = codes == -2
    if not stray.any():
        return _Raw(~full, codes=codes, labels=known)
    others = _labels(series, full & stray, numeric=False)
    assert others.codes is not None
    codes = np.where(stray, len(known) + others.codes, codes)
    return _Raw(~full, codes=codes, labels=(*known, *others.labels))


def _labels(series: pl.Series, full: np.ndarray, *, numeric: bool) -> _Raw:
    """Labels as texts; numbers among them spelled alike, so that 1, 1.0 and "1" are one label."""
    import polars as pl

    texts = as_text(series)
    if numeric:
        numbers, known = to_floats(series)
        spelled = {number: f"{number:.15g}" for number in np.unique(numbers[known])}
        alike = pl.Series(numbers).replace_strict(spelled, default=None, return_dtype=pl.String)
        texts = alike.zip_with(pl.Series(known), texts)
    if not full.all():
        texts = texts.zip_with(pl.Series(full), pl.Series([None], dtype=pl.String))
    if is_textual(series):
        few = texts.unique().head(4).drop_nulls().to_list()
        if {text.lower() for text in few} <= {"true", "false"}:
            texts = texts.str.to_lowercase()
    labels = texts.drop_nulls().unique().sort().to_list()
    if not labels:
        return _Raw(~full, codes=np.full(len(series), -1))
    codes = texts.cast(pl.Enum(labels)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    return _Raw(~full, codes=codes, labels=tuple(labels))


def _column(name: str, sort: Sort, sides: Mapping[Any, _Raw], schema: Schema | None) -> PairedColumn:
    declared = sort.reader if schema is not None and name in schema else None
    if sort.what == "number":
        return _number_column(name, sort, sides, declared)
    return _label_column(name, sides, declared)


def _label_column(name: str, sides: Mapping[Side, _Raw], declared: Column | None) -> PairedColumn:
    labels, place = _common_labels(sides, declared)
    cells: dict[Side, Cells] = {}
    for side, raw in sides.items():
        assert raw.codes is not None
        table = np.array([*(place[label] for label in raw.labels), len(labels)], dtype=np.int32)
        cells[side] = Cells(table[raw.codes], unreadable=raw.unreadable)
    return PairedColumn(name, "category", labels, cells, facts=declared)


def _common_labels(
    sides: Mapping[Side, _Raw], declared: Column | None
) -> tuple[tuple[str, ...], dict[str, int]]:
    """The labels of all codes, and the code of each label of a side: declared ones, then real ones, then
    strange ones.

    The `MOST` commonest real labels have codes of their own, the others share one; so do strange ones when
    there are more than `STRANGE`. That bounds the size of every table of counts.
    """
    first: tuple[str, ...] = ()
    if isinstance(declared, Bool | Categorical):
        first = declared.values or ()
    real = sides["real"]
    assert real.codes is not None
    counts = np.bincount(real.codes[real.codes >= 0], minlength=len(real.labels))
    seen = {label: int(count) for label, count in zip(real.labels, counts, strict=True) if count}
    common = sorted(seen, key=lambda label: -seen[label])[:MOST]
    kept = [*first, *sorted(set(common) - set(first), key=_order)]
    place = {label: code for code, label in enumerate(kept)}
    strange = {label for raw in sides.values() for label in raw.labels} - set(seen) - set(place)
    for rest, limit, words in (
        (set(seen) - set(place), 0, "rarer values"),
        (strange, STRANGE, "values that the real table does not have"),
    ):
        if len(rest) > limit:
            place |= dict.fromkeys(rest, len(kept))
            kept.append(f"({len(rest)} {words})")
        else:
            place |= {label: len(kept) + number for number, label in enumerate(sorted(rest, key=_order))}
            kept += sorted(rest, key=_order)
    return tuple(kept), place


def _order(label: str) -> tuple[int, float, str]:
    try:
        number = float(label)
    except ValueError:
        return 1, 0.0, label
    return (0, number, label) if number == number else (1, 0.0, label)


def _number_column(
    name: str, sort: Sort, sides: Mapping[Side, _Raw], declared: Column | None
) -> PairedColumn:
    reader = sort.reader
    real = _values(sides["real"])
    finite = real[np.abs(real) < LARGEST]
    integral = bool((finite == np.rint(finite)).all())
    spell = _speller(reader, whole=integral)
    edges = edges_of(finite)
    codes = {side: raw_codes(_values(raw), edges) for side, raw in sides.items()}
    valued = {side: ~raw.missing & ~np.isnan(_values(raw)) for side, raw in sides.items()}
    used = np.unique(np.concatenate([codes[side][valued[side]] for side in sides]))
    labels = bin_labels(edges, used.tolist(), spell)
    specials = tuple(reader.special_codes) if isinstance(reader, Measured) else sort.codes
    table = np.zeros(len(edges) + 1, dtype=np.int32)
    table[used] = np.arange(used.size)
    missing, cells = len(labels) + len(specials), {}
    for side, raw in sides.items():
        found = np.where(valued[side], table[codes[side]], np.int32(missing))
        if raw.atoms is not None:
            found = np.where(raw.atoms >= 0, len(labels) + raw.atoms, found).astype(np.int32)
        values = _values(raw)
        usual = np.abs(values) < LARGEST  # False for NaN
        cells[side] = Cells(
            found, values if usual.all() else np.where(usual, values, np.nan), unreadable=raw.unreadable
        )
    return PairedColumn(
        name, "number", (*labels, *(f"code {code}" for code in specials)), cells,
        bins=len(labels), integral=integral, facts=declared, spell=spell,
    )  # fmt: skip


def _values(raw: _Raw) -> np.ndarray:
    assert raw.values is not None
    return raw.values


def _speller(reader: Column | None, *, whole: bool) -> Callable[[float], str]:
    """How numbers of a column are written; `whole`: the real ones are whole."""
    if not isinstance(reader, Date | Datetime | Duration | Int | Float):
        return "{:.15g}".format if whole else "{:.6g}".format
    if isinstance(reader, Int | Float):
        return "{:.10g}".format
    scale = units_scale(reader)

    def spell(value: float) -> str:
        low, high = reader.unit_limits
        unit = int(min(max(round(value * scale), low), high))
        return reader.write(np.array([unit], dtype=np.int64))[0]

    return spell

"""What all typed tables share: flat columns, blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from sfumato.errors import Fault, HeaderError, InputError
from sfumato.tables.names import check_names, same_but_for_case
from sfumato.tables.restore import ANYTHING
from sfumato.tables.source import Source, SourceColumn, block_dtype, storage_word
from sfumato.tables.texts import as_text

_CELLS = 1 << 21

# What polars raises for data it cannot read, besides plain faults of this program.
READ_FAILURES: tuple[type[BaseException], ...] = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    ValueError,
    TypeError,
)


def block_rows(columns: int, *, cells: int = _CELLS) -> int:
    """How many rows a block of so many columns has: about `cells` cells, within limits."""
    return max(1 << 12, min(1 << 20, cells // max(columns, 1)))


def flat_columns(
    schema: Mapping[str, pl.DataType], label: str, *, mend: str
) -> tuple[tuple[SourceColumn, ...], tuple[str, ...]]:
    """The columns of a table with polars types, and notes about their names.

    Raises HeaderError for names, InputError for columns that hold more than one value a cell.
    """
    names = check_names(list(schema), label, mend=mend)
    words = {name: storage_word(dtype) for name, dtype in schema.items()}
    refuse_nested({name: type(schema[name]).__name__ for name, word in words.items() if word is None}, label)
    if not names:
        raise InputError(f"{label} has no columns")
    columns = tuple(
        SourceColumn(name, block_dtype(dtype), storage=words[name] or "") for name, dtype in schema.items()
    )
    return columns, tuple(same_but_for_case(names))


def refuse_nested(found: Mapping[str, str], label: str) -> None:
    """Raise one error for all columns (name -> type) whose cells are not single values."""
    if not found:
        return
    mend = "leave it out, or turn it into columns of single values"
    faults = [
        Fault(f"column {name!r}", f"cells of type {kind} are not single values", mend)
        for name, kind in found.items()
    ]
    raise HeaderError(label, faults)


def check_cells(source: Source) -> None:
    """One pass that raises InputError, naming the column, where reading raises anything.

    For tables whose cells are turned from Python objects, which may do as they like.
    """
    for column in source.columns:
        try:
            for _ in source.blocks([column.name]):
                pass
        except (InputError, MemoryError):
            raise
        except ANYTHING:  # its message may quote a cell
            raise InputError(
                f"{source.label}: column {column.name!r} holds something that cannot be read",
                mend="turn it into numbers, texts or dates",
            ) from None


def as_blocks(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every column in its block type."""
    changed = [column for column in frame if block_dtype(column.dtype) != column.dtype]
    return frame.with_columns(
        column.cast(pl.Float32) if column.dtype == pl.Float16 else as_text(column) for column in changed
    )


def frame_blocks(frame: pl.DataFrame, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    """Blocks of a frame in memory."""
    chosen = frame if columns is None else frame.select(pl.col(name) for name in columns)
    for block in chosen.iter_slices(block_rows(chosen.width)):
        yield as_blocks(block)

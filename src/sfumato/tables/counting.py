"""Rows into tables of counts: the only thing that is computed from private rows.

A pass over the source encodes each needed column once and counts every table that was asked for, block
by block, in small unsigned codes. Codes are kept for later passes while they fit. The counts are exact
and do not depend on how the rows are cut or what was kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.domain.encoder import Encoder, code_dtype
from sfumato.errors import InputError, JobError
from sfumato.tables.codes import CHUNK, CodeCache, CodeColumn, Codes
from sfumato.tables.cover import cover
from sfumato.tables.source import Source

if TYPE_CHECKING:
    import polars as pl


Counts = npt.NDArray[np.int64]
Clique = tuple[Encoder, ...]


class Limiter(Protocol):
    """Which rows of a source count: the same ones in every pass."""

    @property
    def source(self) -> Any: ...

    @property
    def rows(self) -> int: ...

    def mask(self, start: int, stop: int) -> pl.Series: ...


TABLE_BYTES = 1 << 29
_GRAM_ROWS = 1 << 13
_FEW_PLACES = 64
_DISTINCT_ROWS = 1 << 20
_SMALL_INTEGERS = {"Int8": 8, "UInt8": 8, "Int16": 16, "UInt16": 16}


class BlockCounter:
    """Counts over the rows of a source.

    keep_bytes: memory for codes kept between passes. limiter: leaves out rows beyond the allowed number
    of each person (see `sfumato.tables.limit`). table_bytes: memory for the count tables of one pass;
    more tables take more passes.
    """

    def __init__(
        self,
        source: Source,
        *,
        keep_bytes: int = 256 << 20,
        limiter: Limiter | None = None,
        table_bytes: int = TABLE_BYTES,
    ) -> None:
        if limiter is not None and limiter.source is not source:
            raise ValueError("the limiter belongs to another source")
        self._source = source
        self._limiter = limiter
        self._cache = CodeCache(keep_bytes)
        self._table_bytes = table_bytes

    def marginals(self, cliques: Sequence[Clique]) -> list[Counts]:
        """One table of counts for each clique, of shape (encoder sizes); `()` counts the rows.

        One pass over the source for all of them, unless the tables exceed `table_bytes`.
        Raises JobError for a table that is too large, before anything is read.
        """
        for clique in cliques:
            if len(set(clique)) != len(clique):
                raise ValueError("an encoder occurs twice in a clique")
            if 8 * _cells(clique) > self._table_bytes:
                names = ", ".join(repr(encoder.column) for encoder in clique)
                raise JobError(
                    f"the table of {names} has {_cells(clique)} cells, more than memory allows",
                    mend="use coarser grids, fewer values, or fewer columns in one table",
                )
        answers: list[Counts] = []
        for batch in self._batches(cliques):
            answers += self._count(batch)
        return answers

    def pair_tables(self, encoders: Sequence[Encoder]) -> Counts:
        """The tables of all pairs of `encoders` at once, as one symmetric matrix.

        Its rows and columns are the codes of the encoders, one after the other; block (i, j) is the table
        of encoders i and j, and block (i, i) is diagonal. Much faster than `marginals` when there are
        hundreds of columns, since it is a product of matrices. Raises JobError when it is too large.
        """
        cells = sum(encoder.size for encoder in encoders)
        if 8 * cells**2 > self._table_bytes:
            raise JobError(
                f"all pairs of {len(encoders)} columns have {cells**2} cells, more than memory allows",
                mend="use coarser grids, fewer values or fewer columns",
            )
        ends = np.cumsum([encoder.size for encoder in encoders])
        found = np.zeros((cells, cells), np.int64)
        for codes, rows in self._codes(list(encoders)):
            for start in range(0, rows, _GRAM_ROWS):
                stop = min(start + _GRAM_ROWS, rows)
                # 0 and 1 in float32: sums of fewer than 2**24 products are exact.
                ones = np.zeros((stop - start, cells), np.float32)
                for encoder, end in zip(encoders, ends, strict=True):
                    ones[
                        np.arange(stop - start),
                        end - encoder.size + codes[encoder][start:stop].astype(np.int64),
                    ] = 1
                found += (ones.T @ ones).astype(np.int64)
        return found

    def pair_sums(
        self, encoders: Sequence[Encoder], groups: Sequence[Counts], values: Sequence[Counts]
    ) -> Counts:
        """Sums over the rows of values[i, j][groups[i][code], groups[j][code]] for all i < j, in the order of
        `combinations`; integers throughout.
        """
        pairs = list(combinations(range(len(encoders)), 2))
        found = np.zeros(len(pairs), np.int64)
        for codes, _ in self._codes(list(encoders)):
            held = [group.take(codes[encoder]) for encoder, group in zip(encoders, groups, strict=True)]
            for place, ((i, j), table) in enumerate(zip(pairs, values, strict=True)):
                index = held[i] * table.shape[1] + held[j]
                found[place] += table.reshape(-1).take(index).sum(dtype=np.int64)
        return found

    def value_counts(self, columns: Sequence[str], *, max_length: int = 256) -> list[dict[str, int]]:
        """How often each text occurs in each column, sorted by text.

        Values of typed columns are taken as polars spells them; missing values and texts of more than
        `max_length` characters are left out.
        """
        from sfumato.tables.values import TextCounts

        found = {name: TextCounts(max_length) for name in columns}
        if found:
            for block in self._blocks(list(found)):
                for name, counts in found.items():
                    counts.add(block.get_column(name))
        return [found[name].result() for name in columns]

    def records(
        self, encoders: Sequence[Encoder], places: Sequence[int] | None = None
    ) -> npt.NDArray[np.integer[Any]]:
        """Codes of the rows at `places` (from 0, in any order, repeats allowed), one line each; 0 at places
        beyond the last row. None: all rows, in their order; all codes are kept in memory. 32 bits where every
        code fits, else 64.

        One pass over the whole source, whatever the places are.
        """
        dtype = np.int32 if all(encoder.size <= 1 << 31 for encoder in encoders) else np.int64
        if places is None:
            pieces = self._lines(encoders, dtype) if encoders else ()
            return np.concatenate([np.zeros((0, len(encoders)), dtype), *pieces])
        wanted = np.asarray(places, dtype=np.int64)
        rows, seen = self._rows_at(list(dict.fromkeys(encoder.column for encoder in encoders)), wanted)
        if rows is None:
            return np.zeros((wanted.size, len(encoders)), dtype)
        codes = [np.asarray(each.encode(rows.get_column(each.column)), dtype) for each in encoders]
        return np.where(seen[:, None], np.stack(codes, axis=1), dtype(0))

    def cells(self, encoders: Sequence[Encoder]) -> tuple[Counts, Counts]:
        """Combinations of codes that occur, one line each in rising order, and how often: a table of counts
        without its empty cells. Memory grows with the number of different rows, not with the number of cells.
        """
        sizes = tuple(encoder.size for encoder in encoders)
        if math.prod(sizes) <= _DISTINCT_ROWS:
            (table,) = self.marginals([tuple(encoders)])
            flat = np.flatnonzero(table)
            return np.stack(np.unravel_index(flat, sizes), axis=1).astype(np.int64), table.reshape(-1)[flat]
        lines, counts = np.zeros((0, len(encoders)), np.int64), np.zeros(0, np.int64)
        waiting: list[npt.NDArray[np.int64]] = []
        held = 0
        for piece in self._lines(encoders, np.int64):
            waiting.append(piece)
            held += piece.shape[0]
            if held > max(_DISTINCT_ROWS, lines.shape[0]):
                lines, counts = _merged(lines, counts, waiting, encoders)
                waiting, held = [], 0
        return _merged(lines, counts, waiting, encoders)

    def _lines(self, encoders: Sequence[Encoder], dtype: type[Any]) -> Iterator[npt.NDArray[Any]]:
        """Codes of all rows, one line each, at most CHUNK at a time."""
        for codes, _ in self._codes(list(encoders)):
            yield np.stack([codes[encoder].astype(dtype) for encoder in encoders], axis=1)

    def _rows_at(
        self, columns: list[str], wanted: npt.NDArray[np.int64]
    ) -> tuple[pl.DataFrame | None, npt.NDArray[np.bool_]]:
        """A row for each wanted place, and whether it is that row: any other one stands in for places beyond
        the last; None where there is no row at all.
        """
        import polars as pl

        few = wanted.size <= _FEW_PLACES
        at, seen = np.zeros(wanted.size, np.int64), np.zeros(wanted.size, bool)
        picked: list[pl.DataFrame] = []
        start = held = 0
        for block in self._blocks(columns):
            here = (wanted >= start) & (wanted < start + block.height)
            # As many rows are taken from every block; those that nobody asked for are thrown away.
            taken = np.where(here, wanted - start, 0) if few else wanted[here] - start
            at = np.where(here, held + (np.arange(wanted.size) if few else np.cumsum(here) - 1), at)
            seen |= here
            picked.append(block[taken])
            held += taken.size
            start += block.height
        return (pl.concat(picked)[at] if held else None), seen

    def _batches(self, cliques: Sequence[Clique]) -> Iterator[list[Clique]]:
        batch: list[Clique] = []
        used = 0
        for clique in cliques:
            need = 8 * _cells(clique)
            if batch and used + need > self._table_bytes:
                yield batch
                batch, used = [], 0
            batch.append(clique)
            used += need
        if batch:
            yield batch

    def _count(self, cliques: Sequence[Clique]) -> list[Counts]:
        sizes = {encoder: encoder.size for clique in cliques for encoder in clique}
        sources = cover([frozenset(clique) for clique in cliques], sizes)
        order = {encoder: place for place, encoder in enumerate(sizes)}
        tables = [
            _Table(tuple(sorted(members, key=order.__getitem__)))
            for members in dict.fromkeys(sources.values())
        ]
        for codes, rows in self._codes(list(sizes)):
            wide: dict[tuple[Encoder, Any], npt.NDArray[Any]] = {}
            for table in tables:
                table.add(codes, rows, wide)
        by_members = {frozenset(table.encoders): table for table in tables}
        return [by_members[sources[frozenset(clique)]].marginal(clique) for clique in cliques]

    def _codes(self, encoders: Sequence[Encoder]) -> Iterator[tuple[dict[Encoder, Codes], int]]:
        """Aligned codes of all encoders for at most CHUNK rows at a time."""
        missing = [encoder for encoder in encoders if encoder not in self._cache]
        kept = {encoder: self._cache[encoder] for encoder in encoders if encoder in self._cache}
        if kept and not missing:
            rows = next(iter(kept.values())).rows
            for start in range(0, rows, CHUNK):
                stop = min(start + CHUNK, rows)
                yield {encoder: column.rows_of(start, stop) for encoder, column in kept.items()}, stop - start
            return
        recorder = _Recorder(self._cache, missing, set(encoders))
        names = list(dict.fromkeys(encoder.column for encoder in missing))
        start = 0
        for block in self._blocks(names or [self._source.columns[0].name]):
            fresh = {encoder: _encode(encoder, block) for encoder in missing}
            recorder.add(fresh, block.height)
            for low, high in _pieces(start, start + block.height):
                piece = {encoder: codes[low - start : high - start] for encoder, codes in fresh.items()}
                try:
                    piece |= {encoder: column.rows_of(low, high) for encoder, column in kept.items()}
                except IndexError:
                    raise InputError(f"{self._source.label} changed while it was being read") from None
                yield piece, high - low
            start += block.height
        if any(column.rows != start for column in kept.values()):
            raise InputError(f"{self._source.label} changed while it was being read")
        recorder.finish()

    def _blocks(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        """The rows that count: those of the source that the limiter keeps."""
        start = 0
        for block in self._source.blocks(columns):
            stop = start + block.height
            if self._limiter is not None:
                block = block.filter(self._limiter.mask(start, stop))
            start = stop
            if block.height:
                yield block
        if self._limiter is not None and start != self._limiter.rows:
            raise InputError(f"{self._source.label} changed while it was being read")


def _merged(
    lines: Counts, counts: Counts, fresh: Sequence[Counts], encoders: Sequence[Encoder]
) -> tuple[Counts, Counts]:
    """Different lines and their counts, with those of more rows added."""
    every = np.concatenate([lines, *fresh])
    weights = np.concatenate([counts, *(np.ones(part.shape[0], np.int64) for part in fresh)])
    sizes = tuple(encoder.size for encoder in encoders)
    small = math.prod(sizes) < 1 << 62
    keys = np.ravel_multi_index(tuple(every.T), sizes) if small else every
    _, first, group = np.unique(keys, return_index=True, return_inverse=True, axis=0)
    found = np.zeros(first.size, np.int64)
    np.add.at(found, group.reshape(-1), weights)
    return every[first], found


class _Recorder:
    """Keeps the codes of a pass while they fit; an encoder's column is kept whole or not at all."""

    def __init__(self, cache: CodeCache, encoders: Sequence[Encoder], needed: set[Encoder]) -> None:
        self._cache = cache
        self._needed = needed
        self._columns = {encoder: CodeColumn(encoder.size) for encoder in encoders}
        self._reserved = 0

    def add(self, codes: dict[Encoder, Codes], rows: int) -> None:
        while self._columns and not self._room(rows):
            widest = max(self._columns, key=lambda encoder: self._columns[encoder].nbytes)
            del self._columns[widest]
        for encoder, column in self._columns.items():
            column.append(codes[encoder])

    def _room(self, rows: int) -> bool:
        """Whether the columns may grow by so many rows (asked of the cache in steps of whole chunks)."""
        wanted = 0
        for encoder, column in self._columns.items():
            chunks = -(-(column.rows + rows) // CHUNK)
            wanted += chunks * CHUNK * np.dtype(code_dtype(encoder.size)).itemsize
        if wanted <= self._reserved:
            return True
        if not self._cache.make_room(wanted, keep=self._needed):
            return False
        self._reserved = wanted
        return True

    def finish(self) -> None:
        self._cache.put(dict(self._columns))


class _Table:
    """The joint counts of some encoders, filled piece by piece."""

    def __init__(self, encoders: Clique) -> None:
        self.encoders = encoders
        self._axes = {encoder: axis for axis, encoder in enumerate(encoders)}
        self._cells = _cells(encoders)
        self._counts = np.zeros(self._cells, np.int64)
        self._index_dtype = np.uint16 if self._cells < 1 << 16 else np.int64

    def add(
        self, codes: dict[Encoder, Codes], rows: int, wide: dict[tuple[Encoder, Any], npt.NDArray[Any]]
    ) -> None:
        """Count a piece; `wide` shares the widened codes of the piece between tables."""
        if not self.encoders:
            self._counts[0] += rows
            return
        index = self._wide(self.encoders[0], codes, wide)
        if len(self.encoders) > 1:
            index = index.copy()
        for encoder in self.encoders[1:]:
            np.multiply(index, self._index_dtype(encoder.size), out=index)
            np.add(index, self._wide(encoder, codes, wide), out=index)
        if self._cells <= 4 * rows or self._cells <= 1 << 16:
            self._counts += np.bincount(index, minlength=self._cells)
        else:
            np.add.at(self._counts, index, 1)

    def _wide(
        self, encoder: Encoder, codes: dict[Encoder, Codes], wide: dict[tuple[Encoder, Any], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        key = (encoder, self._index_dtype)
        if key not in wide:
            wide[key] = codes[encoder].astype(self._index_dtype)
        return wide[key]

    def marginal(self, clique: Clique) -> Counts:
        """The counts summed down to `clique`, axes in its order."""
        shape = tuple(encoder.size for encoder in self.encoders)
        axes = [self._axes[encoder] for encoder in clique]
        rest = tuple(set(range(len(shape))) - set(axes))
        summed = self._counts.reshape(shape).sum(axis=rest, dtype=np.int64)
        left = sorted(axes)
        return np.array(summed.transpose([left.index(axis) for axis in axes]), order="C")


def _cells(clique: Clique) -> int:
    return math.prod(encoder.size for encoder in clique)


def _encode(encoder: Encoder, block: pl.DataFrame) -> Codes:
    series = block.get_column(encoder.column)
    bits = _SMALL_INTEGERS.get(str(series.dtype))
    if bits is not None and block.height > 1 << bits and not series.null_count():
        # An encoder works row by row, so the codes of all possible values settle those of the rows.
        values = series.to_numpy()
        return np.take(_codes_of_all(encoder, str(series.dtype)), values.view(f"u{bits // 8}"))
    codes = np.asarray(encoder.encode(series))
    if codes.shape != (block.height,) or (codes.size and not 0 <= codes.min() <= codes.max() < encoder.size):
        raise RuntimeError(f"the encoder of {encoder.column!r} gave codes outside its range")
    return codes.astype(code_dtype(encoder.size), copy=False)


@lru_cache(maxsize=1024)
def _codes_of_all(encoder: Encoder, dtype: str) -> Codes:
    """Codes of all values of a small integer type, by bit pattern."""
    import polars as pl

    bits = _SMALL_INTEGERS[dtype]
    patterns = np.arange(1 << bits, dtype=f"u{bits // 8}")
    values = patterns.view(dtype.lower())
    return _encode(encoder, pl.DataFrame({encoder.column: values}))


def _pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Row ranges that do not cross a chunk border."""
    while start < stop:
        border = min((start // CHUNK + 1) * CHUNK, stop)
        yield start, border
        start = border

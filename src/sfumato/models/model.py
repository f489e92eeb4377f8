"""A fitted model: released numbers, the schema, and the ledger. It can draw rows, be saved and be checked;
it holds no row.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen

from sfumato.domain.codecs import Codec
from sfumato.domain.kinds.identifier import Id
from sfumato.domain.shapes import show
from sfumato.errors import KeySpaceError, UsageError
from sfumato.privacy.ledger import Ledger
from sfumato.privacy.mechanisms.base import Answer
from sfumato.privacy.statement import Statement, statement_of
from sfumato.scalars import plain
from sfumato.schema import Schema
from sfumato.synthesizers.recipe import Generator

if TYPE_CHECKING:
    import polars as pl

    from sfumato.domain.stored import Stored

CHUNK = 1 << 18
"""Rows that are drawn and decoded at a time."""


@frozen(kw_only=True, eq=False, repr=False)
class Model:
    """What a fit returns. It cannot be unfitted, and nothing in it is private."""

    method: str
    options: dict[str, Any]
    schema: Schema
    stored: tuple[Stored, ...]
    """Name and storage of every column of the input, in order."""
    codecs: tuple[Codec, ...]
    generator: Generator
    ledger: Ledger
    transcript: tuple[Answer, ...]
    request: dict[str, Any]
    """What was asked: epsilon, delta, accountant, the split of the budget."""
    notes: tuple[str, ...] = ()
    """Remarks on what was found, from released numbers and public facts."""
    warnings: tuple[str, ...] = ()
    """Remarks on what looks right in the synthetic rows and is not. `sfumato.fit` warns of each."""
    void: str = ""
    """Why nothing is guaranteed (noise from a fixed seed), when that is so."""
    restore: Any = None
    """How to hand rows back in the caller's own kind; not saved."""

    def __reduce__(self) -> tuple[Any, ...]:
        # `restore` needs the caller's own library: it stays here.
        facts = {each.name: getattr(self, each.name) for each in attrs.fields(Model)}
        return _rebuild, ({**facts, "restore": None},)

    def __repr__(self) -> str:
        statement = self.statement
        return (
            f"Model(method={self.method!r}, rows={self.rows}, columns={len(self.schema.columns)}, "
            f"epsilon={statement.epsilon:.6g}, delta={statement.delta:.3g}, unit={statement.unit!r})"
        )

    @property
    def statement(self) -> Statement:
        """The guarantee, recomputed from the ledger."""
        from sfumato.privacy.unit import PrivacyUnit

        unit = PrivacyUnit(**self.ledger.unit)
        return statement_of(
            self.ledger,
            delta=self.request["delta"],
            unit=str(unit),
            void=self.void,
            leaks=self.schema.leaks(),
        )

    @property
    def rows(self) -> int:
        """Rows drawn when no number is given: the noisy row count, or the smallest key space if that is
        less.
        """
        spaces = [space for space in self._key_spaces().values() if space is not None]
        return max(1, min([round(self.generator.total), *spaces]))

    @property
    def extent(self) -> str:
        """`rows` in words: of a table, or of the records that a run released."""
        if getattr(self.generator, "records", None) is not None:
            return f"{self.rows:,} released records"
        return f"about {self.rows:,} rows (a noisy number)"

    def _key_spaces(self) -> dict[str, int | None]:
        return key_spaces(self.schema)

    def sample(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draw exactly `rows` rows (default: the noisy row count of the table).

        `seed` makes the rows repeatable; it has no part in the guarantee. `where` fixes columns to
        values: rows are drawn from the model conditioned on them, none is rejected. Returns the kind of
        table that the model was fitted on: a frame of the caller's library, or a polars frame.
        """
        import polars as pl

        frame = pl.concat(self.frames(rows, seed=seed, where=where))
        return frame if self.restore is None else self.restore(frame)

    def frames(
        self,
        rows: int | None = None,
        *,
        seed: int | None = None,
        where: Mapping[str, Any] | None = None,
        text: bool = False,
    ) -> Iterator[pl.DataFrame]:
        """The same rows in chunks of bounded size; `text` spells every value as it stands in a file of
        text.
        """
        wanted = self.rows if rows is None else check_rows(rows)
        check_seed(seed)
        check_key_spaces(self.schema, wanted)
        fixed = self._conditions(where or {})
        return self._draw(wanted, np.random.default_rng(seed), fixed, text=text)

    def _draw(
        self, rows: int, rng: np.random.Generator, fixed: dict[int, Any], *, text: bool
    ) -> Iterator[pl.DataFrame]:
        """Chunks in order, made by a few threads; what is drawn does not depend on how many there are."""
        seeds = {
            facts.name: int(rng.integers(1 << 62)) for facts in self.schema.columns if not facts.modelled
        }
        starts = range(0, rows, CHUNK)
        if len(starts) == 1:
            yield self._chunk(0, rows, rng, fixed, seeds, text=text)
            return
        if (pick := getattr(self.generator, "pick", None)) is not None:
            # Records that exist once: those of all chunks are chosen together.
            whole = pick(rows, rng, where={i: mask for i, (mask, _) in fixed.items()} or None)
            for start in starts:
                part = [codes[start : start + CHUNK] for codes in whole]
                yield self._chunk(start, len(part[0]), rng, fixed, seeds, text=text, codes=part)
            return
        workers = min(4, os.cpu_count() or 1)
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[pl.DataFrame]] = deque()
            try:
                for start in starts:
                    (own,) = rng.spawn(1)
                    n = min(CHUNK, rows - start)
                    waiting.append(pool.submit(self._chunk, start, n, own, fixed, seeds, text=text))
                    if len(waiting) > workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _chunk(
        self,
        start: int,
        rows: int,
        rng: np.random.Generator,
        fixed: dict[int, Any],
        seeds: dict[str, int],
        *,
        text: bool,
        codes: list[Any] | None = None,
    ) -> pl.DataFrame:
        """Rows start … start+rows-1 of a run; `codes` where they are known."""
        import polars as pl

        index = {codec.column: i for i, codec in enumerate(self.codecs)}
        masks = {i: mask for i, (mask, _) in fixed.items()}
        if codes is None:
            codes = self.generator.sample(rows, rng, where=masks or None) if self.codecs else []
        columns: list[pl.Series] = []
        for facts, stored in zip(self.schema.columns, self.stored, strict=True):
            if facts.dropped:
                continue
            spelled = text or stored.storage == "string"
            if facts.name in index:
                i = index[facts.name]
                series = self.codecs[i].decode(codes[i], rng, text=spelled)
                if i in fixed and fixed[i][1] is not None:
                    series = fixed[i][1](rows, text=spelled)
            else:
                # The same generator state for each chunk: keys stay distinct over the whole run.
                own = np.random.default_rng(seeds[facts.name])
                series = facts.generate(rows, own, start, text=spelled)
            series = series if text else stored.like(series, facts)
            columns.append(series.alias(facts.name))
        return pl.DataFrame(columns)

    def _conditions(self, where: Mapping[str, Any]) -> dict[int, Any]:
        from sfumato.models.conditions import condition

        index = {codec.column: i for i, codec in enumerate(self.codecs)}
        found = {}
        for column, value in where.items():
            if column not in index:
                known = ", ".join(repr(name) for name in index)
                raise UsageError(
                    f"cannot fix {column!r}: it is not a modelled column", mend=f"known: {known}"
                )
            found[index[column]] = condition(self.codecs[index[column]], value)
        return found

    def save(self, path: Any, *, force: bool = False) -> None:
        """Write one safetensors file (see `sfumato.models.file`), whole or not at all."""
        from sfumato.models.file import save

        save(self, path, force=force)


def _rebuild(facts: dict[str, Any]) -> Model:
    return Model(**facts)


def check_rows(rows: Any) -> int:
    """`rows` as an int; UsageError unless it is a whole number of at least 1 that a machine can count to."""
    rows = plain(rows)
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows < 1 << 63:
        raise UsageError(f"the number of rows must be a whole number of at least 1, not {show(rows)}")
    return rows


def check_seed(seed: Any) -> None:
    """UsageError unless `seed` is a whole number of at least 0, or None."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and (not whole or seed < 0):
        raise UsageError(f"a seed must be a whole number of at least 0, not {show(seed)}")


def key_spaces(schema: Schema) -> dict[str, int | None]:
    """Number of possible keys of each column of unique identifiers; None: practically unlimited."""
    return {
        facts.name: facts.capacity() for facts in schema.columns if isinstance(facts, Id) and facts.unique
    }


def check_key_spaces(schema: Schema, rows: int) -> None:
    """KeySpaceError naming every identifier column that has fewer keys than `rows`."""
    short = {name: space for name, space in key_spaces(schema).items() if space is not None and space < rows}
    if short:
        listed = "; ".join(
            f"column {name!r} has only {space:,} possible keys" for name, space in short.items()
        )
        raise KeySpaceError(
            f"{rows:,} rows were asked for, but {listed}",
            mend=f"ask for at most {min(short.values()):,} rows, widen the pattern, or say unique = false",
        )

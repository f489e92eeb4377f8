"""Lengths of time. The unit is one step of `resolution`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from attrs import frozen

from sfumato.domain.column import kind
from sfumato.domain.measured import Measured
from sfumato.domain.reading import LIMIT, Ints, Mask, as_text, is_textual, nothing, present, to_micros
from sfumato.domain.shapes import TEXT, fact, one_of
from sfumato.domain.strftime import GRAINS

if TYPE_CHECKING:
    import polars as pl

_SPELLINGS = (
    r"^([+-]?)P(?:([0-9]+)W)?(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]{1,9}))?S)?)?$",
    r"^([+-]?)(?:([0-9]+) ?w)? ?(?:([0-9]+) ?d)? ?(?:([0-9]+) ?h)? ?(?:([0-9]+) ?m(?:in)?)? ?"
    r"(?:([0-9]+)(?:\.([0-9]{1,9}))? ?s)?$",
    r"^([+-]?)()(?:([0-9]+) days?,? )?([0-9]+):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?$",
)
_WEIGHTS = (7 * GRAINS["d"], GRAINS["d"], GRAINS["h"], GRAINS["min"], GRAINS["s"])
_DIGITS = {"us": 6, "ms": 3}


@kind("duration")
@frozen(slots=False, repr=False)
class Duration(Measured):
    """A length of time between `min` and `max`, rounded down to `resolution` (us, ms, s, min, h, d).

    Read as ISO 8601 ("PT2H30M"), short ("2h 30m", "90s") or clock ("2:30:00", "1 day 2:30:00"); written
    in ISO 8601, or as a clock when `format` is "clock". Months and years have no fixed length and are
    missing, and so is a bare number, which does not say what it counts.
    """

    storages: ClassVar[tuple[str, ...]] = ("", "string")

    format: str = fact("iso", one_of("iso", "clock"))
    min: str | None = fact(None, TEXT)
    max: str | None = fact(None, TEXT)
    resolution: str = fact("s", one_of(*GRAINS))

    @property
    def step(self) -> int:
        """Microseconds in one unit."""
        return GRAINS[self.resolution]

    @property
    def unit_limits(self) -> tuple[int, int]:
        return -LIMIT // self.step, LIMIT // self.step

    def accepts(self, dtype: pl.DataType) -> bool:
        import polars as pl

        return dtype in (pl.Duration, pl.Time) or super().accepts(dtype)

    def read(self, series: pl.Series) -> tuple[Ints, Mask]:
        import polars as pl

        if series.dtype == pl.Duration:
            micros, known = (
                to_micros(series).fill_null(0).to_numpy(),
                present(series),
            )
        elif is_textual(series) or series.dtype == pl.Time:
            micros, known = _read_texts(as_text(series))
        else:
            return nothing(len(series))
        return micros // self.step, known

    def natural(self, units: Ints) -> pl.Series:
        import polars as pl

        micros = np.clip(units, *self.unit_limits) * self.step
        return pl.Series(self.name, micros).cast(pl.Duration("us"))

    def write(self, units: Ints) -> pl.Series:
        import polars as pl

        micros = np.abs(np.clip(units, *self.unit_limits) * self.step)
        seconds, fraction = np.divmod(micros, GRAINS["s"])
        minutes, second = np.divmod(seconds, 60)
        hour, minute = np.divmod(minutes, 60)
        digits = _DIGITS.get(self.resolution, 0)
        parts = pl.DataFrame({"sign": units < 0, "h": hour, "m": minute, "s": second, "f": fraction})
        tail = (
            "." + (pl.col("f") // 10 ** (6 - digits)).cast(pl.String).str.zfill(digits)
            if digits
            else pl.lit("")
        )
        sign = pl.when("sign").then(pl.lit("-")).otherwise(pl.lit(""))
        if self.format == "clock":
            two = [pl.col(name).cast(pl.String).str.zfill(2) for name in "hms"]
            text = pl.concat_str([sign, two[0], pl.lit(":"), two[1], pl.lit(":"), two[2], tail])
            return parts.select(text.alias(self.name)).to_series()
        nothing_else = (pl.col("h") == 0) & (pl.col("m") == 0)
        shown = [
            pl.when(pl.col("h") > 0).then(pl.col("h").cast(pl.String) + "H").otherwise(pl.lit("")),
            pl.when(pl.col("m") > 0).then(pl.col("m").cast(pl.String) + "M").otherwise(pl.lit("")),
            pl.when((pl.col("s") > 0) | (pl.col("f") > 0) | nothing_else)
            .then(pl.concat_str([pl.col("s").cast(pl.String), tail, pl.lit("S")]))
            .otherwise(pl.lit("")),
        ]
        return parts.select(pl.concat_str([sign, pl.lit("PT"), *shown]).alias(self.name)).to_series()

    def advice(self) -> str:
        return 'write it as "PT2H30M", "90s" or "2:30:00"'


def _read_texts(texts: pl.Series) -> tuple[Ints, Mask]:
    micros, known = nothing(len(texts))
    for spelling in _SPELLINGS:
        left = np.flatnonzero(~known & present(texts))
        if len(left):
            micros[left], known[left] = _by_pattern(texts.gather(left).str.strip_chars(), spelling)
    return micros, known


def _by_pattern(texts: pl.Series, spelling: str) -> tuple[Ints, Mask]:
    """Microseconds of the texts that follow the pattern; every part too long for 64 bits saturates."""
    import polars as pl

    sign, *parts, fraction = texts.str.extract_groups(spelling).struct.unnest().iter_columns()
    given = [(part.str.len_bytes() > 0).fill_null(value=False).to_numpy() for part in parts]
    known = np.logical_or.reduce(given)
    micros = np.zeros(len(texts), dtype=np.int64)
    if not known.any():
        return micros, known
    for part, there, weight in zip(parts, given, _WEIGHTS, strict=True):
        if there.any():
            count = part.cast(pl.Int64, strict=False).fill_null(LIMIT).to_numpy()
            count = np.where(there, count, 0)
            more = np.where(count > LIMIT // weight, LIMIT, np.minimum(count, LIMIT // weight) * weight)
            micros = np.minimum(micros + more, LIMIT)
    if fraction.null_count() < len(fraction):
        digits = fraction.str.pad_end(6, "0").str.slice(0, 6)
        micros = micros + digits.cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    negative = (sign == "-").fill_null(value=False).to_numpy()
    return np.where(negative, -micros, micros), known

"""Drawings as numbers and paths of SVG, sized so that a page stays small.

Points and cells are joined into one path a colour: a thousand cells take a few kilobytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

Floats = npt.NDArray[np.float64]

WIDE, HIGH = 240, 110
"""Size of a histogram's inside, in units of its view box."""
SIDE = 240
"""Size of a scatter plot's inside."""
LEVELS = 10
POINTS = 600


@frozen(kw_only=True)
class Histogram:
    """Shares of one column: `fill`, `line`: paths of synthetic and real rows; `ticks`: labels along the
    bottom.
    """

    shape: str = field(default="histogram", init=False)
    title: str
    fill: str
    line: str
    ticks: tuple[tuple[float, str, str], ...]
    top: str
    summary: str


@frozen(kw_only=True)
class Matrix:
    """Numbers of pairs as squares: a path a colour level; `names` along both sides."""

    shape: str = field(default="matrix", init=False)
    title: str
    size: int
    levels: tuple[tuple[int, str], ...]
    names: tuple[str, ...]
    summary: str


@frozen(kw_only=True)
class Scatter:
    """Points of one or two series in a square; `diagonal`: whether equal values are marked by a line."""

    shape: str = field(default="scatter", init=False)
    title: str
    across: str
    up: str
    series: tuple[tuple[str, str], ...]
    """(name of a colour, path) of each series."""
    ticks: tuple[tuple[float, str], ...]
    ticks_up: tuple[tuple[float, str], ...]
    diagonal: bool
    named: tuple[tuple[float, float, str], ...] = ()
    summary: str


def histogram(
    title: str, labels: Sequence[str], real: Floats | None, synthetic: Floats, *, note: str = ""
) -> Histogram:
    """Bars of equal width for each label: synthetic rows filled, real rows as a line."""
    count = max(len(labels), 1)
    tops = [float(each.max(initial=0)) for each in (real, synthetic) if each is not None]
    top = max(*tops, 1e-9) if len(tops) > 1 else max(tops[0], 1e-9)
    step, gap = WIDE / count, min(2.0, WIDE / count / 5)
    fill = "".join(
        f"M{_n(i * step + gap / 2)} {HIGH}v{_n(-HIGH * share / top)}h{_n(step - gap)}V{HIGH}z"
        for i, share in enumerate(synthetic) if share > 0
    )  # fmt: skip
    line = ""
    if real is not None:
        line = "".join(
            f"{'M0' if not i else 'L' + _n(i * step)} {_n(HIGH - HIGH * share / top)}h{_n(step)}"
            for i, share in enumerate(real)
        )
    if count <= 6:
        ticks = tuple(
            (round((i + 0.5) * step, 1), _short(label, max(int(step / 5.6), 2)), label)
            for i, label in enumerate(labels)
        )
    else:
        ends = ((0.0, labels[0]), (float(WIDE), labels[-1]))
        ticks = tuple((at, _short(label, 18), label) for at, label in ends)
    far = "" if real is None else f"; half the sum of differences {np.abs(real - synthetic).sum() / 2:.1%}"
    return Histogram(
        title=title, fill=fill, line=line, ticks=ticks, top=f"{top:.0%}" if top >= 0.01 else f"{top:.1%}",
        summary=f"{title}: shares of {count} values or ranges{far}{'; ' + note if note else ''}",
    )  # fmt: skip


def matrix(
    title: str, names: Sequence[str], values: Floats, *, signed: bool, named: bool = True, most: float = 1.0
) -> Matrix:
    """Values between -`most` and `most` (0 and `most` when not `signed`) as shades; NaN is left blank.
    `named`: list the names below.
    """
    paths: dict[int, list[str]] = {}
    for (i, j), value in np.ndenumerate(values):
        if not math.isfinite(value):
            continue
        share = max(-1.0, min(1.0, float(value) / most))
        level = round(share * LEVELS)
        if level:
            paths.setdefault(level, []).append(f"M{j} {i}h1v1h-1z")
    known = np.abs(values[np.isfinite(values) & ~np.eye(len(names), dtype=bool)])
    largest = float(known.max()) if known.size else 0.0
    return Matrix(
        title=title,
        size=len(names),
        levels=tuple((level, "".join(parts)) for level, parts in sorted(paths.items())),
        names=tuple(names) if named else (),
        summary=f"{title}: {len(names)} columns by {len(names)}, largest {'size' if signed else 'value'} "
        f"{largest:.2f} off the diagonal",
    )


def scatter(
    title: str,
    across: str,
    up: str,
    series: Sequence[tuple[str, Floats, Floats]],
    *,
    diagonal: bool = False,
    named: Sequence[tuple[float, float, str]] = (),
    bounds: tuple[float, float, float, float] | None = None,
    seed: int = 0,
) -> Scatter:
    """At most `POINTS` points a series. With `diagonal` both axes have the same scale."""
    low_x, high_x, low_y, high_y = bounds or _bounds(series, diagonal=diagonal)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            SIDE * (min(max(x, low_x), high_x) - low_x) / (high_x - low_x),
            SIDE - SIDE * (min(max(y, low_y), high_y) - low_y) / (high_y - low_y),
        )

    rng = np.random.default_rng(seed)
    paths, counts = [], []
    for colour, xs, ys in series:
        known = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys))
        if known.size > POINTS:
            known = np.sort(rng.choice(known, POINTS, replace=False))
        spots = dict.fromkeys(tuple(map(_n, place(float(xs[i]), float(ys[i])))) for i in known)
        paths.append((colour, "".join(f"M{x} {y}h0" for x, y in spots)))
        counts.append(known.size)
    return Scatter(
        title=title,
        across=across,
        up=up,
        series=tuple(paths),
        ticks=_ticks(low_x, high_x),
        ticks_up=_ticks(low_y, high_y),
        diagonal=diagonal,
        named=tuple((round(place(x, y)[0], 1), round(place(x, y)[1], 1), name) for x, y, name in named),
        summary=f"{title}: {' and '.join(map(str, counts))} points; {up} against {across}",
    )


def _bounds(
    series: Sequence[tuple[str, Floats, Floats]], *, diagonal: bool
) -> tuple[float, float, float, float]:
    def ends(values: Floats) -> tuple[float, float]:
        values = values[np.isfinite(values)]
        if not values.size:
            return 0.0, 1.0
        low, high = float(np.quantile(values, 0.002)), float(np.quantile(values, 0.998))
        if diagonal:
            low, high = float(values.min()), float(values.max())
        pad = (high - low) * 0.04 or 0.5
        return low - pad, high + pad

    xs, ys = (np.concatenate([each[i] for each in series]) for i in (1, 2))
    if diagonal:
        low, high = ends(np.concatenate((xs, ys)))
        return low, high, low, high
    return (*ends(xs), *ends(ys))


def _ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Three or four round numbers, as places from 0 to SIDE."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 4)
    first = math.ceil(low / step)
    found = []
    for i in range(first, first + 6):
        value = i * step
        if value <= high + 1e-12:
            found.append((round(SIDE * (value - low) / (high - low), 1), f"{value:.10g}".replace("-", "−")))
    return tuple(found)


def _n(value: float) -> str:
    """A coordinate with one digit, as short as it can be."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"

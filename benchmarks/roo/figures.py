"""Line charts as SVG files: axes, grid, legend, nothing else to install."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 76, 190, 44, 56
COLOURS = (
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f", "#e377c2", "#bcbd22",
)  # fmt: skip

Line = Sequence[tuple[float, float]]


class Axis:
    """Numbers to places on the page, linear or logarithmic."""

    def __init__(self, values: Sequence[float], start: float, stop: float, *, log: bool) -> None:
        self._log = log
        kept = [value for value in values if value > 0] if log else list(values)
        low, high = min(kept), max(kept)
        if log:
            low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        self.low, self.high = low, high if high > low else low + 1
        self._start, self._stop = start, stop

    def place(self, value: float) -> float:
        if self._log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self._start + share * (self._stop - self._start)

    def ticks(self) -> list[float]:
        if self._log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(m for m in (1, 2, 2.5, 5, 10) if (self.high - self.low) / (step * m) <= 6)
        count = int((self.high - self.low) / step) + 1
        return [math.ceil(self.low / step) * step + i * step for i in range(count)]


def chart(
    path: Path,
    lines: Mapping[str, Line],
    *,
    title: str,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    notes: Sequence[tuple[float, float, str]] = (),
) -> None:
    """One chart with a line for each name. notes: texts at points."""
    points = [point for line in lines.values() for point in line]
    across = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT, log=log_x)
    up = Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP, log=log_y)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(LEFT, 24, title, size=15),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x, anchor="middle"),
        f'<g transform="rotate(-90 18 {HEIGHT / 2})">{_text(18, HEIGHT / 2, y, anchor="middle")}</g>',
    ]
    for tick in across.ticks():
        at = across.place(tick)
        if LEFT - 1 <= at <= WIDTH - RIGHT + 1:
            out.append(_rule(at, TOP, at, HEIGHT - BOTTOM))
            out.append(_text(at, HEIGHT - BOTTOM + 18, f"{tick:g}", anchor="middle"))
    for tick in up.ticks():
        at = up.place(tick)
        if TOP - 1 <= at <= HEIGHT - BOTTOM + 1:
            out.append(_rule(LEFT, at, WIDTH - RIGHT, at))
            out.append(_text(LEFT - 6, at + 4, f"{tick:g}", anchor="end"))
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        kept = [(a, b) for a, b in line if not (log_y and b <= 0)]
        path_of = " ".join(f"{across.place(a):.1f},{up.place(b):.1f}" for a, b in kept)
        dash = ' stroke-dasharray="6 3"' if number >= len(COLOURS) // 2 else ""
        out.append(f'<polyline points="{path_of}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        height = TOP + 14 + 19 * number
        out.append(f'<line x1="{WIDTH - RIGHT + 12}" x2="{WIDTH - RIGHT + 36}" y1="{height - 4}" '
                   f'y2="{height - 4}" stroke="{colour}" stroke-width="2"{dash}/>')  # fmt: skip
        out.append(_text(WIDTH - RIGHT + 42, height, name))
    for a, b, text in notes:
        at = across.place(a), up.place(b)
        out.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4" fill="black"/>')
        out.append(_text(at[0] + 8, at[1] - 6, text))
    path.write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'

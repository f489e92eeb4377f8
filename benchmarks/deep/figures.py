"""Points and bars as SVG, without any library; small files, since coordinates are rounded to a pixel's tenth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

COLOURS = ("#666666", "#d1495b", "#1b6ca8", "#66a182", "#edae49")
Points = Sequence[tuple[float, float]]
SIDE, GAP, TOP, LEFT, BOTTOM = 240, 26, 50, 54, 44


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 11, turn: int = 0) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turned}>{escape(words)}</text>'


def _write(path: Path, width: float, height: float, title: str, body: list[str]) -> None:
    width = max(width, LEFT + 7.5 * len(title))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">'
    )
    back = f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    path.write_text(
        "\n".join([head, back, _text(LEFT, 20, title, size=14), *body, "</svg>\n"]), encoding="utf-8"
    )


def _panel(
    left: float, name: str, points: Points, low: np.ndarray, high: np.ndarray, colour: str, radius: float
) -> list[str]:
    """A frame with points, its corners labelled."""
    body = [
        f'<rect x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        _text(left + SIDE / 2, TOP - 8, name, anchor="middle", size=12),
    ]
    for place in (0, 1):
        across, up = (float((low, high)[place][axis]) for axis in (0, 1))
        at = TOP + SIDE + 14
        body.append(_text(left + place * SIDE, at, f"{across:.2g}", anchor=("start", "end")[place]))
        if left == LEFT:
            body.append(_text(left - 6, TOP + SIDE - place * (SIDE - 10), f"{up:.2g}", anchor="end"))
    dots = []
    for point in points:
        x, y = (np.clip(np.asarray(point, dtype=float), low, high) - low) / (high - low)
        dots.append(f"M{left + x * SIDE:.1f} {TOP + SIDE - y * SIDE:.1f}h0")
    body.append(
        f'<path d="{"".join(dots)}" stroke="{colour}" stroke-width="{2 * radius}" stroke-linecap="round" '
        'stroke-opacity="0.6"/>'
    )
    return body


def planes(path: Path, title: str, sides: Mapping[str, Points]) -> None:
    """A panel of points for each side, all with the same axes, which leave out a hundredth at each end."""
    known = np.concatenate([np.asarray(points) for points in sides.values()])
    low, high = np.quantile(known, [0.005, 0.995], axis=0)
    body: list[str] = []
    for number, (name, points) in enumerate(sides.items()):
        left = LEFT + number * (SIDE + GAP)
        body += _panel(left, name, points, low, high, COLOURS[number % len(COLOURS)], 1.6)
    _write(path, LEFT + len(sides) * (SIDE + GAP), TOP + SIDE + BOTTOM, title, body)


def against(
    path: Path, title: str, sides: Mapping[str, Points], *, x: str, y: str, radius: float = 2.2
) -> None:
    """A panel for each side of points that lie on the diagonal where both agree."""
    known = np.concatenate([np.asarray(points) for points in sides.values()])
    low, high = (
        np.full(2, min(0.0, float(known.min()))),
        np.full(2, min(1.0, float(known.max()) * 1.02 + 1e-9)),
    )
    body = [_text(16, TOP + SIDE / 2, y, anchor="middle", turn=-90)]
    for number, (name, points) in enumerate(sides.items()):
        left = LEFT + number * (SIDE + GAP)
        body.append(f'<line x1="{left}" y1="{TOP + SIDE}" x2="{left + SIDE}" y2="{TOP}" stroke="#bbb"/>')
        body += _panel(left, name, points, low, high, COLOURS[1 + number % (len(COLOURS) - 1)], radius)
        body.append(_text(left + SIDE / 2, TOP + SIDE + 30, x, anchor="middle"))
    _write(path, LEFT + len(sides) * (SIDE + GAP), TOP + SIDE + BOTTOM, title, body)


def histograms(path: Path, title: str, columns: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """A small panel of bars for each column, the sides of each bar next to each other."""
    wide, high, across = 230, 110, 3
    rows = -(-len(columns) // across)
    names = list(next(iter(columns.values())))
    body = []
    for number, name in enumerate(names):
        at = LEFT + 130 * number
        body.append(f'<rect x="{at}" y="30" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        body.append(_text(at + 15, 39, name))
    for number, (column, sides) in enumerate(columns.items()):
        left, top = LEFT + (number % across) * (wide + GAP), TOP + 20 + (number // across) * (high + 36)
        most = max(max(values) for values in sides.values()) or 1.0
        count = len(next(iter(sides.values())))
        step = wide / count
        body.append(_text(left + wide / 2, top - 4, f"{column} (to {most:.2g})", anchor="middle"))
        body.append(
            f'<line x1="{left}" x2="{left + wide}" y1="{top + high}" y2="{top + high}" stroke="#999"/>'
        )
        for side, values in enumerate(sides.values()):
            bar = 0.9 * step / len(sides)
            drawn = "".join(
                f"M{left + place * step + (side + 0.5) * bar:.1f} {top + high}v-{value / most * high:.1f}"
                for place, value in enumerate(values)
                if value > 0
            )
            colour = COLOURS[side % len(COLOURS)]
            body.append(f'<path d="{drawn}" stroke="{colour}" stroke-width="{bar:.1f}"/>')
    _write(path, LEFT + across * (wide + GAP), TOP + 20 + rows * (high + 36), title, body)

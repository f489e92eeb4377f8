"""Bars and lines as SVG, without any library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#6a4c93", "#8d99ae", "#2e4057")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 380, 64, 40, 170, 70


def _frame(title: str, body: list[str], low: float, high: float, y_label: str) -> str:
    inner = HEIGHT - TOP - BOTTOM
    marks = []
    for value in np.linspace(low, high, 6):
        y = HEIGHT - BOTTOM - (value - low) / (high - low) * inner
        marks.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        marks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
    words = [
        f'<text x="{LEFT}" y="20" font-size="14">{title}</text>',
        f'<text x="14" y="{HEIGHT / 2}" transform="rotate(-90 14 {HEIGHT / 2})" text-anchor="middle">{y_label}</text>',
    ]
    return "\n".join([head, *words, *marks, *body, "</svg>\n"])


def _legend(names: Sequence[str]) -> list[str]:
    lines = []
    for number, name in enumerate(names):
        y, colour = TOP + 16 * number, COLOURS[number % len(COLOURS)]
        lines.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{y}" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="{WIDTH - RIGHT + 27}" y="{y + 9}">{name}</text>')
    return lines


def bars(
    path: Path, title: str, groups: Sequence[str], series: Mapping[str, Sequence[float]], y_label: str
) -> None:
    """One group of bars for each of `groups`, one bar for each of `series`."""
    values = np.array([list(each) for each in series.values()], dtype=np.float64)
    low, high = min(0.0, float(values.min())), max(float(values.max()) * 1.05, 1e-9)
    inner, step = HEIGHT - TOP - BOTTOM, (WIDTH - LEFT - RIGHT) / len(groups)
    wide = 0.8 * step / len(values)
    body = _legend(list(series))
    zero = HEIGHT - BOTTOM + low / (high - low) * inner
    for place, group in enumerate(groups):
        x = LEFT + place * step + 0.1 * step
        for number, row in enumerate(values):
            top = HEIGHT - BOTTOM - (row[place] - low) / (high - low) * inner
            colour = COLOURS[number % len(COLOURS)]
            body.append(
                f'<rect x="{x + number * wide:.1f}" y="{min(top, zero):.1f}" width="{wide:.1f}" '
                f'height="{abs(zero - top):.1f}" fill="{colour}"/>'
            )
        at = x + 0.4 * step
        body.append(
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}" transform="rotate(25 {at:.1f} {HEIGHT - BOTTOM + 14})">{group}</text>'
        )
    path.write_text(_frame(title, body, low, high, y_label))


def lines(
    path: Path,
    title: str,
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
) -> None:
    """One line for each of `series`, markers at x."""
    values = np.array([list(each) for each in series.values()], dtype=np.float64)
    low, high = min(0.0, float(values.min())), max(float(values.max()) * 1.05, 1e-9)
    inner, wide = HEIGHT - TOP - BOTTOM, WIDTH - LEFT - RIGHT
    across = [LEFT + (value - min(x)) / max(max(x) - min(x), 1e-9) * wide for value in x]
    body = _legend(list(series))
    for number, row in enumerate(values):
        colour = COLOURS[number % len(COLOURS)]
        down = [HEIGHT - BOTTOM - (value - low) / (high - low) * inner for value in row]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
            for a, b in zip(across, down, strict=True)
        ]
    for value, at in zip(x, across, strict=True):
        body.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{value:g}</text>')
    body.append(
        f'<text x="{LEFT + wide / 2}" y="{HEIGHT - BOTTOM + 32}" text-anchor="middle">{x_label}</text>'
    )
    path.write_text(_frame(title, body, low, high, y_label))

"""The page of a sweep: one HTML file without scripts or anything from elsewhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.sweeps.compare import lower_is_better

if TYPE_CHECKING:
    from sfumato.sweeps.result import Average, SweepResult

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 300, 60, 16, 16, 40
COLOURS = ("#0b6e99", "#b5482a", "#4f7a28", "#7a4fa3", "#8a6d00", "#444444")

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color:
#222; } table { border-collapse: collapse; font-size: .85rem; width: 100%; } th, td { text-align: right;
# padding: .25rem .5rem; border-bottom: 1px solid #ddd; } th:first-child, td:first-child { text-align: left; }
.notice { border-left: 4px solid #b5482a; background: #fbeee9; padding: .6rem 1rem; }
.advice { border-left: 4px solid #4f7a28; background: #eff5e9; padding: .6rem 1rem; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: #444; } .failed { color: #b5482a; }
</style></head><body>
<h1>{{ title }}</h1>
<p class="notice"><strong>For the curator of the table only.</strong> These numbers are computed from
{% if price.on == "standin" %}a stand-in for the private rows{% else %}private rows and are not protected{%
endif %}. {% if price.on != "standin" %}Choosing by looking is itself a release: whoever sees which epsilon
or method was chosen from this page learns something about the rows that no epsilon on this page covers. A
sweep on a stand-in has no such cost.{% endif %}</p>
<h2>Recommendation</h2>
<p class="advice">{{ advice }}</p>
<h2>Price</h2>
<p>{{ price }}</p>
<h2>Curves</h2>
{% for chart in charts %}
<h3>{{ chart.metric }} <small>({{ chart.better }} is better)</small></h3>
<svg viewBox="0 0 {{ width }} {{ height }}" role="img" aria-label="{{ chart.metric }} against epsilon">
<rect x="{{ left }}" y="{{ top }}" width="{{ width - left - right }}" height="{{ height - top - bottom }}"
 fill="none" stroke="#bbb"/>
{% for tick in chart.yticks %}<text x="{{ left - 6 }}" y="{{ tick.place + 4 }}" text-anchor="end">{{
tick.text }}</text> <line x1="{{ left }}" x2="{{ width - right }}" y1="{{ tick.place }}" y2="{{ tick.place
}}" stroke="#eee"/>{% endfor %} {% for tick in chart.xticks %}<text x="{{ tick.place }}" y="{{ height -
bottom + 18 }}" text-anchor="middle"> {{ tick.text }}</text>{% endfor %}
<text x="{{ (width + left) / 2 }}" y="{{ height - 4 }}" text-anchor="middle">epsilon (logarithmic)</text>
{% for line in chart.lines %}
<polyline points="{{ line.points }}" fill="none" stroke="{{ line.colour }}" stroke-width="2"
 {% if line.dashed %}stroke-dasharray="6 4"{% endif %}/>
{% for dot in line.dots %}<circle cx="{{ dot.x }}" cy="{{ dot.y }}" r="3.5" fill="{{ line.colour }}"/>{%
endfor %} {% endfor %}
</svg>
<p>{% for line in chart.lines %}<span style="color: {{ line.colour }}">&#9632;</span> {{ line.name }}{% if
line.dashed %} (no guarantee){% endif %} &nbsp; {% endfor %}</p>
{% endfor %}
<h2>All fits</h2>
<table><thead><tr>{% for name in header %}<th>{{ name }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}<tr{% if row.failed %} class="failed"{% endif %}>{% for cell in row.cells
%}<td>{{ cell }}</td> {% endfor %}</tr>{% endfor %}</tbody></table>
</body></html>
"""


def write_page(
    result: SweepResult, path: str | Path, *, metric: str, threshold: float | None, force: bool
) -> None:
    """Write the page of `result`, whole or not at all."""
    from jinja2 import Environment

    from sfumato.tables.output import atomic_file, check_output

    check_output(path, force=force)
    template = Environment(autoescape=True).from_string(TEMPLATE)
    text = template.render(
        title=f"Sweep of {result.label}",
        advice=result.recommendation(metric, threshold),
        price=result.price,
        charts=[_chart(result, name) for name in result.metrics if result.averages(name)],
        header=["method", "epsilon", "seed", "stated epsilon", "delta", "seconds", *result.metrics, "error"],
        rows=[_cells(row, result.metrics) for row in result.rows],
        width=WIDTH, height=HEIGHT, left=LEFT, top=TOP, right=RIGHT, bottom=BOTTOM,
    )  # fmt: skip
    with atomic_file(path, force=force) as stream:
        stream.write(text.encode())


def _cells(row: dict[str, Any], metrics: tuple[str, ...]) -> dict[str, Any]:
    values = [
        row["epsilon"],
        row["seed"],
        row.get("stated_epsilon"),
        row.get("delta"),
        row.get("fit_seconds"),
    ]
    shown = [*values, *(row["metrics"].get(name) for name in metrics)]
    return {
        "cells": [row["method"], *(_spelled(value) for value in shown), row["error"]],
        "failed": row["status"] != "done",
    }


def _spelled(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _chart(result: SweepResult, metric: str) -> dict[str, Any]:
    found = result.averages(metric)
    epsilons = sorted({each.epsilon for each in found if each.epsilon is not None}) or [1.0]
    first, last = math.log(epsilons[0]), math.log(epsilons[-1])
    values = [each.mean for each in found]
    low, high = min(values), max(values)
    pad = (high - low) * 0.08 or max(abs(high), 1e-3) * 0.1
    low, high = low - pad, high + pad

    def x(epsilon: float) -> float:
        share = (math.log(epsilon) - first) / (last - first) if last > first else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 2)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 2)

    lines = []
    for number, method in enumerate(dict.fromkeys(each.method for each in found)):
        mine = [each for each in found if each.method == method]
        dashed = all(each.epsilon is None for each in mine)
        dots = _flat(mine, y) if dashed else _rising(mine, x, y)
        lines.append(
            {
                "name": method,
                "colour": COLOURS[number % len(COLOURS)],
                "dashed": dashed,
                "points": " ".join(f"{dot['x']},{dot['y']}" for dot in dots),
                "dots": [] if dashed else dots,
            }
        )
    steps = [low + (high - low) * i / 4 for i in range(5)]
    return {
        "metric": metric,
        "better": "lower" if lower_is_better(metric) else "higher",
        "lines": lines,
        "xticks": [{"place": x(epsilon), "text": f"{epsilon:g}"} for epsilon in epsilons],
        "yticks": [{"place": y(step), "text": f"{step:.3g}"} for step in steps],
    }


def _flat(found: list[Average], y: Any) -> list[dict[str, float]]:
    return [{"x": float(place), "y": y(found[0].mean)} for place in (LEFT, WIDTH - RIGHT)]


def _rising(found: list[Average], x: Any, y: Any) -> list[dict[str, float]]:
    ordered = sorted((each.epsilon, each.mean) for each in found if each.epsilon is not None)
    return [{"x": x(epsilon), "y": y(mean)} for epsilon, mean in ordered]

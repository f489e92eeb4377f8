"""A recommendation in words: which epsilon, which measured risk, and why."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sfumato.sweeps.compare import lower_is_better

if TYPE_CHECKING:
    from sfumato.sweeps.result import Average, SweepResult

RISK = "membership_auc"
ALARM = 0.01
"""False alarms at which the worst attack is stated."""
LARGE = 10.0


def advise(result: SweepResult, metric: str, threshold: float | None) -> str:
    """What the points say; it is no more than what was measured, and says how much that is."""
    failed = [row for row in result.rows if row["status"] != "done"]
    some = f" {len(failed)} of {len(result.rows)} fits failed." if failed else ""
    chosen = result.best_tradeoff(metric, threshold)
    if chosen is None or chosen.epsilon is None:
        return _none(result, metric, threshold) + some
    low = lower_is_better(metric)
    why = (
        f"the smallest epsilon whose {metric} is {'at most' if low else 'at least'} {threshold:g}"
        if threshold is not None
        else f"the smallest epsilon whose {metric} is within 10 % of the best"
    )
    lines = [f"Take epsilon = {chosen.epsilon:g} with {chosen.method}: it is {why} ({_words(chosen)})."]
    found = [e for e in result.averages(metric) if e.method == chosen.method and e.epsilon is not None]
    smaller = [each for each in found if (each.epsilon or 0) < chosen.epsilon]
    larger = [each for each in found if (each.epsilon or 0) > chosen.epsilon]
    if smaller:
        below = max(smaller, key=lambda each: each.epsilon or 0)
        lines.append(f"At epsilon = {below.epsilon:g} it is {below.mean:.4g}.")
    if larger:
        above = min(larger, key=lambda each: each.epsilon or 0)
        lines.append(f"More privacy loss buys little: {above.mean:.4g} at epsilon = {above.epsilon:g}.")
    lines.append(_risk(result, chosen))
    if chosen.runs < 2:
        lines.append("Each point is one fit, so that chance may have decided; more seeds would tell.")
    return " ".join(lines) + some


def _risk(result: SweepResult, chosen: Average) -> str:
    """The measured risk, beside what no attack can exceed."""
    said = ""
    if RISK in result.metrics:
        seen = [
            each
            for each in result.averages(RISK)
            if (each.method, each.epsilon) == (chosen.method, chosen.epsilon)
        ]
        if seen:
            said = (
                f"Measured risk: nearness to synthetic rows told fitted rows from held-out ones with AUC "
                f"{seen[0].mean:.3f} (0.5 is chance); a weak attack, so a low value proves nothing. "
            )
    row = next(r for r in result.rows if (r["method"], r["epsilon"]) == (chosen.method, chosen.epsilon))
    most = most_found(chosen.epsilon or 0.0, row.get("delta") or 0.0)
    said += (
        f"Proven: no attack whatever finds more than {most:.1%} of those present at {ALARM:.0%} false alarms."
    )
    if (chosen.epsilon or 0) > LARGE:
        said += f" Above epsilon = {LARGE:g} published attacks succeed: take less if you can."
    return said


def most_found(epsilon: float, delta: float, alarm: float = ALARM) -> float:
    """Largest share of those present that any attack finds at a share `alarm` of false alarms.

    min(e^ε α + δ, 1 - e^-ε (1 - α - δ)) (Wasserman, Zhou 2010; Kairouz, Oh, Viswanath 2015).
    """
    factor = math.exp(min(epsilon, 700.0))
    return max(alarm, min(factor * alarm + delta, 1 - (1 - alarm - delta) / factor))


def _none(result: SweepResult, metric: str, threshold: float | None) -> str:
    found = [each for each in result.averages(metric) if each.epsilon is not None]
    if not found:
        return "No fit with a guarantee succeeded, so there is nothing to recommend."
    best = (min if lower_is_better(metric) else max)(found, key=lambda each: each.mean)
    return (
        f"No epsilon that was tried reaches {metric} = {threshold:g}. The best is {best.method} at epsilon = "
        f"{best.epsilon:g} ({_words(best)}): accept it, try a larger epsilon or another method, or declare "
        "more in the schema."
    )


def _words(each: Average) -> str:
    spread = f" ± {each.spread:.2g} over {each.runs} fits" if each.runs > 1 else ""
    return f"{each.mean:.4g}{spread}"

"""`sfumato inspect`: what a model file holds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import say, say_json, table
from sfumato.cli.options import Json


def inspect(
    model: Path,
    /,
    *,
    charges: Annotated[bool, Parameter(negative="")] = False,
    json: Json = False,
) -> None:
    """Show the guarantee, the columns and the charges of a MODEL file.

    Everything shown is released or public. mu² is the currency of Gaussian DP: shares of it add up.

    Example: sfumato inspect patients.sfumato --charges

    Parameters
    ----------
    model
        A model file.
    charges
        List every charge of the ledger, not the sum by purpose.
    """
    from sfumato.api import load
    from sfumato.models.file import manifest
    from sfumato.models.guarantees import guarantees

    fit = load(model)
    promises = guarantees(fit.ledger, delta=fit.request["delta"])
    if json:
        more = {"guarantees": [each.state() for each in promises]} if promises else {}
        say_json({**manifest(fit), **more})
        return
    say(str(fit.statement))
    for each in promises:
        say(f"{each.what}: {each.text}")
    say(f"\nmethod {fit.method}, {fit.extent}\n")
    sizes = {codec.column: codec.size for codec in fit.codecs}
    rows: list[tuple[str, ...]] = []
    for facts in fit.schema.columns:
        source = facts.source if isinstance(facts.source, str) else "mixed"
        codes = f"{sizes[facts.name]:,}" if facts.name in sizes else "not modelled"
        rows.append((facts.name, facts.kind, codes, source))
    say(table(rows, header=("column", "type", "codes", "facts from")))
    say("")
    spent: dict[str, list[float]] = {}
    prices = [entry.cost.under(fit.ledger.unit["neighbours"]).mu2 for entry in fit.ledger]
    whole = sum(mu2 for mu2 in prices if math.isfinite(mu2)) or 1.0
    for entry in fit.ledger:
        key = f"{entry.number}: {entry.purpose}" if charges else entry.purpose
        held = spent.setdefault(key, [0.0, 0.0, 0.0])
        price = entry.cost.under(fit.ledger.unit["neighbours"])
        held[0] += 1
        held[1] += price.mu2 / whole
        held[2] += price.delta
    lines: list[tuple[str, ...]] = [
        (key, f"{n:.0f}", f"{share:.1%}" if math.isfinite(share) else "infinite", f"{delta:.2g}")
        for key, (n, share, delta) in spent.items()
    ]
    say(table(lines, header=("purpose", "charges", "share of mu²", "delta")))
    for text in fit.warnings:
        say(f"WARNING: {text}")
    for text in fit.notes:
        say(f"note: {text}")

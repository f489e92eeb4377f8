"""`sfumato methods`: what can be asked for."""

from __future__ import annotations

from sfumato.cli.console import say, say_json, table
from sfumato.cli.options import Json


def methods(*, json: Json = False) -> None:
    """List the methods, their guarantees and their options (--set)."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    rows, facts = [], {}
    for name in synthesizers:
        made = synthesizers[name]
        options = {each.name: each.default for each in attrs.fields(made)}
        rows.append((name, made.guarantee, made.summary, ", ".join(f"{k}={v}" for k, v in options.items())))
        facts[name] = {"guarantee": made.guarantee, "summary": made.summary, "options": options}
    if json:
        say_json(facts)
    else:
        say(table(rows, header=("method", "guarantee", "what it is", "options (--set)")))

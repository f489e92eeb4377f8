"""`sfumato methods`: what can be asked for."""

from __future__ import annotations

from typing import Any

from sfumato.cli.console import say, say_json, table
from sfumato.cli.options import Json


def _default(option: Any) -> Any:
    import attrs

    if isinstance(option.default, attrs.Factory):  # type: ignore[arg-type]
        return option.default.factory()
    return None if option.default is attrs.NOTHING else option.default


def methods(*, json: Json = False) -> None:
    """List the methods, their guarantees and their options (--set)."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    rows, facts = [], {}
    for name in synthesizers:
        made = synthesizers[name]
        options = {each.name: _default(each) for each in attrs.fields(made)}
        shown = ", ".join(f"{key}={'none' if value is None else value}" for key, value in options.items())
        rows.append((name, made.guarantee, made.summary, shown))
        facts[name] = {"guarantee": made.guarantee, "summary": made.summary, "options": options}
    if json:
        say_json(facts)
    else:
        say(table(rows, header=("method", "guarantee", "what it is", "options (--set)")))

"""`sfumato methods`: what can be asked for."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from sfumato.cli.console import say, say_json, table
from sfumato.cli.options import Json


def _default(option: Any) -> Any:
    import attrs

    if isinstance(option.default, attrs.Factory):  # type: ignore[arg-type]
        return option.default.factory()
    return None if option.default is attrs.NOTHING else option.default


def _word(value: Any) -> str:
    """A default as --set would have it."""
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, tuple | list):
        return f"[{','.join(map(_word, value))}]"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def methods(*, json: Json = False) -> None:
    """List the methods, their guarantees and their options (--set)."""
    import attrs

    from sfumato.synthesizers.recipe import synthesizers

    rows, shown, facts = [], {}, {}
    for name in synthesizers:
        made = synthesizers[name]
        options = {each.name: _default(each) for each in attrs.fields(made)}
        shown[name] = ", ".join(f"{key}={_word(value)}" for key, value in options.items())
        rows.append((name, made.guarantee, made.summary))
        facts[name] = {"guarantee": made.guarantee, "summary": made.summary, "options": options}
    if json:
        say_json(facts)
    else:
        say(table(rows, header=("method", "guarantee", "what it is")))
        say("\nOptions (--set KEY=VALUE) and their defaults:\n")
        for name, options in shown.items():
            say(fill(options or "it has none", 100, initial_indent=f"{name}: ", subsequent_indent="    "))

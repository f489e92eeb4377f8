"""A schema as a TOML file: settings first, then a line for each column, then the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.schema.schema import Schema


def to_toml(schema: Schema) -> str:
    """TOML that reads back to an equal schema."""
    import tomlkit

    data = schema.to_dict()
    document = tomlkit.document()
    for key, value in data.items():
        if key not in ("columns", "rules", "bought"):
            document.add(key, inline(value))
    columns = tomlkit.table()
    for name, facts in data["columns"].items():
        columns.add(name, inline(facts))
    document.add("columns", columns)
    if "bought" in data:
        bought = tomlkit.table()
        for key, value in data["bought"].items():
            bought.add(key, inline(value))
        document.add("bought", bought)
    if "rules" in data:
        rules = tomlkit.aot()
        for facts in data["rules"]:
            rule = tomlkit.table()
            for key, value in facts.items():
                rule.add(key, inline(value))
            rules.append(rule)
        document.add("rules", rules)
    return tomlkit.dumps(document)


def inline(value: Any) -> Any:
    """A value for one line of TOML: tables in braces, lists in brackets."""
    import tomlkit

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for key, item in value.items():
            table.add(key, inline(item))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for item in value:
            array.append(inline(item))
        return array
    return tomlkit.item(value)

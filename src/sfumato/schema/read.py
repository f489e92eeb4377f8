"""From a schema file, or values of its shape, to a `Schema`; all faults at once, each with its path.

TOML and JSON of the same shape are read, and so is the short form in which the columns stand at the top
with nothing around them. Keys that start with "_" are notes and are ignored.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from sfumato.domain.column import Column, read_column
from sfumato.domain.shapes import show
from sfumato.errors import Fault, SchemaError
from sfumato.schema.rules import Rule, read_rule, rule_faults
from sfumato.schema.schema import Schema, Unit

LARGEST = 16 << 20
"""Bytes of the largest file that is read."""

KEYS = tuple(each.name for each in attrs.fields(Schema))


def read_schema(source: str | PathLike[str] | Mapping[str, Any] | Schema) -> Schema:
    """The schema in a file (TOML, or JSON when it is called .json or starts with a brace) or a mapping.

    SchemaError lists every fault, with paths such as `columns.age.max`.
    """
    if isinstance(source, Schema):
        return source
    if isinstance(source, Mapping):
        return from_mapping(source)
    if not isinstance(source, str | PathLike):
        what = f"is of type {type(source).__name__}: expected a path, a mapping or a Schema"
        raise SchemaError("the schema", [Fault("schema", what)])
    path = Path(source)
    title = path.name or str(path)
    try:
        if path.stat().st_size > LARGEST:
            raise SchemaError(title, [Fault("file", f"is larger than {LARGEST >> 20} MiB")])
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SchemaError(title, [Fault("file", f"cannot be read: {reason}")]) from error
    except (UnicodeDecodeError, ValueError) as error:
        raise SchemaError(title, [Fault("file", "is not text in UTF-8", "save it as UTF-8")]) from error
    as_json = path.suffix.lower() == ".json" or (path.suffix.lower() != ".toml" and text.lstrip()[:1] == "{")
    return from_json(text, title=title) if as_json else from_toml(text, title=title)


def from_toml(text: str, *, title: str = "the schema") -> Schema:
    """The schema in a TOML text."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, where = _place(str(error))
        raise SchemaError(title, [Fault(where, f"is not TOML: {what}")]) from error
    except (RecursionError, ValueError) as error:
        raise SchemaError(title, [Fault("file", "is nested too deeply or has a number too large")]) from error
    return from_mapping(data, title=title)


def _place(message: str) -> tuple[str, str]:
    found = re.search(r" \(at (line \d+, column \d+|end of document)\)$", message)
    if found is None:
        return message, "file"
    return message[: found.start()], found[1]


def from_json(text: str, *, title: str = "the schema") -> Schema:
    """The schema in a JSON text. A key that occurs twice, NaN and infinities are faults."""
    faults: list[Fault] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                faults.append(Fault("file", f"has the key {show(key)} twice in one table"))
            found[key] = value
        return found

    def refuse(word: str) -> float:
        faults.append(Fault("file", f"has {word}, which is not a number"))
        return 0.0

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaError(title, [Fault(where, f"is not JSON: {error.msg}")]) from error
    except (RecursionError, ValueError) as error:
        raise SchemaError(title, [Fault("file", "is nested too deeply or has a number too large")]) from error
    if faults:
        raise SchemaError(title, faults)
    if not isinstance(data, dict):
        raise SchemaError(title, [Fault("file", f"holds {show(data)}: expected a table")])
    return from_mapping(data, title=title)


def from_mapping(data: Mapping[str, Any], *, title: str = "the schema") -> Schema:
    """The schema in plain values, in the full or in the short form."""
    try:
        faults, schema = _build(data)
    except RecursionError:
        faults, schema = [Fault("file", "is nested too deeply")], None
    if faults or schema is None:
        raise SchemaError(title, faults)
    return schema


def _build(data: Mapping[Any, Any]) -> tuple[list[Fault], Schema | None]:
    data = {str(key): value for key, value in data.items()}
    if _is_short(data):
        data = {"columns": {key: value for key, value in data.items() if not key.startswith("_")}}
    faults = [
        Fault(key, "is not known here", _near(key))
        for key in data
        if key not in KEYS and not key.startswith("_")
    ]
    columns = _columns(data.get("columns"), faults)
    rules = _rules(data.get("rules"), faults)
    if faults:  # rules are checked where they stand, apart from those that name a faulty column
        sound = {column.name: column for column in columns}
        failed = set(map(str, _mapping(data.get("columns")))) - set(sound)
        for where, rule in rules:
            if not failed & set(rule.columns):
                faults += rule_faults(rule, where, sound)
    given = {key: data[key] for key in KEYS if data.get(key) is not None}
    given |= {"columns": columns, "unit": _unit(data.get("unit"), faults)}
    given["rules"] = [] if faults else [rule for _, rule in rules]
    if faults and not columns:  # "none is declared" would only repeat what is known
        given["undeclared"] = "draft"
    try:
        return faults, Schema(**given)
    except SchemaError as error:
        return [*faults, *error.faults], None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_short(data: Mapping[str, Any]) -> bool:
    """Whether the columns stand at the top: nothing there but tables, and no table of columns."""
    columns = data.get("columns")
    if isinstance(columns, Mapping) and not isinstance(columns.get("type"), str):
        return False
    plain = {key: value for key, value in data.items() if not key.startswith("_")}
    return bool(plain) and all(
        isinstance(value, Column) or (isinstance(value, Mapping) and (key not in KEYS or "type" in value))
        for key, value in plain.items()
    )


def _columns(data: Any, faults: list[Fault]) -> list[Column]:
    if data is None:
        return []
    if isinstance(data, list | tuple) and all(isinstance(each, Column) for each in data):
        return list(data)
    if not isinstance(data, Mapping):
        faults.append(Fault("columns", f"is {show(data)}: expected a table from column to facts"))
        return []
    found = []
    for name, facts in data.items():
        if isinstance(facts, Column):
            found.append(facts if facts.name == name else attrs.evolve(facts, name=str(name)))
            continue
        if not isinstance(facts, Mapping):
            faults.append(Fault(f"columns.{name}", f"is {show(facts)}: expected a table of facts"))
            continue
        try:
            found.append(read_column(str(name), facts))
        except SchemaError as error:
            faults.extend(error.faults)
    return found


def _rules(data: Any, faults: list[Fault]) -> list[tuple[str, Rule]]:
    if data is None:
        return []
    if not isinstance(data, list | tuple):
        faults.append(Fault("rules", f"is {show(data)}: expected a list of tables", "write [[rules]]"))
        return []
    found = []
    for place, facts in enumerate(data):
        rule = read_rule(f"rules[{place}]", facts)
        if isinstance(rule, Rule):
            found.append((f"rules[{place}]", rule))
        else:
            faults.extend(rule)
    return found


def _unit(data: Any, faults: list[Fault]) -> Any:
    if not isinstance(data, Mapping):
        return data
    known = [each.name for each in attrs.fields(Unit)]
    wrong = [key for key in data if key not in known and not str(key).startswith("_")]
    faults += [Fault(f"unit.{key}", "is not known here", f"known: {', '.join(known)}") for key in wrong]
    if "at_most" not in data:
        faults.append(Fault("unit.at_most", "is missing", "state how many rows of one person are kept"))
    return Unit(**{key: data[key] for key in known if key in data})


def _near(key: str) -> str:
    close = difflib.get_close_matches(key, KEYS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(KEYS)}"

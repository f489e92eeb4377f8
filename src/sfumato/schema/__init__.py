"""What may be known of a table without cost: columns, rules, reading, drafting and lint."""

from sfumato.schema.draft import Draft, draft_public
from sfumato.schema.lint import Note, lint
from sfumato.schema.read import from_json, from_toml, read_schema
from sfumato.schema.rules import Rule
from sfumato.schema.schema import Schema, Unit

__all__ = [
    "Draft",
    "Note",
    "Rule",
    "Schema",
    "Unit",
    "draft_public",
    "from_json",
    "from_toml",
    "lint",
    "read_schema",
]

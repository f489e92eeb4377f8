"""Lint says what its author may not have meant; a draft says what stored types alone can tell."""

import polars as pl
import pytest

from sfumato.schema import Draft, draft_public, from_toml, lint, read_schema


@pytest.mark.parametrize(
    ("column", "severity", "what"),
    [
        ({"type": "int", "min": 20190101, "max": 20231231}, "warning", "dates written YYYYMMDD"),
        ({"type": "int"}, "advice", "has no bounds"),
        ({"type": "int", "min": 0, "max": 2000}, "info", "learned from the budget"),
        ({"type": "float", "decimals": 2, "min": 0, "max": 1e9}, "advice", "100,000,000,001 distinct"),
        ({"type": "float", "decimals": 2, "min": 0, "max": 1e15}, "warning", "more digits than a float"),
        ({"type": "float", "min": 0, "max": 1}, "advice", "rounded to 6"),
        ({"type": "int", "min": 0, "max": 9, "special_codes": {"3": ""}}, "info", "inside the bounds"),
        ({"type": "categorical", "open_set": True}, "advice", "no public values"),
        ({"type": "categorical", "open_set": True, "ordered": True}, "warning", "needs values"),
        ({"type": "categorical", "values": [str(i) for i in range(1001)]}, "advice", "rare ones will drown"),
        ({"type": "categorical", "values": ["a"]}, "info", "one possible value"),
        ({"type": "id", "pattern": "[0-9]{2}"}, "advice", "only 100 keys"),
        ({"type": "text"}, "info", "left out"),
        ({"type": "datetime", "min": "2020-01-01", "max": "2021-01-01"}, "advice", "local times"),
        ({"type": "bool", "always_null": True}, "advice", "nullable = true"),
        ({"type": "bool", "not_applicable_when": "x == 1"}, "warning", "not enforced"),
        ({"type": "bool"}, "info", "never be empty"),
    ],
)
def test_what_may_not_be_meant_is_remarked(column, severity, what):
    notes = lint(read_schema({"columns": {"c": column}}))
    assert any(note.severity == severity and what in f"{note.what} {note.mend}" for note in notes), notes


def test_a_good_schema_is_left_in_peace():
    facts = {"type": "int", "min": 0, "max": 99, "nullable": True}
    assert lint(read_schema({"rows_at_most": 1000, "columns": {"c": facts}})) == ()


def test_remarks_on_the_table_as_a_whole():
    facts = {"type": "int", "min": 0, "max": 9}
    schema = read_schema(
        {
            "columns": {"Age": facts, "age": facts, " b": facts},
            "rules": [{"fixed_combinations": ["Age", "age"]}],
        }
    )
    said = " ".join(map(str, lint(schema)))
    for word in (
        "only in case",
        "ends with a blank",
        "not enforced yet",
        "lists no combinations",
        "delta defaults",
    ):
        assert word in said


def test_a_public_draft_knows_what_is_stored_and_asks_for_the_rest():
    frame = pl.DataFrame(
        schema={
            "n": pl.UInt8,
            "x": pl.Float32,
            "p": pl.Decimal(10, 2),
            "b c": pl.String,
            "flag": pl.Boolean,
            "day": pl.Date,
            "at": pl.Datetime("ns", "Europe/Paris"),
            "long": pl.Duration,
            "cat": pl.Categorical,
            "enum": pl.Enum(["secret"]),
            "blob": pl.Binary,
        }
    )
    draft = draft_public(list(frame.schema.items()), table="t")
    assert isinstance(draft, Draft) and draft.questions == ("x", "b c", "blob")
    text = draft.to_toml()
    assert from_toml(text) == draft.schema and draft.schema.undeclared == "draft"
    assert [column.kind for column in draft.settled] == (
        ["int", "float", "bool", "date", "datetime", "duration", "categorical", "categorical"]
    )
    assert draft.schema["at"].timezone == "Europe/Paris" and all(column.nullable for column in draft.settled)
    lines = text.splitlines()
    assert lines.index('p = {type = "float", nullable = true, decimals = 2}') + 1 == next(
        place for place, line in enumerate(lines) if line.startswith('# "b c" = ')
    )
    # Undeclared, so that its decimals are learned; the line may be taken in as it stands.
    (question,) = [line for line in lines if line.startswith("# x = ")]
    assert "how many decimals?" in question and from_toml("[columns]\n" + question[2:])["x"].decimals == 2
    assert "secret" not in text


def test_words_for_stored_types_are_understood_as_well():
    words = ["int", "float", "bool", "date", "datetime", "duration", "categorical", "string", "untyped"]
    draft = draft_public([(word, word) for word in words])
    assert [column.kind for column in draft.settled] == [words[0], *words[2:7]]
    assert draft.questions == ("float", "string", "untyped")
    assert from_toml(draft_public([("a", "string")]).to_toml()).columns == ()

"""Words that make no sense end with exit code 2, one message that names them, and nothing charged."""

import pytest
from tests.cli.runner import charged, left_behind, sfumato

from sfumato.cli.app import app

WRONG = [
    ((), "generate", "needs TABLE"),
    (("TABLE", "-o", "OUT"), "generate", "needs --epsilon"),
    (("TABLE", "--epsilon", "1"), "generate", "needs --output"),
    (("TABLE", "-o", "OUT", "--epsilon", "one"), "generate", "--epsilon"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--methd", "mst"), "generate", "--method"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "more"), "generate", "'more'"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--rows", "1.5"), "generate", "not a whole number"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--rows", "0"), "generate", "at least 1"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--seed", "-1"), "generate", "seed"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--insecure-noise-seed", "-1"), "generate", "seed"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--method", "mts"), "generate", "did you mean 'mst'?"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--method", "zzz"), "generate", "independent, mst"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--accountant", "rdp"), "generate", "zcdp"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--neighbours", "add"), "generate", "replace"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--decimal", ";"), "generate", "--decimal"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--delimiter", "ab"), "generate", "delimiter"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--encoding", "klingon"), "generate", "klingon"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--names", 'a,"b'), "generate", "not closed"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--names", "a,b"), "generate", "3 fields"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--unit", "who"), "generate", "'who'"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--at-most", "3"), "generate", "--unit"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--schema", "none.toml"), "generate", "none.toml"),
    (("none.csv", "-o", "OUT", "--epsilon", "1"), "generate", "none.csv"),
    (("TABLE", "-o", "OUT.xlsx", "--epsilon", "1"), "generate", "OUT.xlsx"),
    (("TABLE", "-o", "none/out.csv", "--epsilon", "1"), "generate", "no directory"),
    (("TABLE", "-o", "OUT", "--epsilon", "1", "--method", "adaptive", "--set", "target=wage"), "generate", "wage"),
    (("TABLE", "-o", "OUT", "--no-quiet", "--epsilon", "1"), "generate", "--quiet"),
    (("TABLE", "-o", "OUT", "--epsilon", "1"), "sample", "--epsilon"),
    (("TABLE",), "verify", "not a model file"),
    (("none",), "inspect", "no such file"),
    (("TABLE", "--tolerance", "-1", "--epsilon", "1"), "assert-dp", "tolerance"),
    (("TABLE",), "assert-dp", "needs --epsilon"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "command", "part"), WRONG, ids=[" ".join((c, *w)) for w, c, _ in WRONG])
def test_wrong_words(table, tmp_path, words, command, part):
    ledger = tmp_path / "ledger"
    places = {"TABLE": table, "OUT": tmp_path / "out.csv", "OUT.xlsx": tmp_path / "OUT.xlsx"}
    tail = ("--ledger", ledger, "--dataset", "visits") if command == "generate" and len(words) > 3 else ()
    ran = sfumato(command, *(places.get(word, word) for word in words), *tail)
    assert ran.code == 2 and ran.out == "" and ran.err.startswith("error: ") and part in ran.err, ran.err
    assert charged(ledger) == 0 and left_behind(tmp_path) <= {"visits.csv", "ledger"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("genrate",), 'Did you mean "generate"?'),
        (("schema", "shw"), 'Did you mean "show"?'),
        (("--verbose",), "--verbose"),
    ],
)
def test_unknown_commands(words, part):
    ran = sfumato(*words)
    assert ran.code == 2 and part in ran.err and ran.out == ""


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "inf", "1e9", "1e-9"])
def test_epsilon_must_be_a_useful_number(table, tmp_path, wrong):
    ran = sfumato("generate", table, "-o", tmp_path / "o.csv", "--epsilon", wrong)
    assert ran.code == 2 and "epsilon" in ran.err


@pytest.mark.parametrize("wrong", ["0", "-1", "1", "2", "nan", "1e-40"])
def test_delta_must_be_a_useful_number(table, tmp_path, wrong):
    ran = sfumato("generate", table, "-o", tmp_path / "o.csv", "--epsilon", 1, "--delta", wrong)
    assert ran.code == 2 and "delta" in ran.err


def test_ledger_and_dataset_go_together(table, tmp_path):
    for words, part in [(("--ledger", "x"), "needs --dataset"), (("--dataset", "x"), "needs --ledger")]:
        for head in (("generate", table, "-o", tmp_path / "o.csv"), ("fit", table, "-o", tmp_path / "o")):
            ran = sfumato(*head, "--epsilon", 1, *words)
            assert ran.code == 2 and part in ran.err
        ran = sfumato("schema", "draft", table, "--epsilon", 1, *words)
        assert ran.code == 2 and part in ran.err


def commands():
    """Every command by its words."""
    found = []
    for name in app:
        if name.startswith("-"):
            continue
        inner = (
            [each for each in app[name] if not each.startswith("-")] if name in ("schema", "ledger") else []
        )
        found += [(name, each) for each in inner] or [(name,)]
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_option_is_explained(words):
    """No option without a text, in no group of its own, and an example that runs the command."""
    ran = sfumato(*words, "--help")
    assert ran.code == 0 and ran.err == "" and "Usage: sfumato " + " ".join(words) in ran.out
    assert words == ("methods",) or "Example: sfumato " + " ".join(words) in ran.out
    assert "Exit codes" in ran.out and "[default: ]" not in ran.out and "[default: (" not in ran.out
    node = app
    for word in words:
        node = node[word]
    for argument in node.assemble_argument_collection(parse_docstring=True):
        if argument.show and not argument.children:
            assert argument.parameter.help, argument.name
            if argument.name.startswith("--"):
                assert argument.name in ran.out


@pytest.mark.parametrize("command", ["generate", "fit", "sample"])
def test_the_first_line_of_help_names_what_is_needed(command):
    text = sfumato(command, "--help").out
    first, rest = text.lstrip().split("\n", 1)
    table = "MODEL" if command == "sample" else "TABLE"
    epsilon = "" if command == "sample" else " --epsilon E"
    assert first.strip() == f"Usage: sfumato {command} {table} -o FILE{epsilon} [OPTIONS]"
    assert rest.count("Required") == (1 if command == "sample" else 2)


def test_the_first_page_lists_every_command_with_a_text():
    for words in ((), ("--help",), ("-h",)):
        ran = sfumato(*words)
        assert ran.code == 0 and ran.err == ""
        assert "Start with: sfumato generate TABLE.csv -o synthetic.csv --epsilon 1" in ran.out
        for word in {each[0] for each in commands()}:
            assert f"│ {word} " in ran.out
    assert sfumato("--version").out.count(".") == 2

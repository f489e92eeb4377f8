"""Keys: each follows its pattern, none occurs twice, and a run in pieces is the run at once."""

import itertools
import re
import uuid

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.domain.keys import FEW, ROUNDS, WORD, permute
from sfumato.domain.kinds import Id
from sfumato.domain.patterns import PatternFault, automaton
from sfumato.errors import KeySpaceError

RNG = np.random.default_rng

_atoms = st.sampled_from(["a", "b", "[ab]", "[^c-~ -`]", r"\x61", "(?:ab|b)", "(a|ab|)"])
_repeats = st.sampled_from(["", "", "?", "{2}", "{0,2}", "{1,2}", "{0}"])
_terms = st.tuples(_atoms, _repeats).map("".join)
_branches = st.lists(_terms, min_size=1, max_size=4).map("".join)
patterns = st.lists(_branches, min_size=1, max_size=2).map("|".join)


def brute(pattern):
    """Every text over {a, b} that the pattern matches, by trying them all."""
    longest = automaton(pattern).longest
    tried = ("".join(text) for size in range(longest + 1) for text in itertools.product("ab", repeat=size))
    return {text for text in tried if re.fullmatch(pattern, text)}


@given(pattern=patterns.filter(lambda pattern: automaton(pattern).longest <= 9), seed=st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_capacity_is_the_number_of_distinct_texts_and_all_of_them_are_made(pattern, seed):
    texts = brute(pattern)
    assert automaton(pattern).capacity == len(texts)
    if "" in texts:
        return
    column = Id("k", pattern=pattern)
    assert column.capacity() == len(texts)
    made = column.generate(len(texts), RNG(seed)).to_list()
    assert len(made) == len(texts) and set(made) == texts
    with pytest.raises(KeySpaceError, match="'k'"):
        column.generate(len(texts) + 1, RNG(seed))


@pytest.mark.parametrize(
    "column",
    [
        Id("k", format="uuid4"),
        Id("k", format="email"),
        Id("k", pattern="[A-Z][0-9]{2}"),
        Id("k", pattern=r"N\d{7}"),
        Id("k", pattern=r"[A-Z]{2}(-\d{1,3}|x?y?[a-z]{4})"),
        Id("k", pattern="a|[bc]?[0-9]{30}|[A-Z]{3,25}"),
        Id("k", pattern="(?:[0-9]{2}|[a-f]{2}z?){14}"),
        Id("k", pattern="[À-ÿ]{3}[^0-9]"),
        Id("k", pattern=r"[]a-]{5,9}\.[\w-]{2}"),
        Id("k", pattern=r".\s\S\W\D{2}"),
    ],
    ids=lambda column: column.format or column.pattern,
)
def test_keys_are_distinct_follow_their_pattern_and_do_not_depend_on_the_pieces(column):
    rows = min(column.capacity() or 10**9, 40_000)
    whole = column.generate(rows, RNG(7))
    assert whole.n_unique() == rows and whole.dtype == pl.String
    match = re.compile(column.expression).fullmatch
    assert all(match(text) for text in whole.to_list())
    cuts = [0, 1, rows // 3, rows]
    parts = [column.generate(b - a, RNG(7), a) for a, b in itertools.pairwise(cuts)]
    assert pl.concat(parts).to_list() == whole.to_list()
    assert column.generate(rows, RNG(8)).to_list() != whole.to_list()
    assert len(column.generate(0, RNG(7))) == 0


def test_a_uuid_has_the_bits_of_version_4_and_mail_goes_nowhere():
    made = [uuid.UUID(text) for text in Id("k", format="uuid4").generate(500, RNG(1)).to_list()]
    assert all(each.version == 4 and each.variant == uuid.RFC_4122 for each in made)
    mail = Id("k", format="email").generate(500, RNG(1))
    assert mail.str.ends_with("@example.invalid").all()


def test_letters_of_large_key_spaces_are_spread_evenly():
    made = Id("k", pattern="[0-9a-f]{32}").generate(16_000, RNG(5)).to_list()
    for place in range(32):
        counts = np.unique([text[place] for text in made], return_counts=True)[1]
        # chi square with 15 degrees of freedom; above 75 by chance once in 1e-9, over 32 places 3e-8
        assert len(counts) == 16 and ((counts - 1000) ** 2 / 1000).sum() < 75


def test_large_key_spaces_are_without_limit_and_promise_at_least_two_to_the_forty():
    assert Id("k", pattern="[0-9]{18}").capacity() == 10**18
    assert Id("k", pattern="[0-9]{19}").capacity() is None and WORD < 10**19
    assert Id("k", format="sequence").capacity() is None
    keys = Id("k", pattern="a|[0-9]{40}").keys(RNG(0))
    assert keys.at(FEW - 3, 3).n_unique() == 3
    assert Id("k", pattern="[a-c]{2}").capacity() == 9 and Id("k", pattern=".").capacity() == 95


@given(capacity=st.integers(1, 3000), seed=st.integers(0, 9))
@settings(max_examples=100, deadline=None)
def test_the_permutation_is_one(capacity, seed):
    keys = tuple(RNG(seed).integers(0, 2**63, ROUNDS).tolist())
    moved = permute(np.arange(capacity, dtype=np.uint64), capacity, keys)
    assert sorted(moved.tolist()) == list(range(capacity))


def test_keys_may_repeat_when_they_need_not_be_unique():
    column = Id("k", pattern="[AB][01]", unique=False)
    made = column.generate(4_000, RNG(2))
    counts = made.value_counts()["count"].cast(pl.Int64).to_numpy()
    # four keys with 1,000 expected each; 27 is a standard deviation, 6 of them 2e-9
    assert len(counts) == 4 and abs(counts - 1_000).max() < 6 * 27.4


def test_a_sequence_counts_from_one_and_digits_may_be_stored_as_numbers():
    assert Id("k", format="sequence").generate(2, RNG(0), 5).to_list() == [6, 7]
    assert Id("k", format="sequence").generate(2, RNG(0), text=True).to_list() == ["1", "2"]
    number = Id("k", pattern="[1-9][0-9]{5}", storage="int")
    assert number.generate(9, RNG(0)).dtype == pl.Int64
    assert number.generate(9, RNG(0), text=True).dtype == pl.String


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("a+", "'+' has no end"),
        ("a*", "'*' has no end"),
        ("a{2,}", "has no end"),
        ("a{3,2}", "backwards"),
        ("a{x}", "brace"),
        ("a{99999}", "repeats"),
        ("a??", "repeat of a repeat"),
        ("^a", "'^' is not needed"),
        ("a$", "'$' is not needed"),
        ("(?=a)", "'(?=' is not supported"),
        ("(?P<x>a)", "'(?P' is not supported"),
        (r"(a)\1", r"'\1' is not supported"),
        (r"\b", r"'\b' is not supported"),
        (r"\pL", r"'\p' is not supported"),
        ("(a", "not closed"),
        ("a)", "without its '('"),
        ("[a", "not closed"),
        ("[]", "not closed"),
        ("[z-a]", "runs backwards"),
        (r"[\d-z]", "no ends"),
        (r"[^\x20-\x7e]", "without letters"),
        ("?a", "nothing to repeat"),
        ("\\", "is not supported"),
        ("a{2000}{2000}", "repeat of a repeat"),
        ("(a{1000}){1000}", "more than 2000"),
        ("(((){2000}){2000}){2000}", "too large"),
        ("(" * 60 + "a" + ")" * 60, "nested"),
        ("(a|b){0,500}a(a|b){20}", "too large"),
        (r"[\u0001-\ud000]{50}", "too large"),
        (r"\ud800", "no text may hold"),
        (r"\x00", "no text may hold"),
    ],
)
def test_an_unsupported_construct_is_named(pattern, what):
    with pytest.raises(PatternFault) as caught:
        automaton(pattern)
    assert what in str(caught.value)

"""Whatever bytes a CSV file holds: a refusal that costs and tells nothing, or a valid model and output."""

import csv
import io
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.cli.runner import CANARY
from tests.end_to_end.hostile import attempt

FEW = settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.too_slow])

odd_bytes = st.sampled_from(
    [b",", b"\n", b"\r\n", b"\r", b'"', b'""', b";", b"\t", b"\0", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xe9",
     b"x", b"1", b"-1", b"1e999", b"NaN", b"age", b"2021-04-05", b"\x1b[31m", "\u202e".encode(), b"=1+1"]
)  # fmt: skip
soup = st.lists(odd_bytes | st.binary(max_size=6), max_size=40).map(b"".join)
heads = st.sampled_from([b"", b"x,y\n", b'x,"y\nz"\n', b"x\n", b"\xef\xbb\xbfx,y\n", b"x,y,z\r\n", b"a;b\n"])


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """Bytes with a canary somewhere after a header that may be one."""
    head = draw(heads)  # without a header what comes first is one, and names are public
    return head + draw(soup) + (CANARY.encode() if head else b"") + draw(soup)


cells = (
    st.sampled_from(["", "NA", "null", "0", "-1", "02139", "9" * 25, "1.5", "1,5", "1e999", "inf", "NaN", "yes", "TRUE",
                     "2021-04-05", "31/12/1999", "10:11:12", "=cmd|x", "a\nb", 'a"b', "x" * 300, "é", "\u2066", "\t"])
    | st.integers(-(2**70), 2**70).map(str)
    | st.floats().map(str)
    | st.dates().map(str)
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=5)
)  # fmt: skip
names = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["age", "Age", "x" * 300]
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A well-formed CSV file of any names and cells, with a canary in a cell, perhaps with one row too long."""
    width = draw(st.integers(1, 4))
    header = draw(st.lists(names, min_size=width, max_size=width))
    rows = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=8))
    rows = rows * draw(st.sampled_from([1, 3, 60]))
    rows.insert(draw(st.integers(0, len(rows))), [CANARY] * (width + draw(st.sampled_from([0, 0, 0, 1]))))
    text = io.StringIO()
    csv.writer(text, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))).writerows([header, *rows])
    return text.getvalue().encode()


def outcome(content: bytes, *words: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        table, folder = Path(place) / "visits.csv", Path(place) / "outputs"
        table.write_bytes(content)
        folder.mkdir()
        attempt(folder, table, *words, "--quiet")


@given(torn())
@example(b'x,y\n1,"' + CANARY.encode())
@example(b"x,y\n1," + CANARY.encode() + b"\n2\n")
@FEW
def test_torn_files(content):
    outcome(content)


@given(tables(), st.sampled_from([(), (), ("--header",), ("--trim",), ("--bad-rows", "drop")]))
@FEW
def test_any_table(content, words):
    outcome(content, *words)

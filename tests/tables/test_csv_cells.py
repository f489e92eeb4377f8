"""Cells of delimited text come back exactly, however the file is cut into blocks."""

import csv
import io
import itertools

import attrs
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.names import LONGEST
from sfumato.tables.source import open_source

AWKWARD = st.sampled_from(list("ab,;\"'\n\r\t é\u2028\x85\u202e𝄞\x1f"))
CELLS = st.one_of(
    st.text(AWKWARD, max_size=6), st.sampled_from(["", "NA", "None", "null", "01230", "1e999", "yes"])
)
NAMES = st.text(st.sampled_from(list('ab12,;"\n é')), min_size=1, max_size=6).filter(str.strip)


def read(
    path, chunk: int = 1 << 24, columns: list[str] | None = None, **dialect
) -> tuple[list[str], list[tuple]]:
    source = open_source(path, dialect=CsvDialect(**dialect))
    blocks = list(attrs.evolve(source, chunk=chunk).blocks(columns))
    assert all(dtype == pl.String for block in blocks for dtype in block.dtypes)
    return blocks[0].columns, [row for block in blocks for row in block.rows()]


@st.composite
def tables(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    rows = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), min_size=1, max_size=8))
    return names, rows


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    chunk=st.integers(1, 40),
    delimiter=st.sampled_from(",;\t"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
)
def test_what_the_csv_module_writes_is_read_back(
    tmp_path_factory, table, chunk, delimiter, quoting, encoding
):
    names, rows = table
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows(rows)
    path = tmp_path_factory.getbasetemp() / "round.csv"
    path.write_bytes(text.getvalue().encode(encoding))
    found, cells = read(path, chunk, delimiter=delimiter, header="yes")
    assert found == names
    assert cells == [tuple(cell or None for cell in row) for row in rows]


def strict(text: str) -> list[list[str]] | None:
    """The records of `text` by a state machine, or None when it breaks the rules."""
    records, row, cell, state = [], [], "", "start"
    if not text.endswith("\n"):
        text += "\n"
    place = 0
    while place < len(text):
        char = text[place]
        if state == "quoted":
            if char == '"':
                state = "closed"
            else:
                cell += char
        elif char == '"':
            if state == "closed":
                cell, state = cell + '"', "quoted"
            elif state == "start":
                state = "quoted"
            else:
                return None
        elif char in ",\n" or text[place : place + 2] == "\r\n":
            row.append(cell)
            if char != ",":
                if row != [""] or state == "closed":
                    records.append(row)
                row = []
            cell, state = "", "start"
            place += char == "\r"
        elif char == "\r" or state == "closed":
            return None
        else:
            cell, state = cell + char, "plain"
        place += 1
    return None if state == "quoted" else records


@settings(max_examples=300, deadline=None)
@given(body=st.text(st.sampled_from('ab,"\n\r'), min_size=1, max_size=24), chunk=st.integers(1, 30))
def test_strictness_agrees_with_a_state_machine(tmp_path_factory, body, chunk):
    path = tmp_path_factory.getbasetemp() / "strict.csv"
    path.write_bytes(b"x,y\n" + body.encode())
    expected = strict("x,y\n" + body)
    if expected is None or len(expected) < 2 or any(len(row) != 2 for row in expected):
        with pytest.raises(InputError, match=r"strict\.csv"):
            read(path, chunk, header="yes")
        return
    _, cells = read(path, chunk, header="yes")
    assert cells == [tuple(cell or None for cell in row) for row in expected[1:]]


PAD = st.sampled_from(["", " ", "  ", "\t "])


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*[st.tuples(PAD, st.text("a ,?", max_size=4), PAD, st.booleans())] * 2),
        min_size=1,
        max_size=5,
    ),
    chunk=st.integers(1, 30),
)
def test_trim_strips_blanks_around_fields_and_not_inside_quotes(tmp_path_factory, rows, chunk):
    def spelled(left, cell, right, quoted):
        return left + (f'"{cell}"' if quoted or "," in cell else cell) + right

    def meant(_left, cell, _right, quoted):
        cell = cell if quoted or "," in cell else cell.strip()
        return None if cell in ("", "?") else cell

    path = tmp_path_factory.getbasetemp() / "trim.csv"
    lines = [" x ,\ty", *(",".join(spelled(*field) for field in row) for row in rows)]
    path.write_bytes("\n".join(lines).encode())
    names, cells = read(path, chunk, trim=True, null=("?",))
    assert names == ["x", "y"]
    assert cells == [tuple(meant(*field) for field in row) for row in rows]


def test_blank_lines_are_skipped_in_tables_and_missing_in_single_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\n\r\nx,y\n\n1,2\r\n\r\n3,\n\n")
    assert read(path)[1] == [("1", "2"), ("3", None)]
    path.write_bytes(b'\nx\n1\n\n""\n2\n')
    for chunk in (1, 3, 1000):
        assert read(path, chunk)[1] == [("1",), (None,), (None,), ("2",)]


def test_null_texts_are_compared_with_the_whole_field(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\n?,NA\n"?",NA \nNAN,a?\n')
    assert read(path, null=("?", "NA"))[1] == [(None, None), (None, "NA "), ("NAN", "a?")]


def test_without_quotes_a_quote_is_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\na"b,"\n"",c\n')
    assert read(path, quote="none")[1] == [('a"b', '"'), ('""', "c")]


def test_names_can_be_given_and_columns_chosen(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"1\tx\t\n2\ty\tz\n")
    assert read(path, header="no")[0] == ["column_1", "column_2", "column_3"]
    assert read(path, header="no", names=("a", "b", "c"), columns=["c", "a"]) == (
        ["c", "a"],
        [(None, "1"), ("z", "2")],
    )
    assert read(path, header="yes", names=("a", "b", "c"))[1] == [("2", "y", "z")]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tab", "t.data", "t"])
def test_kinds_of_file_names(tmp_path, name):
    import gzip

    text = b"x,y\n1,2\n" if not name.endswith("tab") else b"x\ty\n1\t2\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert read(tmp_path / name) == (["x", "y"], [("1", "2")])


def test_rows_of_another_width_can_be_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\n1,2\n1\n"a\n,",4\n1,2,3\n5,6')
    for chunk in range(1, 30):
        assert read(path, chunk, bad_rows="drop")[1] == [("1", "2"), ("a\n,", "4"), ("5", "6")]


def test_large_blocks_with_many_quotes_and_line_breaks(tmp_path):
    row = ('say "x",\n\r\n', "", "é" * 50, "plain")
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow("abcd")
        writer.writerows(itertools.repeat(row, 30_000))
    rows = read(path, 1 << 20)[1]
    assert len(rows) == 30_000
    assert set(rows) == {(row[0], None, row[2], row[3])}


def test_the_longest_name_passes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("é" * LONGEST + ",y\n1,2\n", encoding="utf-8")
    assert read(path)[0][0] == "é" * LONGEST

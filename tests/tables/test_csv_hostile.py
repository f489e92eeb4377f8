"""Files that are not tables are refused with the place and the remedy, and without their contents."""

import gzip
import os

import pytest

from sfumato.errors import HeaderError, InputError, UsageError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.source import open_source

SECRET = b"XQSECRET"

# what the file holds, dialect, parts of the message
CASES = {
    "empty": (b"", {}, ["is empty"]),
    "only blank lines": (b"\n\n\r\n", {}, ["no header and no rows"]),
    "header only": (b"x,y\n", {}, ["a header but no rows"]),
    "header and blank lines": (b"x,y\n\n\n", {}, ["a header but no rows"]),
    "long row": (b"x,y\n1,2\n1,2,%b\n" % SECRET, {}, ["line 3", "3 fields", "header has 2 fields"]),
    "short row": (b'x,y\n"a\nb",2\n%b\n' % SECRET, {}, ["line 4", "1 field where"]),
    "every row one longer": (b"x,y\n1,2,%b\n3,4,5\n" % SECRET, {}, ["line 2", "3 fields", "index column"]),
    "unterminated quote": (b'x,y\n1,2\n1,"%b\n2,3\n' % SECRET, {}, ["line 3", "quote none", "never closed"]),
    "quote closed too early": (b'x,y\n1,"%b"z\n2,3\n' % SECRET, {}, ["line 2", "quote none"]),
    "unterminated before another": (b'x,y\n1,"%b\n2,"b"\n' % SECRET, {}, ["line 2", "quote none"]),
    "doubled quotes, then open": (b'x,y\n1,"a""b""%b\n2,3\n' % SECRET, {}, ["line 2", "never closed"]),
    "quote inside a field": (b'x,y\n1,2\n3,5"%b\n' % SECRET, {}, ["line 3", "quote none"]),
    "quotes beside semicolons": (b'x;y, z;w\n"%b";"1";"2"\n' % SECRET, {}, ["line 2", "delimiter ';'"]),
    "lone carriage return": (b"x,y\r1,%b\r" % SECRET, {}, ["line 1", "carriage return"]),
    "semicolons": (b"x;y\n1;%b\n" % SECRET, {}, ["no ','", "delimiter ';'"]),
    "tabs": (b"x\ty\n1\t%b\n" % SECRET, {}, ["delimiter tab"]),
    "wrong delimiter": (
        b"x,y,z\n1,%b,2\n" % SECRET,
        {"delimiter": ";"},
        ["one name", "3 with ','", "--delimiter ','", "--header"],
    ),
    "wrong tab": (b'"x;1";y\n1;%b\n' % SECRET, {"delimiter": "tab"}, []),
    "wrong comma": (b"x|y\n1|%b\n" % SECRET, {"delimiter": ","}, ["2 with '|'"]),
    "NUL": (b"x,y\n1,2\n%b\0,3\n" % SECRET, {}, ["line 3", "NUL"]),
    "UTF-16 without a mark": ("x,y\n1,2\n".encode("utf-16-le"), {}, ["NUL", "encoding utf-16"]),
    "latin-1 bytes": (b"x,y\n1,2\n%b\xe9,3\n" % SECRET, {}, ["line 3", "UTF-8", "latin-1"]),
    "latin-1 bytes in the header": (b"x\xe9,y\n1,2\n", {}, ["line 1", "UTF-8"]),
    "half a UTF-16 character": ("x,y\n1,2\n3".encode("utf-16") + b"\x00", {}, ["UTF-16", "line 3"]),
    "not ASCII": (b"x,y\n1,\xc3\xa9\n", {"encoding": "ascii"}, ["line 2", "ASCII"]),
    "wrong mark": (b"\xef\xbb\xbfx,y\n1,2\n", {"encoding": "latin-1"}, ["byte-order mark of UTF-8"]),
    "data for a header": (b"39, %b, 77516, 13\n1,2,3,4\n" % SECRET, {}, ["looks like data", "--no-header"]),
    "numbers too long to read": (b"%b,x\n1,2\n" % (b"9" * 5000), {}, ["looks like data"]),
    "repeated letters for a header": (b"p,x,s,p,x,s\np,y,s,p,y,s\n", {}, ["looks like data"]),
    "too few names": (b"1,2\n3,4\n", {"header": "no", "names": ("a",)}, ["1 names", "2 fields"]),
    "parquet": (b"PAR1" + SECRET, {}, ["holds Parquet"]),
    "spreadsheet": (b"PK\x03\x04" + SECRET, {}, ["spreadsheet"]),
    "gzip without its ending": (gzip.compress(b"x,y\n1,2\n"), {}, ["gzip data", ".gz"]),
}


@pytest.mark.parametrize(("content", "dialect", "parts"), CASES.values(), ids=CASES)
def test_hostile_files_are_refused(tmp_path, content, dialect, parts):
    path = tmp_path / "visits.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(open_source(path, dialect=CsvDialect(**dialect)).blocks())
    message = str(caught.value)
    assert all(part in message for part in ["visits.csv", *parts]), message
    assert SECRET.decode() not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("content", "dialect", "names"),
    [
        (b'"x,y"\n1\n', {"delimiter": ";"}, ["x,y"]),
        (b"x,y\n1\n", {"delimiter": ";", "header": "yes"}, ["x,y"]),
        (b"x,y\n1\n", {"delimiter": ";", "names": ("z",)}, ["z"]),
        (b"x,1;y,2\n1;2\n", {"delimiter": ";"}, ["x,1", "y,2"]),
        (b"x y\n1\n", {"delimiter": ";"}, ["x y"]),
    ],
)
def test_a_delimiter_that_is_meant_is_taken(tmp_path, content, dialect, names):
    path = tmp_path / "visits.csv"
    path.write_bytes(content)
    source = open_source(path, dialect=CsvDialect(**dialect))
    assert [column.name for column in source.columns] == names


def test_all_faults_of_the_header_are_listed_at_once(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text('1,2,,age,age,"free, text\nline", ,a\x07b,%s\n' % ("x" * 257) + "1,2,3,4,5,6,7,8,9\n")
    with pytest.raises(HeaderError, match="5 faults") as caught:
        open_source(path)
    message = str(caught.value)
    for part in (
        "column 3",
        "columns 4 and 5",
        "column 7",
        "column 8",
        "column 9",
        "256",
        "--names",
        "'age'",
    ):
        assert part in message
    assert "\x07" not in message
    names = (*"abcdefgh", "i\nj")
    assert open_source(path, dialect=CsvDialect(names=names)).columns[8].name == "i\nj"


def test_odd_names_are_legal(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_bytes('1,2,"free, text\nline","q""q",É,é\n1,2,3,4,5,6\n'.encode())
    source = open_source(path)
    assert [column.name for column in source.columns] == ["1", "2", "free, text\nline", 'q"q', "É", "é"]
    assert len(source.notes) == 1


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"x,y\n1,2\n" * 1000, mtime=0)[:-9], b"\x1f\x8b\x08junk"],
    ids=["cut short", "junk"],
)
def test_damaged_gzip(tmp_path, content):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        list(open_source(path).blocks())


def test_what_is_not_a_file_of_rows(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "plain.csv.gz").write_bytes(b"x,y\n1,2\n")
    (tmp_path / "book.xlsx").write_bytes(b"PK")
    for path, part in (
        (tmp_path, "directory"),
        (tmp_path / "none.csv", "there is no file"),
        (tmp_path / "pipe.csv", "not a regular file"),
        ("/dev/null", "not a regular file"),
        (tmp_path / "plain.csv.gz", "not gzip"),
        (tmp_path / "book.xlsx", "a spreadsheet"),
        ("a\0b.csv", "not a valid path"),
        (7, "type int"),
    ):
        with pytest.raises(InputError, match=part):
            open_source(path)


def test_a_file_that_changes_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n1,2\n")
    source = open_source(path)
    assert sum(block.height for block in source.blocks()) == 1
    path.write_bytes(b"x,y\n1,2\n3,4\n")
    with pytest.raises(InputError, match="changed while"):
        list(source.blocks())
    path.unlink()
    with pytest.raises(InputError, match="cannot be read any more"):
        list(source.blocks())


def test_tables_without_rows_pass_when_asked(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n")
    source = open_source(path, allow_empty=True)
    assert [column.name for column in source.columns] == ["x", "y"]
    assert list(source.blocks()) == []


def test_all_rows_of_another_width_are_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n1\n2\n")
    with pytest.raises(InputError, match="no usable rows"):
        list(open_source(path, dialect=CsvDialect(bad_rows="drop")).blocks())


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": "ab"},
        {"delimiter": "a"},
        {"delimiter": "\n"},
        {"delimiter": '"'},
        {"quote": "é"},
        {"encoding": "hex"},
        {"encoding": "klingon"},
        {"decimal": ";"},
        {"header": "maybe"},
        {"bad_rows": "keep"},
    ],
)
def test_dialects_that_make_no_sense(options):
    with pytest.raises(UsageError):
        CsvDialect(**options)

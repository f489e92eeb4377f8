"""Output appears whole or not at all, and says exactly what it was given."""

import csv
import gzip
import os

import polars as pl
import pytest

from sfumato.errors import OutputError
from sfumato.tables.dialect import CsvDialect
from sfumato.tables.output import check_output
from sfumato.tables.sinks import write_table
from sfumato.tables.source import open_source

FRAME = pl.DataFrame(
    {
        'free, "text"\nline': ["=1+1", "-5", "+1.5e3", "-a", "@x", None, 'q"q', "a\nb", "é;", "x\ry", "\tz"],
        "f": [1.5, None, 3.0, -4.0, 5.0, 6.0, 7.0, 1e300, 0.1, 1e-7, 2.0],
        "c": pl.Series(["x", None] * 5 + ["y"], dtype=pl.Categorical),
        "i": range(-5, 6),
    }
)
TEXTS = FRAME.to_series(0).to_list()


def listing(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def cells(path, **dialect) -> list[dict]:
    source = open_source(path, dialect=CsvDialect(**dialect))
    return [row for block in source.blocks() for row in block.rows(named=True)]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_frames_are_written_one_after_the_other(tmp_path, name):
    path = write_table(iter([FRAME, FRAME.clear(), FRAME]), tmp_path / name)
    found = cells(path)
    assert list(found[0]) == FRAME.columns
    assert [row[FRAME.columns[0]] for row in found] == TEXTS * 2
    assert [None if row["f"] is None else float(row["f"]) for row in found] == FRAME["f"].to_list() * 2
    assert [row["c"] for row in found] == FRAME["c"].to_list() * 2
    assert listing(tmp_path) == [name]
    again = tmp_path / f"again-{name}"
    write_table([FRAME, FRAME], again)
    if not name.endswith("parquet"):
        assert again.read_bytes() == path.read_bytes()


def test_text_is_quoted_only_where_needed(tmp_path):
    path = write_table(
        [pl.DataFrame({"1": ["a b", " c", "d'e", "f,g"], "2": [1, 2, None, 4]})], tmp_path / "t.csv"
    )
    assert path.read_bytes() == b'1,2\na b,1\n c,2\nd\'e,\n"f,g",4\n'


def test_csv_safe_defuses_formulas_and_leaves_numbers(tmp_path):
    path = write_table([FRAME], tmp_path / "t.csv", csv_safe=True)
    texts = [row[FRAME.columns[0]] for row in cells(path)]
    assert texts == ["'=1+1", "-5", "+1.5e3", "'-a", "'@x", None, 'q"q', "a\nb", "é;", "x\ry", "'\tz"]
    assert [row["i"] for row in cells(path)][:2] == ["-5", "-4"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_dialects_are_written_as_they_are_read(tmp_path, encoding):
    dialect = {"encoding": encoding, "delimiter": ";", "decimal": ",", "quote": "'"}
    path = write_table([FRAME, FRAME], tmp_path / "t.csv", dialect=CsvDialect(**dialect))
    found = cells(path, **dialect)
    assert [row[FRAME.columns[0]] for row in found] == TEXTS * 2
    assert [row["f"] for row in found][:3] == ["1,5", None, "3,0"]
    with path.open(newline="", encoding=encoding) as file:
        assert len(list(csv.reader(file, delimiter=";", quotechar="'"))) == 23


def test_characters_an_encoding_lacks(tmp_path):
    with pytest.raises(OutputError, match="latin-1") as caught:
        write_table(
            [pl.DataFrame({"a": ["SECRET€"]})], tmp_path / "t.csv", dialect=CsvDialect(encoding="latin-1")
        )
    assert "SECRET" not in str(caught.value)
    assert listing(tmp_path) == []


def test_without_quotes_what_needs_them_is_refused(tmp_path):
    dialect = CsvDialect(quote=None, delimiter="|")
    path = write_table([pl.DataFrame({"a": ['x"y', ","], "b": [1, 2]})], tmp_path / "t.csv", dialect=dialect)
    assert path.read_bytes() == b'a|b\nx"y|1\n,|2\n'
    with pytest.raises(OutputError, match="column 'a' holds"):
        write_table([pl.DataFrame({"a": ["x|y"]})], path, dialect=dialect, force=True)
    assert path.read_bytes() == b'a|b\nx"y|1\n,|2\n'


def test_missing_values_of_a_single_column_are_rows(tmp_path):
    path = write_table([pl.DataFrame({"a": [1, None, 2, None]})], tmp_path / "t.csv")
    assert [row["a"] for row in cells(path)] == ["1", None, "2", None]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize(
    "error", [KeyError("x"), KeyboardInterrupt(), OSError(28, "No space left on device")]
)
def test_failure_in_the_middle_leaves_nothing(tmp_path, name, error):
    def frames():
        yield FRAME
        yield FRAME
        raise error

    (tmp_path / name).write_bytes(b"before")
    expected = OutputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write_table(frames(), tmp_path / name, force=True)
    assert listing(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"before"


def test_places_that_cannot_be_written_are_refused_up_front(tmp_path):
    existing = tmp_path / "e.csv"
    existing.write_bytes(b"mine")
    link = tmp_path / "l.csv"
    link.symlink_to(tmp_path / "target.csv")
    os.mkfifo(tmp_path / "p.csv")
    (tmp_path / "d.csv").mkdir()
    for path, force, part in (
        (existing, False, "exists"),
        (link, False, "symbolic link"),
        (link, True, "symbolic link"),
        (tmp_path / "p.csv", True, "not a regular file"),
        (tmp_path / "d.csv", True, "not a regular file"),
        (tmp_path / "none" / "t.csv", False, "no directory"),
    ):
        with pytest.raises(OutputError, match=part):
            check_output(path, force=force)
        with pytest.raises(OutputError, match=part):
            write_table([FRAME], path, force=force)
    for name in ("t.xlsx", "t", ".csv"):
        with pytest.raises(OutputError, match=r"\.parquet"):
            write_table([FRAME], tmp_path / name)
    assert existing.read_bytes() == b"mine"
    assert not (tmp_path / "target.csv").exists()
    write_table([FRAME], existing, force=True)
    assert len(cells(existing)) == FRAME.height
    assert existing.stat().st_mode & 0o777 == 0o666 & ~os.umask(os.umask(0o022))


def test_another_writer_that_was_faster_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"

    def frames():
        yield FRAME
        path.write_bytes(b"theirs")

    with pytest.raises(OutputError, match="exists"):
        write_table(frames(), path)
    assert path.read_bytes() == b"theirs"
    assert listing(tmp_path) == ["t.csv"]


def test_gzip_output_holds_no_time_and_no_name(tmp_path):
    path = write_table([FRAME], tmp_path / "t.csv.gz")
    assert path.read_bytes()[4:8] == b"\0\0\0\0"
    assert b"t.csv" not in path.read_bytes()
    assert gzip.decompress(path.read_bytes()).startswith(b'"free, ""text""\nline",f,c,i\n')


def test_a_table_without_rows_has_a_header(tmp_path):
    assert write_table([FRAME.clear().select("f", "i")], tmp_path / "t.csv").read_bytes() == b"f,i\n"
    write_table([FRAME.clear()], tmp_path / "t.parquet")
    assert open_source(tmp_path / "t.parquet", allow_empty=True).columns[1].dtype == pl.Float64
    with pytest.raises(ValueError, match="different columns"):
        write_table([FRAME, FRAME.rename({"i": "j"})], tmp_path / "u.csv")
    with pytest.raises(ValueError, match="no frame"):
        write_table([], tmp_path / "u.csv")

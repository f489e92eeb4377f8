"""The Adult table: all 48,842 rows, or its parts; skips when it is not there."""

import polars as pl
from tests.shared_data import table

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]


def part(name: str) -> pl.DataFrame:
    """ "data" (32,561 rows) or "test" (16,281 rows), texts without blanks, whole numbers as such."""
    lines = table(f"adult_raw/adult.{name}").read_text().splitlines()
    rows = [[cell.strip().rstrip(".") for cell in line.split(",")] for line in lines if line.count(",") == 14]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return frame.with_columns(
        pl.col(column).cast(pl.Int64)
        for column in COLUMNS
        if column in ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    )


def whole() -> pl.DataFrame:
    """All rows."""
    return pl.concat([part("data"), part("test")])

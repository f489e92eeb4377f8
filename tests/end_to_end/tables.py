"""The real tables of the round trips: where they are, how they are read, and what a schema says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen
from tests.shared_data import table

from sfumato.tables.dialect import CsvDialect

SCHEMAS = Path(__file__).parent / "schemas"
ADULT = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip


@frozen
class RealTable:
    """One table: its file, how the command line and Python are told to read it, its schema."""

    file: str
    schema_file: str
    names: tuple[str, ...] = ()
    """Column names of a file without a header."""

    @property
    def path(self) -> Path:
        """The file; skips the test when it is absent."""
        return table(self.file)

    @property
    def schema(self) -> Path:
        return SCHEMAS / self.schema_file

    @property
    def words(self) -> list[str]:
        """Options of the command line."""
        if not self.names:
            return []
        return ["--no-header", "--names", ",".join(self.names), "--trim"]

    @property
    def dialect(self) -> CsvDialect:
        if not self.names:
            return CsvDialect()
        return CsvDialect(header="no", names=self.names, trim=True)

    @property
    def dropped(self) -> set[str]:
        """Columns that the schema leaves out."""
        from sfumato.schema import read_schema

        return {column.name for column in read_schema(self.schema).columns if column.dropped}

    def pandas(self) -> Any:
        """The table as pandas reads it."""
        import pandas as pd

        if self.path.suffix == ".parquet":
            return pd.read_parquet(self.path)
        # "None" and "NA" are values of some tables; only what is empty is missing.
        options = {"keep_default_na": False, "na_values": [""]}
        if self.names:
            return pd.read_csv(
                self.path, header=None, names=list(self.names), skipinitialspace=True, **options
            )
        return pd.read_csv(self.path, **options)

    def polars(self) -> Any:
        """The table as polars reads it."""
        import polars as pl

        if self.path.suffix == ".parquet":
            return pl.read_parquet(self.path)
        return pl.from_pandas(self.pandas())


TABLES = {
    "adult": RealTable("adult_raw/adult.data", "adult.toml", ADULT),
    "titanic": RealTable("titanic/titanic.csv", "titanic.toml"),
    "diabetes130": RealTable("diabetes130/diabetic_data.csv.gz", "diabetes130.toml"),
    "telco": RealTable("telco_churn/telco_churn.csv.gz", "telco_churn.toml"),
    "stops": RealTable("mpls_police_stops/MplsStops.parquet", "mpls_police_stops.toml"),
    "survey": RealTable("sd2011_poland_survey/SD2011.parquet", "sd2011_poland_survey.toml"),
    "loans": RealTable("lending_club_10k/loans_full_schema.parquet", "lending_club.toml"),
    "shoppers": RealTable("online_shoppers/online_shoppers_intention.csv.gz", "online_shoppers.toml"),
    "bank": RealTable("bank_marketing/bank_full.csv.gz", "bank_marketing.toml"),
    "credit": RealTable("credit_default/default.csv.gz", "credit_default.toml"),
    "acs": RealTable("nist_acs_excerpts/ma2019.csv.gz", "nist_acs_ma2019.toml"),
}

"""Adult as DP-auto-GAN's paper takes it, with public facts of its documentation: 13 columns, 106 coordinates."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

NAMES = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
LEFT_OUT = ("fnlwgt", "education")
NUMBERS = {
    "age": (17, 90),
    "capital-gain": (0, 99_999),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
VALUES = {
    "workclass": "Private,Self-emp-not-inc,Self-emp-inc,Federal-gov,Local-gov,State-gov,Without-pay,Never-worked,?",
    "education-num": ",".join(str(i) for i in range(1, 17)),
    "marital-status": "Married-civ-spouse,Divorced,Never-married,Separated,Widowed,Married-spouse-absent,Married-AF-spouse",
    "occupation": "Tech-support,Craft-repair,Other-service,Sales,Exec-managerial,Prof-specialty,Handlers-cleaners,"
    "Machine-op-inspct,Adm-clerical,Farming-fishing,Transport-moving,Priv-house-serv,Protective-serv,Armed-Forces,?",
    "relationship": "Wife,Own-child,Husband,Not-in-family,Other-relative,Unmarried",
    "race": "White,Asian-Pac-Islander,Amer-Indian-Eskimo,Other,Black",
    "sex": "Female,Male",
    "native-country": "United-States,Cambodia,England,Puerto-Rico,Canada,Germany,Outlying-US(Guam-USVI-etc),India,Japan,"
    "Greece,South,China,Cuba,Iran,Honduras,Philippines,Italy,Poland,Jamaica,Vietnam,Mexico,Portugal,Ireland,France,"
    "Dominican-Republic,Laos,Ecuador,Taiwan,Haiti,Columbia,Hungary,Guatemala,Nicaragua,Scotland,Thailand,Yugoslavia,"
    "El-Salvador,Trinadad&Tobago,Peru,Hong,Holand-Netherlands,?",
    "income": "<=50K,>50K",
}  # fmt: skip
"""Public values, from the documentation of the table."""
DIVERGED = (
    "workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income",
)  # fmt: skip
"""Columns whose divergence the paper adds up."""
ROWS = 32_561


def schema() -> dict:
    """Everything that is public."""
    columns: dict[str, dict] = {}
    for name in (name for name in NAMES if name not in LEFT_OUT):
        if name in NUMBERS:
            columns[name] = {"type": "int", "min": NUMBERS[name][0], "max": NUMBERS[name][1]}
        else:
            columns[name] = {"type": "categorical", "values": VALUES[name].split(",")}
    return {"columns": columns}


def read() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Training and test rows; the folder of the tables is named by SFUMATO_DATA."""
    folder = Path(os.environ.get("SFUMATO_DATA", ".")) / "adult_raw"
    if not folder.is_dir():
        raise SystemExit(f"{folder} not found: set SFUMATO_DATA to the folder of the tables")
    return _part(folder / "adult.data"), _part(folder / "adult.test")


def _part(path: Path) -> pl.DataFrame:
    lines = [line.rstrip(".").split(",") for line in path.read_text().splitlines() if line.count(",") == 14]
    cells = [[cell.strip() for cell in line] for line in lines]
    frame = pl.DataFrame(dict(zip(NAMES, zip(*cells, strict=True), strict=True)))
    return frame.drop(LEFT_OUT).with_columns(pl.col(name).cast(pl.Int64) for name in NUMBERS)

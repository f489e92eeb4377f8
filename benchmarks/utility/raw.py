"""Raw files end to end: fitted as they are, with a schema and without, and judged by what their rows are worth.

    SFUMATO_DATA=/path/to/tables python benchmarks/utility/raw.py --epsilon 0.1 1 --seeds 2

Tables: adult (adult.data; the test rows are adult.test) and bank (bank_full.csv.gz, no test rows). Without a
schema everything about the columns is bought from the same budget. With --schema bins the numbers of the file
are put in the judge's 20 bins of one width between their declared ends beforehand; these are public. The judge
(judge.py) runs in a virtual environment of its own with scikit-learn, which is made on first use. Printed are
means over seeds:
  tvd2, tvd3   mean TVD of all two- and three-way marginals, numbers in 20 bins of one width
  TSTR, real   AUROC on the test rows of gradient boosting trained on synthetic and on real rows
  discr.       AUC of gradient boosting that tells real from synthetic rows; 0.5: it cannot
  fit          seconds; peak MB of the process
and the Kolmogorov distance of number columns, the names of which head their lines.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from attrs import frozen

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environments import DEFAULT, NotInstalledError, interpreter
from benchmarks.common.printing import Lines
from benchmarks.common.processes import NothingError, run
from benchmarks.utility.judge import BINS
from tests.end_to_end.tables import ADULT, SCHEMAS

from sfumato.schema import read_schema

HERE = Path(__file__).parent
BIN = {"type": "int", "min": 0, "max": BINS - 1}


@frozen(kw_only=True)
class Raw:
    """file and test: in the folder of the tables; names: columns of a file without a header; target: column and
    positive label; shapes: number columns whose Kolmogorov distance is printed.
    """

    file: str
    schema: str
    target: tuple[str, str]
    shapes: tuple[str, ...]
    names: tuple[str, ...] = ()
    test: str | None = None

    def read(self, file: Path) -> pl.DataFrame:
        """Every column as text; lines that are no rows, and the dots at the end of adult.test, left out."""
        frame = pl.read_csv(
            file, has_header=not self.names, new_columns=list(self.names) or None, infer_schema=False,
            comment_prefix="|",
        )  # fmt: skip
        return frame.drop_nulls(self.target[0]).select(pl.all().str.strip_chars().str.strip_suffix("."))


TABLES = {
    "adult": Raw(
        file="adult_raw/adult.data", test="adult_raw/adult.test", schema="adult.toml", names=ADULT,
        target=("income", ">50K"), shapes=("age", "hours-per-week", "fnlwgt"),
    ),
    "bank": Raw(
        file="bank_marketing/bank_full.csv.gz", schema="bank_marketing.toml", target=("y", "yes"),
        shapes=("balance",),
    ),
}  # fmt: skip


def binned(rows: pl.DataFrame, numbers: dict[str, tuple[float, float]]) -> pl.DataFrame:
    """`rows` with the place of its bin for each number."""
    return rows.with_columns(
        ((pl.col(name).cast(pl.Float64) - least) / (most + 1 - least) * BINS)
        .floor()
        .clip(0, BINS - 1)
        .cast(pl.Int64)
        .cast(pl.String)
        for name, (least, most) in numbers.items()
    )


def measure(
    table: Raw, schema: str, folder: Path, python: Path, limit: float, task: dict[str, Any]
) -> dict[str, Any]:
    """Fit, draw and judge; NothingError if either fails or takes longer than `limit`."""
    path = Path(os.environ["SFUMATO_DATA"]) / table.file
    facts, verdict = folder / "facts.json", folder / "verdict.json"
    real, made = folder / "real.parquet", folder / "made.parquet"
    declared = read_schema(SCHEMAS / table.schema)
    numbers = {
        column.name: (column.min, column.max)
        for column in declared.columns
        if getattr(column, "min", None) is not None
    }
    rows = table.read(path)
    tests = table.read(path.parent / Path(table.test).name) if table.test else None
    names, file, known = table.names, path, str(SCHEMAS / table.schema) if schema == "with" else None
    if schema == "bins":
        rows, tests = binned(rows, numbers), None if tests is None else binned(tests, numbers)
        known = {"columns": declared.to_dict()["columns"] | dict.fromkeys(numbers, BIN)}
        numbers = dict.fromkeys(numbers, (0, BINS - 1))
        names, file = (), real
    rows.write_parquet(real)
    test = None
    if tests is not None:
        test = str(folder / "test.parquet")
        tests.write_parquet(test)
    task = task | {
        "file": str(file), "names": names, "rows": rows.height, "schema": known, "facts": str(facts),
        "made": str(made),
    }  # fmt: skip
    run([sys.executable, str(HERE / "raw_fit.py"), json.dumps(task)], limit)
    asked = {
        "real": str(real), "made": str(made), "test": test, "numbers": numbers, "target": table.target,
        "facts": str(verdict), "compare": task["seed"] == 0,
    }  # fmt: skip
    run([str(python), str(HERE / "judge.py"), json.dumps(asked)], limit)
    return json.loads(facts.read_text()) | json.loads(verdict.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0])
    parser.add_argument("--methods", nargs="+", default=["adaptive"])
    parser.add_argument(
        "--schema", nargs="+", default=["with", "without"], choices=["with", "without", "bins"]
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds that a fit or a judge may take")
    parser.add_argument("--options", type=json.loads, default={}, help="of the method, as JSON")
    parser.add_argument("--environments", type=Path, default=DEFAULT, help="folder of the judge's one")
    asked = parser.parse_args()
    if "SFUMATO_DATA" not in os.environ:
        parser.error("SFUMATO_DATA does not name the folder of the tables")
    try:
        python = interpreter(HERE / "judge.py", asked.environments)
    except NotInstalledError as error:
        parser.error(f"the judge's environment: {error}")
    for name in asked.tables:
        table = TABLES[name]
        lines = Lines(
            **{"table": 6, "epsilon": 7, "method": 12, "schema": 7, "seeds": 5, "tvd2": 6, "tvd3": 6},
            **{"TSTR": 6, "real": 6, "discr.": 6, **{f"KS {shape}": 17 for shape in table.shapes}},
            **{"fit": 6, "peak MB": 7},
        )
        for epsilon, method, schema in itertools.product(asked.epsilon, asked.methods, asked.schema):
            known, reason = defaultdict(list), ""
            for seed in range(asked.seeds):
                task = {
                    "epsilon": epsilon, "method": method, "seed": seed, "options": asked.options,
                }  # fmt: skip
                with tempfile.TemporaryDirectory() as folder:
                    try:
                        facts = measure(table, schema, Path(folder), python, asked.limit, task)
                    except NothingError as error:
                        reason = str(error)
                        break
                for key, value in (facts | facts.pop("kolmogorov")).items():
                    known[key].append(value)
            start = (name, f"{epsilon:g}", method, schema)
            if known:
                means = {key: float(np.mean(values)) for key, values in known.items()}
                shown = ("tvd2", "tvd3", "auroc", "auroc_real", "discriminator", *table.shapes)
                lines.add(
                    *start, str(len(known["fit"])),
                    *(f"{means[key]:.4f}" if key in means else "" for key in shown),
                    f"{means['fit']:.1f}", f"{means['peak']:.0f}",
                )  # fmt: skip
            if reason:
                lines.add(*start, "", reason)


if __name__ == "__main__":
    main()

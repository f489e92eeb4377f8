"""A schema file, persons as the unit of privacy, and one budget for several runs.

python examples/schema.py
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import sfumato as sf
from sfumato.privacy.dataset_ledger import DatasetLedger
from sfumato.schema import lint

HERE = Path(__file__).parent


def main() -> None:
    schema = sf.read_schema(HERE / "visits.toml")
    print(schema.unit)
    for remark in lint(schema):
        print(remark)

    # All runs on the data set that is called "visits" together may spend epsilon = 2.5. The ledger would
    # be a file in a safe place; here it lives as long as the example.
    with TemporaryDirectory() as folder:
        ledger = Path(folder) / "budget.jsonl"
        DatasetLedger(ledger).limit("visits", epsilon=2.5, delta=1e-6)

        table = HERE / "visits.csv.gz"
        model = sf.fit(table, epsilon=2.0, schema=schema, ledger=ledger, dataset="visits")
        print(f"epsilon = {model.statement.epsilon:.3f} for {model.statement.unit}")
        print(model.sample(5, seed=1))

        # A second run of this size does not fit: it is refused before anything is counted.
        try:
            sf.fit(table, epsilon=2.0, schema=schema, ledger=ledger, dataset="visits")
        except sf.SfumatoError as error:
            print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

"""From a real table to a synthetic one: fit once, draw as often as you like.

python examples/quickstart.py
"""

from __future__ import annotations

from pathlib import Path

import sfumato as sf

HERE = Path(__file__).parent


def main() -> None:
    # The budget is spent here, and nowhere else. The schema says what is public; without one, types,
    # bounds and categories are bought from the same epsilon.
    model = sf.fit(HERE / "acs_ma2019.csv.gz", epsilon=1.0, schema=HERE / "acs_ma2019.toml")
    print(model.statement)

    # Rows cost nothing: as many as wanted, repeatable by a seed, with columns fixed to values.
    print(model.sample(5, seed=7).select("AGEP", "SEX", "EDU", "PINCP"))
    women_of_30 = model.sample(1_000, seed=7, where={"SEX": 2, "AGEP": 30})
    print(women_of_30.select("SEX", "AGEP").unique().rows(), len(women_of_30), "times")

    # The ledger lists every read of the private rows.
    for entry in list(model.ledger)[:3]:
        print(entry.number, entry.purpose, entry.mechanism, f"mu² = {entry.cost.add_remove.mu2:.2g}")

    model.save("acs.sfumato", force=True)
    print(sf.load("acs.sfumato").rows, "rows by default, the noisy row count")


if __name__ == "__main__":
    main()

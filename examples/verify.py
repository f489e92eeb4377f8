"""Check a model file without the data: recompute epsilon, rebuild every number, notice what was altered.

python examples/verify.py
"""

from __future__ import annotations

from pathlib import Path

import sfumato as sf

HERE = Path(__file__).parent


def main() -> None:
    model = sf.fit(HERE / "visits.csv.gz", epsilon=1.0, method="independent", schema=HERE / "visits.toml")
    path = Path("visits.sfumato")
    model.save(path, force=True)

    # Whoever receives the file can do this; no row of the table is needed.
    for check in sf.verify(path).checks:
        print("ok ", check)

    # A stricter bound than the model keeps.
    try:
        sf.assert_dp(path, epsilon=0.1)
    except sf.SfumatoError as error:
        print(f"{type(error).__name__}: {error}")

    # A copy that claims half the budget.
    altered = Path("altered.sfumato")
    altered.write_bytes(path.read_bytes().replace(b'{\\"epsilon\\": 1.0', b'{\\"epsilon\\": 0.5'))
    try:
        sf.verify(altered)
    except sf.SfumatoError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

"""`sfumato ledger`: read the persistent ledger, set a limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.console import say, say_json, table


def show(file: Path, /, *, json: Annotated[bool, Parameter(negative="")] = False) -> None:
    """List the charges in a ledger FILE and what they compose to, by data set.

    Parameters
    ----------
    file
        The ledger file.
    json
        Print one JSON object with every line.
    """
    from sfumato.privacy.dataset_ledger import DatasetLedger

    ledger = DatasetLedger(file)
    lines = ledger.lines()
    names = list(dict.fromkeys(line["dataset"] for line in lines))
    spent = {name: ledger.spent(name) for name in names}
    if json:
        totals = {
            n: {"runs": s.runs, "epsilon": s.epsilon, "delta": s.delta, "limit": s.limit}
            for n, s in spent.items()
        }
        say_json({"lines": lines, "total": totals})
        return
    say(
        table(
            [
                (
                    name,
                    str(s.runs),
                    f"{s.epsilon:.4g}",
                    f"{s.delta:.3g}",
                    f"{s.limit[0]:g}" if s.limit else "none",
                )
                for name, s in spent.items()
            ],
            header=("data set", "runs", "epsilon", "delta", "limit"),
        )
    )


def limit(file: Path, /, *, dataset: str, epsilon: float, delta: float = 1e-9) -> None:
    """Set what all runs on a data set together may spend.

    Parameters
    ----------
    file
        The ledger file; made if there is none.
    dataset
        Name of the data set.
    epsilon
        Bound on the composed epsilon.
    delta
        At this delta.
    """
    from sfumato.privacy.dataset_ledger import DatasetLedger

    DatasetLedger(file).limit(dataset, epsilon=epsilon, delta=delta)
    say(f"{dataset}: limit ({epsilon:g}, {delta:.3g})")

"""`sfumato ledger`: read the persistent ledger, set a limit."""

from __future__ import annotations

import math
from pathlib import Path

from sfumato.cli.console import say, say_json, table
from sfumato.cli.options import Json


def show(file: Path, /, *, json: Json = False) -> None:
    """Show what all runs in a ledger FILE add up to, by data set.

    The total is mostly less than the sum of the runs' epsilons: charges for Gaussian noise compose as
    Gaussian differential privacy, where squares of mu add up.

    Example: sfumato ledger show budget.jsonl

    Parameters
    ----------
    file
        The ledger file. With --json every line of it is printed too.
    """
    from sfumato.privacy.dataset_ledger import DatasetLedger
    from sfumato.privacy.unit import PrivacyUnit

    ledger = DatasetLedger(file)
    lines = ledger.lines()
    names = list(dict.fromkeys(line["dataset"] for line in lines))
    spent = {name: ledger.spent(name) for name in names}
    if json:
        totals = {
            n: {
                "runs": s.runs,
                "unit": s.unit,
                "epsilon": "infinity" if math.isinf(s.epsilon) else s.epsilon,
                "delta": s.delta,
                "limit": s.limit,
            }
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
                    f"{PrivacyUnit(**s.unit)}, {s.unit['neighbours']}" if s.unit else "",
                    f"{s.epsilon:.4g}",
                    f"{s.delta:.3g}",
                    f"{s.limit[0]:g}" if s.limit else "none",
                )
                for name, s in spent.items()
            ],
            header=("data set", "runs", "protects", "epsilon", "delta", "limit"),
        )
    )


def limit(file: Path, /, *, dataset: str, epsilon: float, delta: float = 1e-8, json: Json = False) -> None:
    """Set what all runs on a data set together may spend; a run beyond it is refused (exit code 1).

    Example: sfumato ledger limit budget.jsonl --dataset patients --epsilon 3

    Parameters
    ----------
    file
        The ledger file; made if there is none.
    dataset
        Name of the data set.
    epsilon
        Bound on the epsilon of all runs together, past and future.
    delta
        The delta at which that epsilon is meant, at least that of every run. What runs set aside of theirs
        adds up: the default has room for ten runs with their default, 1e-9. 0 lets in runs without
        delta alone.
    """
    from sfumato.privacy.dataset_ledger import DatasetLedger

    DatasetLedger(file).limit(dataset, epsilon=epsilon, delta=delta)
    if json:
        say_json({"dataset": dataset, "epsilon": epsilon, "delta": delta})
        return
    say(f"{dataset}: limit ({epsilon:g}, {delta:.3g})")

"""The table of a sweep, what it says, and the files that it is written to."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from sfumato.errors import UsageError
from sfumato.sweeps.compare import lower_is_better
from sfumato.sweeps.points import Row

if TYPE_CHECKING:
    import polars as pl

NEAR = 0.1
"""Without a threshold, an epsilon is good enough when its metric is within this share of the best."""
FACTS = ("method", "epsilon", "seed", "status", "stated_epsilon", "delta", "fit_seconds")


@frozen(kw_only=True)
class Price:
    """What a sweep has cost the persons in the table."""

    on: str
    """"real" or "standin"."""
    fits: int
    """Fits of this sweep, also those of earlier runs that it went on from."""
    sum: float
    """Sum of the epsilons of all fits; infinite when one had no guarantee."""
    recorded: bool
    """Whether the fits are in a persistent ledger."""
    ledger_epsilon: float | None = None
    """What all runs in the ledger add up to, at `ledger_delta`."""
    ledger_delta: float | None = None

    def __str__(self) -> str:
        if self.on == "standin":
            return (
                "Nothing: the sweep ran on rows drawn from a model that is already paid for. What it says of "
                "the private table holds as far as that model does."
            )
        total = (
            "infinity, since a method without a guarantee read them"
            if math.isinf(self.sum)
            else f"{self.sum:g}"
        )
        fits = "1 fit" if self.fits == 1 else f"{self.fits} fits"
        text = f"{fits} read the private rows; their epsilons add up to {total}."
        if self.recorded:
            end = "infinite" if self.ledger_epsilon is None else f"{self.ledger_epsilon:.4g}"
            return (
                f"{text} All are in the ledger, whose runs compose to epsilon = {end} at delta = "
                f"{self.ledger_delta:.3g}."
            )
        return f"{text} No ledger was given, so nobody has recorded that."


@frozen(kw_only=True)
class Average:
    """A metric over the repetitions of one method at one epsilon."""

    method: str
    epsilon: float | None
    mean: float
    spread: float
    """Standard deviation over the repetitions; 0 for one."""
    runs: int


@frozen(kw_only=True)
class SweepResult:
    """All points of a sweep. For the curator's eyes: it is computed from private rows."""

    rows: tuple[Row, ...] = field(converter=tuple)
    metrics: tuple[str, ...] = field(converter=tuple)
    label: str
    price: Price

    def averages(self, metric: str) -> list[Average]:
        """Means over the repetitions that succeeded, by method and epsilon."""
        if metric not in self.metrics:
            raise UsageError(f"the sweep has no metric {metric!r}", mend=f"it has {', '.join(self.metrics)}")
        groups: dict[tuple[str, float | None], list[float]] = {}
        for row in self.rows:
            value = row["metrics"].get(metric)
            if value is not None:
                groups.setdefault((row["method"], row["epsilon"]), []).append(value)
        return [
            Average(
                method=method,
                epsilon=epsilon,
                mean=fmean(values),
                spread=stdev(values) if len(values) > 1 else 0.0,
                runs=len(values),
            )
            for (method, epsilon), values in groups.items()
        ]

    def best_tradeoff(
        self,
        metric: str | None = None,
        threshold: float | None = None,
        *,
        lower_is_better: bool | None = None,
    ) -> Average | None:
        """The smallest epsilon whose mean `metric` (default: the first) meets `threshold`; of several
        methods the best one there. Without a threshold: whose metric is within 10 % of the best. None when
        nothing does, or nothing was fitted with a guarantee.
        """
        metric = metric or self.metrics[0]
        low = _lower(metric) if lower_is_better is None else lower_is_better
        found = [each for each in self.averages(metric) if each.epsilon is not None]
        if not found:
            return None
        if threshold is None:
            best = (min if low else max)(each.mean for each in found)
            slack = NEAR * abs(best)
            threshold = best + slack if low else best - slack
        enough = [each for each in found if (each.mean <= threshold if low else each.mean >= threshold)]
        if not enough:
            return None
        sign = 1 if low else -1
        return min(enough, key=lambda each: (each.epsilon or 0.0, sign * each.mean))

    def recommendation(self, metric: str | None = None, threshold: float | None = None) -> str:
        """Which epsilon, which measured risk, and why, in words."""
        from sfumato.sweeps.advice import advise

        return advise(self, metric or self.metrics[0], threshold)

    def table(self) -> pl.DataFrame:
        """One line a point: facts, then metrics."""
        import polars as pl

        return pl.DataFrame(list(self._lines()), infer_schema_length=None)

    def _lines(self) -> Iterable[dict[str, Any]]:
        for row in self.rows:
            facts = {name: row.get(name) for name in FACTS}
            yield {
                **facts,
                **{name: row["metrics"].get(name) for name in self.metrics},
                "error": row["error"],
            }

    def to_csv(self, path: str | Path | None = None, *, force: bool = False) -> str:
        """The table as CSV text, written to `path` if one is given."""
        from sfumato.tables.output import atomic_file, check_output

        stream = io.StringIO()
        writer = csv.DictWriter(stream, [*FACTS, *self.metrics, "error"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v is None else v for k, v in line.items()} for line in self._lines())
        if path is not None:
            check_output(path, force=force)
            with atomic_file(path, force=force) as out:
                out.write(stream.getvalue().encode())
        return stream.getvalue()

    def save_report(
        self,
        path: str | Path,
        *,
        metric: str | None = None,
        threshold: float | None = None,
        force: bool = False,
    ) -> None:
        """One HTML page that needs no network: curves, the recommendation, the table and the price."""
        from sfumato.sweeps.page import write_page

        write_page(self, path, metric=metric or self.metrics[0], threshold=threshold, force=force)


@frozen(kw_only=True)
class BenchmarkResult(SweepResult):
    """Methods with a guarantee against methods without one."""

    baselines: tuple[str, ...] = field(converter=tuple)

    def baseline_value(self, metric: str | None = None) -> float:
        """Mean of `metric` for the best of the baselines; nan when none was fitted."""
        metric = metric or self.metrics[0]
        found = [each.mean for each in self.averages(metric) if each.method in self.baselines]
        return ((min if _lower(metric) else max)(found)) if found else math.nan

    def dp_value(self, epsilon: float, metric: str | None = None) -> float:
        """Mean of `metric` for the best method with a guarantee at `epsilon`; nan when none was fitted."""
        metric = metric or self.metrics[0]
        found = [each.mean for each in self.averages(metric) if each.epsilon == epsilon]
        return ((min if _lower(metric) else max)(found)) if found else math.nan

    def utility_gap(self, epsilon: float, metric: str | None = None) -> float:
        """What the guarantee costs at `epsilon`: how much worse the metric is than that of the best
        baseline."""
        metric = metric or self.metrics[0]
        gap = self.dp_value(epsilon, metric) - self.baseline_value(metric)
        return gap if _lower(metric) else -gap

    def curve(self, metric: str | None = None, *, method: str | None = None) -> list[tuple[float, float]]:
        """Epsilon and mean of `metric` for a method with a guarantee (default: the first), in order."""
        found = [each for each in self.averages(metric or self.metrics[0]) if each.epsilon is not None]
        chosen = method or (found[0].method if found else "")
        return sorted((each.epsilon or 0.0, each.mean) for each in found if each.method == chosen)

    def best_dp_point(self, metric: str | None = None) -> Average | None:
        """The method and epsilon with the best mean of `metric`."""
        metric = metric or self.metrics[0]
        found = [each for each in self.averages(metric) if each.epsilon is not None]
        sign = 1 if _lower(metric) else -1
        return min(found, key=lambda each: sign * each.mean, default=None)


def _lower(metric: str) -> bool:
    return lower_is_better(metric)


def price_of(rows: Sequence[Row], *, on: str, ledger: str | None, dataset: str | None) -> Price:
    """What the fits of these rows cost."""
    from sfumato.privacy.dataset_ledger import DatasetLedger

    read = [row for row in rows if row["status"] == "done"]
    total = sum(math.inf if row["epsilon"] is None else row["epsilon"] for row in read)
    if on == "standin":
        return Price(on=on, fits=len(read), sum=0.0, recorded=False)
    if ledger is None or dataset is None or not Path(ledger).exists():
        return Price(on=on, fits=len(read), sum=total, recorded=False)
    spent = DatasetLedger(ledger).spent(dataset)
    composed = None if math.isinf(spent.epsilon) else spent.epsilon
    return Price(
        on=on, fits=len(read), sum=total, recorded=True, ledger_epsilon=composed, ledger_delta=spent.delta
    )

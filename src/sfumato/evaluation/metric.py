"""The registry of metrics, and the run that turns whatever happens in one into outcomes.

A metric is a function of a pair and settings that yields outcomes, in a file of `sfumato.evaluation.metrics`:

    @metric("marginals.coverage", COVERAGE, RANGE)
    def coverage(pair, settings):
        yield COVERAGE.found(0.97)
        yield RANGE.not_applicable("no column is a number")

It declares its measures. One that it does not yield is "failed"; so are all that are left when it raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from sfumato.errors import UsageError
from sfumato.evaluation.outcome import Measure, Outcome
from sfumato.registry import Registry

if TYPE_CHECKING:
    from sfumato.evaluation.pair import Pair
    from sfumato.evaluation.settings import Settings

Compute = Callable[["Pair", "Settings"], Iterable[Outcome]]


@contextmanager
def quiet() -> Generator[None]:
    """Without remarks of libraries on overflow, convergence or undefined scores: what is not finite fails
    anyway.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class NotApplicable(Exception):
    """Raised in a metric: all measures that are left are not applicable because of the message."""


@frozen
class Metric:
    """Measures that are taken together. `needs`: the optional package without which none applies. `bare`:
    they can be taken of tables without rows or without common columns.
    """

    name: str
    measures: tuple[Measure, ...]
    compute: Compute
    needs: str | None = None
    bare: bool = False

    @property
    def families(self) -> tuple[str, ...]:
        """The families of its measures."""
        return tuple(dict.fromkeys(measure.family for measure in self.measures))

    def outcomes(self, pair: Pair, settings: Settings) -> Iterator[Outcome]:
        """One outcome for each measure, in the declared order; never raises for what the tables hold."""

        def compute() -> Iterable[Outcome]:
            self._check(pair)
            return self.compute(pair, settings)

        return outcomes_of(self.measures, compute, what="metric")

    def _check(self, pair: Pair) -> None:
        import importlib.util

        if self.bare:
            return
        if not pair.columns:
            raise NotApplicable("the tables have no column in common that can be compared")
        for rows, side in ((pair.real_rows, "real"), (pair.synthetic_rows, "synthetic")):
            if not rows:
                raise NotApplicable(f"there are no {side} rows")
        if self.needs and importlib.util.find_spec(self.needs) is None:
            raise NotApplicable(f"the package {self.needs!r} is missing; pip install 'sfumato[ml]'")


def outcomes_of(
    measures: Sequence[Measure], compute: Callable[[], Iterable[Outcome]], *, what: str
) -> Iterator[Outcome]:
    """One outcome for each measure, in order, whatever happens in `compute`; `what`: that it is called in
    messages. UsageError passes.
    """
    taken: dict[str, Outcome] = {}
    state, reason = "failed", f"the {what} gave no result"
    try:
        with quiet():
            for outcome in compute():
                taken[outcome.name] = outcome
    except NotApplicable as found:
        state, reason = "not applicable", str(found)
    except UsageError:
        raise
    except MemoryError:
        reason = "there was not enough memory"
    except Exception as error:  # the message may quote a cell
        reason = f"of an error in the {what} ({type(error).__name__})"
    for measure in measures:
        if measure.name in taken:
            yield taken[measure.name]
        else:
            yield measure.not_applicable(reason) if state == "not applicable" else measure.failed(reason)


metrics: Registry[Metric] = Registry("metric", "sfumato.evaluation.metrics")


def metric(
    name: str, *measures: Measure, needs: str | None = None, bare: bool = False
) -> Callable[[Compute], Compute]:
    """Decorator: register a function that takes `measures` under `name`."""

    def add(compute: Compute) -> Compute:
        metrics.register(name)(Metric(name, measures, compute, needs, bare))
        return compute

    return add

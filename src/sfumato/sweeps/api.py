"""`sweep` and `benchmark`: many fits of one table, and what they say."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.errors import JobError, UsageError
from sfumato.sweeps.compare import DEFAULT, check_metrics
from sfumato.sweeps.points import Point, Row, Store, grid, key_of
from sfumato.sweeps.result import BenchmarkResult, SweepResult, price_of
from sfumato.sweeps.work import Setup, begin, run_point, work

if TYPE_CHECKING:
    import polars as pl

    from sfumato.tables.dialect import CsvDialect

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 50.0)
BENCHMARK_EPSILONS = (1.0, 2.0, 5.0, 10.0, 50.0)
HOLDOUT = 0.2
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def sweep(
    table: Any,
    *,
    methods: Sequence[str] = ("dp-copula",),
    baselines: Sequence[str] = (),
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = (0,),
    delta: float | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    schema: Any = None,
    unit: tuple[str, int] | None = None,
    rows: int | None = None,
    metrics: Sequence[str] = DEFAULT,
    holdout: float = HOLDOUT,
    on: str = "real",
    ledger: str | Path | None = None,
    dataset: str | None = None,
    resume: str | Path | None = None,
    workers: int | None = None,
    dialect: CsvDialect | None = None,
    progress: Callable[[str], None] | None = None,
) -> SweepResult:
    """Fit every method at every epsilon as often as there are seeds, and compare what comes out with the
    rows.

    `table`: what `sfumato.fit` takes; with `on="standin"` a model, or its file, that is already paid for:
    rows drawn from it take the place of the private ones, and nothing is charged. `options`: of the methods,
    by method.
    `holdout`: share of the rows that no fit sees, against which risk is measured (0: none). `metrics`: of
    `sfumato.sweeps.compare` or `sfumato.evaluation`, the one to choose by first. `ledger`, `dataset`: every
    fit on private rows is charged there; a fit that the limit refuses is a point that failed. `resume`: file
    of finished points: those that it holds are not fitted (or charged) again. `workers`: processes; default:
    one a core; a script that starts several does so under `if __name__ == "__main__"`. Other arguments are
    those of `sfumato.fit`. The result is for the curator: nothing protects it. UsageError for a method
    without a guarantee: `benchmark` compares with those, as `baselines`.
    """
    _check_guarantees(methods, word="methods", free=False)
    _check_guarantees(baselines, word="baselines", free=True)
    points = grid([*methods, *baselines], epsilons, seeds)
    frame, label, setup = _prepared(
        table, points, on=on, delta=delta, options=options, schema=schema, unit=unit, rows=rows,
        metrics=metrics, holdout=holdout, ledger=ledger, dataset=dataset, dialect=dialect,
    )  # fmt: skip
    found = _run(points, frame, setup, label=label, on=on, resume=resume, workers=workers, progress=progress)
    price = price_of(found, on=on, ledger=setup.ledger, dataset=setup.dataset)
    return SweepResult(rows=found, metrics=setup.metrics, label=label, price=price)


def benchmark(
    table: Any,
    *,
    methods: Sequence[str] = ("dp-copula",),
    baselines: Sequence[str] = ("gaussian-copula",),
    epsilons: Sequence[float] = BENCHMARK_EPSILONS,
    **more: Any,
) -> BenchmarkResult:
    """Methods with a guarantee against baselines without one: a sweep over both. `more` as in `sweep`.

    Baselines read the rows as they are: on private rows, with a ledger, they are charged as infinite.
    """
    swept = sweep(table, methods=methods, baselines=baselines, epsilons=epsilons, **more)
    facts = {each.name: getattr(swept, each.name) for each in attrs.fields(SweepResult)}
    return BenchmarkResult(**facts, baselines=tuple(baselines))


def _check_guarantees(names: Sequence[str], *, word: str, free: bool) -> None:
    """UsageError, with those that fit, for a method that has a guarantee and should not, or has not and
    should.
    """
    from sfumato.synthesizers.recipe import synthesizers

    fitting = [each for each in synthesizers if (synthesizers[each].guarantee == "none") == free]
    for name in names:
        if synthesizers[name].name not in fitting:
            raise UsageError(
                f"{name!r} is not one of the {word}, which have {'no' if free else 'a'} guarantee",
                mend=f"known: {', '.join(fitting)}",
            )


def run_epsilon_sweep(
    table: Any,
    epsilons: Sequence[float] = EPSILONS,
    delta: float | None = None,
    generator_key: str = "dp-copula",
    generator_kwargs: Mapping[str, Any] | None = None,
    *,
    num_rows: int | None = None,
    random_state: int = 0,
    **more: Any,
) -> SweepResult:
    """`sweep` over one method, by the names that the interface of objects has."""
    return sweep(
        table, methods=[generator_key], epsilons=epsilons, delta=delta, rows=num_rows, seeds=[random_state],
        options={generator_key: dict(generator_kwargs or {})}, **more,
    )  # fmt: skip


def run_benchmark(
    table: Any,
    epsilons: Sequence[float] = BENCHMARK_EPSILONS,
    dp_generator: str = "dp-copula",
    baselines: Sequence[str] = ("gaussian-copula",),
    *,
    generator_kwargs: Mapping[str, Any] | None = None,
    baseline_kwargs: Mapping[str, Mapping[str, Any]] | None = None,
    num_rows: int | None = None,
    random_state: int = 0,
    **more: Any,
) -> BenchmarkResult:
    """`benchmark` by the names that the interface of objects has; `baseline_kwargs` by method."""
    options = {dp_generator: dict(generator_kwargs or {}), **(baseline_kwargs or {})}
    return benchmark(
        table, methods=[dp_generator], baselines=baselines, epsilons=epsilons, rows=num_rows,
        seeds=[random_state], options=options, **more,
    )  # fmt: skip


def _prepared(
    table: Any,
    points: Sequence[Point],
    *,
    on: str,
    ledger: str | Path | None,
    dataset: str | None,
    dialect: CsvDialect | None,
    **facts: Any,
) -> tuple[pl.DataFrame, str, Setup]:
    """Everything checked that can be before the first fit, and the rows."""
    from sfumato.models.training import epsilon_for
    from sfumato.synthesizers.run import make_recipe

    if on not in ("real", "standin"):
        raise UsageError(f"a sweep runs on real or on standin, not on {on!r}")
    if (ledger is None) != (dataset is None):
        raise UsageError("a persistent ledger needs both its file and the name of the data set")
    if on == "standin" and ledger is not None:
        raise UsageError("a sweep on a stand-in costs nothing, so there is nothing to charge to a ledger")
    if facts["rows"] is not None and facts["rows"] < 1:
        raise UsageError(f"the number of rows must be a whole number of at least 1, not {facts['rows']}")
    if not 0 <= facts["holdout"] < 1:
        raise UsageError(f"holdout is a share from 0 to below 1, not {facts['holdout']}")
    check_metrics(facts["metrics"])
    options = {key: dict(value) for key, value in (facts.pop("options") or {}).items()}
    for point in points:
        epsilon_for(make_recipe(point.method, options.get(point.method, {})), point.epsilon)
    setup = Setup(
        options=options,
        ledger=None if ledger is None else str(ledger),
        dataset=dataset,
        metrics=tuple(facts.pop("metrics")),
        **facts,
    )
    frame, label = _standin(table) if on == "standin" else _rows(table, dialect)
    return frame, label, setup


def _rows(table: Any, dialect: CsvDialect | None) -> tuple[pl.DataFrame, str]:
    """All rows: what a sweep compares with."""
    import polars as pl

    from sfumato.tables.source import open_source

    source = open_source(table, dialect=dialect)
    return pl.concat(source.blocks()), source.label


def _standin(model: Any) -> tuple[pl.DataFrame, str]:
    import polars as pl

    from sfumato.api import load
    from sfumato.models.model import Model

    found = model if isinstance(model, Model) else load(model)
    if found.void:
        raise UsageError("the model has no guarantee, so its rows are no stand-in that is paid for")
    if found.statement.void:
        raise UsageError(f"the model has no guarantee ({found.statement.void}): it is no stand-in")
    return pl.concat(found.frames(seed=0)), f"rows drawn from a model ({found.method})"


def _run(
    points: Sequence[Point],
    frame: pl.DataFrame,
    setup: Setup,
    *,
    label: str,
    on: str,
    resume: str | Path | None,
    workers: int | None,
    progress: Callable[[str], None] | None,
) -> list[Row]:
    """Rows of all points, in their order; those that a file of finished points holds are taken from there."""
    say = progress or (lambda _: None)
    store = Store(None if resume is None else Path(resume))
    facts = {**setup.state(), "table": label, "on": on}
    keys = {point: key_of(point, facts) for point in points}
    done = {key: row for key, row in store.read().items() if row["status"] == "done"}
    left = [point for point in points if keys[point] not in done]
    if done and len(left) == len(points):
        raise UsageError(
            f"{store.path} holds {len(done)} finished fits, and none is of this sweep: options differ",
            mend="repeat the options of that sweep, or choose another file; all fits would be charged again",
        )
    finished = len(points) - len(left)
    if finished:
        say(f"{finished} of {len(points)} fits are done already")
    for point, row in _worked(left, frame, setup, workers=workers):
        finished += 1
        done[keys[point]] = row
        store.add(keys[point], row)
        at = "no guarantee" if point.epsilon is None else f"epsilon {point.epsilon:g}"
        say(f"{finished} of {len(points)}: {point.method}, {at}, seed {point.seed}: {row['status']}")
    return [done[keys[point]] for point in points]


def _worked(
    points: Sequence[Point], frame: pl.DataFrame, setup: Setup, *, workers: int | None
) -> Iterator[tuple[Point, Row]]:
    """Every point with its row, as they finish."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    most = _cores() if workers is None else workers
    if most < 1:
        raise UsageError(f"workers must be at least 1, not {most}")
    count = min(most, len(points))
    if count <= 1:
        for point in points:
            yield point, run_point(point, setup, frame)
        return
    with (
        _one_thread_each(),
        ProcessPoolExecutor(count, get_context("spawn"), initializer=begin, initargs=(frame, setup)) as pool,
    ):
        futures = {pool.submit(work, point): point for point in points}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise JobError(
                "a process that fits ended before its time",
                mend='in a script, start a sweep under if __name__ == "__main__":, or say workers=1; '
                "else there may be too little memory for so many at a time",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Processes that are started meanwhile use one thread each, so that together they fit the cores."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

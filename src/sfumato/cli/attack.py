"""`sfumato attack`: what synthetic rows give away about people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from sfumato.cli.console import Progress, note, say, say_json, table, warn
from sfumato.cli.options import METHOD, RESULT, Force, Json, Quiet, ReadOptions, Seed, settings_of
from sfumato.errors import GuaranteeError

if TYPE_CHECKING:
    from sfumato.evaluation.outcome import Outcome

STATED = Group("What the release states", sort_key=1)
Holdout = Annotated[Path, Parameter(metavar="FILE")]
ModelFile = Annotated[Path | None, Parameter(metavar="FILE", group=STATED)]
Stated = Annotated[float | None, Parameter(group=STATED)]
Secrets = Annotated[tuple[str, ...], Parameter(negative="", metavar="COLUMN")]
Report = Annotated[Path | None, Parameter(alias="-o", metavar="FILE", group=RESULT)]


def attack(
    real: Path,
    synthetic: Path,
    /,
    *,
    holdout: Holdout,
    model: ModelFile = None,
    epsilon: Stated = None,
    delta: Annotated[float, Parameter(group=STATED)] = 0.0,
    secret: Secrets = (),
    targets: Annotated[int, Parameter(metavar="N")] = 2_000,
    shadows: Annotated[int, Parameter(metavar="N", group=METHOD)] = 0,
    method: Annotated[str | None, Parameter(metavar="NAME", group=METHOD)] = None,
    set: Annotated[tuple[str, ...], Parameter(negative="", metavar="KEY=VALUE", group=METHOD)] = (),
    schema: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    output: Report = None,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
    json: Json = False,
    reading: ReadOptions | None = None,
) -> None:
    """Attack SYNTHETIC rows and tell what they give away about the people in the REAL table.

    Every attack is made on people in the table and on hold-out people: only the difference is leakage.
    Results are computed from real rows without noise, so they are not private. An attack that finds nothing
    proves nothing. Exit code 3 says that an attack found more than the stated guarantee allows.

    Example: sfumato attack train.csv synthetic.csv --holdout test.csv --model patients.sfumato

    Parameters
    ----------
    real
        The private table that the synthetic rows were made from.
    synthetic
        The synthetic rows.
    holdout
        Real rows of other people, from the same population, that had no part in the synthetic rows.
    model
        The model file that drew them: its guarantee sets the ceiling of every attack.
    epsilon
        The stated epsilon, where there is no model file.
    delta
        The stated delta.
    secret
        A column to guess. May be repeated. Default: up to 16 columns.
    targets
        People attacked on each side, at most.
    shadows
        Also run the slow attack, with this many fits of the method (64 is usual).
    method
        The method that the slow attack knows. Default: that of the model, else adaptive.
    set
        An option of that method. May be repeated.
    schema
        What is public about the table: settles what each column is.
    output
        Also write an internal report here (.html).
    seed
        Fixes every draw: who is attacked, which rows train a model. Default: 0.
    """
    from sfumato.api import attack as run
    from sfumato.api import load
    from sfumato.attacks.attack import contradictions
    from sfumato.attacks.tables import release_of
    from sfumato.cli.evaluate import check_report, without_value, write_report
    from sfumato.evaluation.strangers import check_shared, stranger

    check_report(
        output, real=real, synthetic=synthetic, holdout=holdout, model=model, schema=schema, force=force
    )
    reading, quiet = reading or ReadOptions(), quiet or json
    held = None if model is None else load(model)
    stated = release_of(held, epsilon=epsilon, delta=delta)
    progress = Progress(quiet=quiet)
    try:
        found = run(
            real, synthetic, holdout=holdout, model=held, epsilon=epsilon, delta=delta,
            secrets=secret, targets=targets, shadows=shadows, method=method, options=settings_of(set),
            schema=schema, seed=seed or 0, dialect=reading.dialect(), progress=progress,
        )  # fmt: skip
    finally:
        progress.close()
    check_shared(found.pair)
    if text := stranger(found.pair):
        warn(text)
    if output is not None:
        write_report(found, output, model=held, guarantee=stated, force=force, quiet=quiet)
    if json:
        say_json(found.to_dict())
    else:
        say(_table(found.outcomes))
        for status, titles in without_value(found).items():
            note(f"{status}: {', '.join(titles)}", quiet=quiet)
        note("not private: computed from real rows without noise", quiet=quiet)
    over = contradictions(found.outcomes)
    if over:
        names = "; ".join(each.measure.title for each in over)
        raise GuaranteeError(f"an attack found more than the stated guarantee allows: {names}")


def _table(outcomes: tuple[Outcome, ...]) -> str:
    """One line an attack that gave a value."""
    rows = [_line(each) for each in outcomes if each.value is not None]
    header = ("attack", "result", "95 % interval", "no leakage", "ceiling", "in the table", "hold-out")
    return table(rows, header=header)


def _line(each: Outcome) -> tuple[str, ...]:
    facts, ends = each.facts, each.interval
    return (
        each.measure.title,
        _number(each.value),
        "" if ends is None else f"{ends.low:.3g} to {ends.high:.3g}",
        _number(each.measure.ideal),
        *(_number(facts.get(name)) for name in ("ceiling", "success", "control")),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"

"""Singling out, linkability and inference by the library Anonymeter (Giomi, Boenisch, Wehmeyer, Tasnádi, "A
Unified Framework for Quantifying Privacy Risk in Synthetic Data", PETS 2023), where the user has installed
it.

The library states a risk: the success rate less that against hold-out people, relative to what that leaves.
These are weak attacks, and a low risk does not show that none is high. The terms are those of the Article
29 Working Party (WP216); they are not those of differential privacy.

Linkability and inference are events of one record each, so the guarantee bounds them. Whether a condition is
met by exactly one record depends on all records: neither the success in the table nor that in the hold-out
is bounded by the other, and singling out has no ceiling. Real and hold-out rows are as many there, since the
chance that exactly one of n records meets a condition depends on n.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attacks import intervals
from sfumato.attacks.attack import AT_LEAST, FAMILY, SURELY, attack, facts_of
from sfumato.attacks.people import People
from sfumato.evaluation.metric import NotApplicable
from sfumato.evaluation.outcome import Details, Interval, Measure, Outcome, worst_first
from sfumato.evaluation.pair import PairedColumn, Side

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = 500
SECRETS = 4
ROWS = 10_000


def _measure(name: str, title: str, meaning: str) -> Measure:
    source = "Giomi et al. 2023, PETS; computed by the library anonymeter"
    return Measure(name=f"attacks.{name}", title=title, family=FAMILY, meaning=meaning, source=source)


ONE = _measure(
    "singling_out_univariate",
    "Singling out by one value",
    "Risk that a condition on one column, found in the synthetic rows, is met by exactly one person in "
    "the table.",
)
SEVERAL = _measure(
    "singling_out",
    "Singling out by several values",
    "The same with conditions on up to three columns.",
)
LINK = _measure(
    "linkability",
    "Linkability",
    "Risk that the two halves of a person's record are joined again through the synthetic rows.",
)
INFER = _measure(
    "inference",
    "Inference (Anonymeter)",
    "Risk that one value of a record is read off the closest synthetic row, averaged over columns.",
)


@attack("anonymeter", ONE, SEVERAL, LINK, INFER)
def anonymeter(people: People) -> Iterator[Outcome]:
    """The library's three evaluators, each with the hold-out rows as control."""
    if importlib.util.find_spec("anonymeter") is None:
        raise NotApplicable("the package 'anonymeter' is not installed (docs/methods/attacks.md says how)")
    library = importlib.import_module("anonymeter.evaluators")
    single, link, infer = (
        getattr(library, f"{name}Evaluator") for name in ("SinglingOut", "Linkability", "Inference")
    )

    tables = {side: _frame(people, side) for side in ("real", "synthetic", "holdout")}
    real, synthetic, control = tables["real"], tables["synthetic"], tables["holdout"]
    names = list(real.columns)
    tries = min(ATTEMPTS, len(real), len(control), len(synthetic))
    # People are drawn here, since the library would draw them anew in every run.
    shared = {"ori": real[:tries], "syn": synthetic, "control": control[:tries], "n_attacks": tries}
    alone = [each.drop_duplicates() for each in (real, control)]
    few = min(map(len, alone))
    singled = {
        "ori": alone[0][:few], "syn": synthetic, "control": alone[1][:few], "n_attacks": tries,
        "seed": people.settings.seed,
    }  # fmt: skip
    with _quiet():
        yield _outcome(people, ONE, lambda: single(**singled).evaluate(mode="univariate"), bounded=False)
        if len(names) < 2:
            raise NotApplicable("there is one column only")
        several = min(3, len(names))
        yield _outcome(
            people,
            SEVERAL,
            lambda: single(**singled, n_cols=several, max_attempts=20_000).evaluate(mode="multivariate"),
            bounded=False,
        )
        mixed = [names[i] for i in np.random.default_rng(people.settings.seed).permutation(len(names))]
        halves = mixed[::2], mixed[1::2]
        yield _outcome(
            people,
            LINK,
            lambda: link(**shared, aux_cols=halves, n_neighbors=1).evaluate(n_jobs=1),
        )
        yield _inference(people, names, shared, infer)


def _outcome(
    people: People, measure: Measure, evaluate: Callable[[], Any], *, bounded: bool = True
) -> Outcome:
    """What an evaluator of the library finds. `bounded`: the guarantee sets a ceiling to it."""
    try:
        found = evaluate()
        risk, rates = found.risk(confidence_level=0.95), found.results(confidence_level=0.95)
    except Exception as error:  # the message may quote a cell
        return measure.failed(f"of an error in anonymeter ({type(error).__name__})")
    success, control = float(rates.attack_rate.value), float(rates.control_rate.value)
    sure = found.results(confidence_level=intervals.SURE).control_rate
    least = float(found.risk(confidence_level=intervals.SURE).ci[0])

    def room(rate: float) -> float | None:
        left = people.room(rate) if bounded else None
        return None if left is None or rate >= 1 else left / (1 - rate)

    ends = max(float(sure.value - sure.error), 0.0), min(float(sure.value + sure.error), 1.0)
    far = [room(float(rate)) for rate in np.linspace(*ends, 51)]
    return measure.found(
        float(risk.value),
        interval=Interval(*map(float, risk.ci), method="Wilson and normal, by anonymeter"),
        facts=facts_of(
            people,
            knowledge="the synthetic rows, and parts of the person's record",
            success=success,
            control=control,
            ceiling=room(control),
            surely=None if None in far else max(each for each in far if each is not None),
            at_least=least,
            baseline=float(rates.baseline_rate.value),
            attempts=int(rates.n_attacks_ori),
            **(
                {}
                if bounded
                else {
                    "why no ceiling": "whether exactly one record meets a condition depends "
                    "on all records, and the guarantee bounds what one of them changes"
                }
            ),
        ),
    )


def _inference(people: People, names: list[str], shared: dict[str, Any], evaluator: Any) -> Outcome:
    """The mean over columns, and the range that its columns' intervals allow."""
    chosen = people.settings.secrets or tuple(names)
    if len(chosen) > SECRETS:
        rng = np.random.default_rng(people.settings.seed + 4)
        chosen = tuple(chosen[i] for i in sorted(rng.choice(len(chosen), SECRETS, replace=False)))
    rows = []
    outcomes = []
    for secret in chosen:
        known = [name for name in names if name != secret]
        one = _outcome(
            people,
            INFER,
            lambda secret=secret, known=known: evaluator(**shared, aux_cols=known, secret=secret).evaluate(
                n_jobs=1
            ),
        )
        if one.value is None or one.interval is None:
            return one
        outcomes.append(one)
        rows.append(
            (
                secret,
                one.value,
                one.interval.low,
                one.interval.high,
                one.facts["success"],
                one.facts["control"],
            )
        )
    averages = {
        name: None if any(each.facts[name] is None for each in outcomes)
        else float(np.mean([each.facts[name] for each in outcomes]))
        for name in ("success", "control", "ceiling", SURELY, AT_LEAST, "baseline")
    }  # fmt: skip
    value, low, high = np.array([row[1:4] for row in rows], dtype=np.float64).mean(axis=0).tolist()
    return INFER.found(
        value,
        interval=Interval(low, high, method="mean of the intervals of the columns"),
        details=Details(("column", "risk", "low", "high", "success", "control"), worst_first(rows, 1)),
        facts={**outcomes[0].facts, **averages},
    )


def _frame(people: People, side: Side) -> pd.DataFrame:
    """A frame of numbers and texts, at most `ROWS` rows in random order. A missing number is the median, a
    missing text a label.
    """
    import pandas as pd

    if side == "synthetic":
        every = np.random.default_rng(people.settings.seed + 7).permutation(people.pair.synthetic_rows)
    else:
        every = people.everybody[side == "holdout"]
    places = every[:ROWS]
    return pd.DataFrame({column.name: _cells(column, side, places) for column in people.pair.columns})


def _cells(column: PairedColumn, side: Side, places: np.ndarray) -> np.ndarray:
    if not column.is_number:
        return np.array([*column.labels, "(missing)"], dtype=object)[column.codes(side)[places]]
    values, real = column.values(side)[places], column.values("real")
    known = real[np.isfinite(real)]
    return np.where(np.isnan(values), np.median(known) if known.size else 0.0, values)


@contextmanager
def _quiet() -> Generator[None]:
    """No remarks of the library on standard error: they are about the rows."""
    logger = logging.getLogger("anonymeter")
    before = logger.level, logging.root.manager.disable
    logger.setLevel(logging.CRITICAL)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before[0])
        logging.disable(before[1])

"""Prediction of a target: five models trained on synthetic rows against the same five trained on real rows.

All are tested on the same real rows, that trained none of them. Both training sets have the same size.
Scores: AUROC where the target has two values, accuracy where it has more, R² where it is a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sfumato.evaluation.intervals import percentiles
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.metrics.subgroups import LOSS as SUBGROUP_LOSS
from sfumato.evaluation.metrics.subgroups import loss_by_group
from sfumato.evaluation.outcome import Details, Direction, Measure, Outcome
from sfumato.evaluation.pair import Pair
from sfumato.evaluation.settings import Settings
from sfumato.evaluation.splits import split
from sfumato.evaluation.targets import Trained, models, scorer, target_of

RESAMPLES = 100
_ESTEBAN = "Esteban, Hyland, Rätsch 2017, Real-valued (medical) time series generation, section 3 (TSTR)"


def _measure(
    name: str, title: str, meaning: str, source: str, direction: Direction, low: float, ideal: float | None
) -> Measure:
    return Measure(
        name=f"prediction.{name}", title=title, family="prediction", meaning=meaning, low=low, high=1.0,
        direction=direction, ideal=ideal, source=source,
    )  # fmt: skip


SYNTHETIC = _measure(
    "tstr", "Trained on synthetic rows",
    "Mean score of five models, trained on synthetic and tested on real rows.",
    _ESTEBAN, "higher", -math.inf, None,
)  # fmt: skip
REAL = _measure(
    "trtr", "Trained on real rows",
    "Mean score of the same models trained on as many real rows: the yardstick.",
    _ESTEBAN, "none", -math.inf, None,
)  # fmt: skip
LOSS = Measure(
    name="prediction.loss", title="Loss by training on synthetic rows", family="prediction",
    meaning="How much lower the mean score of five models is when learnt from synthetic rows.",
    low=-math.inf, high=math.inf, direction="lower", source=_ESTEBAN,
)  # fmt: skip
AGREEMENT = _measure(
    "agreement", "Agreement of models",
    "Mean share of test rows for which a model learnt from synthetic rows says what one from real rows says.",
    "Bindschaedler, Shokri, Gunter 2017, table 3", "higher", 0.0, 1.0,
)  # fmt: skip
RANKING = _measure(
    "ranking", "Ranking of models",
    "Whether the better model on real rows is the better one on synthetic ones.",
    "Jordon, Yoon, van der Schaar 2018 (synthetic ranking agreement); Kendall 1945 (tau-b)",
    "higher", -1.0, 1.0,
)  # fmt: skip


@metric("prediction.target", SYNTHETIC, REAL, LOSS, AGREEMENT, RANKING, SUBGROUP_LOSS, needs="sklearn")
def train_on_synthetic(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Score, loss, agreement and ranking of five models of the target, and the loss by subgroup."""
    target = target_of(pair, settings)
    parts = split(
        pair, at_most=settings.rows_for(len(pair.columns)), seed=settings.seed, keep=target.known(pair)
    )
    answers = target.answers(parts.test_side)[parts.test]
    if (answers == answers[0]).all():
        raise NotApplicable("the target does not vary in the test rows")
    trained = models(pair, target, parts, settings.seed)
    score = scorer(target)
    scores = np.array([[score(answers, each.ranked[part]) for part in (0, 1)] for each in trained])
    if np.isnan(scores).any():
        raise NotApplicable("the test rows do not have both values of the target")
    rows = [(each.name, target.score, *scores[place].tolist()) for place, each in enumerate(trained)]
    details = Details(("model", "score", "real", "synthetic"), rows)
    facts = {**parts.facts, "score": target.score}
    real, made = scores.mean(axis=0)
    redrawn = _redrawn(answers, trained, score, settings.seed)
    method = f"bootstrap of the test rows, {RESAMPLES} times"
    yield SYNTHETIC.found(
        made, interval=percentiles(redrawn[:, 1], method=method), details=details, facts=facts
    )
    yield REAL.found(real, interval=percentiles(redrawn[:, 0], method=method), facts=facts)
    gap = percentiles(redrawn[:, 0] - redrawn[:, 1], method=method)
    yield LOSS.found(real - made, interval=gap, facts=facts)
    if target.column.is_number:
        yield AGREEMENT.not_applicable("the target is a number")
    else:
        same = [float((each.said[0] == each.said[1]).mean()) for each in trained]
        pairs = [(each.name, share) for each, share in zip(trained, same, strict=True)]
        yield AGREEMENT.found(
            float(np.mean(same)), details=Details(("model", "agreement"), pairs), facts=facts
        )
    yield _ranking(scores, [each.name for each in trained])
    yield loss_by_group(pair, settings, target, parts, trained)


def _redrawn(answers: np.ndarray, trained: list[Trained], score: Callable, seed: int) -> np.ndarray:
    """Mean scores of both sides for test rows drawn anew with replacement."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(RESAMPLES):
        rows = rng.integers(len(answers), size=len(answers))
        scores = [[score(answers[rows], each.ranked[part][rows]) for part in (0, 1)] for each in trained]
        if not np.isnan(scores).any():
            found.append(np.mean(scores, axis=0))
    return np.array(found) if found else np.full((1, 2), np.nan)


def _ranking(scores: np.ndarray, names: list[str]) -> Outcome:
    from scipy.stats import kendalltau

    tau = float(kendalltau(scores[:, 0], scores[:, 1]).statistic)
    facts = {
        "best on real rows": names[int(scores[:, 0].argmax())],
        "best": names[int(scores[:, 1].argmax())],
    }
    if math.isnan(tau):
        return RANKING.not_applicable("all models score the same on one side", facts=facts)
    return RANKING.found(tau, facts=facts)

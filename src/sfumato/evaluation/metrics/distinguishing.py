"""Distinguishing: can a classifier tell real from synthetic rows? At 50 % accuracy, or an AUC of 0.5, it
cannot.

The game of Bindschaedler et al. has as many real as synthetic rows; half train, the other half is guessed.
A record that occurs on both sides is in the same half on both: else a copied table would be told from the
real one by the copies that trained the classifier under the other name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.evaluation.features import features
from sfumato.evaluation.intervals import auc, auc_interval, clopper_pearson, percentiles
from sfumato.evaluation.metric import NotApplicable, metric
from sfumato.evaluation.outcome import Measure, Outcome
from sfumato.evaluation.pair import Pair, Side
from sfumato.evaluation.records import Places, hashes, twins
from sfumato.evaluation.settings import Settings

SIDES: tuple[Side, ...] = ("real", "synthetic")
LEAST = 4
"""Rows of a side without which there is no game."""
LEVELS = 10
RESAMPLES = 200

_GAME = "Bindschaedler, Shokri, Gunter 2017, table 5"
_SNOKE = "Woo, Reiter, Oganian, Karr 2009; Snoke, Raab, Nowok, Dibben, Slavkovic 2018"


def _game(name: str, model: str) -> Measure:
    return Measure(
        name=f"distinguishing.{name}", title=f"Real or synthetic, {model}", family="distinguishing",
        meaning=f"How often a {model} guesses right whether a row is real; 0.5 means it cannot tell.",
        direction="nearer", ideal=0.5, source=_GAME,
    )  # fmt: skip


FOREST, TREE = _game("forest", "random forest"), _game("tree", "tree")
AUC = Measure(
    name="distinguishing.auc", title="Two-sample AUC", family="distinguishing",
    meaning="How often gradient boosting ranks a synthetic row above a real one; 0.5 means it cannot tell.",
    direction="nearer", ideal=0.5, source="Lopez-Paz, Oquab 2017, Revisiting classifier two-sample tests",
)  # fmt: skip
PMSE = Measure(
    name="distinguishing.pmse", title="Propensity score error", family="distinguishing",
    meaning="Mean squared distance of the estimated chance to be synthetic from the overall share; 0: none.",
    high=0.25, source=_SNOKE,
)  # fmt: skip
RATIO = Measure(
    name="distinguishing.pmse_ratio", title="Propensity score error, against chance", family="distinguishing",
    meaning="The propensity score error over what it is for rows from the same distribution; 1 is ideal.",
    high=math.inf, direction="nearer", ideal=1.0, source=_SNOKE,
)  # fmt: skip


def _even(pair: Pair, settings: Settings) -> Pair:
    """As many real as synthetic rows, drawn at random, in random order; of two sides with as many rows those
    at the same places.
    """
    rows = min(pair.real_rows, pair.synthetic_rows, settings.rows_for(len(pair.columns)))
    if rows < LEAST:
        raise NotApplicable(f"a side has fewer than {LEAST} rows")
    places: dict[Side, Places] = {
        side: np.random.default_rng(settings.seed).permutation(pair.rows(side))[:rows] for side in SIDES
    }
    return pair.take(places)


@metric("distinguishing.game", FOREST, TREE, AUC, needs="sklearn")
def game(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Accuracy of forest and tree, AUC of boosting, on rows that did not train them."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    even = _even(pair, settings)
    made = features(even)
    real, synthetic, shared = _halves(even)
    rows, test = (
        np.concatenate([made.trees("real", first), made.trees("synthetic", second)])
        for first, second in zip(real, synthetic, strict=True)
    )
    labels, truth = (np.arange(2 * len(part)) >= len(part) for part in real)
    facts = {"training rows": len(rows), "test rows": len(test), "records on both sides": shared}
    seed = settings.seed
    for measure, model in (
        (FOREST, RandomForestClassifier(100, min_samples_leaf=2, random_state=seed)),
        (TREE, DecisionTreeClassifier(min_samples_leaf=10, random_state=seed)),
    ):
        hits = int((model.fit(rows, labels).predict(test) == truth).sum())
        yield measure.found(hits / len(test), interval=clopper_pearson(hits, len(test)), facts=facts)
    boosted = HistGradientBoostingClassifier(max_iter=100, random_state=seed).fit(rows, labels)
    scores = boosted.predict_proba(test)[:, 1]
    yield AUC.found(auc(scores, truth), interval=auc_interval(scores, truth), facts=facts)


def _halves(even: Pair) -> tuple[list[Places], list[Places], int]:
    """Places of the training and test rows of each side, equal records in the same half; and how many are
    equal.
    """
    rows = even.real_rows
    both = twins(hashes(even, "real"), hashes(even, "synthetic"))
    cut, found = len(both[0]) // 2, []
    for paired in both:
        alone = np.setdiff1d(np.arange(rows), paired)
        first = rows // 2 - cut
        found.append([np.r_[paired[:cut], alone[:first]], np.r_[paired[cut:], alone[first:]]])
    return found[0], found[1], len(both[0])


@metric("distinguishing.pmse", PMSE, RATIO, needs="sklearn")
def propensity(pair: Pair, settings: Settings) -> Iterator[Outcome]:
    """Mean of (p - 1/2)² of a logistic regression on all rows, and its ratio to what chance gives.

    With k parameters that the features can tell apart (their rank with the constant) and N rows in all, the
    fitted chances of rows from one law vary by c(1-c)(k-1)/N, c = 1/2. Snoke et al. expect (1-c) times
    that, for rows drawn from a model of the very real rows that they are held against.
    """
    even = _even(pair, settings)
    made = features(even, levels=LEVELS)
    rows = np.concatenate([made.linear("real"), made.linear("synthetic")])
    labels = np.arange(len(rows)) >= even.real_rows
    errors = np.square(fitted_chances(rows, labels) - 0.5)
    rank = int(np.linalg.matrix_rank(np.column_stack([np.ones(len(rows)), rows])))
    expected = (rank - 1) / (4 * len(rows))
    rng = np.random.default_rng(settings.seed)
    means = np.array([errors[rng.integers(len(errors), size=len(errors))].mean() for _ in range(RESAMPLES)])
    interval = percentiles(means, method=f"bootstrap of the rows, {RESAMPLES} times, model kept")
    facts = {"rows": len(rows), "parameters": rank, "expected by chance": expected}
    yield PMSE.found(float(errors.mean()), interval=interval, facts=facts)
    if not expected:
        yield RATIO.not_applicable("no column varies", facts=facts)
        return
    ends = percentiles(means / expected, method=interval.method)
    yield RATIO.found(float(errors.mean() / expected), interval=ends, facts=facts)


def fitted_chances(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fitted probabilities of a logistic regression without a penalty worth the name."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e4, max_iter=500).fit(rows, labels)
    return model.predict_proba(rows)[:, 1]

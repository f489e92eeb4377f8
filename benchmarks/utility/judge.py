"""What synthetic rows of a raw table are worth; run in an environment of its own: python judge.py '{"real": …}'.

real, made, test: Parquet files with every column as text (test is None where there is none); numbers: [least,
most] of each number column; target: [column, positive label]. Writes JSON:
  tvd2, tvd3          mean TVD of all two- and three-way marginals; a number falls in one of 20 bins of one width
                      between its declared ends; a missing value is a code of its own
  auroc, auroc_real   of gradient boosting trained on synthetic and on real rows, both on the test rows
                      (the latter if `compare`)
  discriminator       AUC of gradient boosting that tells real from synthetic rows, trained on half of each,
                      on the other half; 0.5: it cannot
  kolmogorov          of each number column: the largest distance of the distribution functions
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np

REQUIREMENTS = ("scikit-learn==1.9.1", "polars>=1.30", "numpy>=2.0")
BINS = 20


def main(task):
    import polars as pl

    real, made = (pl.read_parquet(task[name]) for name in ("real", "made"))
    made = made.select(real.columns)
    numbers = task["numbers"]
    codes = _codes(real, made, numbers)
    facts = {f"tvd{ways}": _tvd(codes, ways) for ways in (2, 3)}
    features = _Features(real, numbers)
    target, positive = task["target"]
    if task["test"]:
        test = pl.read_parquet(task["test"])
        facts["auroc"] = _auroc(features, target, positive, made, test)
        if task["compare"]:
            facts["auroc_real"] = _auroc(features, target, positive, real, test)
    facts["discriminator"] = _discriminator(features, real, made)
    facts["kolmogorov"] = {name: _kolmogorov(_number(real, name), _number(made, name)) for name in numbers}
    Path(task["facts"]).write_text(json.dumps(facts))


def _number(frame, name):
    """A column of numbers as float64, NaN where there is none."""
    import polars as pl

    return frame[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _codes(real, made, numbers):
    """Both tables in the same codes, a list of (real codes, synthetic codes, size) by column."""
    found = []
    for name in real.columns:
        if name in numbers:
            least, most = numbers[name]
            codes = []
            for frame in (real, made):
                value = _number(frame, name)
                inside = np.clip((np.nan_to_num(value) - least) / (most + 1 - least) * BINS, 0, BINS - 1)
                codes.append(np.where(np.isnan(value), BINS, inside).astype(np.int64))
            found.append((*codes, BINS + 1))
        else:
            texts = [frame[name].fill_null("").to_numpy().astype(str) for frame in (real, made)]
            known, index = np.unique(np.concatenate(texts), return_inverse=True)
            found.append((*np.split(index, [len(texts[0])]), known.size))
    return found


def _tvd(columns, ways):
    far = []
    for clique in itertools.combinations(columns, ways):
        size = int(np.prod([column[2] for column in clique]))
        shares = []
        for side in (0, 1):
            index = np.zeros(len(clique[0][side]), dtype=np.int64)
            for column in clique:
                index = index * column[2] + column[side]
            shares.append(np.bincount(index, minlength=size) / index.size)
        far.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(far))


class _Features:
    """Columns as boosting takes them: numbers, and places in the sorted list of the real rows' labels."""

    def __init__(self, real, numbers):
        self.names = real.columns
        self.numbers = numbers
        self.labels = {
            name: np.unique(real[name].drop_nulls().to_numpy().astype(str)) for name in real.columns
        }

    def __call__(self, frame, without=None):
        made = []
        for name in self.names:
            if name == without:
                continue
            if name in self.numbers:
                made.append(_number(frame, name))
                continue
            known, texts = self.labels[name], frame[name].fill_null("").to_numpy().astype(str)
            place = np.minimum(np.searchsorted(known, texts), known.size - 1)
            made.append(np.where(known[place] == texts, place, np.nan))
        return np.column_stack(made)

    def categories(self, without=None):
        return [name not in self.numbers for name in self.names if name != without]


def _boosting(categories):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(categorical_features=categories, random_state=0)


def _auroc(features, target, positive, rows, test):
    from sklearn.metrics import roc_auc_score

    answers = (rows[target] == positive).fill_null(False).to_numpy()
    if answers.all() or not answers.any():
        return 0.5
    model = _boosting(features.categories(target)).fit(features(rows, target), answers)
    scores = model.predict_proba(features(test, target))[:, 1]
    return float(roc_auc_score((test[target] == positive).to_numpy(), scores))


def _discriminator(features, real, made):
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    rows = np.concatenate([features(real), features(made)])
    answers = np.repeat([0, 1], [len(real), len(made)])
    order = rng.permutation(len(rows))
    train, test = np.array_split(order, 2)
    model = _boosting(features.categories()).fit(rows[train], answers[train])
    return float(roc_auc_score(answers[test], model.predict_proba(rows[test])[:, 1]))


def _kolmogorov(real, made):
    real, made = (np.sort(value[~np.isnan(value)]) for value in (real, made))
    if not real.size or not made.size:
        return 1.0
    points = np.concatenate([real, made])
    shares = [np.searchsorted(value, points, side="right") / value.size for value in (real, made)]
    return float(np.abs(shares[0] - shares[1]).max())


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

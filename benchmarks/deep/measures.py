"""What DP-auto-GAN's paper measures and `sfumato.evaluate` does not take as the paper does: its forests.

Everything else is taken by the metrics of `sfumato.evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

Values = Mapping[str, Sequence[str]]


def shares(column: pl.Series, values: Sequence[str]) -> np.ndarray:
    """Share of each value."""
    held = dict(column.cast(pl.String).value_counts().iter_rows())
    counts = np.array([held.get(value, 0) for value in values], dtype=np.float64)
    return counts / max(column.len(), 1)


def one_hot(frame: pl.DataFrame, values: Values, leave_out: str = "") -> np.ndarray:
    """Rows as numbers with a coordinate for each label."""
    parts = []
    for name in frame.columns:
        if name == leave_out:
            continue
        if name in values:
            column = frame[name].cast(pl.String).to_numpy()
            parts.append((column[:, None] == np.array(values[name])[None]).astype(np.float32))
        else:
            parts.append(frame[name].to_numpy().astype(np.float32)[:, None])
    return np.concatenate(parts, 1)


def prediction(train: pl.DataFrame, test: pl.DataFrame, target: str, values: Values) -> float:
    """Score on `test` of a model of `target` trained on `train`: F1 of a forest of 10 trees (micro-F1 where there
    are more than two labels), R² of a lasso for numbers. 0 where the rows have one label.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import Lasso
    from sklearn.metrics import f1_score, r2_score

    x, y = (one_hot(frame, values, target) for frame in (train, test))
    if target not in values:
        scale = np.maximum(y.std(0), 1e-9)
        model = Lasso(alpha=0.1, tol=0.01).fit(x / scale, train[target].to_numpy())
        return float(r2_score(test[target].to_numpy(), model.predict(y / scale)))
    labels, truth = (frame[target].cast(pl.String).to_numpy() for frame in (train, test))
    if len(np.unique(labels)) < 2:
        return 0.0
    guess = RandomForestClassifier(10, random_state=0).fit(x, labels).predict(y)
    if len(values[target]) == 2:
        return float(f1_score(truth, guess, pos_label=values[target][1]))
    return float(f1_score(truth, guess, average="micro"))


def forest_accuracy(
    train: pl.DataFrame, test: pl.DataFrame, target: str, values: Values, trees: int = 800
) -> float:
    """Accuracy on `test` of a forest trained on `train`."""
    from sklearn.ensemble import RandomForestClassifier

    labels = train[target].cast(pl.String).to_numpy()
    truth = test[target].cast(pl.String).to_numpy()
    if len(np.unique(labels)) < 2:
        return float((truth == labels[0]).mean())
    model = RandomForestClassifier(trees, random_state=0, n_jobs=1)
    model.fit(one_hot(train, values, target), labels)
    return float(model.score(one_hot(test, values, target), truth))

"""Measures of the papers on deep generators; definitions in docs/methods/dp-auto-gan.md."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl


def shares(column: pl.Series, values: Sequence[str]) -> np.ndarray:
    """Share of each value."""
    held = dict(column.cast(pl.String).value_counts().iter_rows())
    counts = np.array([held.get(value, 0) for value in values], dtype=np.float64)
    return counts / max(column.len(), 1)


def numbers(frame: pl.DataFrame, values: dict[str, Sequence[str]]) -> np.ndarray:
    """Rows as numbers for forests: places of labels, numbers as they are."""
    columns = []
    for name in frame.columns:
        column = frame[name]
        if name in values:
            place = {value: i for i, value in enumerate(values[name])}
            columns.append(np.array([place[str(value)] for value in column.to_list()], dtype=np.float64))
        else:
            columns.append(column.to_numpy().astype(np.float64))
    return np.stack(columns, 1)


def one_hot(frame: pl.DataFrame, values: dict[str, Sequence[str]], leave_out: str = "") -> np.ndarray:
    """Rows as numbers with a coordinate for each label."""
    parts = []
    for name in frame.columns:
        if name == leave_out:
            continue
        if name in values:
            column = frame[name].cast(pl.String).to_numpy()
            parts.append((column[:, None] == np.array(values[name])[None]).astype(np.float64))
        else:
            parts.append(frame[name].to_numpy().astype(np.float64)[:, None])
    return np.concatenate(parts, 1)


def marginal_distance(
    real: np.ndarray, made: np.ndarray, *, ways: int, repeats: int = 30, bins: int = 100
) -> float:
    """Mean L1 distance of histograms of `ways` columns, each cut into `bins` (0 to 2)."""
    rng, found = np.random.default_rng(0), []
    low, high = real.min(0), real.max(0)
    coded = [
        np.clip(((table - low) / np.maximum(high - low, 1e-12) * bins).astype(np.int64), 0, bins - 1)
        for table in (real, made)
    ]
    for _ in range(repeats):
        chosen = rng.choice(real.shape[1], ways, replace=False)
        cells = [table[:, chosen] @ bins ** np.arange(ways) for table in coded]
        known, index = np.unique(np.concatenate(cells), return_inverse=True)
        one, two = np.split(index, [real.shape[0]])
        p, q = (np.bincount(part, minlength=known.size) / part.size for part in (one, two))
        found.append(np.abs(p - q).sum())
    return float(np.mean(found))


def principal_planes(real: np.ndarray, made: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both tables in the plane of the two largest components of the real one, standardised by the real one."""
    mean, deviation = real.mean(0), real.std(0)
    kept = deviation > 0
    one, two = ((table[:, kept] - mean[kept]) / deviation[kept] for table in (real, made))
    _, vectors = np.linalg.eigh(np.cov(one.T))
    plane = vectors[:, -2:]
    return one @ plane, two @ plane


def plane_distance(real: np.ndarray, made: np.ndarray, *, points: int = 100, repeats: int = 20) -> float:
    """Exact Wasserstein distance of `points` random rows in the plane of principal components, averaged."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    one, two = principal_planes(real, made)
    rng, found = np.random.default_rng(0), []
    for _ in range(repeats):
        cost = cdist(one[rng.choice(len(one), points)], two[rng.choice(len(two), points)])
        rows, columns = linear_sum_assignment(cost)
        found.append(cost[rows, columns].mean())
    return float(np.mean(found))


def prediction(
    train: pl.DataFrame, test: pl.DataFrame, target: str, values: dict[str, Sequence[str]]
) -> float:
    """Score on `test` of a model of `target` trained on `train`: F1 of a forest of 10 trees (micro-F1 where there
    are more than two labels), R² of a lasso for numbers. 0 where the rows have one label.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import Lasso
    from sklearn.metrics import f1_score, r2_score

    x, y = (one_hot(frame, values, target) for frame in (train, test))
    if target not in values:
        scale = np.maximum(y.std(0), 1e-9)
        model = Lasso(alpha=0.1).fit(x / scale, train[target].to_numpy())
        return float(r2_score(test[target].to_numpy(), model.predict(y / scale)))
    labels, truth = (frame[target].cast(pl.String).to_numpy() for frame in (train, test))
    if len(np.unique(labels)) < 2:
        return 0.0
    guess = RandomForestClassifier(10, random_state=0).fit(x, labels).predict(y)
    if len(values[target]) == 2:
        return float(f1_score(truth, guess, pos_label=values[target][1]))
    return float(f1_score(truth, guess, average="micro"))


def forest_accuracy(
    train: pl.DataFrame, test: pl.DataFrame, target: str, values: dict[str, Sequence[str]], trees: int = 800
) -> float:
    """Accuracy on `test` of a forest trained on `train`."""
    from sklearn.ensemble import RandomForestClassifier

    labels = train[target].cast(pl.String).to_numpy()
    if len(np.unique(labels)) < 2:
        return float((test[target].cast(pl.String).to_numpy() == labels[0]).mean())
    model = RandomForestClassifier(trees, random_state=0, n_jobs=1)
    model.fit(one_hot(train, values, target), labels)
    return float(model.score(one_hot(test, values, target), test[target].cast(pl.String).to_numpy()))
